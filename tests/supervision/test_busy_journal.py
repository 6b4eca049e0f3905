"""A journal that other processes keep busy delays a run and loses nothing."""

import apsw
import pytest
import trio

from runtime.core.errors import JournalBusy
from runtime.drive.options import Ending, Stop
from runtime.journal.sqlite import statements
from tests.supervision.negotiation_run import bidder, driver_of, failing, open_negotiation, request_stop
from tests.support.negotiation import Start


async def test_a_busy_journal_delays_a_run_and_loses_nothing(autojump_clock):
    notices = []
    async with open_negotiation(failing(JournalBusy("file"), "append", "renew", since=2.5, until=100.0)) as journal:
        driver = driver_of(journal, bidder(10, 10), bidder(50, -10), notice=notices.append)
        assert await driver.drive(Start(20)) is Ending.FINISHED
        assert driver.state.ended == "sold at 30"
        assert trio.current_time() > 100
    assert notices == ["file: another process keeps the journal busy; the run goes on when it is done"]


async def test_a_stop_at_a_busy_journal_leaves_the_run_to_be_resumed(autojump_clock):
    stop = Stop()
    async with open_negotiation(failing(JournalBusy("file"), "append", since=2.5, until=100.0)) as journal:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(request_stop, stop, 20.0)
            with pytest.raises(JournalBusy):
                await driver_of(journal, bidder(10, 10), bidder(50, -10), stop).drive(Start(20))
        assert trio.current_time() < 21
        await trio.sleep(100)
        assert await driver_of(journal, bidder(10, 10), bidder(50, -10)).drive() is Ending.FINISHED


def test_a_busy_error_of_sqlite_is_a_journal_busy_error(tmp_path):
    error = statements.explain(tmp_path / "journal", "", apsw.BusyError("locked"))
    assert isinstance(error, JournalBusy)
    assert error.passing
