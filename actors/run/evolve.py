"""`evolve` for the common part of a run: how it follows from the events that every kind of agent has. Pure."""

from typing import assert_never

from actors.run import calls, inbox, parking, questions, tools, waits
from actors.run.calls import C, CallFailed, CallReissued, CallRequested, Replied, Settled
from actors.run.clock import TimedEvent
from actors.run.ending import RunFinished
from actors.run.ids import expiry_id
from actors.run.inbox import MailRefused, NoteTold, RequirementTold
from actors.run.parking import RunParked, RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.state import RunState
from actors.run.tools import (
    ToolCheckRequested,
    ToolEvent,
    ToolFinished,
    ToolProcessEnded,
    ToolReissued,
    ToolRequested,
    ToolStarted,
)
from actors.run.waits import WaitEnded, WaitRequested
from runtime.core.copies import changed

RunEvent = (
    CallRequested
    | Replied
    | CallFailed
    | CallReissued
    | Settled
    | WaitRequested
    | WaitEnded
    | ClarificationRequested
    | ClarificationAnswered
    | ClarificationDeclined
    | ClarificationWithdrawn
    | ClarificationExpired
    | NoteTold
    | RequirementTold
    | MailRefused
    | ToolEvent
    | RunResumed
    | RunParked
    | RunFinished
)
"""The events of every kind of agent; of a call's request, its reply and its reissue a kind has subclasses."""


TIMED = (TimedEvent, RunFinished)
"""The events that may say when they happened."""


def evolve_run(run: RunState[C], event: RunEvent) -> RunState[C]:
    """Return the common part of the state after one of its events; `timed` keeps the time beside it."""
    match event:
        case CallRequested():
            calls_now, ledger = calls.requested(run.calls, run.ledger, event, run.epoch)
            return changed(run, calls=calls_now, ledger=ledger)
        case Replied():
            calls_now, ledger = calls.answered(run.calls, run.ledger, event)
            return changed(run, calls=calls_now, ledger=ledger)
        case CallFailed():
            calls_now, ledger = calls.failed(run.calls, run.ledger, event, parked=run.parked)
            return changed(run, calls=calls_now, ledger=ledger)
        case CallReissued():
            calls_now, ledger = calls.reissued(run.calls, run.ledger, event, run.epoch)
            return changed(run, calls=calls_now, ledger=ledger)
        case Settled():
            return changed(run, ledger=run.ledger.settle(event.request_id, event.used))
        case WaitRequested():
            return changed(run, waits=waits.begun(run.waits, event), calls=calls.waiting(run.calls, event))
        case WaitEnded():
            ended = calls.rested(run.calls, run.waits[event.request_id])
            return changed(run, waits=waits.ended(run.waits, event.request_id), calls=ended)
        case ClarificationRequested():
            asked = questions.asked(run.questions, event, run.now)
            return changed(run, questions=asked, tools=tools.asked(run.tools, event))
        case (
            ToolRequested()
            | ToolStarted()
            | ToolFinished()
            | ToolCheckRequested()
            | ToolProcessEnded()
            | ToolReissued()
        ):
            return changed(run, tools=tools.changed_by(run.tools, event, run.epoch))
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
            left = waits.ended(run.waits, expiry_id(event.question_id))
            return changed(run, questions=questions.closed(run.questions, event), waits=left)
        case NoteTold() | RequirementTold():
            return changed(run, messages=inbox.told(run.messages, event))
        case MailRefused():
            return run
        case RunResumed():
            return parking.resumed(run, event)
        case RunParked():
            return parking.parked(run, event)
        case RunFinished():
            calls_now, ledger = calls.ended(run.calls, run.ledger)
            asked = questions.ended(run.questions, event)
            begun = tools.begun(run.tools)
            return changed(run, finished=event, calls=calls_now, ledger=ledger, waits={}, tools=begun, questions=asked)
        case _:
            assert_never(event)


def timed(run: RunState[C], event: TimedEvent | RunFinished, *, working: bool) -> RunState[C]:
    """Return the common part with the time that an event tells; `working` says whether work was open before it.

    Only the events in `TIMED` tell one. Active time goes by the driver's monotonic seconds, and by the wall clock in an
    epoch whose records do not say them, as those of earlier releases.
    """
    if event.at is None:
        return run
    now = max(run.now, event.at)  # A clock that was set back does not turn the time back.
    if isinstance(event, RunResumed):  # Before it there was nobody to do the work.
        return changed(run, now=now, wall=event.at, mono=event.mono)
    mono, seconds = run.mono, 0.0
    if mono is None:
        mono, seconds = event.mono, now - run.now if event.mono is None else 0.0
    elif event.mono is not None and event.mono > mono:  # Before it resumes the run, a driver tells the second 0.
        mono, seconds = event.mono, event.mono - mono
    if working and seconds > 0.0:
        return changed(run, now=now, wall=event.at, mono=mono, ledger=run.ledger.worked(seconds))
    return changed(run, now=now, wall=event.at, mono=mono)
