"""`plan_medium`: if no step fails, every step can run and the goal is reached, in every order that the plan allows.

A contingent step needs a token that only a failure makes. For each contingent step, at least one sequence of successes
and failures (trace) must run the step. The steps of a policy have no order, and at least one trace must reach the goal.
The time is polynomial, except for the two explorations of traces, which `max_explorations` limits.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, assert_never

from actors.files.suggestions import closest
from actors.guards.plan_minimal import NEAR_LENGTH_MAX, NEAR_MAX, SCORE_MAX, Structure, check_structure
from actors.guards.plan_settings import WORKFLOW_SETTINGS, Settings, plan_verdict, read_settings, sort_findings
from actors.guards.port import Guard, GuardDefinition
from actors.plans.exploration import Exploration, explore_plan
from actors.plans.graph import StepOrder, contingent_steps, reachable_by_failure
from actors.plans.nominal import NominalRun, UncertaintyCause, Unmet, orphans
from actors.plans.plan import Plan, Step
from actors.plans.reductions import OutOfWork
from actors.values.artifacts import Artifact, Context
from actors.values.findings import FINDINGS_MAX, Code, Finding, Verdict
from actors.values.format import ITEMS_MAX, id_list, printable, quote_names

_CODES = {
    UncertaintyCause.NOT_PRODUCED: Code.PRECONDITION_UNSATISFIED,
    UncertaintyCause.NOT_ORDERED: Code.PRECONDITION_UNORDERED,
    UncertaintyCause.DELETED: Code.PRECONDITION_DELETED,
}


@dataclass
class Soundness:
    """What the checks of `plan_medium` found in one plan."""

    findings: list[Finding] = field(default_factory=list)
    first_failing_step: str | None = None
    """The id of the first step, in topological order, that cannot run; None if every step can run."""
    unmet: list[str] = field(default_factory=list)
    score: float = 1.0
    sound: bool = True
    """Whether the plan works if no step fails. Failures are explored only if it does."""
    exploration: Exploration | None = None
    """The exploration of a policy or of contingent steps; None if the plan needs no exploration."""

    @property
    def facts(self) -> dict[str, Any]:
        """The values that the verdict reports in its `facts`."""
        return {
            "first_failing_step": self.first_failing_step,
            "unmet": self.unmet,
            "assurance": None,
            "escalations": [],
            "explored": 0 if self.exploration is None else self.exploration.explored,
        }


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard. Raises `UsageProblem` for an unknown or invalid setting."""
    settings = read_settings(config)

    def plan_medium(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001
        structure = check_structure(artifact, settings)
        if structure.plan is None or structure.order is None:
            return plan_verdict("plan_medium", structure.findings, structure.score, Soundness().facts)
        sound = check_soundness(structure, structure.plan, structure.order, settings)
        return plan_verdict("plan_medium", sound.findings, sound.score, sound.facts)

    return plan_medium


DEFINITION = GuardDefinition(make, workflow_settings=WORKFLOW_SETTINGS)


def check_soundness(
    structure: Structure, plan: Plan, order: StepOrder, settings: Settings, *, whole: bool = False
) -> Soundness:
    """Check a plan whose structure is valid, and return the results.

    With `whole`, explore all traces of the plan, even traces that this check does not need.
    """
    result = Soundness(findings=[*structure.findings, *_check_states(plan)])
    result.sound = not any(finding.severity == "error" for finding in result.findings)
    if plan.is_policy or plan.has_outcomes:
        _check_by_traces(result, plan, order, settings, whole=whole)
    else:
        _check_nominal(result, plan, order)
        _check_contingent(result, plan, order, settings, whole=whole)
    budget = list(_check_budgets(plan, settings))
    if budget and result.score == 1.0:
        result.score = 0.9
    result.findings = sort_findings([*result.findings, *budget], order.index)
    return result


def _check_states(plan: Plan) -> Iterator[Finding]:
    if not plan.initial_state:
        text = "initial_state is empty; list the tokens that hold before the first step."
        yield Finding(code=Code.INITIAL_UNDEFINED, where="initial_state", message=text)
    if not plan.goal_state:
        text = "goal_state is empty; list the tokens that must hold at the end."
        yield Finding(code=Code.GOAL_UNDEFINED, where="goal_state", message=text)


def _check_budgets(plan: Plan, settings: Settings) -> Iterator[Finding]:
    needed, total = sum(step.retry_budget for step in plan.steps), plan.total_retry_budget
    if needed > total:
        text = (
            f"The steps' retry_budgets add up to {needed}, more than total_retry_budget ({total}); "
            f"lower some retry_budgets, or raise total_retry_budget to at least {needed}."
        )
        yield Finding(code=Code.BUDGET_OVER_TOTAL, where="total_retry_budget", message=text)
    if total > settings.r_max:
        text = f"total_retry_budget is {total}, more than the allowed {settings.r_max}; plan fewer steps or attempts."
        yield Finding(code=Code.BUDGET_OVER_R_MAX, where="total_retry_budget", message=text)


def _check_nominal(result: Soundness, plan: Plan, order: StepOrder) -> None:
    try:
        _check_run(result, plan, order)
    except OutOfWork:
        text = (
            "Not verified: too many steps delete tokens that too many other steps make again. "
            "Order these steps one after the other, or split the plan."
        )
        result.findings.append(Finding(code=Code.TOO_COMPLEX, message=text, where="steps"))
        result.sound, result.score = False, SCORE_MAX


def _check_run(result: Soundness, plan: Plan, order: StepOrder) -> None:
    contingent = contingent_steps(plan)
    run = NominalRun(plan, order, contingent)
    findings = result.findings
    failing: dict[int, list[str]] = {}
    redundant: list[Step] = []
    for index in run.indices:
        step = order.steps[index]
        # The steps are in the order in which a verdict lists its errors, and a verdict keeps only a limited number of
        # errors.
        in_full = len(failing) < FINDINGS_MAX
        if unmet := run.unmet_before(index, named=in_full):
            failing[index] = [condition.token for condition in unmet]
            findings.extend(_precondition_findings(step, unmet, order, in_full=in_full))
        elif run.is_redundant(index):
            redundant.append(step)
        if contingent and not contingent.isdisjoint(step.dependencies):
            failing.setdefault(index, [])
            findings.append(_contingent_dependency_finding(step, contingent))
    if contingent:
        failing |= _report_unreachable(findings, plan, order, contingent)
    at_end = run.unmet_at_end()
    findings.extend(_goal_findings(at_end, plan))
    findings.extend(_orphan_finding(step) for step in orphans(plan))
    findings.extend(_redundant_finding(step) for step in redundant)
    result.sound = result.sound and not (failing or at_end)
    if failing:
        first = min(failing)
        result.first_failing_step, result.unmet = order.steps[first].step_id, failing[first]
        result.score = SCORE_MAX + 0.6 * first / len(order.steps)
    elif at_end:
        result.unmet = [condition.token for condition in at_end]
        result.score = 0.8


def _precondition_findings(step: Step, unmet: list[Unmet], order: StepOrder, *, in_full: bool) -> Iterator[Finding]:
    """Yield one error for each cause that leaves preconditions of the step unmet.

    Without `in_full`, the messages are short, because the verdict only counts these errors.
    """
    if not in_full:
        for cause in {condition.cause for condition in unmet}:
            yield Finding(
                code=_CODES[cause], where=step.step_id, message=f"step {printable(step.step_id)} cannot start."
            )
        return
    after = order.descendants[order.index[step.step_id]]
    late = frozenset(name for condition in unmet for name in condition.steps if after >> order.index[name] & 1)
    for cause in UncertaintyCause:
        if group := [condition for condition in unmet if condition.cause is cause]:
            yield _precondition_finding(step, cause, group, late)


def _precondition_finding(
    step: Step, cause: UncertaintyCause, unmet: list[Unmet], late: frozenset[str] = frozenset()
) -> Finding:
    """Return the error about the preconditions in `unmet`, which have the same cause.

    `late` are the ids of steps that run after `step`.
    """
    name, tokens = printable(step.step_id), quote_names(condition.token for condition in unmet)
    noun = "this token" if len(unmet) == 1 else "these tokens"
    match cause:
        case UncertaintyCause.NOT_PRODUCED:
            text = (
                f"step {name} needs {tokens}, but neither initial_state nor the effects of another step contain "
                f"{noun}. Let {name} depend on a step that makes {noun}, or remove the precondition."
            )
        case UncertaintyCause.NOT_ORDERED:
            producers = dict.fromkeys(step_id for condition in unmet for step_id in condition.steps)
            early = [step_id for step_id in producers if step_id not in late]
            text = f"step {name} needs tokens that may be made too late: {_list_steps(unmet)}. " + (
                f"Add {id_list(early)} to the dependencies of {name}."
                if early
                else f"But these steps wait for {name}; let an earlier step make the tokens."
            )
        case UncertaintyCause.DELETED:
            text = (
                f"step {name} needs tokens that may be deleted before it starts: {_list_steps(unmet)}. Let the "
                f"deleting step depend on {name}, or add a step between these two steps that makes the token again."
            )
        case _:
            assert_never(cause)
    lost = tuple(sorted(condition.token for condition in unmet))
    return Finding(code=_CODES[cause], where=step.step_id, message=text, tokens=lost)


def _list_steps(unmet: list[Unmet]) -> str:
    return "; ".join(f"'{printable(condition.token)}' by {id_list(condition.steps)}" for condition in unmet[:ITEMS_MAX])


def _unproduced_finding(step: Step, tokens: list[str]) -> Finding:
    return _precondition_finding(
        step, UncertaintyCause.NOT_PRODUCED, [Unmet(token, UncertaintyCause.NOT_PRODUCED, ()) for token in tokens]
    )


def _contingent_dependency_finding(step: Step, contingent: frozenset[str]) -> Finding:
    name, names = printable(step.step_id), id_list(sorted(contingent & step.dependencies))
    text = (
        f"step {name} depends on {names}, which runs only after a failure, so {name} never starts if nothing fails. "
        f"Remove the dependency, and let {name} need a token that is made both with and without the failure."
    )
    return Finding(code=Code.BLOCKED_DEPENDENCY, where=step.step_id, message=text)


def _report_unreachable(
    findings: list[Finding], plan: Plan, order: StepOrder, contingent: frozenset[str]
) -> dict[int, list[str]]:
    reached, tokens = reachable_by_failure(plan)
    produced = {token for step in plan.steps for token in step.may_add | step.failure_effects}
    ids = sorted(step.step_id for step in plan.steps)
    makers = _failure_makers(plan, {step_id: rank for rank, step_id in enumerate(ids)})
    failing: dict[int, list[str]] = {}
    reported = 0
    for index in sorted(order.index[step_id] for step_id in contingent - reached):
        step = order.steps[index]
        missing = step.preconditions - tokens
        if never_produced := sorted(missing - produced):
            findings.append(_unproduced_finding(step, never_produced))
        if lost := sorted(missing & produced):
            reported += 1
            ranks = set().union(*(makers.get(token, ()) for token in lost)) if reported <= FINDINGS_MAX else ()
            findings.append(_unreachable_finding(step, lost, [ids[rank] for rank in sorted(ranks)]))
        if missing:
            failing[index] = sorted(missing)
    return failing


def _check_contingent(result: Soundness, plan: Plan, order: StepOrder, settings: Settings, *, whole: bool) -> None:
    """If the plan is sound so far, check that each contingent step runs on at least one trace."""
    contingent = contingent_steps(plan) if result.sound else frozenset()
    if not contingent:
        return
    sought = frozenset() if whole else contingent
    exploration = explore_plan(plan, order, settings.max_explorations, until_ran=sought)
    result.exploration = exploration
    idle = sorted(order.index[step_id] for step_id in contingent - exploration.ran)
    if not idle:
        return
    if exploration.complete:
        result.findings.extend(_idle_finding(order.steps[index]) for index in idle)
        result.sound, result.first_failing_step = False, order.steps[idle[0]].step_id
        result.score = SCORE_MAX + 0.6 * idle[0] / len(order.steps)
    elif not whole:
        names = id_list(order.steps[index].step_id for index in idle)
        text = (
            f"Not verified: no trace runs {names} in the first {exploration.explored} configurations "
            f"of successes and failures."
        )
        result.findings.append(Finding(code=Code.TOO_COMPLEX, message=text, where="steps", severity="warning"))


def _idle_finding(step: Step, lost: Sequence[str] = (), produced: AbstractSet[str] = frozenset()) -> Finding:
    """Return the error about a step that runs on no trace.

    `lost` lists the tokens that the step needs and nothing makes.
    """
    name = printable(step.step_id)
    text = (
        f"step {name} never runs: no trace of successes and failures reaches a point at which its dependencies have "
        f"ended and {quote_names(step.preconditions)} hold. Let no step delete what {name} needs, or remove {name}."
    )
    if lost:
        near = closest(lost[0], produced) if len(lost[0]) <= NEAR_LENGTH_MAX and len(produced) <= NEAR_MAX else ""
        hint = (
            f"did you mean '{printable(near)}'?"
            if near
            else "add these tokens to the effects of a step or of an outcome."
        )
        text = f"step {name} never runs: no step, outcome or failure makes {quote_names(lost)}; {hint}"
    return Finding(
        code=Code.FAILURE_UNREACHABLE, where=step.step_id, message=text, tokens=tuple(sorted(step.preconditions))
    )


def _failure_makers(plan: Plan, ranks: Mapping[str, int]) -> dict[str, list[int]]:
    makers: dict[str, list[int]] = {}
    for step in plan.steps:
        for token in step.failure_effects:
            makers.setdefault(token, []).append(ranks[step.step_id])
    return makers


def _unreachable_finding(step: Step, lost: list[str], makers: list[str]) -> Finding:
    """Return the error about a step that waits for tokens that no failure makes.

    `makers` are the ids of steps whose failure would make these tokens if their `on_failure` were `continue`.
    """
    name = printable(step.step_id)
    noun = "this token" if len(lost) == 1 else "these tokens"
    text = f"step {name} never starts, because it needs {quote_names(lost)}, and no step makes {noun}."
    if makers:
        text += (
            f" Set on_failure of {id_list(makers)} to continue, so that their failure_effects count, or remove {name}."
        )
    return Finding(code=Code.FAILURE_UNREACHABLE, where=step.step_id, message=text, tokens=tuple(lost))


def _goal_findings(at_end: list[Unmet], plan: Plan) -> Iterator[Finding]:
    lost = {unmet.token for unmet in at_end}
    makers: dict[str, list[str]] = {}
    for step in plan.steps if lost else ():
        for token in (step.may_add | step.failure_effects) & lost:
            makers.setdefault(token, []).append(step.step_id)
    for unmet in at_end:
        yield _goal_finding(unmet, sorted(makers.get(unmet.token, ())))


def _goal_finding(unmet: Unmet, late: list[str]) -> Finding:
    token = quote_names([unmet.token])
    if unmet.cause is UncertaintyCause.DELETED:
        text = (
            f"The goal needs {token}, but {id_list(unmet.steps)} may delete {token} before the end. "
            f"Add a later step that makes {token} again, or order the deleting step before the step that makes it."
        )
        return Finding(code=Code.GOAL_DELETED, where="goal_state", message=text, tokens=(unmet.token,))
    reason, place = "no step makes it", "a step"
    if late:
        reason, place = f"{id_list(late)} makes it only after a failure", "a step that runs without a failure"
    text = f"The goal needs {token}, but {reason}. Add {token} to the effects of {place}."
    return Finding(code=Code.GOAL_UNREACHABLE, where="goal_state", message=text, tokens=(unmet.token,))


def _orphan_finding(step: Step) -> Finding:
    reason = "it makes nothing"
    if step.effects:
        reason = f"it makes {quote_names(step.effects)}, which nothing on the way to the goal needs"
    text = (
        f"step {printable(step.step_id)} does not help to reach the goal: {reason}. "
        f"Remove the step, or let a later step need a token that it makes."
    )
    return Finding(
        code=Code.ORPHAN_STEP, where=step.step_id, message=text, severity="warning", tokens=tuple(sorted(step.effects))
    )


def _redundant_finding(step: Step) -> Finding:
    name, tokens = printable(step.step_id), quote_names(step.effects)
    text = f"step {name} makes only {tokens}, which already holds; the step may be left out."
    return Finding(
        code=Code.REDUNDANT_STEP,
        where=step.step_id,
        message=text,
        severity="warning",
        tokens=tuple(sorted(step.effects)),
    )


def _check_by_traces(result: Soundness, plan: Plan, order: StepOrder, settings: Settings, *, whole: bool) -> None:
    """Check a policy or a plan with outcomes, which can run in several ways even without failures.

    At least one trace must reach the goal. Unless the plan is a policy, each step must run on at least one trace.
    """
    if not result.sound:
        result.score = SCORE_MAX
        return
    produced = plan.initial_state.union(*(step.may_add | step.failure_effects for step in plan.steps))
    lacking = {step.step_id: sorted(step.preconditions - produced) for step in order.steps}
    for step in order.steps:
        if lost := lacking[step.step_id]:
            result.findings.append(_unproduced_finding(step, lost).model_copy(update={"severity": "warning"}))
    sought = () if plan.is_policy else tuple(step.step_id for step in plan.steps)
    until_success = not whole and plan.is_policy
    exploration = explore_plan(plan, order, settings.max_explorations, until_success=until_success)
    result.exploration = exploration
    if exploration.succeeds:
        idle = [step for step in order.steps if step.step_id in sought and step.step_id not in exploration.ran]
        if exploration.complete and idle:
            result.findings.extend(_idle_finding(step, lacking[step.step_id], produced) for step in idle)
            result.first_failing_step, result.score = idle[0].step_id, 0.8
        return
    result.score = 0.8
    if not exploration.complete:
        explored = exploration.explored
        text = f"Not verified: none of the first {explored} configurations reaches the goal; make the plan simpler."
        result.findings.append(Finding(code=Code.TOO_COMPLEX, message=text, where="goal_state"))
        return
    result.unmet = list(exploration.closest_missing)
    kind = "policy" if plan.is_policy else "plan"
    text = f"No trace of this {kind} reaches the goal; the closest trace still lacks {quote_names(result.unmet)}."
    if not result.unmet:
        text = (
            f"No trace of this {kind} ends, because a step is always ready. "
            f"Let each step delete the tokens that start it."
        )
    result.findings.append(
        Finding(code=Code.GOAL_UNREACHABLE, where="goal_state", message=text, tokens=tuple(result.unmet))
    )
