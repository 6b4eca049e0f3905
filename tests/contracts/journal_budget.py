"""Journal contract: the home's daily budget counts what runs commit, and refuses what exceeds it."""

import pytest

from runtime.core.daily_budget import DAY_SECONDS, HomeBudget
from runtime.core.errors import HomeBudgetSpent
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from tests.contracts.toy_events import counted, driven, events


def committed(calls, micro_usd=0, reserved=0):
    return Summary("running", committed=Amount(calls, 10 * calls, micro_usd), reserved=Amount(micro_usd=reserved))


class BudgetContract:
    async def commit(self, journal, run, epoch, after, *arguments, reserved=0, **named):
        summary = committed(*arguments, reserved=reserved)
        await journal.append(run, after=after, epoch=epoch, facts=counted(1), summary=summary, **named)

    async def test_committed_amounts_are_stored_with_the_run_and_added_to_the_day(self, journal):
        assert await journal.spent_today() == ZERO
        first, second = await driven(journal, "a"), await driven(journal, "b")
        await self.commit(journal, "a", first, 0, 2, 500)
        await self.commit(journal, "b", second, 0, 1, 100)
        await self.commit(journal, "a", first, 1, 3, 450)
        assert await journal.spent_today() == Amount(calls=4, micro_usd=550)
        assert (await journal.row("a")).summary.committed == Amount(3, 30, 450)

    @pytest.mark.parametrize(
        ("budget", "limit"), [(HomeBudget(calls=3), "3 calls"), (HomeBudget(micro_usd=300), r"\$0\.00")]
    )
    async def test_an_append_beyond_the_daily_budget_is_refused_as_a_whole(self, open_journal, clock, budget, limit):
        async with open_journal(budget=budget) as journal:
            epoch = await driven(journal, "a")
            await self.commit(journal, "a", epoch, 0, 2, 200)
            other = await driven(journal, "b")
            with pytest.raises(HomeBudgetSpent, match=limit) as caught:
                await self.commit(journal, "b", other, 0, 2, 200)
            assert caught.value.until == (clock.time // DAY_SECONDS + 1) * DAY_SECONDS
            assert await events(journal, "b") == []
            assert await journal.spent_today() == Amount(calls=2, micro_usd=200)
            await self.commit(journal, "b", other, 0, 1, 100)

    async def test_an_append_that_commits_nothing_more_is_never_refused(self, open_journal):
        async with open_journal() as free:
            epoch = await driven(free, "a")
            await self.commit(free, "a", epoch, 0, 9, 900)
        async with open_journal(budget=HomeBudget(calls=1, micro_usd=1)) as journal:
            await self.commit(journal, "a", epoch, 1, 9, 900)
            await self.commit(journal, "a", epoch, 2, 8, 800)
            await self.commit(journal, "a", epoch, 3, 8, 850, overdraw=True)
            assert await journal.spent_today() == Amount(calls=8, micro_usd=850)

    async def test_a_budget_without_waiting_gives_no_time_to_wait_for(self, open_journal):
        async with open_journal(budget=HomeBudget(calls=0, waits=False)) as journal:
            epoch = await driven(journal, "a")
            with pytest.raises(HomeBudgetSpent) as caught:
                await self.commit(journal, "a", epoch, 0, 1)
            assert caught.value.until is None

    async def test_every_day_starts_at_zero_and_gets_no_refund_of_the_day_before(self, open_journal, clock):
        async with open_journal(budget=HomeBudget(calls=3)) as journal:
            epoch = await driven(journal, "a")
            await self.commit(journal, "a", epoch, 0, 3, 300)
            clock.time += DAY_SECONDS
            await self.commit(journal, "a", epoch, 1, 2, 100)  # Reserved yesterday, settled for less today.
            assert await journal.spent_today() == ZERO
            await self.commit(journal, "a", epoch, 2, 5, 350)
            assert await journal.spent_today() == Amount(calls=3, micro_usd=250)

    async def test_a_refund_of_a_reservation_before_midnight_does_not_raise_the_new_days_budget(
        self, open_journal, clock
    ):
        """With ten a day, six reserved before midnight and one paid after it leave nine, not fourteen."""
        async with open_journal(budget=HomeBudget(micro_usd=10)) as journal:
            epoch = await driven(journal, "a")
            await self.commit(journal, "a", epoch, 0, 1, 6, reserved=6)
            clock.time += DAY_SECONDS
            await self.commit(journal, "a", epoch, 1, 2, 10, reserved=10)
            await self.commit(journal, "a", epoch, 2, 2, 5, reserved=4)
            assert await journal.spent_today() == Amount(calls=1, micro_usd=5)
            with pytest.raises(HomeBudgetSpent):
                await self.commit(journal, "a", epoch, 3, 3, 11, reserved=6)
            await self.commit(journal, "a", epoch, 3, 3, 10, reserved=5)

    async def test_the_budget_is_shared_by_all_openings_of_the_home(self, open_journal):
        budget = HomeBudget(calls=3)
        async with open_journal(budget=budget) as first_journal, open_journal(budget=budget) as other:
            first, second = await driven(first_journal, "a"), await driven(other, "b")
            await self.commit(first_journal, "a", first, 0, 2)
            with pytest.raises(HomeBudgetSpent):
                await self.commit(other, "b", second, 0, 2)
            await self.commit(other, "b", second, 0, 1)
            with pytest.raises(HomeBudgetSpent):
                await self.commit(first_journal, "a", first, 1, 3)
