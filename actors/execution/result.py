"""The result of an execution: its goals, its steps, the revisions of its plan, and the tokens that hold. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NotRequired

from typing_extensions import TypedDict

from actors.demands.table import DemandTable
from actors.execution.config import ExecutionConfig
from actors.execution.forbidden import not_comparable
from actors.execution.goals import GoalStatus
from actors.execution.state import State
from actors.execution.story import (
    RunPhase,
    ShownGoal,
    ShownRevision,
    ShownStep,
    conclusion_of,
    demands_of,
    run_phase,
    shown_goals,
    shown_revisions,
    shown_steps,
)
from actors.execution.undo import ShownEffect, effect_text, shown_effects
from actors.plans.constraints import with_constraints
from actors.plans.formatting import printable
from actors.plans.plan import Plan
from actors.plans.reader import read_plan
from actors.run.result import RunResult, RunView, result_fields
from actors.values.findings import Finding
from actors.values.format import counted
from actors.values.requirements import Requirement, requirement_to_json


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


class SnapshotsJson(TypedDict):
    """The first and the last snapshot of the workspace."""

    first: str
    last: str


class UndoJson(TypedDict):
    """What has become of something that was done."""

    step: str
    call: int
    undo: str | None
    status: str


class ExecutionJson(TypedDict):
    """The keys that `--json` prints for executions, in addition to those of every run."""

    revision: int
    """The number of the plan's revision, from 1."""
    assurance: str | None
    """The assurance of its plan."""
    phase: str
    """The phase that it is in, or was in last."""
    goals: list[GoalJson]
    """The goals with their statuses."""
    steps: list[StepJson]
    """The steps of the current plan."""
    state: list[str]
    """The tokens that hold."""
    missing: list[str]
    """The tokens of the goal that do not hold."""
    trace: list[str]
    """The outcomes of the current plan's steps, as `STEP:ok` or `STEP:fail`."""
    revisions: list[RevisionJson]
    """All revisions of the plan, the current one last."""
    violations: list[dict[str, Any]]
    """The requirements that steps have violated."""
    not_checked: list[dict[str, Any]]
    """The requirements that the execution compares with nothing that a step does."""
    snapshots: SnapshotsJson | None
    """The snapshots of the workspace; null where none was taken."""
    undo: NotRequired[list[UndoJson]]
    """What was done and has become of it, the last call first; present once everything is undone."""
    plan_of: str | None
    """The planning run that made the first plan; null for a plan of a file."""


@dataclass(frozen=True, kw_only=True, repr=False)
class ExecutionResult(RunResult):
    """The result of an execution."""

    revision: int
    """The number of the plan's revision, from 1."""
    assurance: str | None
    """The assurance of its plan, as the guard has measured it."""
    phase: RunPhase
    """The phase that it is in, or was in last."""
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
    violations: tuple[Finding, ...]
    """The requirements that steps have violated."""
    not_checked: tuple[Requirement, ...]
    """What every plan keeps to and the execution compares with nothing that a step does."""
    snapshots: tuple[str, str] | None
    """The ids of the first and the last snapshot of the workspace; None where none was taken."""
    not_compared: int
    """The snapshots of which nobody knows which paths have changed."""
    undo: tuple[ShownEffect, ...]
    """What was done and has become of it, the last call first; empty where nothing is undone."""
    plan_json: Any
    """The plan of the current revision as JSON."""
    workspace: str
    """The folder that the tools work in."""
    plan_of: str
    """The id of the planning run that made the first plan; empty for a plan of a file."""

    config: ExecutionConfig | None = None
    """What it is pinned to; None before it has begun."""
    plan: Plan | None = None
    """The plan of the current revision, with all that every plan of the execution keeps to."""
    told_later: tuple[str, ...] = ()
    """What the user has told the execution: requirements, then notes."""

    @cached_property
    def demands(self) -> DemandTable | None:
        """What the current plan does about each demand of the user; None where nobody has said anything."""
        if self.config is None or self.plan is None:
            return None
        return demands_of(self.config, self.plan, self.told_later)

    @property
    def proved(self) -> bool:
        """Whether the current plan is proved, no demand is in no step, and no step has violated a requirement."""
        if self.config is None or self.plan is None or self.violations:
            return False
        return conclusion_of(self.config, self.plan, self.assurance, self.demands).proved

    @property
    def achieved(self) -> tuple[ShownGoal, ...]:
        """The goals that are achieved."""
        return tuple(goal for goal in self.goals if goal.status is GoalStatus.ACHIEVED)

    def facts(self) -> tuple[str, ...]:
        """Return how many goals are achieved."""
        return (f"{len(self.achieved)} of {counted(len(self.goals), 'goal')}",)

    def remarks(self) -> Sequence[str]:
        """Return a line for each requirement that a step has violated."""
        lines = [f"{effect.step} (call {effect.call}): {effect_text(effect)}" for effect in self.undo]
        lines += [f"violated: {finding.message}" for finding in self.violations]
        lines += [f"not checked: {item.kind}: {printable(item.text, 200)}" for item in self.not_checked]
        if self.not_compared:
            lines.append(f"not checked: which files changed, after {counted(self.not_compared, 'step')}")
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
            "trace": list(self.revisions[-1].trace) if self.revisions else [],
            "revisions": [revision.to_json() for revision in self.revisions],
            "violations": [finding.model_dump(mode="json", exclude_defaults=True) for finding in self.violations],
            "not_checked": [requirement_to_json(item) for item in self.not_checked],
            "snapshots": None if self.snapshots is None else {"first": self.snapshots[0], "last": self.snapshots[1]},
            **({"undo": [effect.to_json() for effect in self.undo]} if self.undo else {}),
            "plan_of": self.plan_of or None,
        }


def result_of(view: RunView) -> ExecutionResult:
    """Return the result of an execution."""
    state: State = view.state
    fields = result_fields(view, state.run, view.with_inbox.run, price_known=state.config.price is not None)
    return ExecutionResult(
        **fields,
        revision=state.revision,
        assurance=state.assurance,
        phase=run_phase(state),
        goals=shown_goals(state),
        steps=shown_steps(state),
        revisions=shown_revisions(state),
        holds=tuple(sorted(state.tokens)),
        missing=tuple(sorted(state.plan.plan.goal_state - state.tokens)),
        violations=state.violations,
        not_checked=not_comparable(state.constraints.requirements, snapshots=state.config.snapshots),
        snapshots=(state.first_snapshot, state.snapshot) if state.snapshot and state.first_snapshot else None,
        not_compared=state.not_compared,
        undo=shown_effects(state.effects, state.ends) if state.undoing is not None else (),
        plan_json=state.plan.json,
        workspace=state.config.workspace,
        plan_of=state.plan_of,
        config=state.config,
        plan=_plan_with_constraints(state),
        told_later=(*state.run.texts_of("requirement"), *state.run.texts_of("note")),
    )


def _plan_with_constraints(state: State) -> Plan:
    """Return the current plan; with what the user has forbidden since, which the plan need not state."""
    value = with_constraints(state.plan.json, state.constraints)
    plan = None if value is state.plan.json else read_plan(value)[0]
    return plan or state.plan.plan
