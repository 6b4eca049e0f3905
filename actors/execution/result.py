"""The result of an execution: its goals, its steps, the revisions of its plan, and the tokens that hold. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from actors.demands.table import (
    KEPT,
    MET,
    NOT_MET,
    Conclusion,
    DemandStanding,
    DemandTable,
    Proof,
    TableRow,
    conclusion,
    demand_table,
)
from actors.demands.user_texts import user_texts
from actors.execution.config import ExecutionConfig
from actors.execution.edits import rest_of_plan, without_steps
from actors.execution.events import StepOutcome
from actors.execution.forbidden import uncheckable_requirements
from actors.execution.goals import GoalStatus, goals_of, left_goals, statuses
from actors.execution.state import AttemptPhase, Revision, State, StepResult
from actors.execution.undo import ShownEffect, effect_text, effect_views
from actors.plans.constraints import with_constraints
from actors.plans.graph import contingent_steps
from actors.plans.plan import RESERVED_OUTCOMES, Plan, Step
from actors.plans.plan_text import plan_diff
from actors.plans.reader import read_plan
from actors.plans.semantics import is_ready, ready_steps
from actors.run.ending import UNDONE, Outcome
from actors.run.result import RunResult, RunView, result_fields
from actors.tools.uses import ToolUse
from actors.values.findings import Finding
from actors.values.format import format_count, printable
from actors.values.requirements import Requirement, requirement_to_json

RunPhase = Literal["planning", "executing", "validating", "replanning", "asking", "undoing"]
"""The phase of an execution, which says what the execution is doing; see `run_phase`."""


class StepStatus(StrEnum):
    """The status of a step, as views show it."""

    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"  # for a person, or for the end of a back-off
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"  # nobody knows whether its tool did its work
    NOT_NEEDED = "not_needed"  # the run is over, and the step never became ready
    NOT_DONE = "not_done"  # the run ended before its goals, and the step has no result


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step of a plan, as views show it."""

    step: str
    name: str
    status: StepStatus
    phase: str
    """The phase of the current attempt; empty if no attempt is running."""
    attempts: int
    """The number of attempts in the step's last visit."""
    retry_budget: int
    visits: int
    seconds: float | None
    """The duration of the last visit, in seconds; None if the visit has not begun or not ended."""
    contingent: bool
    """Whether the step runs only after a failure."""
    findings: tuple[Finding, ...]
    """The findings that made the last visit, or its last attempt, fail."""
    check_must_fail: bool = False
    outcome: str = ""
    """The step's outcome at its last success; empty for a step without outcomes."""

    def to_json(self) -> dict[str, Any]:
        """Return the step as plain data."""
        return {
            "step": self.step,
            "name": self.name,
            "status": str(self.status),
            "phase": self.phase or None,
            "attempts": self.attempts,
            "retry_budget": self.retry_budget,
            "visits": self.visits,
            "seconds": self.seconds,
            "contingent": self.contingent,
            **({"outcome": self.outcome} if self.outcome else {}),
            "findings": [finding.model_dump(mode="json", exclude_defaults=True) for finding in self.findings],
        }


@dataclass(frozen=True, slots=True)
class ShownGoal:
    """A goal, as views show it."""

    id: str
    """The id of the goal's requirement; `goal` for the only goal of a plan without goal requirements."""
    text: str
    status: GoalStatus
    tokens: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the goal as plain data."""
        return {"id": self.id, "text": self.text, "status": str(self.status), "tokens": list(self.tokens)}


@dataclass(frozen=True, slots=True)
class ShownRevision:
    """A revision of the plan, as views show it."""

    number: int
    plan_id: str
    trace: tuple[str, ...]
    ended_by: str
    """The reason for replacing the revision by a new plan; empty for the last revision."""
    level: str
    """The level of the next replan, such as `partial_replan`; empty for the last revision."""
    steps: tuple[ShownStep, ...]
    edited_by: str = ""
    """The person who made this plan by an edit of the previous plan, in words; empty if nobody did."""
    changes: tuple[str, ...] = ()
    """The lines of a diff between the previous plan and the edited plan; empty if there was no edit."""

    def to_json(self) -> dict[str, Any]:
        """Return the revision as plain data."""
        return {
            "revision": self.number,
            "plan_id": self.plan_id,
            "trace": list(self.trace),
            "ended_by": self.ended_by or None,
            "level": self.level or None,
            **({"edited_by": self.edited_by, "changes": list(self.changes)} if self.edited_by else {}),
        }


def goal_views(state: State) -> tuple[ShownGoal, ...]:
    """Return the goals of the current plan and of earlier revisions, with their statuses."""
    goals = goals_of(state.plan.plan)
    status_of = statuses(goals, state.plan.program, state.now, state.tokens)
    now = tuple(ShownGoal(goal.id, goal.text, status_of[goal.id], tuple(sorted(goal.tokens))) for goal in goals)
    return now + tuple(
        ShownGoal(goal.id, goal.text, status, tuple(sorted(goal.tokens)))
        for goal, status in left_goals(state.goals, goals, state.tokens)
    )


def step_views(state: State) -> tuple[ShownStep, ...]:
    """Return the steps of the current plan: first all ended steps, then all steps at work, then all other steps."""
    later, outcomes = contingent_steps(state.plan.plan), outcomes_in(state.trace)
    steps = [
        _current_step(state, step, contingent=step.step_id in later, outcome=outcomes.get(step.step_id, ""))
        for step in state.plan.program.steps
    ]
    order = {step: number for number, step in enumerate(state.results)}
    return tuple(sorted(steps, key=lambda step: _sort_key(order, step)))


def _sort_key(order: Mapping[str, int], shown_step: ShownStep) -> tuple[int, int]:
    """Return the sort key of a step.

    Ended steps come first, in the order of their ends; then come the steps at work.
    """
    is_over = shown_step.status not in (StepStatus.PENDING, StepStatus.RUNNING, StepStatus.WAITING)
    if is_over and shown_step.step in order:
        return 0, order[shown_step.step]
    return (1 if shown_step.status in (StepStatus.RUNNING, StepStatus.WAITING) else 2), 0


def _current_step(state: State, step: Step, *, contingent: bool, outcome: str) -> ShownStep:
    name, index = state.plan.names[step.step_id], state.plan.index[step.step_id]
    attempt, result = state.active.get(name), state.results.get(step.step_id)
    check = state.config.tools.guard_use(step)
    shown = replace(
        _settled_step(step, result, contingent=contingent, outcome=outcome),
        visits=state.visits.get(name, 0),
        check_must_fail=isinstance(check, ToolUse) and check.expect == "failure",
    )
    end = state.run.finished if state.run.over else None
    if attempt is not None and end is None:
        is_asked = attempt.unsure or any(q.node.startswith(f"{name}/") for q in state.run.open_questions.values())
        return replace(
            shown,
            status=StepStatus.WAITING if is_asked or attempt.backoff_seconds else StepStatus.RUNNING,
            phase=str(attempt.phase or ""),
            attempts=attempt.number,
            seconds=None,
            findings=attempt.findings,
        )
    if end is not None:
        is_left = result is None and (not contingent or is_ready(state.plan.program, state.now, index))
        if not is_left or end.outcome == Outcome.SUCCESS:
            return shown
        if attempt is None or not attempt.call:
            return replace(shown, status=StepStatus.NOT_DONE)
        status = StepStatus.UNKNOWN if attempt.acted else StepStatus.NOT_DONE
        return replace(shown, status=status, attempts=attempt.number, findings=attempt.findings)
    is_pending = state.now.pending >> index & 1 and not state.plan.program.repeats
    if result is not None and (result.outcome is StepOutcome.UNKNOWN or not is_pending):
        return shown
    return replace(shown, status=StepStatus.PENDING)


def _settled_step(step: Step, result: StepResult | None, *, contingent: bool, outcome: str) -> ShownStep:
    return ShownStep(
        step=step.step_id,
        name=step.name or step.step_id,
        status=StepStatus.NOT_NEEDED if result is None else _STATUS[result.outcome],
        phase="",
        attempts=0 if result is None else result.attempts,
        retry_budget=step.retry_budget,
        visits=0 if result is None else result.visits,
        seconds=None if result is None else result.seconds,
        contingent=contingent,
        findings=() if result is None else result.findings,
        outcome=outcome,
    )


_STATUS = {
    StepOutcome.OK: StepStatus.SUCCEEDED,
    StepOutcome.FAIL: StepStatus.FAILED,
    StepOutcome.UNKNOWN: StepStatus.UNKNOWN,
}


def outcomes_in(trace: Iterable[str]) -> dict[str, str]:
    """Return a mapping from the steps in a trace to the outcomes of their last successes.

    The mapping lacks the steps without outcomes.
    """
    last = dict[str, str]()
    for item in trace:
        step, _, outcome = item.rpartition(":")
        last[step] = "" if outcome in RESERVED_OUTCOMES else outcome
    return {step: outcome for step, outcome in last.items() if outcome}


def revision_views(state: State) -> tuple[ShownRevision, ...]:
    """Return all revisions, the current one last."""
    earlier = [_past_revision(revision) for revision in state.earlier]
    now = ShownRevision(state.revision, state.plan.plan.plan_id, state.trace, "", "", step_views(state))
    return tuple(_with_edit(state, shown) if shown.number in state.editors else shown for shown in (*earlier, now))


def _with_edit(state: State, shown: ShownRevision) -> ShownRevision:
    before = state.earlier[shown.number - 2]
    after = state.plan.json if shown.number == state.revision else state.earlier[shown.number - 1].plan.json
    done = {step for step, result in before.results.items() if result.outcome is StepOutcome.OK}
    left = {**without_steps(before.plan.json, done), "initial_state": after["initial_state"]}
    return replace(shown, edited_by=state.editors[shown.number], changes=tuple(plan_diff(left, after)))


def _past_revision(revision: Revision) -> ShownRevision:
    plan, order = revision.plan, {step: number for number, step in enumerate(revision.results)}
    later, outcomes = contingent_steps(plan.plan), outcomes_in(revision.trace)
    steps = [
        _settled_step(
            step,
            revision.results.get(step.step_id),
            contingent=step.step_id in later,
            outcome=outcomes.get(step.step_id, ""),
        )
        for step in plan.program.steps
    ]
    steps.sort(key=lambda step: _sort_key(order, step))
    level = str(revision.level)
    return ShownRevision(revision.number, plan.plan.plan_id, revision.trace, revision.why, level, tuple(steps))


def run_phase(state: State) -> RunPhase:
    """Return the current phase of the execution. For an ended execution, return its last phase."""
    if state.replan is not None and state.replan.node and not state.replan.plan and state.replan.edit is None:
        return "planning"
    if state.proving:
        return "validating"
    checks = (AttemptPhase.CHECK, AttemptPhase.CHECK_PRE)
    if state.run.open_questions and not state.run.tools:
        return "asking"
    if state.undoing is not None:
        return "undoing"
    if state.draining and state.ending is None:
        return "replanning"
    if state.active and all(attempt.phase in checks for attempt in state.active.values()):
        return "validating"
    return "executing"


COMPARED_BY = "the execution"
"""The name that demand tables show for the check of protected files. The execution itself compares these files after
each step."""


def demands_of(config: ExecutionConfig, plan: Plan, later: Sequence[str] = ()) -> DemandTable | None:
    """Return the table of demands; None if the user has written no text and the plan has no requirement.

    `later` are the user's messages to the execution.
    """
    if not (config.problem.strip() or later or plan.requirements):
        return None
    texts = user_texts(config.problem, later)
    return demand_table(texts, plan, paths_compared_by=COMPARED_BY if config.snapshots else "")


def conclusion_of(config: ExecutionConfig, plan: Plan, assurance: str | None, table: DemandTable | None) -> Conclusion:
    """Return the conclusion about an executed plan.

    If there is no table of demands, the conclusion depends only on the proof.

    A plan with a `basis` was made from a template, without reading the text.
    """
    proof = Proof(config.level.removeprefix("plan_"), assurance or "")
    return conclusion(proof, table if table is not None else DemandTable(), reads_text=not plan.basis)


class GoalJson(TypedDict):
    """A goal with its status."""

    id: str
    text: str
    status: str
    tokens: list[str]


class StepJson(TypedDict):
    """A step of the current plan with its status."""

    step: str
    name: str
    status: str
    phase: str | None
    attempts: int
    retry_budget: int
    visits: int
    seconds: float | None
    contingent: bool
    outcome: NotRequired[str]
    findings: list[dict[str, Any]]


class RevisionJson(TypedDict):
    """A revision of the plan."""

    revision: int
    plan_id: str
    trace: list[str]
    ended_by: str | None
    level: str | None
    edited_by: NotRequired[str]
    changes: NotRequired[list[str]]


class SnapshotsJson(TypedDict):
    """The first and the last snapshot of the workspace."""

    first: str
    last: str


class UndoJson(TypedDict):
    """An effect of the execution, and the status of its undoing."""

    step: str
    call: int
    undo: str | None
    status: str


class ExecutionJson(TypedDict):
    """The keys that `--json` prints for executions, in addition to the keys of every run."""

    revision: int
    assurance: str | None
    phase: str
    goals: list[GoalJson]
    steps: list[StepJson]
    state: list[str]
    missing: list[str]
    next: NotRequired[list[str]]
    """The steps that may start next, if the execution ended without its goals; absent if no step may start."""
    trace: list[str]
    """The outcomes of the current plan's steps, as `STEP:ok` or `STEP:fail`."""
    revisions: list[RevisionJson]
    violations: list[dict[str, Any]]
    unsure: NotRequired[list[dict[str, Any]]]
    """The needs of the current plan that nobody can check; absent if there are none."""
    not_checked: list[dict[str, Any]]
    snapshots: SnapshotsJson | None
    """The snapshots of the workspace; null if none was taken."""
    undo: NotRequired[list[UndoJson]]
    """The effects and the status of their undoing, the last call first; absent if nothing is undone."""
    plan_of: str | None


@dataclass(frozen=True, kw_only=True, repr=False)
class ExecutionResult(RunResult):
    """The result of an execution."""

    revision: int
    """The number of the plan's revision, from 1."""
    assurance: str | None
    """The assurance that the guard measured for the current plan."""
    phase: RunPhase
    """The current phase of the execution, or its last phase if it has ended."""
    goals: tuple[ShownGoal, ...]
    """The goals with their statuses."""
    steps: tuple[ShownStep, ...]
    """The steps of the current plan with their statuses."""
    revisions: tuple[ShownRevision, ...]
    """All revisions of the plan, the current one last."""
    holds: tuple[str, ...]
    """The tokens that hold, sorted."""
    missing: tuple[str, ...]
    """The tokens of the goal that do not hold, sorted."""
    next: tuple[str, ...]
    """The ids of the steps that may start next, if the execution has ended without its goals; else empty."""
    left: tuple[str, ...]
    """The ids of the steps that must be done or done again, if the execution has ended without its goals; else empty.
    """
    violations: tuple[Finding, ...]
    """The requirements that steps have violated."""
    unsure: tuple[Finding, ...]
    """The needs of the current plan that nobody can check."""
    not_checked: tuple[Requirement, ...]
    """The constraints that the execution cannot check."""
    snapshots: tuple[str, str] | None
    """The ids of the first and the last snapshot of the workspace; None if none was taken."""
    not_compared: int
    """The number of snapshots for which the changed paths are not known."""
    undo: tuple[ShownEffect, ...]
    """The effects and the status of their undoing, the last call first; empty if nothing is undone."""
    plan_json: Any
    """The plan of the current revision as JSON."""
    workspace: str
    """The folder that the tools work in."""
    plan_of: str
    """The id of the planning run that made the first plan; empty for a plan from a file."""

    config: ExecutionConfig | None = None
    """The configuration at the start of the execution; None before the start."""
    plan: Plan | None = None
    """The plan of the current revision, with the constraints that all plans of the execution have."""
    told_later: tuple[str, ...] = ()
    """The user's messages to the execution: first the requirements, then the notes."""

    @cached_property
    def demands(self) -> DemandTable | None:
        """The table that says how the current plan treats each demand; None if the user has stated no demand."""
        if self.config is None or self.plan is None:
            return None
        table = demands_of(self.config, self.plan, self.told_later)
        return None if table is None else replace(table, rows=tuple(map(self._end_row, table.rows)))

    def _end_row(self, row: TableRow) -> TableRow:
        goal = next((goal for goal in self.goals if goal.id == row.requirement), None)
        if goal is not None and goal.status is GoalStatus.ACHIEVED:
            return replace(row, end=MET)
        if goal is not None and self.status == "finished":
            return replace(row, end=NOT_MET)
        is_kept = row.standing is DemandStanding.CHECKED and self.succeeded and not self.violations
        return replace(row, end=KEPT) if is_kept else row

    @property
    def proved(self) -> bool:
        """Whether the current plan is proved, each demand is in a step, and no step has violated a requirement."""
        if self.config is None or self.plan is None or self.violations:
            return False
        return conclusion_of(self.config, self.plan, self.assurance, self.demands).proved

    @property
    def achieved(self) -> tuple[ShownGoal, ...]:
        """The goals that are achieved."""
        return tuple(goal for goal in self.goals if goal.status is GoalStatus.ACHIEVED)

    @property
    def has_draft(self) -> bool:
        """Whether the execution ended without its goals, and steps remain."""
        return bool(self.left)

    def facts(self) -> tuple[str, ...]:
        """Return a line that says how many goals are achieved, as a tuple."""
        return (f"{len(self.achieved)} of {format_count(len(self.goals), 'goal')}",)

    def remarks(self) -> Sequence[str]:
        """Return lines about undone effects, violated requirements, and what was not checked."""
        lines = [f"{effect.step} (call {effect.call}): {effect_text(effect)}" for effect in self.undo]
        lines += [f"violated: {finding.message}" for finding in self.violations]
        lines += [f"nobody can tell: {finding.message}" for finding in self.unsure]
        lines += [f"not checked: {item.kind}: {printable(item.text, 200)}" for item in self.not_checked]
        if self.not_compared:
            lines.append(f"not checked: the files that {format_count(self.not_compared, 'step')} changed")
        return lines

    def details(self) -> Mapping[str, Any]:
        """Return the keys of `ExecutionJson`."""
        return {
            "revision": self.revision,
            "assurance": self.assurance,
            "phase": self.phase,
            "goals": [goal.to_json() for goal in self.goals],
            "steps": [step.to_json() for step in self.steps],
            "state": list(self.holds),
            "missing": list(self.missing),
            **({"next": list(self.next)} if self.next else {}),
            "trace": list(self.revisions[-1].trace) if self.revisions else [],
            "revisions": [revision.to_json() for revision in self.revisions],
            "violations": _as_json(self.violations),
            **({"unsure": _as_json(self.unsure)} if self.unsure else {}),
            "not_checked": [requirement_to_json(item) for item in self.not_checked],
            "snapshots": None if self.snapshots is None else {"first": self.snapshots[0], "last": self.snapshots[1]},
            **({"undo": [effect.to_json() for effect in self.undo]} if self.undo else {}),
            "plan_of": self.plan_of or None,
        }


def _as_json(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [finding.model_dump(mode="json", exclude_defaults=True) for finding in findings]


def result_of(view: RunView) -> ExecutionResult:
    """Return the result of an execution."""
    state: State = view.state
    fields = result_fields(view, state.run, view.with_inbox.run, price_known=state.config.price is not None)
    steps, has_rest = step_views(state), fields["outcome"] not in _WITHOUT_REST
    return ExecutionResult(
        **fields,
        revision=state.revision,
        assurance=state.assurance,
        phase=run_phase(state),
        goals=goal_views(state),
        steps=steps,
        revisions=revision_views(state),
        holds=tuple(sorted(state.tokens)),
        missing=tuple(sorted(state.plan.plan.goal_state - state.tokens)),
        next=_next_steps(state) if has_rest else (),
        left=tuple(_left_steps(state, steps)) if has_rest else (),
        violations=state.violations,
        unsure=state.unsure,
        not_checked=uncheckable_requirements(state.constraints.requirements, snapshots=state.config.snapshots),
        snapshots=(state.first_snapshot, state.snapshot) if state.snapshot and state.first_snapshot else None,
        not_compared=state.not_compared,
        undo=effect_views(state.effects, state.ends) if state.undoing is not None else (),
        plan_json=state.plan.json,
        workspace=state.config.workspace,
        plan_of=state.plan_of,
        config=state.config,
        plan=_plan_with_constraints(state),
        told_later=(*state.run.texts_of("requirement"), *state.run.texts_of("note")),
    )


_WITHOUT_REST = ("", Outcome.SUCCESS, UNDONE)
"""The outcomes of an execution after which no step of the plan remains to be done."""


def _next_steps(state: State) -> tuple[str, ...]:
    return tuple(state.plan.program.steps[index].step_id for index in ready_steps(state.plan.program, state.now))


def _left_steps(state: State, steps: Sequence[ShownStep]) -> Iterator[str]:
    rest = {step["step_id"] for step in rest_of_plan(state)["steps"]}
    open_ones = (StepStatus.NOT_DONE, StepStatus.FAILED, StepStatus.UNKNOWN)
    return (step.step for step in steps if step.step in rest and step.status in open_ones)


def _plan_with_constraints(state: State) -> Plan:
    value = with_constraints(state.plan.json, state.constraints)
    plan = None if value is state.plan.json else read_plan(value)[0]
    return plan or state.plan.plan
