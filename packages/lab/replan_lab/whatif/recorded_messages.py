"""Rebuilds the messages to a run from its records: replies, verdicts, answers, notes, times and tool results.

Pure.

A replay passes such a message to the tested machine, as the run's driver once did.
"""

from collections.abc import Mapping
from typing import Any

from actors.planning.events import VerdictReached
from actors.planning.given_plans import add_remarks
from actors.planning.state import State as PlanningState
from actors.run.calls import CallFailed, Faulted, Generated, Judged, Replied, Settled
from actors.run.ending import RunFinished
from actors.run.parking import RunParked, RunResumed
from actors.run.tools import Begun, Checked, Ended, ToolFinished, ToolProcessEnded, ToolStarted
from actors.run.waits import HOME_BUDGET, PROVIDER, Started, TimedEvent, WaitEnded, WaitRequested
from actors.values.findings import Verdict
from replan_lab.whatif.recorded_run import PlacedEvent
from runtime.core.ledger import ZERO, Amount, Usage
from runtime.core.messages import Crashed, Mailed, Overdrawn, Parking, Resumed, Woken
from runtime.journal.port import InboxItem
from runtime.models.port import Fault, FaultKind, Reply

_LATE = Reply(text="", usage=None, model="")
"""The empty reply that stands for a late reply, because the journal does not record the text of late replies."""
_UNSENT = Fault(kind=FaultKind.REFUSED_CONNECTION, message="not sent")
"""The fault that stands for the fault of a withdrawn call that cost nothing, because the journal does not record that
fault."""


def may_come_from_outside(placed: PlacedEvent) -> bool:
    """Return whether an event may be the record of a message from outside. If not, it is a decision of the machine."""
    event = placed.event
    if placed.inbox is not None:
        return True
    if isinstance(event, RunFinished):
        return event.at is not None
    if isinstance(event, WaitRequested):
        return event.request_id == HOME_BUDGET or event.asked_at is not None
    return isinstance(event, TimedEvent)


def may_follow_a_fact(placed: PlacedEvent) -> bool:
    """Return whether an event may be the second or a later fact of an append (records that were written at once).

    A driver that takes over a run first records the messages in the inbox. The machine decides only after the last of
    these messages.
    """
    return placed.inbox is not None or isinstance(placed.event, RunResumed)


def is_pause(event: Any) -> bool:
    """Return whether an event may be a pause.

    Within an append, a driver pauses the run when the daily budget is spent.
    """
    match event:
        case WaitRequested():
            return event.request_id == HOME_BUDGET
        case RunFinished():
            return event.cause == "home_budget" and event.at is not None
        case RunParked():
            return not event.cause
        case _:
            return False


def message_of(
    machine: Any, state: Any, placed: PlacedEvent, mail: Mapping[int, InboxItem], reserved: Mapping[str, Amount]
) -> Any:
    """Return the original message of a recorded fact; None if a part of the message is not recorded.

    `reserved` maps the ids of requests to the recorded reservations. If the result is None, the replay uses the
    recorded event itself, such as the end of a child run by its deadline.
    """
    event = placed.event
    if placed.inbox is not None:
        item = mail.get(placed.inbox)
        mono = getattr(event, "mono", None)  # The event that begins an undoing has no message.
        return None if item is None else Mailed(item.inbox, item.key, item.body, event.at, mono=mono)
    match event:
        case Started():
            return event
        case Replied():
            return _reply_message(machine, state, event)
        case CallFailed():
            name, at = event.request_id, event.at
            return Faulted(name, at, event.elapsed, event.fault, event.used, mono=event.mono)
        case Settled():
            return _withdrawn_call_message(event, reserved)
        case WaitEnded():
            return Woken(event.request_id, event.at, mono=event.mono)
        case RunResumed():
            return Resumed(event.epoch, event.at, event.at_once, mono=event.mono)
        case RunParked():
            if event.cause:
                return Crashed("", event.at, event.why, event.cause, mono=event.mono)
            return Parking(event.at, event.handover, event.why, mono=event.mono)
        case RunFinished():
            return _ending(event)
        case WaitRequested():
            return _still_waiting(event)
        case ToolStarted():
            return Begun(event.request_id, event.at, event.process, mono=event.mono)
        case ToolFinished():
            outcome_fields = event.outcome, event.output, event.reason, event.cost, event.not_made
            return Ended(event.request_id, event.at, event.elapsed, *outcome_fields, mono=event.mono)
        case ToolProcessEnded():
            return Checked(f"check:{event.call}", event.at, event.certain, mono=event.mono)
        case _:
            return verdict_message(state, event)


def verdict_message(state: Any, event: Any) -> Judged | None:
    """Return the message of a verdict, for any kind of run; None for any other event."""
    if isinstance(event, VerdictReached):
        verdict = _without_remarks(state, event)
        return Judged(event.request_id, event.at, event.elapsed, verdict, mono=event.mono)
    if isinstance(getattr(event, "verdict", None), Verdict):
        return Judged(event.node, event.at, event.elapsed, event.verdict, mono=event.mono)
    return None


def _reply_message(machine: Any, state: Any, event: Replied) -> Generated:
    """Return the message of a reply. It contains the cost if the cost cannot be computed from the reply's usage."""
    opened = state.run.calls.open.get(event.request_id)
    child = opened is not None and machine.is_child(state, opened.request)
    counted = event.usage is not None and event.tokens is None and event.calls == 1 and not child
    cost = event.used
    earlier = None if opened is None else state.run.calls.tries.get(opened.request.call)
    if earlier is not None and earlier.failed.used is not None:
        cost = cost + earlier.failed.used  # What was charged when a child run gave its provider up is taken off again.
    return Generated(event.request_id, event.at, event.elapsed, event.reply, None if counted else cost, mono=event.mono)


def _withdrawn_call_message(event: Settled, reserved: Mapping[str, Amount]) -> Generated | Faulted:
    """Return the message for a withdrawn call: a late reply, or a fault if the call cost nothing."""
    if event.used == ZERO:
        return Faulted(event.request_id, event.at, 0.0, _UNSENT, mono=event.mono)
    reserve, used, cost, reply = reserved.get(event.request_id, ZERO), event.used, None, _LATE
    if used != reserve and used.calls == reserve.calls and used.micro_usd == 0:
        reply = Reply(text="", usage=Usage(input_tokens=used.tokens), model="")
    elif used != reserve:
        cost = used
    return Generated(event.request_id, event.at, 0.0, reply, cost, mono=event.mono)


def _ending(event: RunFinished) -> Crashed | Overdrawn | None:
    """Return the message that ended the run because of a bug or the daily budget; None for any other end."""
    if event.at is None:
        return None
    match event.cause:
        case "bug":
            return Crashed("", event.at, event.why, mono=event.mono)
        case "home_budget":
            return Overdrawn(event.at, None, event.why, mono=event.mono)
        case _:
            return None


def _still_waiting(event: WaitRequested) -> Faulted | Overdrawn | None:
    """Return the message after which a run continues to wait for a provider or the next day; None for another wait."""
    if event.request_id == HOME_BUDGET:
        return Overdrawn(event.until, event.until, event.why)  # The message's own time is neither recorded nor used.
    if event.asked_at is None or event.fault is None:
        return None
    if event.request_id == PROVIDER:
        return Faulted(PROVIDER, event.asked_at, 0.0, event.fault)
    call = event.request_id.partition(":")[2]
    return Faulted(call, event.asked_at, 0.0, event.fault, until=event.until)


def _without_remarks(state: Any, event: VerdictReached) -> Verdict:
    """Return a guard's verdict without the findings that the program has added, because the replay adds them again."""
    if not isinstance(state, PlanningState) or event.node not in state.nodes:
        return event.verdict
    added = len(add_remarks(state, event.node, Verdict(guard=event.verdict.guard)).findings)
    return event.verdict.model_copy(update={"findings": event.verdict.findings[:-added]}) if added else event.verdict
