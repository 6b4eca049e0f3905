"""Parking: a driver leaves, another takes over, or the daily budget allows no more until the next day. Pure."""

from typing import TYPE_CHECKING, ClassVar, Literal

from actors.run import calls, pauses
from actors.run import waits as waiting
from actors.run.calls import C
from actors.run.ending import Outcome, RunFinished
from actors.run.state import RunState
from actors.run.texts import storable
from actors.run.waits import HOME_BUDGET, PROVIDER, TimedEvent, WaitRequested
from runtime.core.copies import changed
from runtime.core.messages import Halt

if TYPE_CHECKING:
    from runtime.core.messages import Overdrawn, Parking

REASONS_MAX = 8
"""Parkings that a run takes in before somebody drives it again: hosts try again for ever, each with its own reason."""


class RunResumed(TimedEvent):
    """A driver took the run over under a new epoch."""

    added_fields: ClassVar[tuple[str, ...]] = ("at_once",)
    kind: Literal["run_resumed"] = "run_resumed"
    epoch: int
    """The number of the driver's lease."""
    at_once: bool = False
    """Whether a person asked, so that the next tries do not wait."""


class RunParked(TimedEvent):
    """The driver is about to leave; nothing new is asked until the run is resumed."""

    added_fields: ClassVar[tuple[str, ...]] = ("cause",)
    kind: Literal["run_parked"] = "run_parked"
    handover: bool = False
    """Whether any driver goes on with it; else a person resumes it."""
    why: str = ""
    """The reason, in one line for people."""
    cause: Halt = ""
    """The cause that only a person can remove, if there is one."""


def resumed(run: RunState[C], event: RunResumed) -> RunState[C]:
    """Return the state after a driver took over. It asks anew what the day allows: the budget may have been raised.

    An end that can be undone is undone. Where a person has resumed the run, the next tries do not wait, and the
    provider that was waited for is asked now.
    """
    waits, open_calls, ledger = waiting.ended(run.waits, HOME_BUDGET), run.calls, run.ledger
    undone = run.undone(at_once=event.at_once)
    if undone:
        open_calls, ledger = calls.reopened(open_calls, ledger)
    if event.at_once:
        open_calls = pauses.begun_anew(open_calls, ask_first=PROVIDER in waits)
        asked = {PROVIDER: replaced(waits[PROVIDER], event.at)} if PROVIDER in waits else {}
        delayed = [name for name, wait in waits.items() if wait.for_provider or wait.call in open_calls.tries]
        waits = {**{name: wait for name, wait in waits.items() if name not in delayed}, **asked}
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


def replaced(wait: WaitRequested, until: float) -> WaitRequested:
    """Return a wait with another end."""
    return wait.model_copy(update={"until": until})


def parked(run: RunState[C], event: RunParked) -> RunState[C]:
    """Return the state after a driver said that it leaves, or after the run has decided that it should."""
    reasons = (*run.parked_reasons, event.why)
    cause = event.cause or run.parked_cause
    return changed(run, parked=True, handover=event.handover, parked_reasons=reasons, parked_cause=cause)


def accept_parking(run: RunState[C], message: "Parking") -> RunParked | None:
    """Park once. Where drivers come by themselves, it is news too why none of them can go on: each reason once."""
    why = storable(message.why)
    news = why not in ("", *run.parked_reasons) and len(run.parked_reasons) < REASONS_MAX
    if run.parked and not (news and run.handover):
        return None
    return RunParked(at=message.at, mono=message.mono, handover=message.handover, why=why)


def accept_overdrawn(run: RunState[C], message: "Overdrawn") -> RunFinished | RunParked | WaitRequested | None:
    """Wait for the next day of the daily budget, or park or end the run where that does not help."""
    if message.until is None:
        outcome = Outcome.BUDGET_EXHAUSTED
        return RunFinished(outcome=outcome, why=message.why, cause="home_budget", at=message.at, mono=message.mono)
    if message.never:
        return RunParked(at=message.at, mono=message.mono, why=message.why)
    if HOME_BUDGET in run.waits:
        return None
    return WaitRequested(request_id=HOME_BUDGET, until=message.until, why=message.why)
