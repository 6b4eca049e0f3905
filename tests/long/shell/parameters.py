"""Seeded random parameters of the simulated shell: workflows, limits, reply rates and fault rates."""

from dataclasses import dataclass

from actors.run.reminder_events import ReminderRule, ReminderStep
from actors.values.answers import YES_NO
from actors.values.findings import Finding, Verdict
from runtime.core.ledger import Limits, Price
from tests.long.simulation.scenery import Weather
from tests.support.worlds import pinned

REMINDERS = ReminderRule(
    ask=("ana",),
    steps=(ReminderStep(after_seconds=60.0), ReminderStep(after_seconds=400.0, ask=("bob",))),
)
"""What is done about questions in a third of the worlds."""
START = 1_700_000_000.0

SHAPES = (
    {"a": ()},
    {"a": (), "b": ("a",)},
    {"a": (), "b": ()},
    {"a": (), "b": (), "c": ("a", "b")},
    {"a": (), "b": ("a",), "c": ("a",)},
    {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")},
)


@dataclass(frozen=True)
class FaultRates:
    """The faults and disturbances of one simulated world. Floats are probabilities unless another unit is given."""

    kill: float
    point: float
    """A process is killed at a labelled crash point."""
    journal: float
    stop: float
    jump: float
    """The wall clock is set once."""
    cancel: float
    bug: float
    """A generator, a guard or a driver raises."""
    malformed: float
    """A malformed message is posted."""
    tell: float
    """The user posts notes and requirements."""
    hosts: int
    """The number of processes that compete for the run."""
    slow: float
    willing: bool
    """Whether the user answers questions."""
    patient: bool
    """Whether a parked run is resumed."""


def reminders(rng):
    return (REMINDERS,) if rng.random() < 1 / 3 else ()


def fault_rates(rng):
    level = rng.choice((0.0, 0.3, 0.7))
    return FaultRates(
        kill=level * rng.random(),
        point=level * rng.random(),
        journal=level * rng.random(),
        stop=level * rng.random(),
        jump=rng.choice((0.0, 0.0, 0.4)),
        cancel=rng.choice((0.0, 0.0, 0.5)),
        bug=rng.choice((0.0, 0.0, 0.0, 0.02)),
        malformed=rng.choice((0.0, 0.4)),
        tell=rng.choice((0.0, 0.0, 0.6)),
        hosts=rng.choice((1, 1, 2)),
        slow=rng.choice((0.0, 0.0, 0.5, 3.0)),
        willing=rng.random() < 0.8,
        patient=rng.random() < 0.85,
    )


def reply_rates(rng):
    """Return the rates of good replies, faults and verdicts."""
    return Weather(
        passes=rng.choice((0.2, 0.6, 0.8)),
        fault=rng.choice((0.0, 0.1, 0.3)),
        fatal=rng.choice((0.0, 0.05)),
        same=rng.choice((0.1, 0.6)),
        disturbance=0.0,
        cancel=0.0,
    )


BRANCHING = ("best_first", "breadth_first:2", "iterative_deepening", "restart:3", "best_of:2")
"""Searches with several branches besides the beam, which `configuration` draws more often."""

_MAXIMA = ("questions_max", "classifications_max")


def configuration(rng):
    """Return a pinned workflow of one to four steps."""
    shape = rng.choice((*SHAPES, *SHAPES[-2:]))
    price = Price(input_per_token_usd=1e-6, output_per_token_usd=3e-6) if rng.random() < 0.5 else None
    steps = {
        name: {
            "requires": list(requires),
            "rmax": rng.randint(1, 4),
            "backtrack_budget": rng.choice((0, 1, 3)),
            "guard": rng.choice((*["toy"] * 9, "human_review", {"all_of": ["toy", "human_review"]})),
        }
        for name, requires in shape.items()
    }
    return pinned(
        steps,
        price=price,
        search=rng.choice(("depth_first", "depth_first", "blind", "beam:2", "beam:3", *BRANCHING)),
        **dict(zip(_MAXIMA, rng.choice(((0, 0), (0, 3), (2, 0), (2, 3), (5, 0), (5, 3))), strict=True)),
        question_expires_seconds=rng.choice((None, None, 500.0)),
        output_tokens_max=50,
        model_timeout_seconds=rng.choice((15.0, 40.0)),
    )


def limits(rng):
    return Limits(
        calls=rng.choice((3, 40, 40, 40)),
        tokens=rng.choice((*[None] * 5, 1_000, 4_000)),
        micro_usd=rng.choice((*[None] * 5, 2_000)),
        active_seconds=rng.choice((*[None] * 5, 60.0)),
        deadline=rng.choice((*[None] * 5, START + 100.0, START + 4_000.0)),
    )


CODES = (
    "plan.cycle",
    "plan.dead_end",
    "plan.goal_unreachable",
    "requirements.missing",
    "tool.transient",
    "tool.permanent",
)
"""One code for each kind of decision: a retry, a partial or full replan, a question, a wait."""


def verdict(rng, rates):
    if rng.random() < rates.passes:
        return Verdict(guard="toy", passed=True, score=1.0)
    where = "s1" if rng.random() < rates.same else f"s{rng.randrange(9)}"
    schema = rng.choice((None, None, YES_NO))
    finding = Finding(code=rng.choice(CODES), message="is wrong", where=where, answer_schema=schema)
    return Verdict(guard="toy", passed=False, score=0.3, findings=(finding,), fatal=rng.random() < rates.fatal)
