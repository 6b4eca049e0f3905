"""Random scenery for simulated runs: a workflow, its limits, and how its world behaves."""

from dataclasses import dataclass

from actors.policy.table import Cause
from actors.values.answers import YES_NO, choice
from actors.values.findings import Code, Finding, ReasonTag, Verdict
from runtime.core.ledger import Limits, Price, Usage
from runtime.models.port import Fault, FaultKind, Reply
from runtime.models.replies import ReplyCode
from tests.support.worlds import pinned

CODES = (
    [str(code) for code in (*Code, *ReplyCode)]
    + ["plugin.odd"]
    + ["requirements.missing"] * 12
    + ["tool.transient"] * 4
)
ROLES = ("analysis", "recon", "strategy", "plan", None)
START = 1_000.0


@dataclass(frozen=True)
class Weather:
    """How the world treats a run: chances of what goes wrong, by kind."""

    passes: float
    fault: float
    fatal: float
    same: float
    disturbance: float
    cancel: float


def weather(dice):
    """Return a world: kind, faulty, stubborn or restless."""
    return Weather(
        passes=dice.choice((0.05, 0.3, 0.6, 0.8)),
        fault=dice.choice((0.0, 0.1, 0.25)),
        fatal=dice.choice((0.0, 0.1)),
        same=dice.choice((0.1, 0.6)),
        disturbance=dice.choice((0.0, 0.1, 0.35)),
        cancel=dice.choice((0.0, 0.0, 0.01)),
    )


_MAXIMA = ("questions_max", "classifications_max")


def configuration(dice):
    """Return a pinned workflow of one to six steps."""
    names = "abcdef"[: dice.choice((1, 2, 3, 4, 4, 5, 5, 6, 6))]
    steps, above = {}, {}
    for place, name in enumerate(names):
        requires = [upper for upper in names[:place] if dice.random() < 0.45]
        above[name] = {*requires, *(higher for upper in requires for higher in above[upper])}
        steps[name] = _step(dice, requires, sorted(above[name]))
    price = Price(input_per_token_usd=1e-6, output_per_token_usd=3e-6) if dice.random() < 0.5 else None
    search = dice.choice(("depth_first", "depth_first", "depth_first", "depth_first", "blind", "linear"))
    policy = dice.choice(("default", "default", "belief")) if search == "depth_first" else "default"
    return pinned(
        steps,
        price=price,
        search=search,
        policy=policy,
        no_input=policy == "belief" and dice.random() < 0.3,
        r_patience=dice.choice((2, 2, 3)),
        e_max=dice.choice((None, None, 0, 1, 2)),
        **dict(zip(_MAXIMA, dice.choice(((0, 0), (0, 4), (1, 0), (1, 1), (5, 0), (5, 4))), strict=True)),
        feedback_window=dice.randint(1, 5),
        output_tokens_max=dice.choice((50, 4096)),
        question_expires_seconds=dice.choice((None, None, 1_000.0)),
    )


def _step(dice, requires, above):
    step = {"requires": requires, "rmax": dice.randint(1, 3), "backtrack_budget": dice.choice((0, 1, 1, 2, 3))}
    if role := dice.choice(ROLES):
        step["role"] = role
    chance = dice.random()
    if chance < 0.1:
        step["deterministic"] = True
    elif chance > 0.9:
        step |= {"generator": "workflow:below", "child_calls": 3}
    if dice.random() < 0.1:
        step["guard"] = dice.choice(("human_review", {"all_of": ["toy", "human_review"]}))
    if above and dice.random() < 0.2:
        step["escalate_to"] = dice.sample(above, dice.randint(1, len(above)))
    if above and dice.random() < 0.1:
        step["escalate_by_guard"] = {"toy": [dice.choice(above)]}
    return step


def limits(dice, config):
    """Return limits, most of them wide enough now and then; only a policy with a belief has a least value of a move."""
    return Limits(
        stop_below=None if config.policy.belief is None else dice.choice((0.0, 0.0, 0.01, 0.05, 0.2)),
        calls=dice.choice((2, 10, 40, 200, 200, 200)),
        tokens=dice.choice((*[None] * 6, 20_000, 120_000)),
        micro_usd=dice.choice((*[None] * 6, 20_000, 300_000)),
        active_seconds=dice.choice((*[None] * 6, 20.0, 300.0)),
        deadline=dice.choice((*[None] * 6, START + 100.0, START + 9_000.0)),
        at_limit=dice.choice((None, "stop", "ask", "ask")),
    )


def reply(dice, sky, number):
    """Return what a generator brings: a reply, now and then one seen before, or a fault."""
    if dice.random() < sky.fault:
        kind = dice.choice(list(FaultKind)) if dice.random() < 0.2 else dice.choice(list(_PASSING))
        retry_after = dice.choice((None, None, 0.0, 5.0, 200.0, 590.0)) if kind is FaultKind.RATE_LIMITED else None
        return Fault(kind=kind, message=f"fault {number} \ud800", retry_after=retry_after)
    text = f'{{"number": {number}}}' if dice.random() < 0.8 else dice.choice(('{"again": 1}', "\udcff", ""))
    usage = dice.choice((None, Usage(input_tokens=30, output_tokens=20), Usage(input_tokens=9_000, output_tokens=900)))
    return Reply(text=text, usage=usage, model="toy")


def cause(dice, sky, number):
    """Return what a classifier brings: a code, prose, an unknown code, or a fault."""
    made = reply(dice, sky, number)
    if isinstance(made, Fault) or dice.random() < 0.2:
        return made
    code = dice.choice((*Cause, "odd"))
    return Reply(text=f'{{"cause": "{code}"}}', usage=made.usage, model="toy")


_PASSING = (
    FaultKind.REFUSED_CONNECTION,
    FaultKind.RATE_LIMITED,
    FaultKind.SERVER_ERROR,
    FaultKind.CUT,
    FaultKind.TIMEOUT,
    FaultKind.BAD_REPLY,
)


def verdict(dice, sky, number, *, leaf):
    """Return what a guard says; leaves fail more often, so that searches go deep.

    A rejection carries its number in its first message, so that it can be found again.
    """
    if dice.random() < (sky.passes if leaf else 0.6 + 0.4 * sky.passes):
        return Verdict(guard="toy", passed=True, score=1.0)
    if dice.random() < sky.same:
        codes = [dice.choice(("plan.dead_end", "plan.goal_unreachable", "plan.cycle"))]
    else:
        codes = dice.sample(CODES, dice.choice((0, 1, 1, 1, 2)))
    findings = tuple(
        Finding(
            code=code,
            message=f"#R{number}# is wrong" if place == 0 else "is wrong too",
            where=dice.choice(("", "s1")) if dice.random() > sky.same else "s1",
            tags=tuple(dice.sample(list(ReasonTag), 1)) if dice.random() < 0.15 else (),
            answer_schema=dice.choice((None, YES_NO, choice(["red", "blue"]))) if dice.random() < 0.3 else None,
        )
        for place, code in enumerate(codes)
    )
    fatal = dice.random() < sky.fatal
    if fatal and number % 8:  # Most are questions; the others send the search back at once.
        settled = Finding(code="requirements.conflict", message=f"#R{number}# is wrong")
        findings = (settled, *findings[1:])
    return Verdict(guard="toy", passed=False, score=dice.random() * 0.9, findings=findings, fatal=fatal)
