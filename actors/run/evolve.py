"""The function `evolve` for the common part of a run's state, that is, for the events of every kind of agent. Pure."""

from collections.abc import Collection
from typing import assert_never

from actors.run import calls, fork_rules, inbox, parking, questions, settings, tools, waits
from actors.run.calls import C, CallFailed, CallReissued, CallRequested, Replied, Settled
from actors.run.ending import ReopenedBy, RunFinished
from actors.run.fork_event import Forked
from actors.run.ids import expiry_id, reminder_id
from actors.run.inbox import MailRefused, NoteTold, RequirementTold
from actors.run.near_limit import LimitNear, forget_warnings, record_warning
from actors.run.parking import RunParked, RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.reminder_events import ClarificationEscalated, ClarificationReminded
from actors.run.settings import SettingsChanged
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
from actors.run.waits import DEADLINE, HOME_BUDGET, PROVIDER, TimedEvent, WaitEnded, WaitRequested
from runtime.core.copies import changed

RunEvent = (
    CallFailed
    | Settled
    | ClarificationRequested
    | ClarificationAnswered
    | ClarificationDeclined
    | ClarificationWithdrawn
    | ClarificationExpired
    | ClarificationReminded
    | ClarificationEscalated
    | NoteTold
    | RequirementTold
    | MailRefused
    | SettingsChanged
    | WaitRequested
    | WaitEnded
    | RunResumed
    | RunParked
    | LimitNear
    | Forked
)
"""The events whose classes are the same in every kind of run. A kind adds these events to the union of its own events,
such as `MyStarted | RunEvent | RunFinished`.
"""
CommonEvent = CallRequested | Replied | CallReissued | ToolEvent | RunEvent | RunFinished
"""The events that can change the common part of a run's state. A kind of run can have its own subclasses of the events
about calls, replies and the end.
"""

TIMED = (TimedEvent, RunFinished)


def evolve_run(run: RunState[C], event: CommonEvent) -> RunState[C]:
    """Return the common part of the state after an event. Only `record_time` updates the times."""
    match event:
        case CallRequested():
            calls_now, ledger = calls.record_request(run.calls, run.ledger, event, run.epoch)
            return changed(run, calls=calls_now, ledger=ledger)
        case Replied():
            calls_now, ledger = calls.record_answer(run.calls, run.ledger, event)
            return changed(run, calls=calls_now, ledger=ledger)
        case CallFailed():
            calls_now, ledger = calls.record_failure(run.calls, run.ledger, event, parked=run.parked)
            if PROVIDER in run.waits:
                calls_now = parking.join_wait(calls_now, event, run.waits[PROVIDER])
            return changed(run, calls=calls_now, ledger=ledger)
        case CallReissued():
            calls_now, ledger = calls.record_reissue(run.calls, run.ledger, event, run.epoch)
            return changed(run, calls=calls_now, ledger=ledger)
        case Settled():
            calls_now, ledger = calls.settle_late_reply(run.calls, run.ledger, event)
            return changed(run, calls=calls_now, ledger=ledger)
        case WaitRequested():
            return _with_wait(run, event)
        case WaitEnded():
            ended = parking.end_wait(run.calls, run.waits[event.request_id])
            return changed(run, waits=waits.remove_wait(run.waits, event.request_id), calls=ended)
        case ClarificationRequested():
            return _with_question(run, event)
        case (
            ToolRequested()
            | ToolStarted()
            | ToolFinished()
            | ToolCheckRequested()
            | ToolProcessEnded()
            | ToolReissued()
        ):
            return _with_tools(run, event)
        case ClarificationAnswered() | ClarificationDeclined() | ClarificationWithdrawn() | ClarificationExpired():
            return _without_question(run, event)
        case ClarificationReminded() | ClarificationEscalated():
            return changed(run, questions=questions.record_reminder(run.questions, event))
        case NoteTold() | RequirementTold():
            wanted = isinstance(event, RequirementTold) and (_reopens_run(run, "requirement") or _ended_early(run))
            messages = inbox.add_message(run.messages, event, inbox.next_place(run.messages, run.questions))
            return changed(run, messages=messages, reopening=run.reopening or wanted)
        case SettingsChanged():
            return _with_settings(run, event)
        case MailRefused():
            return run
        case RunResumed():
            return parking.resume_run(run, event)
        case RunParked():
            return parking.park_run(run, event)
        case LimitNear():
            return record_warning(run, event)
        case Forked():
            return fork_rules.start_fork(run, event)
        case RunFinished():
            calls_now, ledger = calls.end_calls(run.calls, run.ledger, final=event.final)
            begun = tools.begun_calls(run.tools)
            ledger = tools.release_all(ledger, run.tools, begun)
            run = changed(run, finished=event, reopening=False, limit_question="")
            run = changed(run, calls=calls_now, ledger=ledger, tools=begun)
            if not event.final:
                return run
            return changed(run, waits={}, questions=questions.end_questions(run.questions, event))
        case _:
            assert_never(event)


def _reopens_run(run: RunState[C], what: ReopenedBy) -> bool:
    return run.finished is not None and run.finished.reopened_by == what


def _ended_early(run: RunState[C]) -> bool:
    return run.finished is not None and run.finished.early


def _with_wait(run: RunState[C], event: WaitRequested) -> RunState[C]:
    """Return the state after a wait began.

    If the wait is for a daily budget, a closed question about an earlier wait is forgotten.
    """
    paused = parking.begin_wait(run.calls, event, run.waits.get(event.request_id))
    asked = run.at_limit
    again = event.request_id == HOME_BUDGET and asked is not None and not asked.open
    about_limit = "" if again else run.limit_question
    return changed(run, waits={**run.waits, event.request_id: event}, calls=paused, limit_question=about_limit)


def _with_question(run: RunState[C], event: ClarificationRequested) -> RunState[C]:
    all_questions = {**run.questions, event.question_id: questions.Question(event, run.now)}
    about_limit = run.limit_question if event.reached is None else event.question_id
    return changed(
        run, questions=all_questions, tools=tools.record_question(run.tools, event), limit_question=about_limit
    )


def _without_question(run: RunState[C], event: questions.ClosingEvent) -> RunState[C]:
    left = waits.remove_wait(run.waits, expiry_id(event.question_id))
    left = waits.remove_wait(left, reminder_id(event.question_id))
    reached = run.questions[event.question_id].request.reached
    if reached is not None and reached.limit is None and getattr(event, "answer", "") == questions.GO_ON:
        left = waits.remove_wait(left, HOME_BUDGET)
    place = inbox.next_place(run.messages, run.questions)
    return changed(run, questions=questions.close_question(run.questions, event, place), waits=left)


def _with_tools(run: RunState[C], event: ToolEvent) -> RunState[C]:
    ledger = tools.charge_event(run.ledger, run.tools, event)
    open_tools = tools.apply_event(run.tools, event, run.epoch)
    if isinstance(event, ToolRequested):
        open_tools = fork_rules.hold_back_call(open_tools, event, run.fork)
    return changed(run, tools=open_tools, ledger=ledger)


def _with_settings(run: RunState[C], event: SettingsChanged) -> RunState[C]:
    """Return the state after settings changed.

    After a change of the model, the run no longer waits for the old provider.
    """
    changes = settings.message_for_children(run.changes, run.ledger, event)
    run = changed(run, changes=changes, renewing=run.renewing or event.strict)
    if event.model is not None or event.limits is not None:
        run = changed(run, limit_question="")
    if event.model is not None:
        again = parking.release_tries(run.calls) if PROVIDER in run.waits else run.calls
        left = {name: wait for name, wait in run.waits.items() if not wait.for_provider}
        servers = {**run.servers, event.model: event.server} if event.server else run.servers
        run = changed(run, waits=left, calls=again, servers=servers)
        run = changed(run, renewing=True, reopening=run.reopening or _ended_early(run))
    if event.limits is None:
        return run
    run = forget_warnings(run, event.limits, event.at)
    ledger = changed(run.ledger, limits=event.limits)
    kept = waits.remove_wait(run.waits, DEADLINE) if ledger.ends_at != run.ledger.ends_at else run.waits
    raised = run.reopening or _reopens_run(run, "limits")
    return changed(run, ledger=ledger, waits=kept, reopening=raised)


def record_time(run: RunState[C], event: TimedEvent | RunFinished, *, working: bool) -> RunState[C]:
    """Return the common part of the state with the time of an event.

    `working` says whether work was open before the event. Only the events in `TIMED` have a time. Active time is
    counted in the driver's monotonic seconds. The wall clock is used if the records of an epoch have no monotonic
    seconds, as in a simulation.
    """
    if event.at is None or (event.mono is None and isinstance(event, SettingsChanged)):
        return run  # The event may be recorded before the takeover.
    now = max(run.now, event.at)  # The time does not go back if the clock is set back.
    if isinstance(event, RunResumed):  # Before this event, no driver worked on the run.
        return changed(run, now=now, wall=event.at, mono=event.mono)
    mono, seconds = run.mono, 0.0
    if mono is None:
        mono, seconds = event.mono, now - run.now if event.mono is None else 0.0
    elif event.mono is not None and event.mono > mono:  # Before the takeover, a driver's second is 0.
        mono, seconds = event.mono, event.mono - mono
    if working and seconds > 0.0 and run.finished is None:
        return changed(run, now=now, wall=event.at, mono=mono, ledger=run.ledger.add_work(seconds))
    return changed(run, now=now, wall=event.at, mono=mono)


def drop_open_work(run: RunState[C], nodes: Collection[str]) -> RunState[C]:
    """Return the common part of a run's state without the open work for the given nodes.

    The work's reservations are charged as unknown. A call of a tool that is not repeatable remains open, and runs to
    its end.
    """
    open_calls, ledger = calls.withdraw_calls(run.calls, run.ledger, nodes)
    left = tools.withdraw_calls(run.tools, nodes)
    ledger = tools.release_all(ledger, run.tools, left)
    return changed(
        run,
        calls=open_calls,
        ledger=ledger,
        tools=left,
        waits={name: wait for name, wait in run.waits.items() if wait.node not in nodes},
    )
