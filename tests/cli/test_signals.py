"""Signals: what the first, the second and a request to end mean, without a run."""

import signal

import pytest
import trio
import trio.testing

from replan.cli.drive import Signals
from replan.cli.exits import Exit
from runtime.drive.options import TERMINATED_SECONDS, Stop


async def raised(signals, *numbers, elsewhere=False):
    """Raise signals one after the other, and return the notes."""
    notes = []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(signals.watch, notes.append, lambda: elsewhere)
        await trio.testing.wait_all_tasks_blocked()
        for number in numbers:
            signal.raise_signal(number)
            await trio.testing.wait_all_tasks_blocked(0.01)
        nursery.cancel_scope.cancel()
    return notes


async def test_the_first_interrupt_waits_for_replies_and_the_second_for_nothing():
    signals = Signals()
    [note] = await raised(signals, signal.SIGINT)
    assert "as long as their time limits allow" in note
    assert "nothing is cancelled" in note
    assert (signals.code, signals.stop.requested.is_set(), signals.stop.forced.is_set()) == (130, True, False)
    assert signals.stop.grace is None


async def test_two_interrupts_leave_at_once():
    signals = Signals()
    assert len(await raised(signals, signal.SIGINT, signal.SIGINT)) == 1
    assert signals.stop.forced.is_set()


@pytest.mark.parametrize(("grace", "waits"), [(None, TERMINATED_SECONDS), (5.0, 5.0), (90.0, TERMINATED_SECONDS)])
async def test_a_request_to_end_waits_for_thirty_seconds_at_most(grace, waits):
    signals = Signals(Stop(grace=grace))
    [note] = await raised(signals, signal.SIGTERM)
    assert signals.stop.grace == waits
    assert f"at most {waits:g} s" in note
    assert signals.code is Exit.TERMINATED


async def test_nothing_is_parked_that_another_process_drives():
    signals = Signals()
    assert await raised(signals, signal.SIGINT, elsewhere=True) == []
