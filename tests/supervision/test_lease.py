"""A driver's lease: it is verified before a call is sent, and released at the end."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

from runtime.core.clock import TrioClock
from runtime.core.errors import Fenced, JournalDamaged, JournalError, StorageFull
from runtime.drive.lease import LeaseKeeper
from runtime.drive.options import Ending
from runtime.drive.run_log import append_one
from runtime.journal.memory import Fault
from runtime.journal.port import Journal
from tests.supervision.negotiation_run import LEASE, bidder, driver_of, failing, open_negotiation
from tests.support.negotiation import Negotiation, NegotiationEvent, Start


class ShiftedClock(TrioClock):
    """A clock that a test can shift."""

    ahead = 0.0

    def now(self) -> float:
        return super().now() + self.ahead


@asynccontextmanager
async def claimed(
    clock: TrioClock | None = None, fault: Fault | None = None
) -> AsyncIterator[tuple[Journal[NegotiationEvent], LeaseKeeper]]:
    """Open a journal with a claimed run; give the journal and the lease."""
    clock = clock or TrioClock()
    async with open_negotiation(fault, clock) as journal:
        lease = LeaseKeeper(journal, "run", LEASE)
        await lease.claim()
        yield journal, lease


async def test_a_valid_lease_is_not_renewed_before_a_call(autojump_clock):
    operations = []
    async with claimed(fault=lambda operation, _: operations.append(operation)) as (_, lease):
        await trio.sleep(LEASE.ttl - 1)
        await lease.ensure_held()
        assert "renew" not in operations
        await trio.sleep(2)
        await lease.ensure_held()
        assert "renew" in operations


@pytest.mark.parametrize("set_back", [False, True])
async def test_a_driver_whose_machine_was_suspended_is_fenced_before_it_sends(autojump_clock, set_back):
    """During a suspend trio's clock stands still; the wall clock, which other drivers use, goes on or is set back."""
    clock = ShiftedClock()
    async with claimed(clock) as (journal, lease):
        clock.ahead = 3600.0
        await journal.claim("run", "rival", 30.0)
        if set_back:
            clock.ahead = -3600.0  # By this clock alone, the lease would still be valid.
            await trio.sleep(31)
        with pytest.raises(Fenced):
            await lease.ensure_held()


@pytest.mark.parametrize("error", [JournalError("busy"), StorageFull("disk")])
async def test_a_call_waits_until_the_lease_is_verified(autojump_clock, error):
    """Otherwise a full disk, which only delays a run, would end it while replies are unwritten."""
    async with claimed(fault=failing(error, "renew", until=100.0)) as (_, lease):
        await trio.sleep(40)
        await lease.ensure_held()
        assert 100 <= trio.current_time() < 110


async def test_a_failed_release_does_not_change_how_a_driver_ends(autojump_clock, caplog):
    async with open_negotiation(failing(JournalError("busy"), "release")) as journal:
        assert await driver_of(journal, bidder(10, 10), bidder(50, -10)).drive(Start(20)) is Ending.FINISHED
    assert "lease.kept" in caplog.text


async def test_an_offline_append_succeeds_when_only_the_release_fails(autojump_clock):
    async with open_negotiation(failing(JournalError("busy"), "release")) as journal:
        assert await append_one(Negotiation(), journal, "run", LEASE, Start(20))


async def test_a_damaged_journal_is_raised_by_the_release_too(autojump_clock):
    async with open_negotiation(failing(JournalDamaged("journal", "its row is gone"), "release")) as journal:
        with pytest.raises(JournalDamaged):
            await driver_of(journal, bidder(10, 10), bidder(50, -10)).drive(Start(20))
