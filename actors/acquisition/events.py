"""The facts of an acquisition run: one closed union. What every kind of agent has is in `actors.run`."""

from typing import ClassVar, Literal, get_args

from pydantic import Field

from actors.acquisition.planner_state import NOTHING, Origin, Writes
from actors.acquisition.values import FieldValue
from actors.run.calls import CallReissued, CallRequested, Replied
from actors.run.ending import RunFinished
from actors.run.evolve import RunEvent
from actors.run.tools import ToolEvent
from actors.run.waits import Started, TimedEvent
from runtime.core.events import Event, StorableText

PLAN = "plan"
OBSERVE = "observe"
DECOMPOSE = "decompose"
REFLECT = "reflect"
PURPOSES = (PLAN, OBSERVE, DECOMPOSE, REFLECT)
"""The purposes of calls: the part of a call's name before the slash, and the keys of the prompts file."""


class DecisionRequested(CallRequested):
    """A model was asked what to do next; the node is `plan/vVISIT.aATTEMPT`."""

    kind: Literal["decision_requested"] = "decision_requested"


class ObservationRequested(CallRequested):
    """A model was asked which values some passages state; the node is `observe/vVISIT.aATTEMPT`."""

    kind: Literal["observation_requested"] = "observation_requested"
    path: str
    """The path of the field."""


class DecompositionRequested(CallRequested):
    """A model was asked for the components of a field; the node is `decompose/vNUMBER.aATTEMPT`."""

    kind: Literal["decomposition_requested"] = "decomposition_requested"
    path: str
    """The path of the field."""


class ReflectionRequested(CallRequested):
    """A model was asked to review where the run stands; the node is `reflect/vVISIT.aATTEMPT`."""

    kind: Literal["reflection_requested"] = "reflection_requested"


AcquisitionCall = DecisionRequested | ObservationRequested | DecompositionRequested | ReflectionRequested


class RequestReissued(CallReissued):
    """An open request of an earlier driver is asked again; the first try stays charged as unknown."""

    kind: Literal["request_reissued"] = "request_reissued"
    again: AcquisitionCall
    """The request that takes its place, with the next try number."""


class ReplyReceived(Replied):
    """A model replied to a call; the node of the graph that asked reads the reply."""

    kind: Literal["reply_received"] = "reply_received"


INCOMPLETE = "incomplete"
"""The outcome of a run that ended without all that its profile requires."""


class AcquisitionStarted(Started):
    """An acquisition run began. Its first event, which holds all that later decisions depend on."""

    texts: ClassVar[tuple[str, ...]] = ("goal", "pinned")
    kind: Literal["acquisition_started"] = "acquisition_started"
    goal: StorableText
    """The text of the user's goal."""
    pinned: str
    """The JSON of everything that later decisions use."""
    given: dict[str, FieldValue] = Field(default_factory=dict)
    """The values that the user gave at the start, by path."""
    source: StorableText = ""
    """Where the profile was found: a shipped name or a file's path."""


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
    """The next node."""
    reason: str
    """The reason, in one line for people."""
    decision_origin: Origin
    """Who has made the decision that is in force then."""
    writes: Writes = NOTHING
    """What the node changed of the planner's state."""


AcquisitionEvent = (
    AcquisitionStarted
    | ValueTold
    | Routed
    | DecisionRequested
    | ObservationRequested
    | DecompositionRequested
    | ReflectionRequested
    | RequestReissued
    | ReplyReceived
    | ToolEvent
    | RunEvent
    | RunFinished
)
EVENTS: tuple[type[Event], ...] = get_args(AcquisitionEvent)
"""The members of the union, for the codec and for generated docs."""
