"""Parking: a driver leaves, another takes over, or the daily budget allows no more until the next day. Pure."""

from typing import Literal

from actors.run import waits as waiting
from actors.run.calls import C
from actors.run.clock import TimedEvent
from actors.run.ending import Outcome, RunFinished
from actors.run.state import RunState
from actors.run.texts import storable
from actors.run.waits import HOME_BUDGET, WaitRequested
from runtime.core.copies import changed
from runtime.core.messages import Overdrawn, Parking

REASONS_MAX = 8
"""Parkings that a run takes in before somebody drives it again: hosts try again for ever, each with its own reason."""


class RunResumed(TimedEvent):
    """A driver took the run over under a new epoch."""

    kind: Literal["run_resumed"] = "run_resumed"
    epoch: int
    """The number of the driver's lease, higher than that of every driver before it."""


class RunParked(TimedEvent):
    """The driver is about to leave; nothing new is asked until the run is resumed."""

    kind: Literal["run_parked"] = "run_parked"
    handover: bool = False
    """Whether any driver of this home goes on with it; else a person has to resume it."""
    why: str = ""
    """The reason, in one line; empty where a person wished it."""


def resumed(run: RunState[C], event: RunResumed) -> RunState[C]:
    """Return the state after a driver took over. It asks anew what the day allows: the budget may have been raised."""
    waits = waiting.ended(run.waits, HOME_BUDGET)
    return changed(run, epoch=event.epoch, parked=False, handover=False, parked_reasons=(), waits=waits)


def parked(run: RunState[C], event: RunParked) -> RunState[C]:
    """Return the state after a driver said that it leaves."""
    return changed(run, parked=True, handover=event.handover, parked_reasons=(*run.parked_reasons, event.why))


def accept_parking(run: RunState[C], message: Parking) -> RunParked | None:
    """Park once. Where drivers come by themselves, it is news too why none of them can go on: each reason once."""
    why = storable(message.why)
    news = why not in ("", *run.parked_reasons) and len(run.parked_reasons) < REASONS_MAX
    if run.parked and not (news and run.handover):
        return None
    return RunParked(at=message.at, handover=message.handover, why=why)


def accept_overdrawn(run: RunState[C], message: Overdrawn) -> RunFinished | RunParked | WaitRequested | None:
    """Wait for the next day of the daily budget, or park or end the run where that does not help."""
    if message.until is None:
        outcome = Outcome.BUDGET_EXHAUSTED
        return RunFinished(outcome=outcome, why=message.why, cause="home_budget", at=message.at)
    if message.never:
        return RunParked(at=message.at, why=message.why)
    if HOME_BUDGET in run.waits:
        return None
    return WaitRequested(request_id=HOME_BUDGET, until=message.until, why=message.why)
