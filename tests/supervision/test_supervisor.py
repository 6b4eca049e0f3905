"""The supervisor drives a machine that is not a planner, a negotiation, over the journal in memory."""

from collections.abc import Mapping
from typing import Any

import pytest
import trio

from runtime.core.errors import Fenced, Held, JournalDamaged, JournalError, UsageProblem, root_cause
from runtime.core.hooks import set_crash_hook
from runtime.core.machine import Work, fold
from runtime.drive.actor import Actor
from runtime.drive.options import Ending, Stop
from runtime.drive.run_log import Snapshot
from runtime.drive.supervisor import Supervisor
from runtime.journal.port import Journal
from tests.supervision.negotiation_run import (
    LEASE,
    bidder,
    drive_until_cancelled,
    drive_until_stopped,
    driver_of,
    failing,
    open_negotiation,
)
from tests.support.negotiation import Negotiation, NegotiationEvent, NegotiationState, Offer, Offered, Start


async def kinds(journal: Journal[NegotiationEvent]) -> list[str]:
    return [record.event.kind for record in await journal.read("run")]


async def test_a_run_goes_from_its_first_message_to_its_end(autojump_clock):
    async with open_negotiation() as journal:
        driver = driver_of(journal, bidder(10, 10), bidder(50, -10))
        assert await driver.drive(Start(20)) is Ending.FINISHED
        assert driver.state.ended == "sold at 30"
        row = await journal.row("run")
        assert (row.summary.status, row.summary.detail, row.owner) == ("finished", "sold at 30", None)
        assert (await kinds(journal))[:4] == ["opened", "offer_requested", "offered", "offer_requested"]


async def test_work_starts_after_its_request_is_in_the_journal(autojump_clock):
    async with open_negotiation() as journal:
        requests = []

        async def watching(envelope):
            requests.append((envelope.work.request_id, (await journal.read("run"))[-1].event.request_id))
            return Offer(envelope.work.request_id, 500)

        await driver_of(journal, watching, watching).drive(Start(4))
        assert requests
        assert all(current == written for current, written in requests)


async def test_a_stop_waits_for_the_reply_in_flight_and_asks_for_nothing_new(autojump_clock):
    async with open_negotiation() as journal:
        stop = Stop()
        driver = driver_of(journal, bidder(10, 10, 5.0), bidder(50, -10, 5.0), stop)
        assert await drive_until_stopped(driver, stop, 2.0) is Ending.PARKED
        assert (await kinds(journal))[-2:] == ["paused", "offered"]
        next_driver = driver_of(journal, bidder(20, 10), bidder(40, -10))
        assert await next_driver.drive() is Ending.FINISHED
        assert next_driver.state.ended.startswith("sold")


async def test_a_forced_stop_cancels_the_reply_in_flight(autojump_clock):
    async with open_negotiation() as journal:
        stop = Stop()
        driver = driver_of(journal, bidder(10, 10, 1000.0), bidder(50, -10), stop)
        assert await drive_until_stopped(driver, stop, 0.0, 2.0) is Ending.PARKED
        assert trio.current_time() < 5.0
        assert (await kinds(journal))[-1] == "paused"


class SlowJournal:
    """A journal whose appends take two seconds before they are committed."""

    def __init__(self, journal: Journal[NegotiationEvent]) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def append(self, *arguments: Any, **named: Any) -> Any:
        await trio.sleep(2.0)
        return await self._journal.append(*arguments, **named)


async def test_a_reply_that_is_being_written_is_kept_at_a_forced_stop(autojump_clock):
    async with open_negotiation() as journal:
        stop = Stop()
        driver = driver_of(SlowJournal(journal), bidder(10, 10, 5.0), bidder(50, -10), stop)
        assert await drive_until_stopped(driver, stop, 3.0, 5.0) is Ending.PARKED
        assert (await kinds(journal))[-2:] == ["paused", "offered"]


async def test_a_stop_waits_at_most_as_long_as_its_grace(autojump_clock):
    async with open_negotiation() as journal:
        stop = Stop(grace=10.0)
        driver = driver_of(journal, bidder(10, 10, 1000.0), bidder(50, -10), stop)
        assert await drive_until_stopped(driver, stop, 1.0) is Ending.PARKED
        assert 11.0 <= trio.current_time() < 12.0


async def test_a_posted_message_reaches_a_running_run_and_is_consumed_once(autojump_clock):
    async with open_negotiation() as journal:
        driver = driver_of(journal, bidder(10, 0, 3.0), bidder(50, 0, 3.0))
        assert await drive_until_cancelled(driver, journal, 10.0, 1000) is Ending.FINISHED
        assert driver.state.ended == "called off"
        assert (await journal.read("run"))[-1].inbox == 1


async def test_a_message_posted_before_the_start_is_consumed_first(autojump_clock):
    async with open_negotiation() as journal:
        await journal.post("run", "cancel", "called off")
        driver = driver_of(journal, bidder(10, 0), bidder(50, 0))
        assert await driver.drive(Start(1000)) is Ending.FINISHED
        assert driver.state.ended == "called off"


async def test_a_driver_with_a_snapshot_reads_only_the_records_after_it(autojump_clock, monkeypatch):
    async with open_negotiation() as journal:
        stop = Stop()
        assert await drive_until_stopped(driver_of(journal, bidder(10, 0), bidder(50, 0), stop), stop, 3.5)
        records = await journal.read("run")
        snapshot = Snapshot(fold(Negotiation(), [record.event for record in records]), records[-1].seq, 0)
        stop = Stop()
        assert await drive_until_stopped(driver_of(journal, bidder(10, 0), bidder(50, 0), stop), stop, 3.5)
        assert len(await journal.read("run", after=snapshot.seq)) > 2
        places = []
        read = journal.read

        async def read_after(run, after=0):
            places.append(after)
            return await read(run, after)

        monkeypatch.setattr(journal, "read", read_after)
        driver = driver_of(journal, bidder(10, 10), bidder(50, -10), snapshot=snapshot)
        assert await driver.drive() is Ending.FINISHED
        assert places == [snapshot.seq]
        everything = await read("run")
        assert driver.state == fold(Negotiation(), [record.event for record in everything])


async def test_a_driver_leaves_a_run_that_only_waits_for_people(autojump_clock):
    async with open_negotiation() as journal:
        driver = Supervisor("run", machine=Negotiation(), journal=journal, actors=[], lease=LEASE)
        assert await driver.drive(Start(4)) is Ending.WAITING
        assert (await journal.row("run")).owner is None


class DueByRounding(Negotiation):
    """Its work is due at the beginning, by a time that was rounded up; nobody stays for work that is due later."""

    def __init__(self, now: float) -> None:
        self._due = now + 5e-7

    def outstanding(self, state: NegotiationState) -> Mapping[str, Work]:
        works = super().outstanding(state).values()
        return {work.request_id: work._replace(until=self._due, keeps_no_process=True, leaves=True) for work in works}


async def test_work_whose_time_is_later_by_a_rounding_is_due(autojump_clock):
    async with open_negotiation() as journal:
        actors = [Actor("buyer", bidder(10, 10)), Actor("seller", bidder(50, -10))]
        machine = DueByRounding(journal.now())
        driver = Supervisor("run", machine=machine, journal=journal, actors=actors, lease=LEASE)
        assert await driver.drive(Start(20)) is Ending.FINISHED


async def test_a_second_driver_gets_an_error_that_names_the_first(autojump_clock):
    async with open_negotiation() as journal:
        await journal.claim("run", "somebody", 30.0)
        with pytest.raises(Held, match="somebody"):
            await driver_of(journal, bidder(10, 10), bidder(50, -10)).drive(Start(4))


async def test_a_driver_without_its_lease_writes_nothing_more(autojump_clock):
    async with open_negotiation() as journal:

        async def stall(envelope):
            await trio.sleep(5.0)
            await journal.release("run", 1)
            await journal.claim("run", "other", 1000.0)
            return Offer(envelope.work.request_id, 10)

        with pytest.raises(Fenced):
            await driver_of(journal, stall, bidder(50, -10)).drive(Start(4))
        assert await kinds(journal) == ["opened", "offer_requested"]


async def test_a_bug_in_an_actor_ends_the_run_without_a_retry(autojump_clock):
    async with open_negotiation() as journal:
        calls = 0

        async def broken(envelope):
            nonlocal calls
            calls += 1
            raise ValueError("no money")

        driver = driver_of(journal, broken, bidder(50, -10))
        assert await driver.drive(Start(4)) is Ending.FINISHED
        assert (driver.state.ended, calls) == ("crashed: buyer: ValueError: no money", 1)


async def test_repeatable_work_is_retried_a_limited_number_of_times(autojump_clock):
    async with open_negotiation() as journal:
        calls = 0

        async def shaky(envelope):
            nonlocal calls
            calls += 1
            raise ValueError("again")

        driver = driver_of(journal, bidder(10, 10), shaky)
        await driver.drive(Start(4))
        assert calls == 4
        assert "again" in driver.state.ended


async def test_work_that_always_fails_late_is_restarted_a_limited_number_of_times(autojump_clock):
    async with open_negotiation() as journal:
        calls = 0

        async def late(_):
            nonlocal calls
            calls += 1
            await trio.sleep(100)
            raise TimeoutError

        await driver_of(journal, bidder(10, 10), late).drive(Start(4))
        assert calls == 4


async def test_an_error_message_is_recorded_without_secrets(autojump_clock):
    async with open_negotiation() as journal:

        async def leaky(_):
            raise ValueError("401 for Bearer sk-proj-abcdefghijklmnopqrstuvwxyz0123456789")

        driver = driver_of(journal, leaky, bidder(50, -10))
        await driver.drive(Start(4))
        assert "ValueError" in driver.state.ended
        assert "abcdefghij" not in driver.state.ended


@pytest.mark.parametrize("error", ["cancelled", "fenced", "damaged"])
async def test_an_error_with_work_in_flight_ends_the_supervisor_at_once(error, autojump_clock):

    async def shielded(envelope):
        try:
            await trio.sleep(1000)
        finally:
            await trio.lowlevel.cancel_shielded_checkpoint()
        return Offer(envelope.work.request_id, 10)

    damaged = failing(JournalDamaged("journal", "the disk is gone"), "renew")
    async with open_negotiation(damaged if error == "damaged" else None) as journal:
        driver = driver_of(journal, shielded, shielded)
        async with trio.open_nursery() as nursery:
            if error == "fenced":

                @nursery.start_soon
                async def steal():
                    await trio.sleep(5)
                    await journal.release("run", 1)
                    await journal.claim("run", "other", 1000.0)

            if error == "cancelled":
                with trio.move_on_after(5):
                    await driver.drive(Start(4))
            else:
                with pytest.raises(Fenced if error == "fenced" else JournalDamaged):
                    await driver.drive(Start(4))
        assert trio.current_time() < 40


async def test_a_driver_survives_renewals_that_fail_for_a_while(autojump_clock):
    """A journal may be busy. Open calls have been paid for, and no other driver can claim before the lease expires."""
    failures = ["busy", "busy"]

    async def slow(envelope):
        await trio.sleep(1000)
        return Offer(envelope.work.request_id, 10)

    def busy(operation, when):
        if (operation, when) == ("renew", "before") and failures:
            raise JournalError(failures.pop())

    async with open_negotiation(busy) as journal:
        assert await driver_of(journal, slow, slow).drive(Start(4)) is Ending.FINISHED
    assert not failures


async def test_a_stop_does_not_wait_for_work_that_costs_nothing_to_repeat(autojump_clock):
    async with open_negotiation() as journal:
        stop = Stop()
        driver = driver_of(journal, bidder(10, 10), bidder(50, -10, 1000.0), stop)
        assert await drive_until_stopped(driver, stop, 5.0) is Ending.PARKED
        assert trio.current_time() < 6.0


async def test_a_stop_and_a_forced_stop_at_the_same_time_both_take_effect(autojump_clock):
    async with open_negotiation() as journal:
        stop = Stop()
        driver = driver_of(journal, bidder(10, 10, 1000.0), bidder(50, -10), stop)
        assert await drive_until_stopped(driver, stop, 5.0, 0.0) is Ending.PARKED
        assert trio.current_time() < 6.0


async def test_a_resume_after_a_stop_was_requested_starts_no_work(autojump_clock):
    async with open_negotiation() as journal:
        stop = Stop()
        driver = driver_of(journal, bidder(10, 10, 5.0), bidder(50, -10), stop)
        await drive_until_stopped(driver, stop, 1.0)
        before = await journal.read("run")
        assert await driver_of(journal, bidder(10, 10), bidder(50, -10), stop).drive() is Ending.PARKED
        assert (await journal.read("run"))[:-1] == before
        assert (await kinds(journal))[-1] == "paused"


class Killed(BaseException):
    """Stands for `kill -9` at a labelled point."""


@pytest.mark.parametrize("label", ["append.before", "append.after", "claim.after", "finish.after"])
@pytest.mark.parametrize("nth", [1, 2, 5])
async def test_a_crash_at_a_labelled_point_loses_no_record(label, nth, autojump_clock):
    count = 0

    def kill(reached):
        nonlocal count
        count += reached == label
        if count == nth and reached == label:
            raise Killed

    async with open_negotiation() as journal:
        set_crash_hook(kill)
        try:
            await driver_of(journal, bidder(10, 10), bidder(50, -10)).drive(Start(6))
        except Killed:
            pass
        finally:
            set_crash_hook(None)
        begun = await journal.read("run")
        assert await driver_of(journal, bidder(30, 10), bidder(30, -10)).drive(Start(6)) is Ending.FINISHED
        records = await journal.read("run")
        assert records[: len(begun)] == begun
        offered = [record.event.request_id for record in records if isinstance(record.event, Offered)]
        assert len(offered) == len(set(offered))


FENCED, OURS, BUG, LATER = Fenced("run", 1, 2), UsageProblem("no"), ZeroDivisionError(), ValueError()


@pytest.mark.parametrize(
    ("errors", "cause"),
    [
        ([BUG, LATER], BUG),
        ([BUG, OURS], OURS),
        ([OURS, BUG, FENCED], FENCED),
        ([ExceptionGroup("", [BUG, OURS]), UsageProblem("later")], OURS),
    ],
)
def test_the_first_error_is_the_cause_unless_a_replan_error_explains_it(errors, cause):
    assert root_cause(ExceptionGroup("", errors)) is cause


def test_an_error_outside_of_a_group_is_its_own_cause():
    assert root_cause(BUG) is BUG


async def test_a_cancellation_hides_no_error(autojump_clock):
    appends = []

    def damaged(operation, when):
        if (operation, when) == ("append", "before"):
            appends.append(when)
            if len(appends) == 3:
                scope.cancel()
                raise JournalDamaged("journal", "it does not verify")

    async with open_negotiation(damaged) as journal:
        with pytest.raises(JournalDamaged), trio.CancelScope() as scope:
            await driver_of(journal, bidder(10, 10), bidder(50, -10)).drive(Start(20))
