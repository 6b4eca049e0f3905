"""A driver's hold on a run, in the moments that matter: before a call is sent, and when it gives the run back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from runtime.core.clock import TrioClock
from runtime.core.errors import Fenced, JournalDamaged, JournalError, StorageFull
from runtime.drive.lease import LeaseKeeper
from runtime.drive.offline import append_one
from runtime.drive.options import Ending
from runtime.journal.memory import Fault
from runtime.journal.port import Journal
from tests.supervision.haggling import LEASE, player, supervisor, table, trouble
from tests.support.negotiation import Negotiation, NegotiationEvent, Start


class Jumping(TrioClock):
    """A clock that can be set."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


@asynccontextmanager
async def held(
    clock: TrioClock | None = None, fault: Fault | None = None
) -> AsyncIterator[tuple[Journal[NegotiationEvent], LeaseKeeper]]:
    """Open a journal with a run, and hold that."""
    clock = clock or TrioClock()
    async with table(fault, clock) as journal:
        lease = LeaseKeeper(journal, "run", LEASE)
        await lease.claim()
        yield journal, lease


async def test_a_lease_that_goes_on_is_not_asked_about_before_a_call(autojump_clock: trio.testing.MockClock) -> None:
    asked: list[str] = []
    async with held(fault=lambda operation, _: asked.append(operation)) as (_, lease):
        await trio.sleep(LEASE.ttl - 1)
        await lease.ensure_held()
        assert "renew" not in asked
        await trio.sleep(2)
        await lease.ensure_held()
        assert "renew" in asked


@pytest.mark.parametrize("back", [False, True])
async def test_a_driver_whose_machine_was_suspended_hears_of_its_rival_before_it_sends(
    autojump_clock: trio.testing.MockClock, back: bool
) -> None:
    """While a machine sleeps, trio's time stands still; the clock that rivals go by does not, unless it is set back."""
    clock = Jumping()
    async with held(clock) as (journal, lease):
        clock.ahead = 3600.0
        await journal.claim("run", "rival", 30.0)
        if back:
            clock.ahead = -3600.0  # By this clock alone, the lease would go on.
            await trio.sleep(31)
        with pytest.raises(Fenced):
            await lease.ensure_held()


@pytest.mark.parametrize("error", [JournalError("busy"), StorageFull("disk")])
async def test_a_call_waits_until_it_is_sure_whose_the_run_is(
    autojump_clock: trio.testing.MockClock, error: JournalError
) -> None:
    """Else a full disk, which holds a run up and loses nothing, would end it with replies in hand."""
    async with held(fault=trouble(error, "renew", until=100.0)) as (_, lease):
        await trio.sleep(40)
        await lease.ensure_held()
        assert 100 <= trio.current_time() < 110


async def test_a_run_that_cannot_be_given_back_has_ended_all_the_same(
    autojump_clock: trio.testing.MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody waits for it any more than until its lease ends."""
    async with table(trouble(JournalError("busy"), "release")) as journal:
        assert await supervisor(journal, player(10, 10), player(50, -10)).drive(Start(20)) is Ending.FINISHED
    assert "lease.kept" in caplog.text


async def test_a_run_that_is_recorded_and_cannot_be_given_back_is_recorded(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Else a run that its hosts will drive would pass for one that could not be admitted."""
    async with table(trouble(JournalError("busy"), "release")) as journal:
        assert await append_one(Negotiation(), journal, "run", LEASE, Start(20))


async def test_a_damaged_journal_is_said_also_when_a_run_is_given_back(autojump_clock: trio.testing.MockClock) -> None:
    async with table(trouble(JournalDamaged("journal", "its row is gone"), "release")) as journal:
        with pytest.raises(JournalDamaged):
            await supervisor(journal, player(10, 10), player(50, -10)).drive(Start(20))
