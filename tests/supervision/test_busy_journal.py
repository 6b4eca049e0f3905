"""A journal that other processes keep busy for long costs a run time, and no reply."""

from pathlib import Path

import apsw
import pytest
import trio

from runtime.core.errors import JournalBusy
from runtime.drive.options import Ending, Stop
from runtime.journal.sqlite import statements
from tests.supervision.haggling import player, press, supervisor, table, trouble
from tests.support.negotiation import Start


async def test_a_busy_journal_holds_a_run_up_and_loses_nothing(autojump_clock: trio.testing.MockClock) -> None:
    notices: list[str] = []
    async with table(trouble(JournalBusy("file"), "append", "renew", since=2.5, until=100.0)) as journal:
        driver = supervisor(journal, player(10, 10), player(50, -10), notice=notices.append)
        assert await driver.drive(Start(20)) is Ending.FINISHED
        assert driver.state.ended == "sold at 30"
        assert trio.current_time() > 100
    assert notices == ["file: another process keeps the journal busy; the run goes on when it is done"]


async def test_a_stop_at_a_busy_journal_leaves_the_run_to_be_resumed(autojump_clock: trio.testing.MockClock) -> None:
    stop = Stop()
    async with table(trouble(JournalBusy("file"), "append", since=2.5, until=100.0)) as journal:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, stop, 20.0)
            with pytest.raises(JournalBusy):
                await supervisor(journal, player(10, 10), player(50, -10), stop).drive(Start(20))
        assert trio.current_time() < 21
        await trio.sleep(100)
        assert await supervisor(journal, player(10, 10), player(50, -10)).drive() is Ending.FINISHED


def test_sqlite_says_that_it_is_busy(tmp_path: Path) -> None:
    error = statements.explain(tmp_path / "journal", "", apsw.BusyError("locked"))
    assert isinstance(error, JournalBusy)
    assert error.passing
