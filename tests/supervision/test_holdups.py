"""What holds a run up from outside, and how a driver in a host hears of its mail."""

from typing import Any

import pytest
import trio

from runtime.actor import Actor
from runtime.clock import TrioClock
from runtime.errors import JournalDamaged, JournalError, StorageFull
from runtime.journal.memory import open_memory
from runtime.news import Bell
from runtime.supervisor import Ending, Stop, Supervisor
from tests.supervision.haggling import LEASE, player, press, supervisor, table
from tests.support.negotiation import CODEC, Negotiation, Start


async def test_a_full_disk_holds_a_run_up_and_loses_nothing(autojump_clock: trio.testing.MockClock) -> None:
    notices: list[str] = []

    def full(operation: str, when: str) -> None:
        if operation in ("append", "renew") and when == "before" and 2.5 < trio.current_time() < 100:
            raise StorageFull("disk")

    async with open_memory(CODEC, TrioClock(), fault=full) as journal:
        await journal.create("run", "haggling")
        actors = [Actor("buyer", player(10, 10)), Actor("seller", player(50, -10))]
        driver = Supervisor(
            "run",
            machine=Negotiation(),
            journal=journal,
            actors=actors,
            clock=TrioClock(),
            lease=LEASE,
            notice=notices.append,
        )
        assert await driver.drive(Start(20)) is Ending.FINISHED
        assert driver.state.ended == "sold at 30"
        assert trio.current_time() > 100
    assert notices == ["disk: no room left to write; the run goes on when there is some"]


async def test_a_stop_on_a_full_disk_leaves_the_run_to_be_resumed(autojump_clock: trio.testing.MockClock) -> None:
    stop = Stop()

    def full(operation: str, when: str) -> None:
        if operation == "append" and when == "before" and 2.5 < trio.current_time() < 100:
            raise StorageFull("disk")

    async with open_memory(CODEC, TrioClock(), fault=full) as journal:
        await journal.create("run", "haggling")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, stop, 20.0)
            with pytest.raises(StorageFull):
                await supervisor(journal, player(10, 10), player(50, -10), stop).drive(Start(20))
        assert trio.current_time() < 21
        await trio.sleep(100)
        assert await supervisor(journal, player(10, 10), player(50, -10)).drive() is Ending.FINISHED


@pytest.mark.parametrize("read", ["version", "inbox"])
async def test_mail_that_cannot_be_read_for_a_while_ends_nothing_and_is_heard_later(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    """What is in flight has been paid for; and a message waits for no further commit of the run that it is for."""
    async with table() as journal:
        reading = getattr(journal, read)

        async def troubled(*arguments: Any) -> Any:
            if 2.0 < trio.current_time() < 50.0:
                raise JournalError("out of reach")
            return await reading(*arguments)

        monkeypatch.setattr(journal, read, troubled)
        driver = supervisor(journal, player(10, 0, 1000.0), player(50, 0))
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def person() -> None:
                await trio.sleep(5.0)
                await journal.post("run", "cancel", "called off")

            assert await driver.drive(Start(4)) is Ending.FINISHED
        assert driver.state.ended == "called off"
        assert trio.current_time() < 60.0


async def test_a_damaged_inbox_ends_its_driver(
    autojump_clock: trio.testing.MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with table() as journal:
        reading = journal.inbox

        async def damaged(*arguments: Any) -> Any:
            if trio.current_time() > 2.0:
                raise JournalDamaged("run 'run'", "a message does not match its hash")
            return await reading(*arguments)

        monkeypatch.setattr(journal, "inbox", damaged)
        with pytest.raises(JournalDamaged):
            await supervisor(journal, player(10, 0, 3.0), player(50, 0)).drive(Start(4))


async def test_a_bell_tells_a_driver_of_its_mail_without_any_polling(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        bell = Bell()
        actors = [Actor("buyer", player(10, 0, 1000.0))]
        driver = Supervisor(
            "run", machine=Negotiation(), journal=journal, actors=actors, clock=TrioClock(), lease=LEASE, news=bell
        )
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def person() -> None:
                await trio.sleep(5.0)
                await journal.post("run", "cancel", "called off")
                await trio.sleep(5.0)
                assert (await journal.row("run")).summary.status == "running"
                bell.ring()

            assert await driver.drive(Start(4)) is Ending.FINISHED
        assert (driver.state.ended, trio.current_time()) == ("called off", 10.0)
