"""What holds a run up from outside, and how a driver in a host hears of its mail."""

from typing import Any

import pytest
import trio

from runtime.core.errors import JournalDamaged, JournalError, StorageFull
from runtime.drive.changes import WakeSignal
from runtime.drive.options import Ending, LeaseTerms, Stop
from runtime.journal.memory import Fault
from runtime.journal.port import Journal
from tests.supervision.haggling import call_off, player, press, supervisor, table, trouble
from tests.support.negotiation import NegotiationEvent, Start


async def test_a_full_disk_holds_a_run_up_and_loses_nothing(autojump_clock: trio.testing.MockClock) -> None:
    notices: list[str] = []
    async with table(trouble(StorageFull("disk"), "append", "renew", since=2.5, until=100.0)) as journal:
        driver = supervisor(journal, player(10, 10), player(50, -10), notice=notices.append)
        assert await driver.drive(Start(20)) is Ending.FINISHED
        assert driver.state.ended == "sold at 30"
        assert trio.current_time() > 100
    assert notices == ["disk: no room left to write; the run goes on when there is some"]


async def test_a_stop_on_a_full_disk_leaves_the_run_to_be_resumed(autojump_clock: trio.testing.MockClock) -> None:
    stop = Stop()
    async with table(trouble(StorageFull("disk"), "append", since=2.5, until=100.0)) as journal:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, stop, 20.0)
            with pytest.raises(StorageFull):
                await supervisor(journal, player(10, 10), player(50, -10), stop).drive(Start(20))
        assert trio.current_time() < 21
        await trio.sleep(100)
        assert await supervisor(journal, player(10, 10), player(50, -10)).drive() is Ending.FINISHED


def let_fail(patch: pytest.MonkeyPatch, journal: Journal[NegotiationEvent], read: str, fault: Fault) -> None:
    """Have a fault told of a read too; by itself, the journal tells it only of what it writes."""
    reading = getattr(journal, read)

    async def troubled(*arguments: Any) -> Any:
        fault(read, "before")
        return await reading(*arguments)

    patch.setattr(journal, read, troubled)


@pytest.mark.parametrize("read", ["version", "inbox"])
async def test_mail_that_cannot_be_read_for_a_while_ends_nothing_and_is_heard_later(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    """What is in flight has been paid for; and a message waits for no further commit, not even of the lease."""
    async with table() as journal:
        let_fail(monkeypatch, journal, read, trouble(JournalError("out of reach"), read, since=2.0, until=50.0))
        lease = LeaseTerms("test", ttl=3600.0, poll=0.1)
        driver = supervisor(journal, player(10, 0, 1000.0), player(50, 0), lease=lease)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call_off, journal, 5.0)
            assert await driver.drive(Start(4)) is Ending.FINISHED
        assert driver.state.ended == "called off"
        assert trio.current_time() < 60.0


async def test_a_damaged_inbox_ends_its_driver(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = JournalDamaged("run 'run'", "a message does not match its hash")
    async with table() as journal:
        let_fail(monkeypatch, journal, "inbox", trouble(damaged, "inbox", since=2.0))
        with pytest.raises(JournalDamaged):
            await supervisor(journal, player(10, 0, 3.0), player(50, 0)).drive(Start(4))


async def test_a_bell_tells_a_driver_of_its_mail_without_any_polling(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        signal = WakeSignal()
        driver = supervisor(journal, player(10, 0, 1000.0), player(50, 0), changed=signal)
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def person() -> None:
                await call_off(journal, 5.0)
                await trio.sleep(5.0)
                assert (await journal.row("run")).summary.status == "running"
                signal.wake()

            assert await driver.drive(Start(4)) is Ending.FINISHED
        assert (driver.state.ended, trio.current_time()) == ("called off", 10.0)
