"""The facts of a planning run: one closed union, in the past tense; those that ask for work end in `Requested`.

Times are UTC seconds since 1970, durations seconds. Ids are explained in `actors.planning.ids`; what an id says already
is a property here, and is not stored again.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_serializer

from actors.planning.call_events import (
    ArtifactProduced,
    ClassificationRequested,
    FailureClassified,
    GenerationFailed,
    GenerationRequested,
    Replied,
    RequestReissued,
    Settled,
    Told,
)
from actors.planning.decision_event import Decided
from actors.planning.ids import call_of, judgement_id, step_of
from actors.policy.table import BacktrackLevel
from actors.search.strategies.tree import PruneCause
from actors.values.answers import TEXT
from actors.values.findings import ReasonTag, Verdict
from runtime.core.events import Event, Seconds
from runtime.core.ledger import Limits

__all__ = [
    "EVENTS",
    "ArtifactProduced",
    "ClarificationAnswered",
    "ClarificationDeclined",
    "ClarificationExpired",
    "ClarificationRequested",
    "ClarificationWithdrawn",
    "ClassificationRequested",
    "FailureClassified",
    "GenerationFailed",
    "GenerationRequested",
    "JudgementRequested",
    "MailRefused",
    "NoteTold",
    "Outcome",
    "PlanningEvent",
    "Replied",
    "RequestReissued",
    "RequirementTold",
    "Revised",
    "RunFinished",
    "RunParked",
    "RunResumed",
    "RunStarted",
    "Settled",
    "Told",
    "VerdictReached",
    "WaitEnded",
    "WaitRequested",
]


class Outcome(StrEnum):
    """How a run ended."""

    SUCCESS = "success"
    BUDGET_EXHAUSTED = "budget_exhausted"  # more may help
    ALL_PRUNED = "all_pruned"  # a root step failed for good: this pipeline does not solve it
    BACKTRACK_CEILING = "backtrack_ceiling"  # nowhere left to go back to
    CANCELLED = "cancelled"
    FAILED = "failed"  # the provider, or a bug


class RunStarted(Told):
    """The run began. `pinned` is the JSON of everything that later decisions use (`actors.planning.config`).

    `child` says that it is a step of another run, whose books reserve and settle what it takes. `source` is where the
    workflow was found, so that a user can be told when it differs: a shipped name or a file's whole path, empty where
    there is none; `given` are its keys that were given another value than the file's.
    """

    texts: ClassVar[tuple[str, ...]] = ("specification", "pinned")
    kind: Literal["run_started"] = "run_started"
    run: str
    specification: str
    pinned: str
    limits: Limits
    child: bool = False
    source: str = ""
    given: tuple[str, ...] = ()

    @field_serializer("limits")
    def _all_limits(self, limits: Limits) -> dict[str, Any]:
        """Write every limit: the one that a run was started with holds, whatever a later release defaults to."""
        return limits.model_dump(mode="json")


class RunResumed(Told):
    """A driver took the run over under a new epoch."""

    kind: Literal["run_resumed"] = "run_resumed"
    epoch: int


class RunParked(Told):
    """The driver is about to leave; nothing new is asked until the run is resumed.

    With `handover` whoever drives runs of this home goes on with it; else a person has to say so. `why` is empty where
    a person wished it.
    """

    kind: Literal["run_parked"] = "run_parked"
    handover: bool = False
    why: str = ""


class JudgementRequested(Event):
    """A guard was asked for a verdict on a node's artifact."""

    kind: Literal["judgement_requested"] = "judgement_requested"
    node: str
    guard: str

    @property
    def request_id(self) -> str:
        """The request's name."""
        return judgement_id(self.node)

    @property
    def step(self) -> str:
        """The step whose guard is asked."""
        return step_of(self.node)


class VerdictReached(Told):
    """A guard judged a node's artifact."""

    kind: Literal["verdict_reached"] = "verdict_reached"
    node: str
    elapsed: Seconds
    verdict: Verdict

    @property
    def request_id(self) -> str:
        """The request that it answers."""
        return judgement_id(self.node)


class Revised(Event):
    """The revision marker of a replan: the targets and all that requires them are unset; older work is void.

    It is about one branch; `branch` None is every branch, after a changed requirement.
    """

    kind: Literal["revised"] = "revised"
    revision: int
    level: BacktrackLevel
    targets: tuple[str, ...]
    cleared: tuple[str, ...]
    tags: tuple[ReasonTag, ...] = ()
    new_round: bool = False
    branch: int | None = 0


class BranchOpened(Event):
    """A search of its own began beside the others, on the artifacts that `parent` has accepted for the steps `kept`.

    Where the parent was about to go back, the new branch does, and the parent stays where it is. `anew` says that all
    visits and attempts are given back.
    """

    kind: Literal["branch_opened"] = "branch_opened"
    branch: int
    parent: int | None = None
    kept: tuple[str, ...] = ()
    anew: bool = False
    why: str


class BranchPruned(Event):
    """A branch ended: its open work is withdrawn, and what it has not reserved of its slice is free."""

    kind: Literal["branch_pruned"] = "branch_pruned"
    branch: int
    cause: PruneCause
    why: str


class ClarificationRequested(Event):
    """The user was asked. `blocks` are the steps that wait; `answer_schema` is a JSON Schema for the answer.

    `review` says that the node's artifact is to be approved or rejected: the answer is a verdict, not a requirement.
    """

    kind: Literal["clarification_requested"] = "clarification_requested"
    question_id: str
    node: str
    text: str
    why: str
    blocks: tuple[str, ...]
    answer_schema: Mapping[str, Any] = Field(default_factory=lambda: dict(TEXT))
    review: bool = False

    @property
    def step(self) -> str:
        """The step that asks, and that the answer leads back to."""
        return step_of(self.node)


class ClarificationAnswered(Told):
    """The user answered a question; the answer fits the question's schema."""

    texts: ClassVar[tuple[str, ...]] = ("answer",)
    kind: Literal["clarification_answered"] = "clarification_answered"
    question_id: str
    answer: str


class ClarificationDeclined(Told):
    """The user will not answer a question: the step that asked goes on without."""

    kind: Literal["clarification_declined"] = "clarification_declined"
    question_id: str


class ClarificationWithdrawn(Event):
    """Nobody needs the answer any more: the step that asked is redone for another reason."""

    kind: Literal["clarification_withdrawn"] = "clarification_withdrawn"
    question_id: str


class ClarificationExpired(Event):
    """Nobody answered a question in time: the step that asked goes on without."""

    kind: Literal["clarification_expired"] = "clarification_expired"
    question_id: str


class NoteTold(Told):
    """The user said something that the next prompts show; it changes nothing else."""

    texts: ClassVar[tuple[str, ...]] = ("text",)
    kind: Literal["note_told"] = "note_told"
    text: str


class RequirementTold(Told):
    """The user changed what is asked for: a new round begins, as far back as the policy says."""

    texts: ClassVar[tuple[str, ...]] = ("text",)
    kind: Literal["requirement_told"] = "requirement_told"
    text: str


class WaitRequested(Event):
    """The run waits: for a back-off (`node` is set), a question's expiry, its deadline, or its home's next day."""

    kind: Literal["wait_requested"] = "wait_requested"
    request_id: str
    until: Seconds
    why: str
    node: str | None = None

    @property
    def call(self) -> str:
        """What is delayed: the call whose next try waits, or the node whose step is to be retried."""
        return call_of(self.request_id.partition(":")[2])


class WaitEnded(Told):
    """The time that a wait was for has come."""

    kind: Literal["wait_ended"] = "wait_ended"
    request_id: str


class MailRefused(Told):
    """A person's message could not be taken."""

    kind: Literal["mail_refused"] = "mail_refused"
    key: str
    reason: str


class RunFinished(Event):
    """The run ended. `cause` tells what failed, or that the home's budget ended it; `at` is None after a decision.

    `branch` is the one that brought the plan, or that got on best.
    """

    kind: Literal["run_finished"] = "run_finished"
    outcome: Outcome
    why: str
    cause: Literal["", "provider", "bug", "home_budget"] = ""
    at: Seconds | None = None
    branch: int = 0


PlanningEvent = Annotated[
    RunStarted
    | RunResumed
    | RunParked
    | GenerationRequested
    | ClassificationRequested
    | RequestReissued
    | ArtifactProduced
    | FailureClassified
    | GenerationFailed
    | JudgementRequested
    | VerdictReached
    | Decided
    | Revised
    | BranchOpened
    | BranchPruned
    | ClarificationRequested
    | ClarificationAnswered
    | ClarificationDeclined
    | ClarificationWithdrawn
    | ClarificationExpired
    | NoteTold
    | RequirementTold
    | WaitRequested
    | WaitEnded
    | Settled
    | MailRefused
    | RunFinished,
    Field(discriminator="kind"),
]

EVENTS: tuple[type[Event], ...] = (
    RunStarted,
    RunResumed,
    RunParked,
    GenerationRequested,
    ClassificationRequested,
    RequestReissued,
    ArtifactProduced,
    FailureClassified,
    GenerationFailed,
    JudgementRequested,
    VerdictReached,
    Decided,
    Revised,
    BranchOpened,
    BranchPruned,
    ClarificationRequested,
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationWithdrawn,
    ClarificationExpired,
    NoteTold,
    RequirementTold,
    WaitRequested,
    WaitEnded,
    Settled,
    MailRefused,
    RunFinished,
)
"""The members of the union, for the codec and for generated docs."""
