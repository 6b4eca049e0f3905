"""The calls of an acquisition run: for a decision, an observation, a decomposition or a review. Pure."""

from typing import Literal

from actors.run.calls import CallReissued, CallRequested, Replied

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
