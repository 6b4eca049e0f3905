"""Journal faults that delay a run or end its driver, and the signal that tells a driver of new messages."""

from typing import Any

import apsw
import pytest
import trio

from runtime.core.errors import JournalBusy, JournalDamaged, JournalError, StorageFull
from runtime.drive.options import Ending, LeaseTerms, Stop, WakeSignal
from runtime.journal.memory import Fault
from runtime.journal.port import Journal
from runtime.journal.sqlite import schema
from tests.supervision.negotiation_run import bidder, driver_of, failing, open_negotiation, post_cancel, request_stop
from tests.support.negotiation import NegotiationEvent, Start

FULL, BUSY = StorageFull("disk"), JournalBusy("file")
"""The faults that a run waits out."""
NOTICES = {
    FULL: "disk: no room is left to write; the run goes on when there is room again",
    BUSY: "file: another process keeps the journal busy; the run goes on when the journal is free",
}
"""What the user reads about each."""


@pytest.mark.parametrize("fault", [FULL, BUSY])
async def test_a_full_disk_or_busy_journal_delays_a_run_and_loses_nothing(autojump_clock, fault):
    notices = []
    async with open_negotiation(failing(fault, "append", "renew", since=2.5, until=100.0)) as journal:
        driver = driver_of(journal, bidder(10, 10), bidder(50, -10), notice=notices.append)
        assert await driver.drive(Start(20)) is Ending.FINISHED
        assert driver.state.ended == "sold at 30"
        assert trio.current_time() > 100
    assert notices == [NOTICES[fault]]


@pytest.mark.parametrize("fault", [FULL, BUSY])
async def test_a_stop_at_a_full_disk_or_busy_journal_leaves_the_run_to_be_resumed(autojump_clock, fault):
    stop = Stop()
    async with open_negotiation(failing(fault, "append", since=2.5, until=100.0)) as journal:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(request_stop, stop, 20.0)
            with pytest.raises(type(fault)):
                await driver_of(journal, bidder(10, 10), bidder(50, -10), stop).drive(Start(20))
        assert trio.current_time() < 21
        await trio.sleep(100)
        assert await driver_of(journal, bidder(10, 10), bidder(50, -10)).drive() is Ending.FINISHED


def test_a_busy_error_of_sqlite_is_a_journal_busy_error(tmp_path):
    error = schema.explain(tmp_path / "journal", "", apsw.BusyError("locked"))
    assert isinstance(error, JournalBusy)
    assert error.passing


def make_reads_fail(patch: pytest.MonkeyPatch, journal: Journal[NegotiationEvent], read: str, fault: Fault) -> None:
    reading = getattr(journal, read)

    async def troubled(*arguments: Any) -> Any:
        fault(read, "before")
        return await reading(*arguments)

    patch.setattr(journal, read, troubled)


@pytest.mark.parametrize("read", ["version", "inbox"])
async def test_a_driver_survives_an_unreadable_inbox_and_reads_it_later(autojump_clock, monkeypatch, read):
    async with open_negotiation() as journal:
        make_reads_fail(monkeypatch, journal, read, failing(JournalError("out of reach"), read, since=2.0, until=50.0))
        lease = LeaseTerms("test", ttl=3600.0, poll=0.1)
        driver = driver_of(journal, bidder(10, 0, 1000.0), bidder(50, 0), lease=lease)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(post_cancel, journal, 5.0)
            assert await driver.drive(Start(4)) is Ending.FINISHED
        assert driver.state.ended == "called off"
        assert trio.current_time() < 60.0


async def test_a_damaged_inbox_ends_its_driver(autojump_clock, monkeypatch):
    damaged = JournalDamaged("run 'run'", "a message does not match its hash")
    async with open_negotiation() as journal:
        make_reads_fail(monkeypatch, journal, "inbox", failing(damaged, "inbox", since=2.0))
        with pytest.raises(JournalDamaged):
            await driver_of(journal, bidder(10, 0, 3.0), bidder(50, 0)).drive(Start(4))


async def test_a_wake_signal_makes_a_driver_read_its_inbox_without_polling(autojump_clock):
    async with open_negotiation() as journal:
        signal = WakeSignal()
        driver = driver_of(journal, bidder(10, 0, 1000.0), bidder(50, 0), changed=signal)
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def post_and_wake():
                await post_cancel(journal, 5.0)
                await trio.sleep(5.0)
                assert (await journal.row("run")).summary.status == "running"
                signal.wake()

            assert await driver.drive(Start(4)) is Ending.FINISHED
        assert (driver.state.ended, trio.current_time()) == ("called off", 10.0)
