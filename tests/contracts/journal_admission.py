"""Journal contract: a run is admitted with its first records, in one transaction."""

import pytest
import trio

from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import Held, HomeBudgetSpent, JournalError, KindUnknown, RunExists, RunNotFound, UsageProblem
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from runtime.journal.port import Due, Fact, RunFilter
from tests.contracts.toy_events import LONE_SURROGATE, RUNNING, Counted, UnknownEvent, counted, events, row_of

SPENT = Summary("running", committed=Amount(2, 20, 200))


class AdmissionContract:
    async def test_a_run_is_admitted_with_its_first_records(self, journal, clock):
        summary = Summary("waiting", "q1", waiting_since=5.0, next_wake=2_000.0)
        written = await journal.create("a", "Fix the bug", facts=counted(1, 2), summary=summary)
        assert written == await journal.read("a")
        assert [(record.seq, record.epoch, record.at) for record in written] == [(1, 1, clock.time), (2, 1, clock.time)]
        assert await journal.row("a") == row_of("a", "Fix the bug", clock.time, summary, last_seq=2, epoch=1)
        assert await journal.due(10) == Due(next=2_000.0)

    async def test_without_an_owner_nobody_holds_the_new_run(self, journal):
        await journal.create("a", "", facts=counted(1))
        assert await journal.due(10) == Due(runs=("a",))
        with pytest.raises(JournalError):
            await journal.append("a", after=1, epoch=1, facts=counted(2), summary=RUNNING)
        epoch = await journal.claim("a", "driver", 60.0)
        assert epoch == 2
        await journal.append("a", after=1, epoch=epoch, facts=counted(2), summary=RUNNING)
        assert [record.epoch for record in await journal.read("a")] == [1, 2]

    async def test_the_owner_of_a_new_run_holds_it_under_the_first_epoch(self, journal, clock):
        await journal.create("a", "", facts=counted(1), owner="driver", ttl=60.0)
        assert (await journal.row("a")).owner == "driver"
        with pytest.raises(Held) as caught:
            await journal.claim("a", "another", 60.0)
        assert (caught.value.owner, caught.value.until) == ("driver", clock.time + 60.0)
        await journal.append("a", after=1, epoch=1, facts=counted(2), summary=RUNNING)
        await journal.renew("a", 1, 60.0)
        await journal.release("a", 1)
        assert (await journal.row("a")).owner is None
        assert await events(journal, "a") == [Counted(number=1), Counted(number=2)]

    async def test_a_run_that_exists_keeps_its_title_its_records_and_its_driver(self, journal):
        await journal.create("a", "first", facts=counted(1), owner="driver", ttl=60.0)
        with pytest.raises(RunExists):
            await journal.create("a", "second", facts=counted(2, 3), summary=SPENT, owner="another", ttl=90.0)
        row = await journal.row("a")
        assert (row.title, row.last_seq, row.owner, row.epoch) == ("first", 1, "driver", 1)
        assert await events(journal, "a") == [Counted(number=1)]
        assert await journal.spent_today() == ZERO

    async def test_what_a_new_run_commits_is_booked_on_the_day(self, journal):
        await journal.create("a", "", facts=counted(1), summary=SPENT)
        assert await journal.spent_today() == Amount(calls=2, micro_usd=200)

    async def test_a_new_run_beyond_the_daily_budget_is_not_admitted(self, open_journal):
        async with open_journal(budget=HomeBudget(calls=1)) as journal:
            with pytest.raises(HomeBudgetSpent):
                await journal.create("a", "", facts=counted(1), summary=SPENT, owner="driver", ttl=60.0)
            assert await journal.runs(RunFilter()) == []
            assert await journal.spent_today() == ZERO
            await journal.create("a", "", facts=counted(1), summary=SPENT, overdraw=True)
            assert await journal.spent_today() == Amount(calls=2, micro_usd=200)

    @pytest.mark.parametrize(
        ("fact", "error"),
        [
            (Fact(UnknownEvent()), UsageProblem),
            (Fact(Counted(number=1, label=LONE_SURROGATE)), UsageProblem),
            (Fact(Counted(number=1), inbox=1), JournalError),
        ],
    )
    async def test_nothing_is_admitted_with_a_fact_that_cannot_be_written(self, journal, fact, error):
        with pytest.raises(error):
            await journal.create("a", "", facts=[*counted(1), fact], owner="driver", ttl=60.0)
        with pytest.raises(RunNotFound):
            await journal.row("a")

    async def test_records_of_an_unknown_kind_are_not_admitted(self, journal):
        with pytest.raises(KindUnknown):
            await journal.create("a", "", "gardening", facts=counted(1))
        assert await journal.runs(RunFilter()) == []

    async def test_only_one_of_many_admissions_of_a_name_succeeds(self, journal):
        admitted: list[int] = []

        async def admit(number: int) -> None:
            try:
                await journal.create("a", "", facts=counted(number), owner=f"driver {number}", ttl=60.0)
                admitted.append(number)
            except RunExists:
                pass

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(admit, number)
        (number,) = admitted
        assert (await journal.row("a")).owner == f"driver {number}"
        assert await events(journal, "a") == [Counted(number=number)]

    async def test_a_cancelled_admission_returns_its_records_if_they_were_written(self, journal):
        returned = list[str]()

        async def admit(run: str) -> None:
            records = await journal.create(run, "", facts=counted(1))
            returned.append(records[0].run)

        for moment in range(6):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(admit, f"run-{moment}")
                for _ in range(moment):
                    await trio.lowlevel.checkpoint()
                nursery.cancel_scope.cancel()
        assert [row.run for row in reversed(await journal.runs(RunFilter()))] == returned
        assert returned
