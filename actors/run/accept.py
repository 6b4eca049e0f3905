"""`accept` for the messages that the shell sends to every machine. Pure."""

from typing import assert_never

from actors.run import inbox, parking, waits
from actors.run.calls import C
from actors.run.ending import Outcome, RunFinished
from actors.run.inbox import InboxEvent
from actors.run.parking import RunParked, RunResumed
from actors.run.state import RunState
from actors.run.texts import storable
from actors.run.waits import WaitEnded, WaitRequested
from runtime.core.messages import Control, Crashed, Mailed, Overdrawn, Parking, Resumed, Woken

ERROR_MAX = 500
"""Characters of a bug's message that a run's end shows."""

ControlEvent = InboxEvent | RunParked | RunResumed | WaitEnded | WaitRequested | RunFinished


def accept_control(run: RunState[C], message: Control) -> ControlEvent | None:
    """Return the fact that a message of the shell is, or None for a duplicate.

    A finished run takes none; but it is taken over while a tool of it may be at work.
    """
    if run.finished is not None and not (isinstance(message, Resumed) and run.tools):
        return None
    match message:
        case Woken():
            return waits.woken(run.waits, message)
        case Resumed():
            return RunResumed(at=message.at, mono=message.mono, epoch=message.epoch)
        case Parking():
            return parking.accept_parking(run, message)
        case Crashed():
            why = storable(message.error[:ERROR_MAX])
            return RunFinished(outcome=Outcome.FAILED, why=why, cause="bug", at=message.at, mono=message.mono)
        case Mailed():
            return inbox.accept_mail(run.questions, run.messages, message)
        case Overdrawn():
            return parking.accept_overdrawn(run, message)
        case _:
            assert_never(message)
