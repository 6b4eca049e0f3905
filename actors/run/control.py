"""The events that follow from messages of the shell: ended waits, inbox entries, takeovers, parking, crashes. Pure."""

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
    """Return the event that follows from a message of the shell, or None for a duplicate.

    A run with a final end accepts none, except a takeover while one of its tools may be at work.
    """
    if run.finished is not None:
        return _after_end(run, run.finished, message)
    match message:
        case Woken():
            return waits.woken(run.waits, message)
        case Resumed():
            return _resumed(message)
        case Parking():
            return parking.accept_parking(run, message)
        case Crashed():
            why = storable(message.error[:ERROR_MAX])
            if message.halted:
                parked = RunParked(at=message.at, mono=message.mono, why=why, cause=message.halted)
                return None if run.parked else parked
            return RunFinished(outcome=Outcome.FAILED, why=why, cause="bug", at=message.at, mono=message.mono)
        case Mailed():
            return _mailed(run, message)
        case Overdrawn():
            return parking.accept_overdrawn(run, message)
        case _:
            assert_never(message)


def _after_end(run: RunState[C], end: RunFinished, message: Control) -> ControlEvent | None:
    """Return the event of a message to a run that has ended; a run may go on if its end is not final."""
    match message:
        case Mailed() if not end.final:
            return _mailed(run, message)
        case Resumed() if run.tools or run.undone(at_once=message.at_once):
            return _resumed(message)
        case _:
            return None


def _mailed(run: RunState[C], message: Mailed) -> InboxEvent:
    return inbox.accept_mail(
        run.questions,
        run.messages,
        run.ledger,
        message,
        never_strict=run.never_strict,
        finished=run.finished is not None,
    )


def _resumed(message: Resumed) -> RunResumed:
    return RunResumed(at=message.at, mono=message.mono, epoch=message.epoch, at_once=message.at_once)
