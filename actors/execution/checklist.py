"""An execution as a checklist: the steps of its current plan with what has become of each, and its goals. Pure."""

from collections.abc import Mapping

from actors.execution.goals import GoalStatus
from actors.execution.result import ExecutionResult
from actors.execution.result_lines import FINDINGS_MAX, TOKENS_MAX, step_facts
from actors.execution.story import ShownGoal, ShownStep, StepStatus
from actors.values.flow import Checklist, ChecklistItem, NodeState
from actors.values.format import counted

_STEPS: Mapping[StepStatus, NodeState] = {
    StepStatus.PENDING: NodeState.OPEN,
    StepStatus.RUNNING: NodeState.CURRENT,
    StepStatus.WAITING: NodeState.WAITING,
    StepStatus.SUCCEEDED: NodeState.DONE,
    StepStatus.FAILED: NodeState.FAILED,
    StepStatus.UNKNOWN: NodeState.FAILED,
    StepStatus.NOT_NEEDED: NodeState.SKIPPED,
}
_GOALS: Mapping[GoalStatus, NodeState] = {
    GoalStatus.PENDING: NodeState.OPEN,
    GoalStatus.ACHIEVED: NodeState.DONE,
    GoalStatus.FAILED: NodeState.FAILED,
    GoalStatus.BLOCKED: NodeState.SKIPPED,
    GoalStatus.DROPPED: NodeState.SKIPPED,
}


def step_states(result: ExecutionResult) -> dict[str, NodeState]:
    """Return what has become of each step of the current plan, by id."""
    return {step.step: _STEPS[step.status] for step in result.steps}


def checklist_of(result: ExecutionResult) -> Checklist | None:
    """Return the checklist of an execution; None before it began."""
    if not result.revisions:
        return None
    revised = f", revision {result.revision}" if result.revision > 1 else ""
    return Checklist(
        title=f"{result.revisions[-1].plan_id}{revised}",
        items=tuple(_step(step) for step in result.steps),
        goals=tuple(_goal(goal) for goal in result.goals),
        holds=_some(result.holds),
        missing=_some(result.missing),
    )


def _step(step: ShownStep) -> ChecklistItem:
    status = str(step.status).replace("_", " ")
    facts = tuple(fact for fact in step_facts(step) if fact != status)
    findings = () if step.status is StepStatus.SUCCEEDED else step.findings
    rows = [f"{each.code}: {each.message}" for each in findings[:FINDINGS_MAX]]
    if len(findings) > FINDINGS_MAX:
        rows.append(f"and {counted(len(findings) - FINDINGS_MAX, 'more finding')}")
    return ChecklistItem(step.step, step.name, _STEPS[step.status], status, facts, tuple(rows))


def _goal(goal: ShownGoal) -> ChecklistItem:
    return ChecklistItem(goal.id, goal.text, _GOALS[goal.status], str(goal.status))


def _some(tokens: tuple[str, ...]) -> tuple[str, ...]:
    more = len(tokens) - TOKENS_MAX
    return tokens if more <= 0 else (*tokens[:TOKENS_MAX], f"and {more:,} more")
