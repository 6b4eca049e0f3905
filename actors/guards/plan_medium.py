"""plan_medium: when nothing fails, every step can run and the goal is reached, in every order that the plan allows.

For a policy, whose steps have no order, some trace must reach the goal. Polynomial, but for policies, whose exploration
is bounded by `max_explorations`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from actors.guards.plan_minimal import SCORE_MAX, Structure, check_structure
from actors.guards.plan_settings import Settings, by_place, settings, verdict
from actors.guards.port import Guard
from actors.plans.exploration import Exploration, explore
from actors.plans.graph import Order
from actors.plans.nominal import NominalRun, Unmet, Why, contingent_steps, reachable_by_failure
from actors.plans.plan import Plan, Step
from actors.plans.relevance import orphans
from actors.plans.semantics import compile_plan
from actors.plans.wording import ITEMS_MAX, listed, plain, steps
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict

_CODES = {
    Why.NOBODY: Code.PRECONDITION_UNSATISFIED,
    Why.UNORDERED: Code.PRECONDITION_UNORDERED,
    Why.DELETED: Code.PRECONDITION_DELETED,
}


@dataclass
class Soundness:
    """What `plan_medium` found out. `sound` says that the plan's meaning is clear enough to explore its failures."""

    findings: list[Finding] = field(default_factory=list)
    first_failing_step: str | None = None
    unmet: list[str] = field(default_factory=list)
    score: float = 1.0
    sound: bool = True
    exploration: Exploration | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """The measured values for the verdict."""
        return {
            "first_failing_step": self.first_failing_step,
            "unmet": self.unmet,
            "assurance": None,
            "escalations": [],
            "explored": 0 if self.exploration is None else self.exploration.explored,
        }


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard. Raises `UsageProblem` on a setting it does not know."""
    chosen = settings(config)

    def plan_medium(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001
        structure = check_structure(artifact, chosen)
        if structure.plan is None or structure.order is None:
            return verdict("plan_medium", structure.findings, structure.score, Soundness().facts)
        sound = check_soundness(structure, structure.plan, structure.order, chosen)
        return verdict("plan_medium", sound.findings, sound.score, sound.facts)

    return plan_medium


def check_soundness(
    structure: Structure, plan: Plan, order: Order, chosen: Settings, *, whole: bool = False
) -> Soundness:
    """Check a plan whose structure is right; `whole` asks to explore all of a policy, not just up to one success."""
    result = Soundness(findings=[*structure.findings, *_undefined(plan)])
    result.sound = not any(one.severity == "error" for one in result.findings)
    if plan.is_policy:
        _check_policy(result, plan, order, chosen, whole=whole)
    else:
        _check_nominal(result, plan, order)
    budget = list(_over_budget(plan, chosen))
    if budget and result.score == 1.0:
        result.score = 0.9
    result.findings = by_place([*result.findings, *budget], order.place)
    return result


def _undefined(plan: Plan) -> Iterator[Finding]:
    """Yield a finding for each state that is empty."""
    if not plan.initial_state:
        text = "initial_state is empty; list the tokens that hold before the first step."
        yield Finding(code=Code.INITIAL_UNDEFINED, where="initial_state", message=text)
    if not plan.goal_state:
        text = "goal_state is empty; list the tokens that must hold at the end."
        yield Finding(code=Code.GOAL_UNDEFINED, where="goal_state", message=text)


def _over_budget(plan: Plan, chosen: Settings) -> Iterator[Finding]:
    """Yield a finding for each budget that is larger than what it must fit into."""
    needed, total = sum(step.retry_budget for step in plan.steps), plan.total_retry_budget
    if needed > total:
        text = (
            f"The steps' retry_budgets add up to {needed}, more than total_retry_budget ({total}); "
            f"lower some of them, or raise the total to at least {needed}."
        )
        yield Finding(code=Code.BUDGET_OVER_TOTAL, where="total_retry_budget", message=text)
    if total > chosen.r_max:
        text = f"total_retry_budget is {total}, more than the allowed {chosen.r_max}; plan fewer steps or attempts."
        yield Finding(code=Code.BUDGET_OVER_R_MAX, where="total_retry_budget", message=text)


def _check_nominal(result: Soundness, plan: Plan, order: Order) -> None:
    """Check the run in which nothing fails, and that each contingent step has a failure that leads to it."""
    contingent = contingent_steps(plan)
    run = NominalRun(plan, order, contingent)
    found = result.findings
    failing: dict[int, list[str]] = {}
    redundant: list[Step] = []
    for place in run.places:
        step = order.steps[place]
        if unmet := run.unmet_before(place):
            failing[place] = [one.token for one in unmet]
            found.extend(_preconditions(step, unmet, order))
        elif run.is_redundant(place):
            redundant.append(step)
        if contingent and not contingent.isdisjoint(step.dependencies):
            failing.setdefault(place, [])
            found.append(_blocked(step, contingent))
    if contingent:
        failing |= _unreachable(found, plan, order, contingent)
    at_end = run.unmet_at_end()
    found.extend(_goal(one, plan) for one in at_end)
    found.extend(_orphan(step) for step in orphans(plan))
    found.extend(_redundant(step) for step in redundant)
    result.sound = result.sound and not (failing or at_end)
    if failing:
        first = min(failing)
        result.first_failing_step, result.unmet = order.steps[first].step_id, failing[first]
        result.score = SCORE_MAX + 0.6 * first / len(order.steps)
    elif at_end:
        result.unmet = [one.token for one in at_end]
        result.score = 0.8


def _preconditions(step: Step, unmet: list[Unmet], order: Order) -> Iterator[Finding]:
    """Yield one finding for each reason why preconditions of the step are not necessarily true."""
    after = order.descendants[order.place[step.step_id]]
    late = frozenset(name for one in unmet for name in one.steps if after >> order.place[name] & 1)
    for why in Why:
        if some := [one for one in unmet if one.why is why]:
            yield _precondition(step, why, some, late)


def _precondition(step: Step, why: Why, unmet: list[Unmet], late: frozenset[str] = frozenset()) -> Finding:
    """Say which preconditions are not necessarily true, and what to do; `late` are the steps that wait for this one."""
    name, tokens = plain(step.step_id), listed(one.token for one in unmet)
    each = "; ".join(f"'{plain(one.token)}' by {steps(one.steps)}" for one in unmet[:ITEMS_MAX])
    early = [one for one in dict.fromkeys(who for one in unmet for who in one.steps) if one not in late]
    text = {
        Why.NOBODY: (
            f"step {name} needs {tokens}, which no other step makes and initial_state does not hold. "
            f"Add a step that has it in effects and make {name} depend on that step, or remove the precondition."
        ),
        Why.UNORDERED: f"step {name} needs tokens that may be made too late: {each}. "
        + (
            f"Add {steps(early)} to the dependencies of {name}."
            if early
            else f"These steps wait for {name} themselves; let an earlier step make the tokens."
        ),
        Why.DELETED: (
            f"step {name} needs tokens that may be deleted in between: {each}. Let the deleting step depend on {name}, "
            f"or add a step between the two that makes the token again."
        ),
    }[why]
    return Finding(code=_CODES[why], where=step.step_id, message=text, tokens=tuple(sorted(one.token for one in unmet)))


def _blocked(step: Step, contingent: frozenset[str]) -> Finding:
    """Say that a nominal step waits for one that only a failure starts."""
    names = steps(sorted(contingent & step.dependencies))
    text = (
        f"step {plain(step.step_id)} depends on {names}, which only runs after a failure, so it never starts when "
        f"nothing fails. Remove that dependency; join the recovery through a token that both ways make."
    )
    return Finding(code=Code.BLOCKED_DEPENDENCY, where=step.step_id, message=text)


def _unreachable(found: list[Finding], plan: Plan, order: Order, contingent: frozenset[str]) -> dict[int, list[str]]:
    """Report the contingent steps that no failure can reach; return their missing tokens by place."""
    reached, tokens = reachable_by_failure(plan)
    made = {token for step in plan.steps for token in step.effects | step.failure_effects}
    failing: dict[int, list[str]] = {}
    for step_id in sorted(contingent - reached):
        step = order.steps[order.place[step_id]]
        missing = step.preconditions - tokens
        if nobody := sorted(missing - made):
            found.append(_precondition(step, Why.NOBODY, [Unmet(token, Why.NOBODY, ()) for token in nobody]))
        if lost := sorted(missing & made):
            makers = sorted(one.step_id for one in plan.steps if not one.failure_effects.isdisjoint(lost))
            text = f"step {plain(step_id)} waits for {listed(lost)}, but no failure can bring that about" + (
                f": set on_failure of {steps(makers)} to continue, or remove {plain(step_id)}." if makers else "."
            )
            found.append(Finding(code=Code.FAILURE_UNREACHABLE, where=step_id, message=text, tokens=tuple(lost)))
        if missing:
            failing[order.place[step_id]] = sorted(missing)
    return failing


def _goal(one: Unmet, plan: Plan) -> Finding:
    """Say why a goal token is not necessarily true at the end."""
    token = listed([one.token])
    if one.why is Why.DELETED:
        text = (
            f"The goal needs {token}, but {steps(one.steps)} may delete it before the end. "
            f"Add a step after it that makes {token} again, or order it before the step that makes {token}."
        )
        return Finding(code=Code.GOAL_DELETED, where="goal_state", message=text, tokens=(one.token,))
    late = sorted(step.step_id for step in plan.steps if one.token in step.effects | step.failure_effects)
    after = f"; {steps(late)} makes it only after a failure" if late else ""
    text = f"The goal needs {token}, which no step makes when nothing fails{after}. Add a step that has it in effects."
    return Finding(code=Code.GOAL_UNREACHABLE, where="goal_state", message=text, tokens=(one.token,))


def _orphan(step: Step) -> Finding:
    """Warn that a step does not contribute to the goal."""
    makes = listed(step.effects) if step.effects else "nothing"
    text = (
        f"step {plain(step.step_id)} makes {makes}, which neither the goal nor a step on the way to it needs; "
        f"remove the step, or say in preconditions what it is good for."
    )
    return Finding(
        code=Code.ORPHAN_STEP, where=step.step_id, message=text, severity="warning", tokens=tuple(sorted(step.effects))
    )


def _redundant(step: Step) -> Finding:
    """Warn that a step changes nothing."""
    text = f"step {plain(step.step_id)} only makes {listed(step.effects)}, which holds already; it may be left out."
    return Finding(
        code=Code.REDUNDANT_STEP,
        where=step.step_id,
        message=text,
        severity="warning",
        tokens=tuple(sorted(step.effects)),
    )


def _check_policy(result: Soundness, plan: Plan, order: Order, chosen: Settings, *, whole: bool) -> None:
    """Check that some trace of a policy reaches the goal."""
    if not result.sound:
        result.score = SCORE_MAX
        return
    made = plan.initial_state.union(*(step.effects | step.failure_effects for step in plan.steps))
    for step in order.steps:
        if lost := sorted(step.preconditions - made):
            found = _precondition(step, Why.NOBODY, [Unmet(token, Why.NOBODY, ()) for token in lost])
            result.findings.append(found.model_copy(update={"severity": "warning"}))
    seen = explore(compile_plan(plan, order), chosen.max_explorations, until_success=not whole)
    result.exploration = seen
    if seen.succeeds:
        return
    result.score = 0.8
    if not seen.complete:
        text = f"Not verified: no trace to the goal among the first {seen.explored} configurations; make it simpler."
        result.findings.append(Finding(code=Code.TOO_COMPLEX, message=text, where="goal_state"))
        return
    result.unmet = list(seen.closest_missing)
    text = f"No trace of this policy ends with the goal; the closest still lacks {listed(result.unmet)}."
    if not result.unmet:
        text = "No trace of this policy ends: some step stays ready for ever. Let each step delete what starts it."
    result.findings.append(
        Finding(code=Code.GOAL_UNREACHABLE, where="goal_state", message=text, tokens=tuple(result.unmet))
    )
