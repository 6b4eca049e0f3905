"""The events of an execution: one closed union, named in the past tense. Names of requests end in `Requested`.

A step makes few records: the requests and results of its phases, and one `StepSettled`. The sequence of the
`StepSettled` records is the trace. A node is the name of a part of the run, such as an attempt; `actors.execution.ids`
lists these names. The events that all kinds of runs share are in `actors.run`.
"""

import operator
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal, get_args

from pydantic import Field

from actors.execution.undo import EffectEnd
from actors.policy.table import BacktrackLevel
from actors.run.calls import CallReissued, CallRequested, Replied
from actors.run.ending import RunFinished
from actors.run.evolve import RunEvent
from actors.run.questions import WAYS, StoredVia
from actors.run.tools import ToolEvent
from actors.run.waits import Started, TimedEvent
from actors.values.findings import Finding, Verdict
from runtime.core.events import Event, Seconds

GOALS_FAILED = "goals_failed"
"""The outcome of an execution that ended before its goals were reached. The other outcomes are in
`actors.run.ending.Outcome`."""


class StepOutcome(StrEnum):
    """The outcome of a visit of a step."""

    OK = "ok"
    FAIL = "fail"  # its attempts are used up, or skipped
    UNKNOWN = "unknown"  # nobody knows whether its tool has run


class TroubleCause(StrEnum):
    """The reason why an execution cannot go on with its plan. The policy or a person then decides how to continue."""

    ESCALATED = "escalated"  # a step failed, and the plan does not handle the failure
    UNKNOWN_OUTCOME = "unknown_outcome"  # nobody knows whether the tool of a step has run
    ASSUMPTION_BROKEN = "assumption_broken"  # a step failed, but the plan says that it never fails
    INVARIANT_BROKEN = "invariant_broken"  # the tokens break an invariant of the plan
    DEAD_END = "dead_end"  # no step is ready, and the goal does not hold
    GOAL_FAILED = "goal_failed"  # a goal that others depend on is out of reach
    REQUIREMENT_VIOLATED = "requirement_violated"  # a step did something that a requirement forbids
    REQUIREMENTS_CHANGED = "requirements_changed"  # the user has sent a new requirement
    REPLAN_FAILED = "replan_failed"  # no new plan was found or proved
    STEP_FORBIDDEN = "step_forbidden"  # a ready step uses something that a requirement forbids
    PLAN_REJECTED = "plan_rejected"  # the new plan of a replan does not pass the proof, or cannot be executed
    WORLD_LACKS = "world_lacks"  # something that the plan needs is missing
    PLAN_EDITED = "plan_edited"  # a person has edited the plan
    PLANNER_ASKS = "planner_asks"  # the planning run of a replan has a question


class ExecutionStarted(Started):
    """An execution began. The first event has everything that later decisions depend on."""

    texts: ClassVar[tuple[str, ...]] = ("pinned",)
    kind: Literal["execution_started"] = "execution_started"
    pinned: str
    """The configuration of the execution, as JSON."""
    plan_of: str = ""
    """The id of the planning run that made the plan, if any."""


class FileRequested(CallRequested):
    """A model was asked to write a file. `node` is a phase of an attempt."""

    kind: Literal["file_requested"] = "file_requested"


class FileReplied(Replied):
    """A model replied with a file. If the file is complete, it is written next."""

    kind: Literal["file_replied"] = "file_replied"


class ReplanRequested(CallRequested):
    """A planning run was asked for a new plan."""

    kind: Literal["replan_requested"] = "replan_requested"
    level: BacktrackLevel
    """`partial_replan` if the goals must stay the same, `full_replan` if they may change."""


class ReplanReplied(Replied):
    """The planning run of a replan ended. The content is the run's result (`actors.planning.replanning`)."""

    kind: Literal["replan_replied"] = "replan_replied"


ExecutionCall = FileRequested | ReplanRequested


class ExecutionCallReissued(CallReissued):
    """A driver repeated an earlier driver's request for a file, or in a fork also a request for a planning run.

    In a run that is not a fork, the planning run continues by itself.
    """

    kind: Literal["call_reissued"] = "call_reissued"
    again: FileRequested | ReplanRequested
    """The new request, with the next try number."""


class ProofRequested(Event):
    """A guard was asked whether a new plan may replace the current one."""

    kind: Literal["proof_requested"] = "proof_requested"
    node: str
    """The node of the proof."""
    guard: str
    """The name of the guard, or the kind of a composite guard."""

    @property
    def request_id(self) -> str:
        """The id of the request, which is the same as its node."""
        return self.node


class ProofReached(TimedEvent):
    """The guard has judged the new plan."""

    kind: Literal["proof_reached"] = "proof_reached"
    node: str
    """The node of the proof."""
    elapsed: Seconds
    """The duration of the proof, in seconds."""
    verdict: Verdict
    """Whether the plan passed, its score, and the findings."""


class AttemptDecided(Event):
    """The policy decided about a failed attempt in a visit that allowed more attempts."""

    kind: Literal["attempt_decided"] = "attempt_decided"
    node: str
    """The id of the attempt."""
    again: bool
    """Whether the step is attempted again."""
    level: BacktrackLevel
    """The level of the decision, such as `local_retry`."""
    rule: str
    """The id of the policy's row, or the name of the built-in rule."""
    code: str
    """The code of the finding that the row matched, or else of the first finding; empty without a finding."""
    known: bool = True
    """Whether the row names the finding or one of its tags."""
    delay_seconds: Seconds = 0.0
    """The seconds of back-off before a retry; 0 without a back-off."""


class StepSettled(Event):
    """A visit of a step ended. The sequence of these events is the trace of the execution."""

    added_fields: ClassVar[tuple[str, ...]] = ("branch",)
    kind: Literal["step_settled"] = "step_settled"
    step: str
    """The id of the step in the plan."""
    node: str
    """The id of the visit's last attempt; empty if a person has settled the step."""
    outcome: StepOutcome
    """The outcome of the visit."""
    handed_over: bool = False
    """Whether the policy decides what happens next."""
    late: bool = False
    """Whether a replan, a question about a trouble, an undo or the end was decided before this event.

    If so, a failure of the visit causes no trouble.
    """
    findings: tuple[Finding, ...] = ()
    """The findings that made the visit fail."""
    branch: str = Field(default="", exclude_if=operator.not_)
    """The name of the step's outcome, if it succeeded; empty for a step without outcomes."""


class TroubleDecided(Event):
    """The policy or a person decided how to continue after a trouble: a problem that the plan does not handle."""

    kind: Literal["trouble_decided"] = "trouble_decided"
    cause: TroubleCause
    """The kind of trouble."""
    step: str = ""
    """The step at which the trouble occurred; empty if no step is concerned."""
    level: BacktrackLevel
    """The level of the decision, such as `partial_replan`."""
    rule: str
    """The id of the policy's row; `user` if a person decided; `budget` if the budgets allow nothing else."""
    code: str = ""
    """The code of the finding that the row matched, or else of the first finding; empty without a finding."""
    findings: tuple[Finding, ...] = ()
    """The findings that explain the trouble."""
    question_id: str | None = None
    """The id of the question whose answer decided; None without an answer."""
    asks: bool = False
    """Whether a person is asked how to continue."""
    constraints: tuple[Mapping[str, Any], ...] = ()
    """The new constraints on every later plan, if the user has changed the requirements."""
    delay_seconds: Seconds = 0.0
    """The seconds of back-off before the step is tried again; 0 without a back-off."""


class UndoDecided(Event):
    """The plan or a person decided to undo everything that was done. The execution ends after the undoing."""

    kind: Literal["undo_decided"] = "undo_decided"
    by: Literal["plan", "person"]
    """Who decided: the plan by `on_failure: undo`, or a person by an answer or a message."""
    why: str
    """The reason, in one line."""
    step: str = ""
    """The step that failed; empty if no step failed."""
    findings: tuple[Finding, ...] = ()
    """The findings that made the step fail."""
    question_id: str | None = None
    """The id of the question whose answer decided; None if no answer did."""
    at: Seconds | None = None
    """The time of the person's message, in UTC seconds since 1970; None if no message decided."""


class EffectSettled(Event):
    """The undoing of an effect ended. Each effect has at most one `effect_settled` record."""

    kind: Literal["effect_settled"] = "effect_settled"
    node: str
    """The node of the call that had the effect."""
    step: str
    """The id of the call's step in the plan that was current then."""
    end: EffectEnd
    """The result of the undoing."""
    question_id: str | None = None
    """The id of the question in which a person said how the undoing ended; None without a question."""


class PlanEdited(TimedEvent):
    """A person edited the remaining plan. The edited plan is used once it is proved and no step is running."""

    texts: ClassVar[tuple[str, ...]] = ("plan",)
    kind: Literal["plan_edited"] = "plan_edited"
    plan: str
    """The edited plan, as JSON."""
    via: StoredVia = ""
    """The interface by which the edit came."""
    person: str = ""
    """The name of the person who edited the plan; empty if unknown."""
    approves: tuple[str, ...] = ()
    """The steps that the person approved with the edit. Their first attempts need no further approval."""

    @property
    def who(self) -> str:
        """The person who edited the plan, in words."""
        return f"{self.person or 'a person'}{WAYS[self.via]}"


class PlanRevised(Event):
    """The execution changed to a new plan that a guard has proved. A new revision begins."""

    texts: ClassVar[tuple[str, ...]] = ("plan",)
    kind: Literal["plan_revised"] = "plan_revised"
    revision: int
    """The number of the revision that begins with the new plan."""
    level: BacktrackLevel
    """`partial_replan` if the goals stayed the same, `full_replan` if they could change."""
    plan: str
    """The new plan, as JSON."""
    assurance: str | None
    """The assurance that the guard measured for the new plan."""
    why: str
    """The reason for the new plan, in one line."""


ExecutionEvent = (
    ExecutionStarted
    | FileRequested
    | FileReplied
    | ReplanRequested
    | ReplanReplied
    | ExecutionCallReissued
    | ProofRequested
    | ProofReached
    | AttemptDecided
    | StepSettled
    | TroubleDecided
    | PlanRevised
    | PlanEdited
    | UndoDecided
    | EffectSettled
    | ToolEvent
    | RunEvent
    | RunFinished
)
EVENTS: tuple[type[Event], ...] = get_args(ExecutionEvent)
