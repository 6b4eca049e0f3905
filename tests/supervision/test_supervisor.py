"""The supervisor drives any machine: here two players who haggle, over the journal in memory."""

from typing import Any

import pytest
import trio

from runtime.core.crash_points import install
from runtime.core.errors import Fenced, Held, JournalDamaged, JournalError
from runtime.drive.envelope import Envelope
from runtime.drive.options import Ending, Stop
from runtime.drive.supervisor import Supervisor
from runtime.journal.port import Journal
from tests.supervision.haggling import LEASE, call_off, player, press, supervisor, table, trouble
from tests.support.negotiation import Haggle, Negotiation, NegotiationEvent, Offer, Offered, Start


async def kinds(journal: Journal[NegotiationEvent]) -> list[str]:
    return [record.event.kind for record in await journal.read("run")]


async def test_a_run_goes_from_its_first_message_to_its_end(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        driver = supervisor(journal, player(10, 10), player(50, -10))
        assert await driver.drive(Start(20)) is Ending.FINISHED
        assert driver.state.ended == "sold at 30"
        row = await journal.row("run")
        assert (row.summary.status, row.summary.detail, row.owner) == ("finished", "sold at 30", None)
        assert (await kinds(journal))[:4] == ["opened", "offer_requested", "offered", "offer_requested"]


async def test_nothing_is_asked_before_the_request_is_in_the_journal(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        seen: list[tuple[str, str]] = []

        async def watching(envelope: Envelope[Haggle]) -> Offer:
            seen.append((envelope.work.request_id, (await journal.read("run"))[-1].event.request_id))
            return Offer(envelope.work.request_id, 500)

        await supervisor(journal, watching, watching).drive(Start(4))
        assert seen
        assert all(asked == written for asked, written in seen)


async def test_a_stop_waits_for_the_reply_in_flight_and_asks_for_nothing_new(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with table() as journal:
        stop = Stop()
        driver = supervisor(journal, player(10, 10, 5.0), player(50, -10, 5.0), stop)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, stop, 2.0)

            assert await driver.drive(Start(20)) is Ending.PARKED
        assert (await kinds(journal))[-2:] == ["paused", "offered"]
        again = supervisor(journal, player(20, 10), player(40, -10))
        assert await again.drive() is Ending.FINISHED
        assert again.state.ended.startswith("sold")


async def test_a_second_wish_to_stop_cancels_the_reply_in_flight(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        stop = Stop()
        driver = supervisor(journal, player(10, 10, 1000.0), player(50, -10), stop)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, stop, 0.0, 2.0)
            assert await driver.drive(Start(20)) is Ending.PARKED
        assert trio.current_time() < 5.0
        assert (await kinds(journal))[-1] == "paused"


class Slow:
    """A journal whose appends take two seconds before they are committed."""

    def __init__(self, journal: Journal[NegotiationEvent]) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def append(self, *arguments: Any, **named: Any) -> Any:
        await trio.sleep(2.0)
        return await self._journal.append(*arguments, **named)


async def test_a_reply_in_hand_is_written_though_patience_ends(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A second wish to stop comes while the reply is being written; it has been paid for."""
    async with table() as journal:
        stop = Stop()
        driver = supervisor(Slow(journal), player(10, 10, 5.0), player(50, -10), stop)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, stop, 3.0, 5.0)
            assert await driver.drive(Start(20)) is Ending.PARKED
        assert (await kinds(journal))[-2:] == ["paused", "offered"]


async def test_a_stop_waits_at_most_ten_seconds(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        stop = Stop()
        driver = supervisor(journal, player(10, 10, 1000.0), player(50, -10), stop)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, stop, 1.0)

            assert await driver.drive(Start(20)) is Ending.PARKED
        assert 11.0 <= trio.current_time() < 12.0


async def test_a_posted_message_reaches_a_running_run_and_is_consumed_once(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with table() as journal:
        driver = supervisor(journal, player(10, 0, 3.0), player(50, 0, 3.0))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call_off, journal, 10.0)
            assert await driver.drive(Start(1000)) is Ending.FINISHED
        assert driver.state.ended == "called off"
        assert (await journal.read("run"))[-1].inbox == 1


async def test_a_message_posted_while_nobody_drives_is_taken_first(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        await journal.post("run", "cancel", "called off")
        driver = supervisor(journal, player(10, 0), player(50, 0))
        assert await driver.drive(Start(1000)) is Ending.FINISHED
        assert driver.state.ended == "called off"


async def test_a_run_that_only_waits_for_people_is_left_alone(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        lonely = Supervisor("run", machine=Negotiation(), journal=journal, actors=[], lease=LEASE)
        assert await lonely.drive(Start(4)) is Ending.WAITING
        assert (await journal.row("run")).owner is None


async def test_a_second_driver_is_told_who_drives(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        await journal.claim("run", "somebody", 30.0)
        with pytest.raises(Held, match="somebody"):
            await supervisor(journal, player(10, 10), player(50, -10)).drive(Start(4))


async def test_a_driver_that_lost_its_lease_writes_nothing_more(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:

        async def stall(envelope: Envelope[Haggle]) -> Offer:
            await trio.sleep(5.0)
            await journal.release("run", 1)
            await journal.claim("run", "other", 1000.0)
            return Offer(envelope.work.request_id, 10)

        with pytest.raises(Fenced):
            await supervisor(journal, stall, player(50, -10)).drive(Start(4))
        assert await kinds(journal) == ["opened", "offer_requested"]


async def test_a_bug_in_an_actor_ends_the_run_once_and_is_not_tried_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with table() as journal:
        calls = 0

        async def broken(envelope: Envelope[Haggle]) -> Offer:
            nonlocal calls
            calls += 1
            raise ValueError("no money")

        driver = supervisor(journal, broken, player(50, -10))
        assert await driver.drive(Start(4)) is Ending.FINISHED
        assert (driver.state.ended, calls) == ("crashed: buyer: ValueError: no money", 1)


async def test_repeatable_work_is_tried_again_but_not_for_ever(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        calls = 0

        async def shaky(envelope: Envelope[Haggle]) -> Offer:
            nonlocal calls
            calls += 1
            raise ValueError("again")

        driver = supervisor(journal, player(10, 10), shaky)
        await driver.drive(Start(4))
        assert calls == 4
        assert "again" in driver.state.ended


async def test_work_that_always_fails_late_is_not_restarted_for_ever(autojump_clock: trio.testing.MockClock) -> None:
    """The window of the intensity has passed each time; the count on one piece of work holds all the same."""
    async with table() as journal:
        calls = 0

        async def late(_: Envelope[Haggle]) -> Offer:
            nonlocal calls
            calls += 1
            await trio.sleep(100)
            raise TimeoutError

        await supervisor(journal, player(10, 10), late).drive(Start(4))
        assert calls == 4


async def test_secrets_in_a_crash_reach_no_record(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:

        async def leaky(_: Envelope[Haggle]) -> Offer:
            raise ValueError("401 for Bearer sk-proj-abcdefghijklmnopqrstuvwxyz0123456789")

        driver = supervisor(journal, leaky, player(50, -10))
        await driver.drive(Start(4))
        assert "ValueError" in driver.state.ended
        assert "abcdefghij" not in driver.state.ended


@pytest.mark.parametrize("how", ["cancelled", "fenced", "gone"])
async def test_an_error_with_work_in_flight_ends_the_supervisor_at_once(
    how: str, autojump_clock: trio.testing.MockClock
) -> None:
    """An answer in hand must not wait, shielded, for a supervisor that has left."""

    async def tenacious(envelope: Envelope[Haggle]) -> Offer:
        try:
            await trio.sleep(1000)
        finally:
            await trio.lowlevel.cancel_shielded_checkpoint()
        return Offer(envelope.work.request_id, 10)

    gone = trouble(JournalDamaged("journal", "the disk is gone"), "renew")
    async with table(gone if how == "gone" else None) as journal:
        driver = supervisor(journal, tenacious, tenacious)
        async with trio.open_nursery() as nursery:
            if how == "fenced":

                @nursery.start_soon
                async def steal() -> None:
                    await trio.sleep(5)
                    await journal.release("run", 1)
                    await journal.claim("run", "other", 1000.0)

            if how == "cancelled":
                with trio.move_on_after(5):
                    await driver.drive(Start(4))
            else:
                with pytest.raises(Fenced if how == "fenced" else JournalDamaged):
                    await driver.drive(Start(4))
        assert trio.current_time() < 40


async def test_a_lease_that_cannot_be_renewed_for_a_while_ends_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """The journal may be busy. What is in flight has been paid for, and others may take the run only when it lapses."""
    failures = ["busy", "busy"]

    async def slow(envelope: Envelope[Haggle]) -> Offer:
        await trio.sleep(1000)
        return Offer(envelope.work.request_id, 10)

    def busy(operation: str, when: str) -> None:
        if (operation, when) == ("renew", "before") and failures:
            raise JournalError(failures.pop())

    async with table(busy) as journal:
        assert await supervisor(journal, slow, slow).drive(Start(4)) is Ending.FINISHED
    assert not failures


async def test_a_stop_does_not_wait_for_work_that_costs_nothing_to_repeat(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with table() as journal:
        stop = Stop()
        driver = supervisor(journal, player(10, 10), player(50, -10, 1000.0), stop)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, stop, 5.0)

            assert await driver.drive(Start(20)) is Ending.PARKED
        assert trio.current_time() < 6.0


async def test_two_wishes_to_stop_at_once_are_both_heard(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        stop = Stop()
        driver = supervisor(journal, player(10, 10, 1000.0), player(50, -10), stop)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, stop, 5.0, 0.0)

            assert await driver.drive(Start(20)) is Ending.PARKED
        assert trio.current_time() < 6.0


async def test_a_stop_before_a_known_run_is_resumed_asks_for_nothing(autojump_clock: trio.testing.MockClock) -> None:
    async with table() as journal:
        stop = Stop()
        driver = supervisor(journal, player(10, 10, 5.0), player(50, -10), stop)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, stop, 1.0)

            await driver.drive(Start(20))
        before = await journal.read("run")
        assert await supervisor(journal, player(10, 10), player(50, -10), stop).drive() is Ending.PARKED
        assert (await journal.read("run"))[:-1] == before
        assert (await kinds(journal))[-1] == "paused"


class Killed(BaseException):
    """Stands for `kill -9` at a labelled point."""


@pytest.mark.parametrize("label", ["append.before", "append.after", "claim.after", "finish.after"])
@pytest.mark.parametrize("nth", [1, 2, 5])
async def test_a_crash_at_a_labelled_point_loses_nothing(
    label: str, nth: int, autojump_clock: trio.testing.MockClock
) -> None:
    times = 0

    def kill(reached: str) -> None:
        nonlocal times
        times += reached == label
        if times == nth and reached == label:
            raise Killed

    async with table() as journal:
        install(kill)
        try:
            await supervisor(journal, player(10, 10), player(50, -10)).drive(Start(6))
        except Killed:
            pass
        finally:
            install(None)
        begun = await journal.read("run")
        assert await supervisor(journal, player(30, 10), player(30, -10)).drive(Start(6)) is Ending.FINISHED
        records = await journal.read("run")
        assert records[: len(begun)] == begun
        offered = [record.event.request_id for record in records if isinstance(record.event, Offered)]
        assert len(offered) == len(set(offered))
