"""`decide`: the decision after a failure, from the rule table and the budgets.

Pure, never raises (`docs/reference/policy.md`). First, the table proposes a level and targets (`_propose`). Second,
`actors.search.progress` chooses a move that the budgets allow. Third, a person is asked if the move goes back to an
earlier step and the failed step has used up its escalations (`e_max`). If no question is left, the search continues or
ends instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, assert_never

from actors.policy.belief import (
    NOTHING,
    BeliefModel,
    Came,
    CountedRejection,
    Past,
    distance_up,
    repeat_factors,
    signature,
)
from actors.policy.belief_choice import Bounds, Weighing, record_weighing, steps_known_right, weigh
from actors.policy.table import BACKOFF_MAX, REPLANS, BacktrackLevel, Cause, Policy, Row, row_for
from actors.search.graph import Graph
from actors.search.progress import (
    BranchProgress,
    Move,
    Redo,
    Retry,
    Search,
    Stuck,
    can_retry,
    choose,
    cleared_steps,
    forward_only,
    retry_or_go_up,
    stay,
)
from actors.values.findings import Code, Finding, Verdict
from runtime.core.events import Value


def belief_row(verdict: Verdict, policy: Policy) -> str:
    """Return the id of the row that matches a rejection; empty if the policy decides without its belief.

    Rows about repeated failures and about facts never match here, because the belief itself counts repeats and facts.
    """
    if policy.belief is None:
        return ""
    row = _match_row(verdict, policy).id
    return "" if row in policy.belief.rules else row


def _match_row(verdict: Verdict, policy: Policy) -> Row:
    errors = verdict.errors
    for row in policy.rows:
        if row.repeated or row.repeats or row.informative:
            continue
        if any(map(row.matches, errors)) or (row.fatal and verdict.fatal) or row.always:
            return row
    raise AssertionError("a policy's last row matches everything")


def _retries_by_row(step: str, row: str, history: Sequence[Past]) -> int:
    """Return how many retries of the step the row has caused since the step last made the search go back."""
    retries = 0
    for past in reversed([past for past in history if past.step == step]):
        if past.up > 0:
            break
        retries += past.mended == row
    return retries


def _mending_row(failure: "Failure", matched: Row, situation: "Situation") -> Row | None:
    """Return the row under `mends` that causes a retry now, without the belief; None if no row does.

    `matched` is the row that matches the rejection. Rows about a repeated artifact are tried first, then `matched`,
    then rows about facts.
    """
    belief, rows = situation.policy.belief, situation.policy.rows
    if belief is None or not belief.mends:
        return None
    again = [row for row in rows if row.repeats and failure.again]
    has_fact = matched.id not in belief.rules and failure.verdict.has_fact
    fact_rows = [row for row in rows if row.informative and has_fact]
    for row in (*again, matched, *fact_rows):
        if _retries_by_row(failure.step, row.id, situation.history) < belief.mends.get(row.id, 0):
            return row
    return None


BELIEF = "belief"
"""The name that decisions show as their rule if a policy made them by its belief, not by a row."""


def wanted_targets(step: str, graph: Graph, roles: Mapping[str, str], policy: Policy) -> Mapping[str, tuple[str, ...]]:
    """Return a mapping from each possible target after a failure of the step to the ids of the rows that can choose it.

    A row with the target `further`, and a policy's belief, can choose every step above.
    """
    rules: dict[str, list[str]] = {}
    if policy.belief is not None:
        rules = {upper: [BELIEF] for upper in graph.upward(step, 1)}
    for row in policy.rows:
        if policy.belief is not None and row.id not in policy.belief.rules:
            continue
        upward = row.target == "further"
        for target in graph.upward(step, 1) if upward else resolve_target(row, step, graph, roles):
            rules.setdefault(target, []).append(row.id)
    return {target: tuple(ids) for target, ids in rules.items()}


def after_change(graph: Graph, roles: Mapping[str, str], policy: Policy) -> tuple[BacktrackLevel, tuple[str, ...]]:
    """Return how far back the search goes after a requirement has changed: the level, and the steps to redo.

    The row for `requirements.changed` decides. No step has failed, so the row's target is computed for each leaf as if
    the leaf had failed. The target `root` means all roots. The leaves are redone if the target is `self` or `further`,
    or if the target does not exist. So a change always has an effect.
    """
    changed = Finding(code=Code.CHANGED, message="")
    row = next(row for row in policy.rows if row.matches(changed) or row.always)
    level = row.level if row.level in REPLANS else BacktrackLevel.PARTIAL_REPLAN
    if row.target == "root":
        return level, tuple(step for step in graph.steps if not graph.requires[step])
    redo_leaves = row.target in ("self", "further")
    targets = {
        target
        for leaf in graph.leaves
        for target in ((leaf,) if redo_leaves else resolve_target(row, leaf, graph, roles) or (leaf,))
    }
    return level, tuple(step for step in graph.steps if step in targets)


def resolve_target(row: Row, step: str, graph: Graph, roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the steps that a row's target names, seen from the failed step. The target must not be `further`."""
    kind, _, detail = row.target.partition(" ")
    match kind:
        case "self":
            return (step,)
        case "root":
            return root_above(graph, step)
        case "role":
            return _find_targets(detail, step, graph, roles)
        case _:
            return _ancestor_at(graph, step, int(detail))


def root_above(graph: Graph, step: str) -> tuple[str, ...]:
    """Return the target of a full replan: the first root, in file order, above a step; empty if the step is a root."""
    return tuple(upper for upper in graph.above[step] if not graph.requires[upper])[:1]


def _find_targets(detail: str, step: str, graph: Graph, roles: Mapping[str, str]) -> tuple[str, ...]:
    role, _, distance = detail.partition(" or up ")
    if roles[step] == role:
        return (step,)
    nearest = next((upper for upper in graph.upward(step, 1) if roles[upper] == role), None)
    if nearest is not None:
        return (nearest,)
    return _ancestor_at(graph, step, int(distance)) if distance else ()


def _ancestor_at(graph: Graph, step: str, distance: int) -> tuple[str, ...]:
    """Return the nearest ancestor at the distance or beyond it; the farthest ancestor if no ancestor is that far away.

    Of several equally near ancestors, the last one in the file is returned.
    """
    upward = graph.upward(step, distance) or graph.upward(step, 1)[-1:]
    return tuple(upward[:1])


NOT_UNDERSTOOD = "not_understood"
"""The rule that gives up a step because its model does not understand the problem."""
NOT_WORTH_IT = "not_worth_it"
"""The rule of a belief policy that ends the search because no allowed move reaches `Situation.stop_below`."""


class Decision(Value):
    """The decision after a failure: how far back the search goes, to which steps, and which rule decided."""

    step: str
    node: str
    level: BacktrackLevel
    targets: tuple[str, ...] = ()
    rule: str
    """The id of the row that decided, or the name of a rule that is not a row, such as `belief`, `linear`, `blind` or
    `e_max`.
    """
    code: str = ""
    """The code of the finding that the row matched, or of the first error if the row matched no finding; empty without
    findings.
    """
    wanted: tuple[str, ...] | None = None
    """The targets that the policy proposed, if the move has other targets because of the budgets; otherwise None."""
    delay_seconds: float = 0.0
    afresh: bool = False
    """Whether the prompts of the redone steps leave out earlier rejections."""
    classified: Cause | None = None
    weighing: Weighing | None = None

    @property
    def not_worth_it(self) -> bool:
        """Whether the search ends here, because the belief finds no move worth its calls.

        Such a decision is not recorded.
        """
        return self.rule == NOT_WORTH_IT and self.weighing is not None


@dataclass(frozen=True, slots=True)
class Escalation:
    """The escalation settings of a step."""

    r_patience: int = 2
    e_max: int | None = None
    """The largest number of escalations that the step may cause in a round; None if there is no limit."""
    escalate_to: tuple[str, ...] = ()
    """The steps to which the search goes back after stagnation; if empty, the policy decides."""
    escalate_by_guard: Mapping[str, tuple[str, ...]] | None = None
    """The steps to which the search goes back, by the name of the guard that rejected. These steps replace
    `escalate_to`.
    """


@dataclass(frozen=True, slots=True)
class Failure:
    """A rejected artifact with its verdict."""

    step: str
    node: str
    verdict: Verdict
    repeats: bool = False
    """Whether the artifact repeats the text of an earlier artifact of its step in this round, or an artifact that it
    builds on does.
    """
    again: bool = False
    """Whether the artifact itself repeats the text of an earlier artifact of its step in this round."""
    came: Came = NOTHING
    """The redone steps above the failed step, by whether they made the same artifact again."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything that a decision depends on besides the failure."""

    graph: Graph
    progress: BranchProgress
    roles: Mapping[str, str]
    """The role of each step. Rows may name roles as targets (`role NAME`)."""
    policy: Policy
    """The policy. Its rows are tried in order."""
    search: Search
    history: Sequence[Past]
    """The failures of this round before the present failure, oldest first."""
    escalation: Escalation
    questions_left: int
    """The number of further questions that may be asked for the step; 0 if its last question got no answer."""
    belief: BeliefModel | None = None
    """The policy's belief table, compiled for this workflow; None if only the rows decide."""
    weighs_questions: bool = True
    """Whether the belief may choose a question to the user, because somebody can answer."""
    weighs_afresh: bool = True
    """Whether the belief may choose a fresh move, whose prompts leave out earlier rejections. False for a deterministic
    model, which would repeat its reply if the prompt did not show new rejections.
    """
    stop_below: float = 0.0
    """The lowest value (chance of success per call) of a move that the belief may choose; 0 if there is no limit."""


def decide(failure: Failure, situation: Situation, cause: Cause | None = None) -> Decision:
    """Return the decision after a failure; never raises.

    `cause` is the classifier's answer, which selects the row. The budgets still limit the move. Linear and blind search
    ignore both the findings and the cause.
    """
    graph, progress = situation.graph, situation.progress
    doubt = _misunderstanding_finding(failure, situation)
    if doubt is not None:
        proposal = _Proposal(BacktrackLevel.GIVE_UP, (), NOT_UNDERSTOOD, doubt)
        return _decision(failure, graph, proposal, Stuck())
    match situation.search:
        case Search.LINEAR:
            return _decision(failure, graph, _baseline("linear", failure), forward_only(graph, progress, failure.step))
        case Search.BLIND:
            return _decision(failure, graph, _baseline("blind", failure), retry_or_go_up(graph, progress, failure.step))
        case Search.DEPTH_FIRST:
            return _decide_by_belief(failure, situation, cause) or _decide_by_table(failure, situation, cause)
        case _:
            assert_never(situation.search)


class _Proposal(NamedTuple):
    """The decision that the policy proposes, before the budgets are checked."""

    level: BacktrackLevel
    targets: tuple[str, ...]
    rule: str
    """The id of the row that decided, or the name of a rule that is not a row."""
    finding: Finding | None = None
    """The finding that the row matched; the first error if the row matched no finding."""
    delay_seconds: float = 0.0
    """The back-off before a retry, in seconds."""
    afresh: bool = False
    classified: Cause | None = None
    weighing: Weighing | None = None


def _baseline(rule: str, failure: Failure) -> _Proposal:
    return _Proposal(BacktrackLevel.LOCAL_RETRY, (), rule, next(iter(failure.verdict.errors), None))


def _decide_by_table(failure: Failure, situation: Situation, cause: Cause | None) -> Decision:
    graph, progress, step = situation.graph, situation.progress, failure.step
    proposal = _propose_for_cause(failure, situation, cause) or _propose(failure, situation)
    may_ask = _may_ask(failure, situation)
    if proposal.level is BacktrackLevel.GIVE_UP:
        return _decision(failure, graph, proposal, Stuck())
    if proposal.level is BacktrackLevel.CLARIFY:
        if may_ask:
            return _question(failure, proposal)
        # No question may be asked any more: retry the step, or backtrack if the verdict is fatal.
        here = () if failure.verdict.fatal else (step,)
        proposal = proposal._replace(level=BacktrackLevel.LOCAL_RETRY, targets=here)
    move = choose(graph, progress, step, proposal.targets)
    if isinstance(move, Redo) and move.targets != (step,) and _is_used_up(failure, situation):
        proposal = proposal._replace(rule="e_max")
        if situation.questions_left > 0:
            return _question(failure, proposal)
        move = stay(graph, progress, step)
    return _decision(failure, graph, proposal, move)


def _decide_by_belief(failure: Failure, situation: Situation, cause: Cause | None) -> Decision | None:
    """Return the decision that the belief makes; None if the rows of the table decide."""
    model, graph, policy = situation.belief, situation.graph, situation.policy
    if model is None:
        return None
    matched = _match_row(failure.verdict, policy)
    rounds = model.table.rounds
    retry = can_retry(graph, situation.progress, failure.step)
    retry = retry and (rounds is None or situation.progress[failure.step].attempt < rounds)  # else a last resort
    mends = _mending_row(failure, matched, situation) if retry else None
    if mends is not None:
        errors = failure.verdict.errors
        finding = next((error for error in errors if mends.matches(error)), next(iter(errors), None))
        return _decision(failure, graph, _proposal(mends, failure, situation, finding, 1), Retry())
    row = belief_row(failure.verdict, policy)
    if not row and matched.id not in model.table.mends:
        return None
    history = tuple(situation.history)
    before = model.after(history, failure.came)
    again = Past(failure.step, signature(failure.verdict), row=row).is_again(history)
    rejection = CountedRejection(failure.step, row, again, failure.verdict.has_fact)
    if right := steps_known_right(graph, situation.progress):
        before = model.mark_right(before, right)
        after = model.add_rejection(before, rejection) if row else before
    else:
        after = model.rejected_after(history, failure.came, rejection) if row else before
    if cause is not None and (named := row_for(cause, situation.policy)) is not None:
        after = model.add_classification(after, resolve_target(named, failure.step, graph, situation.roles))
    now = Past(failure.step, frozenset(), fact=failure.verdict.has_fact, repeats=failure.again)
    share = model.table.afresh if situation.weighs_afresh else None
    told_factor, afresh = repeat_factors(model.author, share, (*history, now))
    bounds = Bounds(
        may_escalate=not _is_used_up(failure, situation),
        only=_escalation_targets(failure, situation.escalation),
        may_ask=_may_ask(failure, situation) and situation.weighs_questions,
        graph=graph,
        may_retry=retry,
        told=told_factor,
        afresh=afresh,
    )
    weighed = weigh(model, after, situation.progress, failure.step, bounds)
    weighed = weighed or weigh(model, after, situation.progress, failure.step, replace(bounds, may_retry=True))
    weighing = record_weighing(model.places(before), model.places(after), weighed)
    finding = next(iter(failure.verdict.errors), None)
    targets = weighed[0].move.targets if weighed and isinstance(weighed[0].move, Redo) else ()
    rule = BELIEF if weighed or bounds.may_escalate else "e_max"
    begins_afresh = bool(weighed) and weighed[0].afresh
    proposal = _Proposal(
        BacktrackLevel.LOCAL_RETRY, targets, rule, finding, afresh=begins_afresh, classified=cause, weighing=weighing
    )
    if weighed and weighed[0].value < situation.stop_below:
        return _decision(failure, graph, proposal._replace(rule=NOT_WORTH_IT), Stuck())
    asks = weighed[0].move is None if weighed else not bounds.may_escalate and situation.questions_left > 0
    if asks:
        return _question(failure, proposal)
    return _decision(failure, graph, proposal, (weighed[0].move if weighed else None) or Stuck())


def remember_failure(
    verdict: Verdict,
    decision: Decision,
    graph: Graph,
    policy: Policy,
    came: Came = NOTHING,
    *,
    repeats: bool = False,
) -> Past:
    """Return a failure and the decision about it as an entry of `Situation.history`.

    `repeats` says whether the artifact repeats an earlier artifact word for word.
    """
    up = distance_up(graph, decision.step, decision.targets)
    if policy.belief is None:
        retried_by = decision.rule if decision.level is BacktrackLevel.LOCAL_RETRY else ""
        return Past(decision.step, signature(verdict), up, mended=retried_by, repeats=repeats)
    targets = decision.targets if decision.level in REPLANS else (decision.step,)
    redone = () if decision.level is BacktrackLevel.GIVE_UP else cleared_steps(graph, targets)
    mended = decision.rule if decision.rule in policy.belief.mends else ""
    row = belief_row(verdict, policy)
    return Past(decision.step, signature(verdict), up, row, redone, came, mended, verdict.has_fact, repeats)


def _escalation_targets(failure: Failure, escalation: Escalation) -> tuple[str, ...]:
    return (escalation.escalate_by_guard or {}).get(failure.verdict.guard, ()) or escalation.escalate_to


def _misunderstanding_finding(failure: Failure, situation: Situation) -> Finding | None:
    """Return the finding that the model does not understand the problem, unless a person is asked first; else None.

    After this finding, every search gives up, because a further attempt of this model cannot be better.
    """
    doubt = next((finding for finding in failure.verdict.findings if finding.code == Code.NOT_UNDERSTOOD), None)
    asks = situation.search is Search.DEPTH_FIRST and situation.questions_left > 0
    return None if doubt is None or (doubt.severity == "warning" and asks) else doubt


def _may_ask(failure: Failure, situation: Situation) -> bool:
    return situation.questions_left > 0 and any(finding.askable for finding in failure.verdict.errors)


def _is_used_up(failure: Failure, situation: Situation) -> bool:
    e_max = situation.escalation.e_max
    caused = sum(1 for past in situation.history if past.step == failure.step and past.up > 0)
    return e_max is not None and caused >= e_max


def _decision(failure: Failure, graph: Graph, proposal: _Proposal, move: Move) -> Decision:
    targets: tuple[str, ...] = ()
    match move:
        case Retry():
            level, targets = BacktrackLevel.LOCAL_RETRY, (failure.step,)
        case Redo(targets=targets):
            as_proposed = set(targets) <= set(proposal.targets) and proposal.level is not BacktrackLevel.LOCAL_RETRY
            root = set(targets) & set(root_above(graph, failure.step))
            replan = BacktrackLevel.FULL_REPLAN if root else BacktrackLevel.PARTIAL_REPLAN
            level = proposal.level if as_proposed else replan
        case Stuck():
            level = BacktrackLevel.GIVE_UP
        case _:
            assert_never(move)
    differs = bool(proposal.targets) and set(proposal.targets) != set(targets)
    delay = proposal.delay_seconds if level is BacktrackLevel.LOCAL_RETRY else 0.0
    return _record(
        failure,
        proposal,
        level,
        targets,
        wanted=proposal.targets if differs else None,
        delay_seconds=delay,
        afresh=proposal.afresh and not differs and level is not BacktrackLevel.GIVE_UP,
    )


def _question(failure: Failure, proposal: _Proposal) -> Decision:
    return _record(failure, proposal, BacktrackLevel.CLARIFY, (failure.step,))


def _record(
    failure: Failure, proposal: _Proposal, level: BacktrackLevel, targets: tuple[str, ...], **fields: Any
) -> Decision:
    return Decision(
        step=failure.step,
        node=failure.node,
        level=level,
        targets=targets,
        rule=proposal.rule,
        code=proposal.finding.code if proposal.finding else "",
        classified=proposal.classified,
        weighing=proposal.weighing,
        **fields,
    )


def _propose_for_cause(failure: Failure, situation: Situation, cause: Cause | None) -> _Proposal | None:
    row = None if cause is None else row_for(cause, situation.policy)
    if row is None:
        return None
    finding = next(iter(failure.verdict.errors), None)
    proposal = _proposal(row, failure, situation, finding, _streak(failure, situation))
    return proposal._replace(classified=cause)


def _propose(failure: Failure, situation: Situation) -> _Proposal:
    errors = failure.verdict.errors
    streak = _streak(failure, situation)
    for row in situation.policy.rows:
        finding = next((error for error in errors if row.matches(error)), None)
        repeated = row.repeated and bool(errors) and streak >= situation.escalation.r_patience
        again = failure.again if row.level is BacktrackLevel.LOCAL_RETRY else failure.repeats
        other = (row.fatal and failure.verdict.fatal) or (row.repeats and again)
        if row.times is not None and not _may_retry_again(row, failure, situation):
            continue
        if finding is not None or repeated or row.always or other:
            return _proposal(row, failure, situation, finding or (errors[0] if errors else None), streak)
    raise AssertionError("a policy's last row matches everything")


def _may_retry_again(row: Row, failure: Failure, situation: Situation) -> bool:
    """Return whether a row with `times` allows another retry of the step, and the visit has an attempt left."""
    retries = _retries_by_row(failure.step, row.id, situation.history)
    return retries < (row.times or 0) and can_retry(situation.graph, situation.progress, failure.step)


def _proposal(row: Row, failure: Failure, situation: Situation, finding: Finding | None, streak: int) -> _Proposal:
    delay = min(BACKOFF_MAX, row.backoff_seconds * 2 ** min(streak - 1, 10))
    return _Proposal(row.level, _targets(row, failure, situation), row.id, finding, delay, afresh=row.afresh)


def _streak(failure: Failure, situation: Situation) -> int:
    """Return how many failures of the step in succession have the same signature, including this failure."""
    current = signature(failure.verdict)
    count = 1
    for past in (past for past in reversed(situation.history) if past.step == failure.step):
        if past.signature != current:
            break
        count += 1
    return count


def _targets(row: Row, failure: Failure, situation: Situation) -> tuple[str, ...]:
    if row.target == "further":
        return _further(failure, situation)
    return resolve_target(row, failure.step, situation.graph, situation.roles)


def _further(failure: Failure, situation: Situation) -> tuple[str, ...]:
    """Return the targets of `further`: the configured targets, or the step after the last target in `Graph.upward`."""
    if configured := _escalation_targets(failure, situation.escalation):
        return configured
    upward = situation.graph.upward(failure.step, 1)
    last = next((past.up for past in reversed(situation.history) if past.step == failure.step), 0)
    return tuple(upward[last : last + 1] or upward[-1:])


def summary(decision: Decision, verdict: Verdict) -> str:
    """Return one line for people about the rejection that led to a decision. `verdict` is the rejection's verdict."""
    findings = (*verdict.errors, *verdict.findings)
    finding = next((finding for finding in findings if finding.code == decision.code), None)
    if finding is None:
        return f"{decision.step} was rejected by {verdict.guard}"
    place = f" at {finding.where}" if finding.where else ""
    return f"{finding.code}{place}: {finding.message}"[:300]


_REQUIREMENTS = "requirements."
"""The beginning of all codes about the user's requirements. No model is asked about a finding with such a code, because
only the user knows more.
"""


def is_worth_classifying(failure: Failure, situation: Situation, decided: Decision) -> bool:
    """Return whether to call the classifier before the decision `decided` is carried out.

    The classifier is called if the decision is costly and an answer of the classifier can change the move. The
    classifier is not called if the code is about the requirements, or if an error has a reason tag. With a reason tag,
    the guard has classified the failure itself.
    """
    tagged = any(finding.tags for finding in failure.verdict.errors)
    if tagged or decided.code.startswith(_REQUIREMENTS) or not _costly(decided, situation.graph):
        return False
    return any(_move(decide(failure, situation, cause)) != _move(decided) for cause in Cause)


def _costly(decided: Decision, graph: Graph) -> bool:
    if decided.level is BacktrackLevel.FULL_REPLAN:
        return True
    levels = max((graph.distance(target, decided.step) for target in decided.targets), default=0)
    return decided.level is BacktrackLevel.PARTIAL_REPLAN and levels > 1


def _move(decided: Decision) -> tuple[BacktrackLevel, tuple[str, ...], bool]:
    return decided.level, decided.targets, decided.afresh
