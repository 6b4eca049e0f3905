"""The state of an execution: a frozen value; only `evolve` makes new ones.

Each replan keeps the tokens, the constraints of every plan (`actors.plans.constraints`), the history of failures, the
revision and the earlier results. The goals are computed from the tokens (`actors.execution.goals`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

from actors.execution.config import ExecutionConfig, ReadyPlan
from actors.execution.events import ExecutionCall, StepOutcome, TroubleCause
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
"""Characters of a finding that a reason in one line quotes."""


class AttemptPhase(StrEnum):
    """The phases of an attempt, each with a request of its own; a step has only those that its uses need."""

    APPROVE = "approve"  # a person approves it
    PRE_CHECK = "pre"  # the tool's pre-check is called
    BASE = "base"  # the workspace is recorded, for the worktree of a coding agent
    READ = "read"  # the files that a model needs are read
    ACT = "act"  # the tool is called, the model is asked, or a person does it
    WRITE = "write"  # the model's file is written
    DIFF = "diff"  # what the agent has changed is recorded, and its worktree removed
    SNAPSHOT = "snapshot"  # the workspace is recorded, and compared with what it was before
    CHECK_PRE = "check_pre"  # the check's own pre-check is called
    CHECK = "check"  # the guard's tool is called, or a person looks at the result
    COMPARE = "compare"  # the workspace is recorded again: a check changes nothing
    MERGE = "merge"  # what the agent has changed is merged into the workspace


Result = Literal["", "passed", "failed", "unknown"]
"""How an attempt ended; empty while it has not ended."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt at a step that is not settled."""

    step: str
    name: str
    """The step as nodes name it."""
    revision: int
    """The plan's revision that it belongs to."""
    visit: int
    """The visit of the step, from 1."""
    number: int
    """The number of the attempt in the visit, from 1."""
    todo: tuple[AttemptPhase, ...]
    """The phases that are left; the first one is at work or comes next."""
    begun: bool = False
    """Whether its first request was made; from then on it counts against the plan's `total_retry_budget`."""
    open: bool = False
    """Whether the request of the first phase is open."""
    unsure: bool = False
    """Whether a person must say what an interrupted call of a tool has done."""
    tries: int = 0
    """The calls of tools of the current phase."""
    acted: bool = False
    """Whether a call that is not repeatable was requested; such an attempt is always finished."""
    read: str = ""
    """The output of `workspace:read` with the files that the model is shown; empty until then."""
    text: str = ""
    """The content that the model has written, until the file is replaced; else empty."""
    base: str = ""
    """The commit that a coding agent begins with; empty until it is made, and for any other step."""
    work: str = ""
    """The commit of its work; empty until that is recorded."""
    result: Result = ""
    outcome: str = ""
    """The outcome in its output; empty before the call has ended, and for a step without outcomes."""
    values: tuple[tuple[str, str], ...] = ()
    """The values in its output, as pairs of token and value."""
    findings: tuple[Finding, ...] = ()
    skipped: bool = False
    """Whether the policy skips the attempts that are left."""
    rest_seconds: float = 0.0
    """The back-off before it begins, until that is over."""
    since: float = 0.0
    """When its visit began, in UTC seconds since 1970."""
    call: int = 0
    """The number, in the execution, of its last call that may have an effect; 0 before it."""
    arguments: str = "{}"
    """The arguments of that call, a JSON object as text; only the path of a file that a model writes."""
    doubtful: bool = False
    """Whether that call was made again after a crash, so that the first one may have done its work."""

    @property
    def node(self) -> str:
        """The name of the attempt."""
        return attempt_node(self.name, self.revision, self.visit, self.number)

    @property
    def phase(self) -> AttemptPhase | None:
        """The phase that is at work or comes next; None after the last one."""
        return self.todo[0] if self.todo else None

    @property
    def at_work(self) -> str:
        """The node of the phase that is at work or comes next; of the attempt after the last one."""
        return phase_node(self.node, self.todo[0]) if self.todo else self.node

    @property
    def question_node(self) -> str:
        """The node of the question what a tool has done."""
        return phase_node(self.node, "outcome")


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step of the current plan in its last visit."""

    outcome: StepOutcome
    attempts: int
    """The attempts of the visit; 0 where a person has settled it by hand."""
    visits: int
    """The visits of the step in this revision so far."""
    seconds: float
    """How long the visit took, in seconds."""
    findings: tuple[Finding, ...] = ()


class Revision(NamedTuple):
    """A revision of the plan that is over."""

    number: int
    """Its number, from 1."""
    plan: ReadyPlan
    results: Mapping[str, StepResult]
    """The results of its steps, by id."""
    trace: tuple[str, ...]
    """The outcomes of its steps, in order."""
    why: str
    """What ended it, in one line."""
    level: BacktrackLevel
    """How far back the replan went."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why the plan does not go on by itself, until that is decided."""

    cause: TroubleCause
    step: str = ""
    """The step that it happened at; empty for none."""
    findings: tuple[Finding, ...] = ()
    number: int = 0
    """The number of the question about it, from 1; 0 until the policy has decided to ask."""
    question: str = ""
    """The id of that question; empty until it is asked."""
    level: BacktrackLevel = BacktrackLevel.CLARIFY
    """How far back the policy wanted to go, where a person is asked whether it may."""
    root: str = ""
    """The first trouble in words, where this one is about the replan that was to mend it; else empty."""
    answer: str | None = None
    """The person's answer; empty where nobody gave one, None until the question is closed."""

    @property
    def why(self) -> str:
        """The first cause, in one line."""
        place = f" at {self.step}" if self.step else ""
        first = self.findings[0].message.splitlines()[0] if self.findings else ""
        return self.root or f"{self.cause}{place}: {first[:WHY_MAX]}"


@dataclass(frozen=True, slots=True)
class Replan:
    """A replan that is decided and not yet carried out."""

    level: BacktrackLevel
    """Whether the goals stay or may change."""
    trouble: Trouble
    """What made it necessary."""
    number: int
    """The number of the replan in the run, from 1."""
    node: str = ""
    """The node of the planning run's request; empty until it is made."""
    plan: str = ""
    """The new plan as JSON; empty until the planning run has made one."""
    verdict: Verdict | None = None
    proving: bool = False
    """Whether the guard is asked."""


class SettledFailure(NamedTuple):
    """A failure that was handed over, for the recognition of stagnation."""

    step: str
    """The step that failed; empty for none."""
    signature: frozenset[tuple[str, str]]
    """The codes and places of its findings."""


class DecidedEnd(NamedTuple):
    """The end that is decided, which waits for tools at work."""

    outcome: str
    why: str


@dataclass(frozen=True)
class State:
    """An execution, from its first event on."""

    run: RunState[ExecutionCall]
    """The common part: calls, tools, waits, questions, messages, ledger and end."""
    config: ExecutionConfig
    plan: ReadyPlan
    now: Configuration
    """The pending steps, and the tokens that hold among those that the plan names."""
    ready: tuple[int, ...]
    """The indices of the steps that may start."""
    assurance: str | None
    """The assurance of the plan, as the guard has measured it."""
    plan_of: str = ""
    """The id of the planning run that made the first plan; empty for a plan of a file."""
    revision: int = 1
    unnamed: frozenset[str] = frozenset()
    """The tokens that hold and that the plan does not name."""
    values: Mapping[str, str] = field(default_factory=dict)
    """The values of the tokens that hold and have one, as read from the outputs of steps."""
    active: Mapping[str, Attempt] = field(default_factory=dict)
    """The attempts that are not settled, by the name of their step, in the order in which they began."""
    visits: Mapping[str, int] = field(default_factory=dict)
    """The visits of each step in this revision, by name."""
    used: int = 0
    """The attempts of this revision, since the run was last reopened."""
    starts: int = 0
    """The visits of all steps in this revision."""
    started: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """The last start of each step of a policy, by (tokens that held, index): the value of `starts` at that time."""
    trace: tuple[str, ...] = ()
    """The outcomes of the steps in this revision, each as `STEP:ok` or `STEP:fail`."""
    results: Mapping[str, StepResult] = field(default_factory=dict)
    """The results of the steps of this revision, by id."""
    feedback: Mapping[str, tuple[Feedback, ...]] = field(default_factory=dict)
    """Why earlier files that models wrote for a step were rejected, by the step's name, the newest last."""
    earlier: tuple[Revision, ...] = ()
    history: tuple[SettledFailure, ...] = ()
    """The failures that were handed over, oldest first, until a requirement changes."""
    trouble: Trouble | None = None
    """Why the plan does not go on by itself; None where it does."""
    replan: Replan | None = None
    ending: DecidedEnd | None = None
    violations: tuple[Finding, ...] = ()
    """The requirements that were violated so far, and by which step."""
    replans: int = 0
    """The replans of the run."""
    replans_left: int = 0
    """The replans that it may still make."""
    questions: int = 0
    """The questions about troubles of the run."""
    questions_left: int = 0
    """The questions about troubles that it may still ask."""
    replan_nodes: tuple[str, ...] = ()
    """The nodes of the requests for planning runs, the oldest first."""
    snapshot: str | None = None
    """The id of the last snapshot of the workspace; empty where none could be taken, None before the first one."""
    first_snapshot: str = ""
    """The id of the snapshot that was taken before the first step; empty for none."""
    not_compared: int = 0
    """The number of snapshots after which the changed paths are not known."""
    constraints: Constraints = field(default_factory=Constraints)
    """The constraints of every plan; they survive every replan."""
    barred: frozenset[int] = frozenset()
    """The indices of the steps of the plan that use what a constraint forbids: none of them begins."""
    goals: tuple[PastGoal, ...] = ()
    """The goals of the revisions that are over, with their statuses then."""
    damaged: tuple[str, ...] | None = None
    """The protected paths that differ from the first snapshot, if the last event was that comparison; else None."""
    touched: frozenset[str] = frozenset()
    """The paths that have changed since the start, as far as snapshots say; none where no budget of files is stated."""
    calls: int = 0
    """The number of calls of generators so far; it numbers the effects."""
    effects: dict[str, CallEffect] = field(default_factory=dict)
    """The effects of the calls of generators, those of earlier plans included, by node, in the order of the calls."""
    undoing: Undoing | None = None
    """The undoing of everything that was done; None until it is decided."""
    ends: Mapping[str, EffectEnd] = field(default_factory=dict)
    """The ends of the effects that were undone, by the node of the call."""
    undo_calls: Mapping[str, int] = field(default_factory=dict)
    """The calls of undo tools so far, by node."""
    told: int = 0
    """The number of the user's requirements that the current plan takes into account."""

    @property
    def tokens(self) -> frozenset[str]:
        """All tokens that hold now."""
        return self.unnamed.union(self.plan.program.names(self.now.tokens))

    @property
    def draining(self) -> bool:
        """Whether nothing new begins: a replan, a question about a trouble, an undo, or the end is decided."""
        decided = self.replan is not None or self.ending is not None or self.undoing is not None
        return decided or self.trouble is not None

    @property
    def proving(self) -> bool:
        """Whether the guard is asked about a new plan."""
        return self.replan is not None and self.replan.proving and self.run.finished is None

    def attempt_at(self, node: str) -> Attempt | None:
        """Return the attempt whose current phase has the node; None where no such phase is at work."""
        attempt = self.active.get(node.partition("/")[0])
        if attempt is None or not attempt.open or attempt.at_work != node:
            return None
        return attempt


ExecutionState = State | NotStarted


SIDE_BY_SIDE_MAX = 32
"""The steps that one execution has at work at a time, those that wait for a person included."""


def next_step(state: State) -> int | None:
    """Return the index of the step that begins next; None where none may begin.

    Among the ready steps of a policy it is the one whose last start with these tokens was longest ago. So each ready
    step in a loop has its turn. Ties, and the steps of other plans, go by id.
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


def budget_left(state: State, besides: Iterable[int] = ()) -> int:
    """Return the attempts left of the plan's total after subtracting those that pending and active steps need.

    The needs of the steps in `besides` are not subtracted: these steps are about to be made pending again.
    """
    program, left_out = state.plan.program, set(besides)
    needed = 0
    for index in bits(state.now.pending):
        if index in left_out:
            continue
        step = program.steps[index]
        attempt = state.active.get(state.plan.names[step.step_id])
        attempts_begun = 0 if attempt is None else attempt.number if attempt.begun else attempt.number - 1
        needed += max(0, step.retry_budget - attempts_begun)
    return program.plan.total_retry_budget - state.used - needed


def covers(state: State, index: int) -> bool:
    """Return whether the plan's total covers all steps that become pending again after a step's failure.

    In a policy no step becomes pending again: every step may run any number of times until the total is used up.
    """
    program = state.plan.program
    if program.repeats:
        return True
    again = list(bits(program.reset[index]))
    return budget_left(state, [*again, index]) >= sum(program.steps[step].retry_budget for step in again)


def covers_another_visit(state: State, index: int) -> bool:
    """Return whether the plan's total covers one more visit of a step that has failed."""
    program = state.plan.program
    if program.repeats:
        return state.used < program.plan.total_retry_budget
    return budget_left(state, [index]) >= program.steps[index].retry_budget


def is_spent(state: State) -> bool:
    """Return whether the attempts of the plan's total are used up."""
    return state.used >= state.plan.plan.total_retry_budget
