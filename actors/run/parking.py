"""Parking, takeovers by another driver, and the waits of calls for their next try or for the next day. Pure."""

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from actors.run import calls
from actors.run import waits as waiting
from actors.run.calls import C, CallFailed, Calls, Tries
from actors.run.ending import Outcome, RunFinished
from actors.run.state import RunState
from actors.run.waits import HOME_BUDGET, PROVIDER, TimedEvent, WaitRequested
from runtime.core.copies import changed
from runtime.core.events import make_storable
from runtime.core.messages import Halt

if TYPE_CHECKING:
    from runtime.core.messages import Overdrawn, Parking


REASONS_MAX = 8
"""The largest number of reasons for parking that a run records until a driver resumes it. Without this limit, a host
that retries would record reasons without end.
"""


class RunResumed(TimedEvent):
    """A driver took over the run, under a new epoch."""

    added_fields: ClassVar[tuple[str, ...]] = ("at_once",)
    kind: Literal["run_resumed"] = "run_resumed"
    epoch: int
    """The number of the driver's lease, which is the new epoch."""
    at_once: bool = False
    """Whether a person resumed the run. If so, the next tries do not wait."""


class RunParked(TimedEvent):
    """The driver is about to stop driving the run. The run makes no requests until it is resumed."""

    added_fields: ClassVar[tuple[str, ...]] = ("cause",)
    kind: Literal["run_parked"] = "run_parked"
    handover: bool = False
    """Whether any driver may resume the run; False if only a person may."""
    why: str = ""
    """The reason, in one line for people."""
    cause: Halt = ""
    """The cause that only a person can remove; empty if there is no such cause."""


def resume_run(run: RunState[C], event: RunResumed) -> RunState[C]:
    """Return the state after a driver took over.

    The wait for the daily budget ends, because the budget may have been raised. The run's end is undone if that is
    possible. If a person resumed the run, the next tries do not wait. If the run waits for a provider, the provider is
    checked now.
    """
    waits, open_calls, ledger = waiting.remove_wait(run.waits, HOME_BUDGET), run.calls, run.ledger
    undone = run.undoes_end(at_once=event.at_once)
    if undone:
        open_calls, ledger = calls.reopen_calls(open_calls, ledger)
    if event.at_once:
        open_calls = _restart_calls(open_calls, ask_first=PROVIDER in waits)
        provider_wait = {PROVIDER: waits[PROVIDER].model_copy(update={"until": event.at})} if PROVIDER in waits else {}
        delayed = [name for name, wait in waits.items() if wait.for_provider or wait.call in open_calls.tries]
        waits = {**{name: wait for name, wait in waits.items() if name not in delayed}, **provider_wait}
    return changed(
        run,
        epoch=event.epoch,
        parked=False,
        handover=False,
        parked_reasons=(),
        parked_cause="",
        waits=waits,
        calls=open_calls,
        ledger=ledger,
        finished=None if undone else run.finished,
        reopening=False,
        renewing=False,
    )


def park_run(run: RunState[C], event: RunParked) -> RunState[C]:
    """Return the state after a driver announced that it will stop, or after the run decided to park."""
    reasons = (*run.parked_reasons, event.why)
    cause = event.cause or run.parked_cause
    return changed(run, parked=True, handover=event.handover, parked_reasons=reasons, parked_cause=cause)


def accept_parking(run: RunState[C], message: "Parking") -> RunParked | None:
    """Return the event that parks the run.

    A parked run that any driver may resume gets an event only for a new reason. Any other parked run gets no event.
    """
    why = make_storable(message.why)
    news = why not in ("", *run.parked_reasons) and len(run.parked_reasons) < REASONS_MAX
    if run.parked and not (news and run.handover):
        return None
    return RunParked(at=message.at, mono=message.mono, handover=message.handover, why=why)


def accept_overdrawn(run: RunState[C], message: "Overdrawn") -> RunFinished | RunParked | WaitRequested | None:
    """Return a wait for the next day of the daily budget.

    If waiting cannot help, return the parking or the end of the run.
    """
    if message.until is None:
        outcome = Outcome.BUDGET_EXHAUSTED
        return RunFinished(outcome=outcome, why=message.why, cause="home_budget", at=message.at, mono=message.mono)
    if message.never:
        return RunParked(at=message.at, mono=message.mono, why=message.why)
    if HOME_BUDGET in run.waits:
        return None
    return WaitRequested(request_id=HOME_BUDGET, until=message.until, why=message.why)


def begin_wait(calls: Calls[C], wait: WaitRequested, before: WaitRequested | None) -> Calls[C]:
    """Return the calls after a wait began. A call with failed tries is not sent again before its wait ends.

    `before` is the earlier wait that this wait continues, because the provider is still down; None if there is none.
    """
    if wait.request_id == PROVIDER:
        tries = {call: _pause_tries(item, wait, before) for call, item in calls.tries.items()}
        return changed(calls, tries=tries) if tries else calls
    if wait.node is None or wait.call not in calls.tries:
        return calls
    return changed(calls, tries={**calls.tries, wait.call: replace(calls.tries[wait.call], phase="waiting")})


def _pause_tries(tries: Tries[C], wait: WaitRequested, before: WaitRequested | None) -> Tries[C]:
    if tries.phase != "failed":
        return tries
    since, failures = (tries.failed.at, 0) if before is None else (before.until, 1)
    return replace(tries, count=tries.count + failures, waited=tries.waited + max(0.0, wait.until - since))


def join_wait(calls: Calls[C], event: CallFailed, wait: WaitRequested) -> Calls[C]:
    """Return the calls after a call failed while the run waits for the provider.

    The call waits until the run's wait ends.

    The time until then counts as waited. So several calls that fail together do not wait longer than one call.
    """
    tries = calls.tries[event.call]
    tries = replace(tries, waited=tries.waited + max(0.0, wait.until - event.at))
    return changed(calls, tries={**calls.tries, event.call: tries})


def end_wait(calls: Calls[C], wait: WaitRequested) -> Calls[C]:
    """Return the calls after a wait ended. The next tries of the calls may be requested."""
    if wait.request_id == PROVIDER:
        return release_tries(calls)
    if wait.node is None or wait.call not in calls.tries:
        return calls
    tries = calls.tries[wait.call]
    tries = replace(tries, phase="rested", waited=tries.waited + wait.until - tries.failed.at)
    return changed(calls, tries={**calls.tries, wait.call: tries})


def release_tries(calls: Calls[C]) -> Calls[C]:
    """Return the calls after their provider is up again. Calls that waited for it may be requested."""
    tries = {
        call: replace(item, phase="rested") if item.phase == "failed" else item for call, item in calls.tries.items()
    }
    return changed(calls, tries=tries) if tries else calls


def _restart_calls(calls: Calls[C], *, ask_first: bool) -> Calls[C]:
    """Return the calls after a person resumed the run.

    The calls count their tries and their waiting from 0 again, so they do not park the run at once. With `ask_first`,
    the calls wait until the provider has been checked, which happens at once. Otherwise the calls may be requested now.
    """
    tries = {call: _restart_tries(item, ask_first=ask_first) for call, item in calls.tries.items()}
    return changed(calls, tries=tries) if tries else calls


def _restart_tries(tries: Tries[C], *, ask_first: bool) -> Tries[C]:
    if tries.phase not in ("failed", "waiting"):
        return replace(tries, count=0, waited=0.0, bad_replies=0)
    return replace(tries, count=0, waited=0.0, bad_replies=0, phase="failed" if ask_first else "rested")
