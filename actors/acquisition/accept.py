"""`accept`: replies from the world become facts, or are refused, or are duplicates. Pure."""

from actors.acquisition.call_events import ReplyReceived
from actors.acquisition.corrections import accept_correction
from actors.acquisition.events import AcquisitionEvent, AcquisitionStarted
from actors.acquisition.state import AcquisitionState
from actors.run import tools
from actors.run.accept import accept_control, accept_fault
from actors.run.calls import Received, accept_reply
from actors.run.messages import Faulted, Generated, RunMessage
from actors.run.state import NotStarted
from runtime.core.machine import Refused
from runtime.core.messages import Mailed


def accept(state: AcquisitionState, message: RunMessage) -> AcquisitionEvent | Refused | None:
    """Return the fact that a message is."""
    if isinstance(message, AcquisitionStarted):
        return message if isinstance(state, NotStarted) else None
    if isinstance(state, NotStarted):
        return Refused("the run has not begun")
    run = state.run
    match message:
        case Generated():
            received = accept_reply(run.calls, run.ledger, message, state.config.price)
            return ReplyReceived(**received.fields) if isinstance(received, Received) else received
        case Faulted():
            return accept_fault(run, message)
        case Mailed() if (told := accept_correction(state, message)) is not None:
            return told
        case tools.Begun() | tools.Ended() | tools.Checked():
            return tools.accept(run.tools, message)
        case _:
            return accept_control(run, message)
