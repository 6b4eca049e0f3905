"""The facts of an acquisition run: one closed union. What every kind of agent has is in `actors.run`."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, field_serializer

from actors.acquisition.call_events import (
    DecisionRequested,
    DecompositionRequested,
    ObservationRequested,
    ReflectionRequested,
    ReplyReceived,
    RequestReissued,
)
from actors.acquisition.decision import Origin
from actors.acquisition.values import FieldValue
from actors.acquisition.writes import NOTHING, Writes
from actors.run.calls import CallFailed, Settled
from actors.run.clock import TimedEvent
from actors.run.ending import RunFinished
from actors.run.inbox import MailRefused, NoteTold, RequirementTold
from actors.run.parking import RunParked, RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.settings import SettingsChanged
from actors.run.tools import (
    TOOL_EVENTS,
    ToolCheckRequested,
    ToolFinished,
    ToolProcessEnded,
    ToolReissued,
    ToolRequested,
    ToolStarted,
)
from actors.run.waits import WaitEnded, WaitRequested
from runtime.core.events import Event
from runtime.core.ledger import Limits

INCOMPLETE = "incomplete"
"""The outcome of a run that ended without all that its profile requires."""


class AcquisitionStarted(TimedEvent):
    """An acquisition run began. Its first event, which holds all that later decisions depend on."""

    texts: ClassVar[tuple[str, ...]] = ("goal", "pinned")
    kind: Literal["acquisition_started"] = "acquisition_started"
    run: str
    """The run's id."""
    goal: str
    """The text of the user's goal."""
    pinned: str
    """The JSON of everything that later decisions use (`actors.acquisition.config`)."""
    limits: Limits
    """The limits of calls, tokens, micro-dollars and active seconds, and the deadline."""
    given: dict[str, FieldValue] = Field(default_factory=dict)
    """The values that the user gave at the start, by path."""
    child: bool = False
    """Whether it is a step of another run, whose ledger reserves and settles what it takes."""
    source: str = ""
    """Where the profile was found: a shipped name or a file's path; empty if nowhere."""

    @field_serializer("limits")
    def _all_limits(self, limits: Limits) -> dict[str, Any]:
        """Write every limit: the one that a run was started with holds, whatever a later release defaults to."""
        return limits.model_dump(mode="json")


class ValueTold(TimedEvent):
    """A person told the run a value of their own accord; after its end, the run goes on when it is driven next."""

    kind: Literal["value_told"] = "value_told"
    path: str
    """The path of the field."""
    value: FieldValue
    """The value."""


class Routed(Event):
    """The run left a node of the graph for the next one."""

    kind: Literal["routed"] = "routed"
    node: str
    """The node that it left."""
    outcome: str
    """The node's outcome, which the table turns into the next node."""
    to: str
    """The next node. It is stored, so that a later release with another table reads the same path."""
    reason: str
    """Why, in one line."""
    decision_origin: Origin
    """Who has made the decision that is in force after the node."""
    writes: Writes = NOTHING
    """What the node changed of the planner's state."""


AcquisitionEvent = Annotated[
    AcquisitionStarted
    | ValueTold
    | Routed
    | DecisionRequested
    | ObservationRequested
    | DecompositionRequested
    | ReflectionRequested
    | RequestReissued
    | ReplyReceived
    | CallFailed
    | Settled
    | ToolRequested
    | ToolStarted
    | ToolFinished
    | ToolCheckRequested
    | ToolProcessEnded
    | ToolReissued
    | ClarificationRequested
    | ClarificationAnswered
    | ClarificationDeclined
    | ClarificationWithdrawn
    | ClarificationExpired
    | NoteTold
    | RequirementTold
    | MailRefused
    | SettingsChanged
    | WaitRequested
    | WaitEnded
    | RunResumed
    | RunParked
    | RunFinished,
    Field(discriminator="kind"),
]

EVENTS: tuple[type[Event], ...] = (
    AcquisitionStarted,
    ValueTold,
    Routed,
    DecisionRequested,
    ObservationRequested,
    DecompositionRequested,
    ReflectionRequested,
    RequestReissued,
    ReplyReceived,
    CallFailed,
    Settled,
    *TOOL_EVENTS,
    ClarificationRequested,
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationWithdrawn,
    ClarificationExpired,
    NoteTold,
    RequirementTold,
    MailRefused,
    SettingsChanged,
    WaitRequested,
    WaitEnded,
    RunResumed,
    RunParked,
    RunFinished,
)
"""The members of the union, for the codec and for generated docs."""
