"""Journal contract: `due` finds the runs that no live driver holds and that have work to do."""

import pytest

from runtime.core.machine import Summary
from runtime.journal.port import Due, Fact
from tests.contracts.toy_events import RUNNING, Counted, counted, driven


async def make_released(journal, run, summary=RUNNING):
    epoch = await driven(journal, run)
    await journal.append(run, after=0, epoch=epoch, facts=counted(1), summary=summary)
    await journal.release(run, epoch)


class DueContract:
    async def test_interrupted_runs_are_due_at_once_in_the_order_of_admission(self, journal):
        for run in ("b", "a", "c"):
            await make_released(journal, run)
        assert await journal.due(10) == Due(runs=("b", "a", "c"))
        assert (await journal.due(2)).runs == ("b", "a")
        assert (await journal.due(0)).runs == ()

    @pytest.mark.parametrize("summary", [Summary("waiting", "q1"), Summary("parked"), Summary("finished", "success")])
    async def test_a_run_that_waits_for_a_person_or_has_ended_is_not_due(self, journal, summary):
        await make_released(journal, "a", summary)
        assert await journal.due(10) == Due()

    async def test_a_run_without_a_record_is_not_due_whatever_is_posted(self, journal):
        await journal.create("a", "")
        await journal.post("a", "cancel", "")
        assert (await journal.due(10)).runs == ()

    @pytest.mark.parametrize("status", ["running", "waiting"])
    async def test_a_run_is_due_when_its_time_has_come(self, journal, clock, status):
        await make_released(journal, "a", Summary(status, next_wake=clock.time + 5.0))
        await make_released(journal, "b", Summary(status, next_wake=clock.time + 7.5))
        assert await journal.due(10) == Due(next=clock.time + 5.0)
        clock.time += 5.0
        assert await journal.due(10) == Due(runs=("a",), next=clock.time + 2.5)

    async def test_a_wake_time_is_replaced_by_the_next_append(self, journal, clock):
        epoch = await driven(journal, "a")
        waits = Summary("waiting", next_wake=clock.time + 5.0)
        for after, summary in enumerate((RUNNING, waits, Summary("waiting"))):
            await journal.append("a", after=after, epoch=epoch, facts=counted(1), summary=summary)
        await journal.release("a", epoch)
        clock.time += 100.0
        assert await journal.due(10) == Due()

    async def test_a_message_makes_a_waiting_run_due_until_it_is_consumed(self, journal):
        await make_released(journal, "a", Summary("waiting", "q1"))
        for key in ("first", "second"):
            await journal.post("a", key, "text")
        assert await journal.due(10) == Due(runs=("a",))
        epoch = await journal.claim("a", "driver", 60.0)
        for inbox, unread in ((1, {"a"}), (2, set())):
            facts = [Fact(Counted(number=inbox), inbox)]
            await journal.append("a", after=inbox, epoch=epoch, facts=facts, summary=Summary("waiting", "q1"))
            assert await journal.due(10) == Due(unread=frozenset(unread))
        await journal.release("a", epoch)
        assert await journal.due(10) == Due()

    async def test_a_message_does_not_make_a_parked_run_due(self, journal):
        await make_released(journal, "a", Summary("parked"))
        await journal.post("a", "note", "text")
        assert await journal.due(10) == Due()

    async def test_a_message_to_a_finished_run_does_not_make_it_due(self, journal):
        epoch = await driven(journal, "a")
        await journal.post("a", "early", "text")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1), summary=Summary("finished"))
        await journal.release("a", epoch)
        await journal.post("a", "late", "text")
        assert await journal.due(10) == Due()

    async def test_a_driven_run_is_due_once_its_lease_ends_or_its_driver_is_dead(self, journal, clock):
        for run in ("a", "b"):
            epoch = await driven(journal, run, ttl=60.0)
            await journal.append(run, after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
        await journal.post("b", "note", "text")
        owners = []
        assert await journal.due(10, dead=lambda owner: bool(owners.append(owner))) == Due(unread=frozenset("b"))
        assert owners == ["driver"] * len(owners) != []
        assert await journal.due(10, dead=lambda owner: owner == "driver") == Due(runs=("a", "b"))
        clock.time += 60.0
        assert await journal.due(10) == Due(runs=("a", "b"))
