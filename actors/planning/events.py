"""The facts of a planning run: one closed union, in the past tense; those that ask for work end in `Requested`.

Times are UTC seconds since 1970, durations seconds. Ids are explained in `actors.planning.ids`; what an id says already
is a property here, and is not stored again. What every kind of agent has is in `actors.run`.
"""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_serializer

from actors.planning.call_events import (
    ArtifactProduced,
    ClassificationRequested,
    FailureClassified,
    GenerationRequested,
    RequestReissued,
)
from actors.planning.decision_event import Decided
from actors.planning.ids import judgement_id
from actors.policy.table import BacktrackLevel
from actors.run import ending
from actors.run.calls import CallFailed, Settled
from actors.run.clock import TimedEvent
from actors.run.ids import step_of
from actors.run.inbox import MailRefused, NoteTold, RequirementTold
from actors.run.parking import RunParked, RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.waits import WaitEnded, WaitRequested
from actors.search.strategies.tree import PruneCause
from actors.values.findings import ReasonTag, Verdict
from runtime.core.events import Event, Seconds
from runtime.core.ledger import Limits


class Outcome(StrEnum):
    """How a run ended."""

    SUCCESS = "success"
    BUDGET_EXHAUSTED = "budget_exhausted"  # more may help
    ALL_PRUNED = "all_pruned"  # a root step failed for good: this pipeline does not solve it
    BACKTRACK_CEILING = "backtrack_ceiling"  # nowhere left to go back to
    CANCELLED = "cancelled"
    FAILED = "failed"  # the provider, or a bug


class RunStarted(TimedEvent):
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


class VerdictReached(TimedEvent):
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


class RunFinished(ending.RunFinished):
    """A planning run ended."""

    outcome: Outcome
    """How it ended."""
    branch: int = 0
    """The branch that brought the plan, or that got on best."""

    @classmethod
    def of(cls, end: ending.RunFinished) -> "RunFinished":
        """Return the end of any run as that of a planning run."""
        if isinstance(end, cls):
            return end
        return cls(outcome=Outcome(end.outcome), why=end.why, cause=end.cause, at=end.at)


PlanningEvent = Annotated[
    RunStarted
    | RunResumed
    | RunParked
    | GenerationRequested
    | ClassificationRequested
    | RequestReissued
    | ArtifactProduced
    | FailureClassified
    | CallFailed
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
    CallFailed,
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
