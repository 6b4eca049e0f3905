"""The events that only acquisition runs have. The events that all kinds of runs share are in `actors.run`."""

from typing import ClassVar, Literal, get_args

from pydantic import Field

from actors.run.calls import CallReissued, CallRequested, Replied
from actors.run.ending import RunFinished
from actors.run.evolve import RunEvent
from actors.run.tools import ToolEvent
from actors.run.waits import Started, TimedEvent
from replan_acquire.acquisition.planner_state import NOTHING, Origin, Writes
from replan_acquire.acquisition.values import FieldValue
from runtime.core.events import Event, StorableText

PLAN = "plan"
OBSERVE = "observe"
DECOMPOSE = "decompose"
REFLECT = "reflect"
PURPOSES = (PLAN, OBSERVE, DECOMPOSE, REFLECT)
"""The purposes of model calls. The part of a call's name before the slash is its purpose. The prompts file has a key
for each purpose."""


class DecisionRequested(CallRequested):
    """A model was asked for the next decision. The node is `plan/vVISIT.aATTEMPT`."""

    kind: Literal["decision_requested"] = "decision_requested"


class ObservationRequested(CallRequested):
    """A model was asked for the values in some passages. The node is `observe/vVISIT.aATTEMPT`."""

    kind: Literal["observation_requested"] = "observation_requested"
    path: str
    """The path of the field."""


class DecompositionRequested(CallRequested):
    """A model was asked for the components of a field. The node is `decompose/vNUMBER.aATTEMPT`."""

    kind: Literal["decomposition_requested"] = "decomposition_requested"
    path: str
    """The path of the field."""


class ReflectionRequested(CallRequested):
    """A model was asked to review the run. The node is `reflect/vVISIT.aATTEMPT`."""

    kind: Literal["reflection_requested"] = "reflection_requested"


AcquisitionCall = DecisionRequested | ObservationRequested | DecompositionRequested | ReflectionRequested


class RequestReissued(CallReissued):
    """An open request of an earlier driver was repeated. The first try stays charged as unknown."""

    kind: Literal["request_reissued"] = "request_reissued"
    again: AcquisitionCall
    """The request that replaces the open one, with the next try number."""


class ReplyReceived(Replied):
    """A model replied to a call. The gate of the node that requested the call reads the reply."""

    kind: Literal["reply_received"] = "reply_received"


INCOMPLETE = "incomplete"
"""The outcome of a run that lacks something that its profile requires."""


class AcquisitionStarted(Started):
    """An acquisition run began. The event contains everything that later decisions need."""

    texts: ClassVar[tuple[str, ...]] = ("goal", "pinned")
    kind: Literal["acquisition_started"] = "acquisition_started"
    goal: StorableText
    """The user's goal, as text."""
    pinned: str
    """The configuration (`RunConfig`) as JSON."""
    given: dict[str, FieldValue] = Field(default_factory=dict)
    """The values that the user gave at the start, by path."""
    source: StorableText = ""
    """The name of the shipped profile, or the path of the profile's file."""


class ValueTold(TimedEvent):
    """A person told the run a value without being asked.

    If the run was finished, it continues when a process drives it again.
    """

    kind: Literal["value_told"] = "value_told"
    path: str
    """The path of the field."""
    value: FieldValue
    """The value."""


class Routed(Event):
    """The run left a node of the graph and entered the next node."""

    kind: Literal["routed"] = "routed"
    node: str
    """The node that the run left."""
    outcome: str
    """The outcome of the node's gate. The table of nodes says which node follows this outcome."""
    to: str
    """The next node."""
    reason: str
    """The reason, in one line for people."""
    decision_origin: Origin
    """The origin of the current decision: a gate or a model."""
    writes: Writes = NOTHING
    """The changes that the node makes to the planner's state."""


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
"""The event classes in the union `AcquisitionEvent`, for the codec and for generated docs."""
