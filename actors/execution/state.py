"""The state of an execution: a frozen value. Only `evolve` makes new states.

Each replan keeps the tokens, the constraints that apply to every plan (`actors.plans.constraints`) and the history of
failures. It also keeps the number of the revision and the earlier results. The goals are computed from the tokens
(`actors.execution.goals`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

from actors.execution.config import ExecutionConfig, ReadyPlan
from actors.execution.events import ExecutionCall, PlanEdited, StepOutcome, TroubleCause
from actors.execution.goals import PastGoal
from actors.execution.ids import attempt_node, phase_node
from actors.execution.undo import CallEffect, EffectEnd, Undoing
from actors.plans.constraints import Constraints
from actors.plans.graph import bits
from actors.plans.semantics import Configuration, may_overlap
from actors.policy.table import BacktrackLevel
from actors.run.state import NotStarted, RunState
from actors.values.artifacts import Feedback
from actors.values.findings import Finding, Verdict

WHY_MAX = 300
"""The largest number of characters of a finding's message that a one-line reason quotes."""


class AttemptPhase(StrEnum):
    """The phases of an attempt. Each phase has its own request. An attempt has only the phases that its step needs."""

    APPROVE = "approve"  # a person approves it
    PRE_CHECK = "pre"  # the tool's pre-check is called
    BASE = "base"  # the workspace is recorded, for the worktree of a coding agent
    READ = "read"  # the files that a model needs are read
    ACT = "act"  # the tool is called, the model is asked, or a person does it
    WRITE = "write"  # the model's file is written
    DIFF = "diff"  # the agent's changes are recorded, and its worktree is removed
    SNAPSHOT = "snapshot"  # the workspace is recorded, and compared with its earlier state
    CHECK_PRE = "check_pre"  # the check's own pre-check is called
    CHECK = "check"  # the guard's tool is called, or a person looks at the result
    COMPARE = "compare"  # the workspace is recorded again: a check changes nothing
    MERGE = "merge"  # the agent's changes are merged into the workspace


Result = Literal["", "passed", "failed", "unknown"]
"""How an attempt ended. The text is empty if the attempt has not ended."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt in a visit that has not ended."""

    step: str
    name: str
    """The name of the step, as nodes contain it."""
    revision: int
    visit: int
    number: int
    todo: tuple[AttemptPhase, ...]
    """The remaining phases. The first of these phases is the current phase."""
    begun: bool = False
    """Whether the attempt's first request was made. From then on, the attempt counts against the plan's
    `total_retry_budget`.
    """
    open: bool = False
    """Whether the request of the attempt's current phase is open."""
    unsure: bool = False
    """Whether a person must say what an interrupted tool call has done."""
    tries: int = 0
    acted: bool = False
    """Whether a call that is not repeatable was requested. If so, a replan does not stop the attempt."""
    read: str = ""
    """The output of `workspace:read`, with the files for the model; empty before the files were read."""
    text: str = ""
    """The file content from the model; empty before the model has replied."""
    base: str = ""
    """The commit from which a coding agent starts; empty before the commit is made, and for other steps."""
    work: str = ""
    """The commit of a coding agent's work; empty before the work is recorded."""
    result: Result = ""
    outcome: str = ""
    """The step's outcome, as found in the output; empty before the call has ended, and for a step without outcomes."""
    values: tuple[tuple[str, str], ...] = ()
    """The values of tokens that were found in the output, as pairs of token and value."""
    findings: tuple[Finding, ...] = ()
    skipped: bool = False
    """Whether the policy skips the remaining attempts of the visit."""
    backoff_seconds: float = 0.0
    since: float = 0.0
    """The time at which the attempt's visit began, in UTC seconds since 1970."""
    call: int = 0
    """The number of the attempt's last call that may have an effect; 0 without a call."""
    arguments: str = "{}"
    """The arguments of the last call that may have an effect: a JSON object as text. For a file that a model writes,
    the object has only the path.
    """
    doubtful: bool = False
    """Whether the last call with a possible effect was repeated after a crash. If so, the first call may have done its
    work.
    """

    @property
    def node(self) -> str:
        """The name of the attempt."""
        return attempt_node(self.name, self.revision, self.visit, self.number)

    @property
    def phase(self) -> AttemptPhase | None:
        """The current phase, which is running or comes next; None after the last phase."""
        return self.todo[0] if self.todo else None

    @property
    def at_work(self) -> str:
        """The node of the current phase, or of the whole attempt after the last phase."""
        return phase_node(self.node, self.todo[0]) if self.todo else self.node

    @property
    def question_node(self) -> str:
        """The node of the question about what a tool call has done."""
        return phase_node(self.node, "outcome")


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of the last visit of a step of the current plan."""

    outcome: StepOutcome
    attempts: int
    """The number of attempts in the visit; 0 if a person has settled the step by hand."""
    visits: int
    seconds: float
    findings: tuple[Finding, ...] = ()


class Revision(NamedTuple):
    """An earlier revision of the plan."""

    number: int
    plan: ReadyPlan
    results: Mapping[str, StepResult]
    trace: tuple[str, ...]
    why: str
    level: BacktrackLevel
    """The level of the replan that ended this revision."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A reason why the plan cannot go on by itself. The policy or a person decides how to continue."""

    cause: TroubleCause
    step: str = ""
    """The step at which the trouble occurred; empty if no step is concerned."""
    findings: tuple[Finding, ...] = ()
    number: int = 0
    """The number of the question about the trouble, from 1; 0 before the policy has decided to ask."""
    question: str = ""
    """The id of the question about the trouble; empty before the question is asked."""
    level: BacktrackLevel = BacktrackLevel.CLARIFY
    """The level that the policy or an earlier replan proposes for the next decision."""
    root: str = ""
    """The first reason, in words, if a replan or an edit caused this trouble; else empty."""
    answer: str | None = None
    """The person's answer; empty if nobody answered; None before the question is closed."""

    @property
    def why(self) -> str:
        """The first reason for the trouble, in one line."""
        place = f" at {self.step}" if self.step else ""
        first = self.findings[0].message.splitlines()[0] if self.findings else ""
        return self.root or f"{self.cause}{place}: {first[:WHY_MAX]}"


@dataclass(frozen=True, slots=True)
class Replan:
    """A replan that was decided but has not ended."""

    level: BacktrackLevel
    """`partial_replan` if the goals must stay the same, `full_replan` if they may change."""
    trouble: Trouble
    number: int
    node: str = ""
    """The node of the request for the planning run; empty before the request is made."""
    plan: str = ""
    """The new plan as JSON; empty before the planning run has made a plan."""
    verdict: Verdict | None = None
    proving: bool = False
    edit: PlanEdited | None = None
    """The edit in which a person made the new plan; None if a planning run makes the plan."""
    before: Trouble | None = None
    """The trouble that an edit suspends; None if no trouble was open.

    If the edited plan is rejected, the trouble is open again.
    """


class SettledFailure(NamedTuple):
    """A failure that the policy decided about. The state stores the failure to recognise stagnation."""

    step: str
    signature: frozenset[tuple[str, str]]
    """The codes and places of the failure's findings."""


class DecidedEnd(NamedTuple):
    """The decided end of the run. The run ends when all running tools have ended."""

    outcome: str
    why: str


@dataclass(frozen=True)
class State:
    """The state of an execution after its first event."""

    run: RunState[ExecutionCall]
    config: ExecutionConfig
    plan: ReadyPlan
    now: Configuration
    """The pending steps, and the tokens of the plan that hold."""
    ready: tuple[int, ...]
    """The indices of the steps that may start now."""
    assurance: str | None
    plan_of: str = ""
    revision: int = 1
    unnamed: frozenset[str] = frozenset()
    """The tokens that hold but do not occur in the plan."""
    values: Mapping[str, str] = field(default_factory=dict)
    """The values of tokens that hold, as read from the outputs of steps. The keys are the tokens."""
    active: Mapping[str, Attempt] = field(default_factory=dict)
    """The attempts in visits that have not ended, oldest first. The keys are the names of their steps."""
    visits: Mapping[str, int] = field(default_factory=dict)
    used: int = 0
    """The number of attempts in this revision since the run was last reopened."""
    starts: int = 0
    """The number of visits in this revision, of all steps together."""
    started: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """For a policy: the number of visits (`starts`) when a step last started.

    A key has the tokens that held then, and the step's index.
    """
    trace: tuple[str, ...] = ()
    """The outcomes of the steps in this revision, each as `STEP:ok` or `STEP:fail`."""
    results: Mapping[str, StepResult] = field(default_factory=dict)
    feedback: Mapping[str, tuple[Feedback, ...]] = field(default_factory=dict)
    """For each step, by its name: why earlier work of models and agents was rejected, the newest reason last."""
    earlier: tuple[Revision, ...] = ()
    history: tuple[SettledFailure, ...] = ()
    """The failures that the policy decided about, oldest first; empty after a requirement has changed."""
    trouble: Trouble | None = None
    replan: Replan | None = None
    ending: DecidedEnd | None = None
    violations: tuple[Finding, ...] = ()
    replans: int = 0
    replans_left: int = 0
    questions: int = 0
    questions_left: int = 0
    editors: Mapping[int, str] = field(default_factory=dict)
    """For the number of each revision that a person made by an edit: the person, in words."""
    approved: frozenset[str] = frozenset()
    """The steps of this revision whose first attempts a person approved with an edit of the plan."""
    replan_nodes: tuple[str, ...] = ()
    looks: int = 0
    looked: bool = False
    unsure: tuple[Finding, ...] = ()
    """The needs of the current plan that nobody can check."""
    snapshot: str | None = None
    """The id of the last snapshot of the workspace; empty if that snapshot failed; None before the first snapshot."""
    first_snapshot: str = ""
    """The id of the snapshot before the first step; empty if this snapshot was not taken or failed."""
    not_compared: int = 0
    """The number of snapshots for which the changed paths are not known."""
    constraints: Constraints = field(default_factory=Constraints)
    barred: frozenset[int] = frozenset()
    """The indices of the steps that must not begin, because a constraint forbids a tool of the step."""
    goals: tuple[PastGoal, ...] = ()
    damaged: tuple[str, ...] | None = None
    """The protected paths that differ from the first snapshot; None if the last event did not compare the paths."""
    touched: frozenset[str] = frozenset()
    """The paths that have changed since the start, according to snapshots; empty if no budget limits files."""
    calls: int = 0
    """The number of calls of generators so far. A call's effect has the number of the call."""
    effects: dict[str, CallEffect] = field(default_factory=dict)
    """The effects of all calls of generators, in the order of the calls, also under earlier plans.

    The keys are the nodes of the calls.
    """
    undoing: Undoing | None = None
    ends: Mapping[str, EffectEnd] = field(default_factory=dict)
    undo_calls: Mapping[str, int] = field(default_factory=dict)
    requirements_used: int = 0
    """The number of the user's requirements, from the first on, that the run has seen. All later requirements are new.
    """

    @property
    def tokens(self) -> frozenset[str]:
        """All tokens that hold now."""
        return self.unnamed.union(self.plan.program.names(self.now.tokens))

    @property
    def draining(self) -> bool:
        """Whether nothing new may begin: a replan, a question about a trouble, an undo, or the end is decided."""
        decided = self.replan is not None or self.ending is not None or self.undoing is not None
        return decided or self.trouble is not None

    @property
    def proving(self) -> bool:
        """Whether the guard is judging a new plan now."""
        return self.replan is not None and self.replan.proving and self.run.finished is None

    def attempt_at(self, node: str) -> Attempt | None:
        """Return the attempt whose current phase has this node and an open request; None without such an attempt."""
        attempt = self.active.get(node.partition("/")[0])
        if attempt is None or not attempt.open or attempt.at_work != node:
            return None
        return attempt


ExecutionState = State | NotStarted


SIDE_BY_SIDE_MAX = 32
"""The largest number of steps that an execution does at the same time. Steps that wait for a person count too."""


def next_step(state: State) -> int | None:
    """Return the index of the step that begins next; None if no step may begin.

    In a policy (a plan of repeatable steps), return the ready step whose last start with the current tokens is the
    longest ago. So a loop runs each of its ready steps in turn. Among equals, and in any other plan, the first step by
    id begins.
    """
    if not state.ready or len(state.active) >= SIDE_BY_SIDE_MAX:
        return None
    program, index = state.plan.program, state.plan.index
    at_work = [index[attempt.step] for attempt in state.active.values()]
    free = [step for step in state.ready if step not in at_work and step not in state.barred]
    free.sort(key=lambda step: (_last_start(state, step), program.steps[step].step_id))
    for step in free:
        if all(may_overlap(program, step, other) for other in at_work):
            return step
    return None


def _last_start(state: State, step: int) -> int:
    return state.started.get((state.now.tokens, step), 0) if state.plan.program.repeats else 0


def _budget_left(state: State, besides: Iterable[int] = ()) -> int:
    """Return the part of `total_retry_budget` that is neither used nor needed by pending and active steps.

    The attempts that the steps in `besides` need are not subtracted, because the caller counts them.
    """
    program, left_out = state.plan.program, set(besides)
    needed = 0
    for index in bits(state.now.pending):
        if index in left_out:
            continue
        step = program.steps[index]
        attempt = state.active.get(state.plan.names[step.step_id])
        attempts_begun = 0
        if attempt is not None:
            attempts_begun = attempt.number if attempt.begun else attempt.number - 1
        needed += max(0, step.retry_budget - attempts_begun)
    return program.plan.total_retry_budget - state.used - needed


def covers(state: State, index: int) -> bool:
    """Return whether `total_retry_budget` covers all steps that become pending again after a step's failure.

    In a policy, return True, because each step may run again until this budget is used up.
    """
    program = state.plan.program
    if program.repeats:
        return True
    again = list(bits(program.reset[index]))
    return _budget_left(state, [*again, index]) >= sum(program.steps[step].retry_budget for step in again)


def covers_another_visit(state: State, index: int) -> bool:
    """Return whether `total_retry_budget` covers one more visit of a step that has failed."""
    program = state.plan.program
    if program.repeats:
        return state.used < program.plan.total_retry_budget
    return _budget_left(state, [index]) >= program.steps[index].retry_budget


def is_spent(state: State) -> bool:
    """Return whether the plan's `total_retry_budget` is used up."""
    return state.used >= state.plan.plan.total_retry_budget
