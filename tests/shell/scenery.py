"""Random scenery for the simulated shell: small workflows, limits, and how disturbed their world is."""

from dataclasses import dataclass

from actors.values.answers import YES_NO
from actors.values.findings import Finding, Verdict
from runtime.core.cost import Price
from runtime.core.ledger import Limits
from tests.simulation.scenery import Weather
from tests.support.worlds import pinned

START = 1_700_000_000.0
"""The wall clock at the beginning, in UTC seconds."""

SHAPES = (
    {"a": ()},
    {"a": (), "b": ("a",)},
    {"a": (), "b": ()},
    {"a": (), "b": (), "c": ("a", "b")},
    {"a": (), "b": ("a",), "c": ("a",)},
    {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")},
)


@dataclass(frozen=True)
class Troubles:
    """What goes wrong around a run, and how often.

    Chances are per process; `hosts` is how many of them compete; `slow` the seconds that one append may take. `willing`
    says whether the user answers at all, `patient` whether a parked run is gone on with.
    """

    kill: float
    point: float
    journal: float
    stop: float
    jump: float
    cancel: float
    bug: float
    odd_mail: float
    tell: float
    hosts: int
    slow: float
    willing: bool
    patient: bool


def troubles(dice):
    """Return a calm world, or one in which much goes wrong at once."""
    rough = dice.choice((0.0, 0.3, 0.7))
    return Troubles(
        kill=rough * dice.random(),
        point=rough * dice.random(),
        journal=rough * dice.random(),
        stop=rough * dice.random(),
        jump=dice.choice((0.0, 0.0, 0.4)),
        cancel=dice.choice((0.0, 0.0, 0.5)),
        bug=dice.choice((0.0, 0.0, 0.0, 0.02)),
        odd_mail=dice.choice((0.0, 0.4)),
        tell=dice.choice((0.0, 0.0, 0.6)),
        hosts=dice.choice((1, 1, 2)),
        slow=dice.choice((0.0, 0.0, 0.5, 3.0)),
        willing=dice.random() < 0.8,
        patient=dice.random() < 0.85,
    )


def weather(dice):
    """Return how the model and the guards behave."""
    return Weather(
        passes=dice.choice((0.2, 0.6, 0.8)),
        fault=dice.choice((0.0, 0.1, 0.3)),
        fatal=dice.choice((0.0, 0.05)),
        same=dice.choice((0.1, 0.6)),
        disturbance=0.0,
        cancel=0.0,
    )


SIDEWAYS = ("best_first", "breadth_first:2", "iterative_deepening", "restart:3", "best_of:2")
"""The other searches with branches; a beam has more that can go wrong."""

_MAXIMA = ("questions_max", "classifications_max")


def configuration(dice):
    """Return a pinned workflow of one to four steps."""
    shape = dice.choice((*SHAPES, *SHAPES[-2:]))
    price = Price(input_per_token_usd=1e-6, output_per_token_usd=3e-6) if dice.random() < 0.5 else None
    steps = {
        name: {
            "requires": list(requires),
            "rmax": dice.randint(1, 4),
            "backtrack_budget": dice.choice((0, 1, 3)),
            "guard": dice.choice((*["toy"] * 9, "human_review", {"all_of": ["toy", "human_review"]})),
        }
        for name, requires in shape.items()
    }
    return pinned(
        steps,
        price=price,
        search=dice.choice(("depth_first", "depth_first", "blind", "beam:2", "beam:3", *SIDEWAYS)),
        **dict(zip(_MAXIMA, dice.choice(((0, 0), (0, 3), (2, 0), (2, 3), (5, 0), (5, 3))), strict=True)),
        question_expires_seconds=dice.choice((None, None, 500.0)),
        output_tokens_max=50,
        model_timeout_seconds=dice.choice((15.0, 40.0)),
    )


def limits(dice):
    """Return limits; narrow ones now and then."""
    return Limits(
        calls=dice.choice((3, 40, 40, 40)),
        tokens=dice.choice((*[None] * 5, 1_000, 4_000)),
        micro_usd=dice.choice((*[None] * 5, 2_000)),
        active_seconds=dice.choice((*[None] * 5, 60.0)),
        deadline=dice.choice((*[None] * 5, START + 100.0, START + 4_000.0)),
    )


CODES = (
    "plan.cycle",
    "plan.dead_end",
    "plan.goal_unreachable",
    "requirements.missing",
    "tool.transient",
    "tool.permanent",
)
"""One for each way on: a retry, a replan from near or far, a question, a wait."""


def verdict(dice, sky):
    """Return what a guard says."""
    if dice.random() < sky.passes:
        return Verdict(guard="toy", passed=True, score=1.0)
    where = "s1" if dice.random() < sky.same else f"s{dice.randrange(9)}"
    schema = dice.choice((None, None, YES_NO))
    finding = Finding(code=dice.choice(CODES), message="is wrong", where=where, answer_schema=schema)
    return Verdict(guard="toy", passed=False, score=0.3, findings=(finding,), fatal=dice.random() < sky.fatal)
