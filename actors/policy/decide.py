"""`decide`: from a failure to a decision. Total and pure, over rule table and budgets (docs/reference/policy.md).

Three questions in turn: what does the table want (`_wanted`), which move do the budgets allow (`actors.search.moves`),
and may the step still cause an escalation (`e_max`), or must a person be asked instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from actors.policy.cause import Cause, row_for
from actors.policy.table import BACKOFF_MAX, BacktrackLevel, Policy, Row
from actors.search.graph import Graph
from actors.search.moves import Move, Redo, Retry, Search, Stuck, choose, forward_only, one_up, stay, stuck
from actors.search.progress import Progress
from actors.values.findings import Code, Finding, Verdict
from runtime.core.events import Value

Signature = frozenset[tuple[str, str]]
"""The set of (code, where) of a verdict's error findings: two failures with the same one are the same failure."""


class Decision(Value):
    """What is done about a failure.

    `rule` is the id of the row that fired and `code` the finding that fired it; `targets` the steps redone (the failed
    step itself for a retry or a question); `wanted` is what the policy asked for where the budgets gave something else;
    `delay_seconds` is the back-off before a retry. `classified` is a classifier's code, where that selected the row.
    `summary` says what it is about.
    """

    step: str
    node: str
    level: BacktrackLevel
    targets: tuple[str, ...] = ()
    rule: str
    code: str = ""
    wanted: tuple[str, ...] | None = None
    delay_seconds: float = 0.0
    classified: Cause | None = None


@dataclass(frozen=True, slots=True)
class Escalation:
    """A step's escalation settings: patience, how many escalations it may cause (None: no limit), and where they go."""

    r_patience: int = 2
    e_max: int | None = None
    escalate_to: tuple[str, ...] = ()
    escalate_by_guard: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """An earlier failure of this round: its step, its signature, and how far up its decision went.

    `up` is the place of the farthest target in `Graph.upward(step, 1)`, from 1; 0 is a retry or a question.
    """

    step: str
    signature: Signature
    up: int


@dataclass(frozen=True, slots=True)
class Failure:
    """A rejected artifact: where, and what the guard said."""

    step: str
    node: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a decision may depend on besides the failure: budgets, history of this round, and settings."""

    graph: Graph
    progress: Progress
    roles: Mapping[str, str]
    policy: Policy
    search: Search
    history: Sequence[Past]
    escalation: Escalation
    questions_left: int


def signature(verdict: Verdict) -> Signature:
    """Return what identifies a failure."""
    return frozenset((finding.code, finding.where) for finding in verdict.errors)


def places_up(graph: Graph, step: str, targets: Sequence[str]) -> int:
    """Return how far up the farthest target stands in the order in which steps above are tried, from 1; else 0."""
    return max((place for place, upper in enumerate(graph.upward(step, 1), 1) if upper in targets), default=0)


def decide(failure: Failure, situation: Situation, cause: Cause | None = None) -> Decision:
    """Return what to do about the failure; never fails.

    `cause` is what a classifier said: it selects the row, and the budgets allow what they allow. A search that does not
    look at what was found does not look at this either.
    """
    graph, progress = situation.graph, situation.progress
    match situation.search:
        case Search.LINEAR:
            return _decision(failure, graph, _baseline("linear", failure), forward_only(graph, progress, failure.step))
        case Search.BLIND:
            return _decision(failure, graph, _baseline("blind", failure), one_up(graph, progress, failure.step))
        case Search.DEPTH_FIRST:
            return _informed(failure, situation, cause)
        case _:
            assert_never(situation.search)


@dataclass(frozen=True, slots=True)
class _Wish:
    """What the table wants, before the budgets are asked."""

    level: BacktrackLevel
    targets: tuple[str, ...]
    rule: str
    finding: Finding | None = None
    delay_seconds: float = 0.0
    classified: Cause | None = None


def _baseline(rule: str, failure: Failure) -> _Wish:
    """Return the wish of a search that does not look at what was found."""
    return _Wish(BacktrackLevel.LOCAL_RETRY, (), rule, next(iter(failure.verdict.errors), None))


def _informed(failure: Failure, situation: Situation, cause: Cause | None) -> Decision:
    graph, progress, step = situation.graph, situation.progress, failure.step
    wish = _classified(failure, situation, cause) or _wanted(failure, situation)
    may_ask = situation.questions_left > 0
    if wish.level is BacktrackLevel.GIVE_UP:
        return _decision(failure, graph, wish, stuck(graph, step))
    if wish.level is BacktrackLevel.CLARIFY:
        if may_ask:
            return _question(failure, wish)
        # Nobody may be asked any more: mend it here, or further up where no retry can help.
        here = () if failure.verdict.fatal else (step,)
        wish = replace(wish, level=BacktrackLevel.LOCAL_RETRY, targets=here)
    move = choose(graph, progress, step, wish.targets)
    if isinstance(move, Redo) and move.targets != (step,) and _used_up(failure, situation):
        wish = replace(wish, rule="e_max")
        if may_ask:
            return _question(failure, wish)
        move = stay(graph, progress, step)
    return _decision(failure, graph, wish, move)


def _used_up(failure: Failure, situation: Situation) -> bool:
    """Tell whether the step has caused all the escalations that it may cause in a round (S104)."""
    e_max = situation.escalation.e_max
    caused = sum(1 for past in situation.history if past.step == failure.step and past.up > 0)
    return e_max is not None and caused >= e_max


def _question(failure: Failure, wish: _Wish) -> Decision:
    return Decision(
        step=failure.step,
        node=failure.node,
        level=BacktrackLevel.CLARIFY,
        targets=(failure.step,),
        rule=wish.rule,
        code=wish.finding.code if wish.finding else "",
        classified=wish.classified,
    )


def _decision(failure: Failure, graph: Graph, wish: _Wish, move: Move) -> Decision:
    targets: tuple[str, ...] = ()
    match move:
        case Retry():
            level, targets = BacktrackLevel.LOCAL_RETRY, (failure.step,)
        case Redo(targets=targets):
            asked_for = set(targets) <= set(wish.targets) and wish.level is not BacktrackLevel.LOCAL_RETRY
            root = set(targets) & set(_root(graph, failure.step))
            level = wish.level if asked_for else BacktrackLevel.FULL_REPLAN if root else BacktrackLevel.PARTIAL_REPLAN
        case Stuck():
            level = BacktrackLevel.GIVE_UP
        case _:
            assert_never(move)
    return Decision(
        step=failure.step,
        node=failure.node,
        level=level,
        targets=targets,
        rule=wish.rule,
        code=wish.finding.code if wish.finding else "",
        wanted=wish.targets if wish.targets and set(wish.targets) != set(targets) else None,
        delay_seconds=wish.delay_seconds if level is BacktrackLevel.LOCAL_RETRY else 0.0,
        classified=wish.classified,
    )


def _classified(failure: Failure, situation: Situation, cause: Cause | None) -> _Wish | None:
    """Return what the row that a classifier's code selects wants, or None where it selects none."""
    row = None if cause is None else row_for(cause, situation.policy)
    if row is None:
        return None
    shown = next(iter(failure.verdict.errors), None)
    return replace(_wish(row, failure, situation, shown, _streak(failure, situation)), classified=cause)


def _wanted(failure: Failure, situation: Situation) -> _Wish:
    """Return the first row that fires, with its target found in the graph."""
    errors = failure.verdict.errors
    streak = _streak(failure, situation)
    for row in situation.policy.rows:
        finding = next((error for error in errors if row.matches(error)), None)
        repeated = row.repeated and bool(errors) and streak >= situation.escalation.r_patience
        if finding is not None or repeated or row.always or (row.fatal and failure.verdict.fatal):
            return _wish(row, failure, situation, finding or (errors[0] if errors else None), streak)
    raise AssertionError("a policy's last row matches everything")


def _wish(row: Row, failure: Failure, situation: Situation, shown: Finding | None, streak: int) -> _Wish:
    delay = min(BACKOFF_MAX, row.backoff_seconds * 2 ** min(streak - 1, 10))
    return _Wish(row.level, _targets(row, failure, situation), row.id, shown, delay)


def _streak(failure: Failure, situation: Situation) -> int:
    """Return how many failures of the step in a row, this one included, found the same."""
    mine = signature(failure.verdict)
    count = 1
    for past in reversed([past for past in situation.history if past.step == failure.step]):
        if past.signature != mine:
            break
        count += 1
    return count


def wanted_targets(step: str, graph: Graph, roles: Mapping[str, str], policy: Policy) -> Mapping[str, tuple[str, ...]]:
    """Return which rows send a rejection of the step where, by target; for `further`, every step above."""
    found: dict[str, list[str]] = {}
    for row in policy.rows:
        upward = row.target == "further"
        for target in graph.upward(step, 1) if upward else _named(row, step, graph, roles):
            found.setdefault(target, []).append(row.id)
    return {target: tuple(rows) for target, rows in found.items()}


def after_change(graph: Graph, roles: Mapping[str, str], policy: Policy) -> tuple[BacktrackLevel, tuple[str, ...]]:
    """Return how far back a changed requirement goes: the level, and the steps to redo.

    No step has failed, so the row of `requirements.changed` is read from every leaf, and `root` means all roots. A row
    that names the step itself, that asks or that gives up redoes the leaves: what the user has said is heard.
    """
    changed = Finding(code=Code.CHANGED, message="")
    row = next(row for row in policy.rows if row.matches(changed) or row.always)
    level = row.level if row.level in _REPLANS else BacktrackLevel.PARTIAL_REPLAN
    if row.target == "root":
        return level, tuple(step for step in graph.steps if not graph.requires[step])
    here = row.target in ("self", "further")
    found = {
        target for leaf in graph.leaves for target in ((leaf,) if here else _named(row, leaf, graph, roles) or (leaf,))
    }
    return level, tuple(step for step in graph.steps if step in found)


_REPLANS = (BacktrackLevel.PARTIAL_REPLAN, BacktrackLevel.FULL_REPLAN)


def _targets(row: Row, failure: Failure, situation: Situation) -> tuple[str, ...]:
    if row.target == "further":
        return _further(failure, situation)
    return _named(row, failure.step, situation.graph, situation.roles)


def _named(row: Row, step: str, graph: Graph, roles: Mapping[str, str]) -> tuple[str, ...]:
    kind, _, detail = row.target.partition(" ")
    match kind:
        case "self":
            return (step,)
        case "root":
            return _root(graph, step)
        case "role":
            return _by_role(detail, step, graph, roles)
        case _:
            return _at(graph, step, int(detail))


def _root(graph: Graph, step: str) -> tuple[str, ...]:
    """Return the first root above a step, in file order: where a full replan starts."""
    return tuple(upper for upper in graph.above[step] if not graph.requires[upper])[:1]


def _by_role(detail: str, step: str, graph: Graph, roles: Mapping[str, str]) -> tuple[str, ...]:
    role, _, otherwise = detail.partition(" or up ")
    if roles[step] == role:
        return (step,)
    found = next((upper for upper in graph.upward(step, 1) if roles[upper] == role), None)
    if found is not None:
        return (found,)
    return _at(graph, step, int(otherwise)) if otherwise else ()


def _further(failure: Failure, situation: Situation) -> tuple[str, ...]:
    """Return where a stagnating step escalates to: as configured, else one further up than its last failure went."""
    escalation = situation.escalation
    by_guard = (escalation.escalate_by_guard or {}).get(failure.verdict.guard, ())
    if by_guard or escalation.escalate_to:
        return by_guard or escalation.escalate_to
    upward = situation.graph.upward(failure.step, 1)
    last = next((past.up for past in reversed(situation.history) if past.step == failure.step), 0)
    return tuple(upward[last : last + 1] or upward[-1:])


def _at(graph: Graph, step: str, distance: int) -> tuple[str, ...]:
    """Return the ancestor at a distance, or the farthest there is; ties: later in the file first."""
    upward = graph.upward(step, distance) or graph.upward(step, 1)[-1:]
    return tuple(upward[:1])


def summary(decision: Decision, verdict: Verdict) -> str:
    """Return the failure that a decision is about, in one line for people; `verdict` is the one on its node."""
    finding = next((error for error in verdict.errors if error.code == decision.code), None)
    if finding is None:
        return f"{decision.step} was rejected by {verdict.guard}"
    place = f" at {finding.where}" if finding.where else ""
    return f"{finding.code}{place}: {finding.message}"[:300]
