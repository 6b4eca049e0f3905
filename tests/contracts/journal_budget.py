"""What every journal must do with the home's budget: book what runs commit on the day, and refuse what is too much."""

import pytest

from runtime.core.daily_budget import DAY_SECONDS, HomeBudget
from runtime.core.errors import HomeBudgetSpent
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from tests.contracts.toys import counted, driven, events


def committed(calls, micro_usd=0, reserved=0):
    return Summary("running", committed=Amount(calls, 10 * calls, micro_usd), reserved=Amount(micro_usd=reserved))


class BudgetContract:
    """A part of `tests.contracts.journal.JournalContract`."""

    async def book(self, journal, run, epoch, after, *arguments, reserved=0, **named):
        summary = committed(*arguments, reserved=reserved)
        await journal.append(run, after=after, epoch=epoch, facts=counted(1), summary=summary, **named)

    async def test_what_a_run_commits_is_kept_with_it_and_added_to_the_day(self, journal):
        assert await journal.spent_today() == ZERO
        first, second = await driven(journal, "a"), await driven(journal, "b")
        await self.book(journal, "a", first, 0, 2, 500)
        await self.book(journal, "b", second, 0, 1, 100)
        await self.book(journal, "a", first, 1, 3, 450)
        assert await journal.spent_today() == Amount(calls=4, micro_usd=550)
        assert (await journal.row("a")).summary.committed == Amount(3, 30, 450)

    @pytest.mark.parametrize(
        ("budget", "limit"), [(HomeBudget(calls=3), "3 calls"), (HomeBudget(micro_usd=300), r"\$0\.00")]
    )
    async def test_what_is_too_much_for_the_day_is_refused_whole(self, open_journal, clock, budget, limit):
        async with open_journal(budget=budget) as journal:
            epoch = await driven(journal, "a")
            await self.book(journal, "a", epoch, 0, 2, 200)
            other = await driven(journal, "b")
            with pytest.raises(HomeBudgetSpent, match=limit) as caught:
                await self.book(journal, "b", other, 0, 2, 200)
            assert caught.value.until == (clock.time // DAY_SECONDS + 1) * DAY_SECONDS
            assert await events(journal, "b") == []
            assert await journal.spent_today() == Amount(calls=2, micro_usd=200)
            await self.book(journal, "b", other, 0, 1, 100)

    async def test_what_takes_nothing_more_is_never_refused(self, open_journal):
        async with open_journal() as free:
            epoch = await driven(free, "a")
            await self.book(free, "a", epoch, 0, 9, 900)
        async with open_journal(budget=HomeBudget(calls=1, micro_usd=1)) as journal:
            await self.book(journal, "a", epoch, 1, 9, 900)
            await self.book(journal, "a", epoch, 2, 8, 800)
            await self.book(journal, "a", epoch, 3, 8, 850, overdraw=True)
            assert await journal.spent_today() == Amount(calls=8, micro_usd=850)

    async def test_a_home_that_does_not_wait_is_told_no_time(self, open_journal):
        async with open_journal(budget=HomeBudget(calls=0, waits=False)) as journal:
            epoch = await driven(journal, "a")
            with pytest.raises(HomeBudgetSpent) as caught:
                await self.book(journal, "a", epoch, 0, 1)
            assert caught.value.until is None

    async def test_every_day_begins_at_nothing_and_gets_nothing_back_from_the_last(self, open_journal, clock):
        async with open_journal(budget=HomeBudget(calls=3)) as journal:
            epoch = await driven(journal, "a")
            await self.book(journal, "a", epoch, 0, 3, 300)
            clock.time += DAY_SECONDS
            await self.book(journal, "a", epoch, 1, 2, 100)  # Reserved yesterday, settled for less today.
            assert await journal.spent_today() == ZERO
            await self.book(journal, "a", epoch, 2, 5, 350)
            assert await journal.spent_today() == Amount(calls=3, micro_usd=250)

    async def test_what_is_reserved_over_midnight_makes_no_room_in_the_new_day_when_it_costs_less(
        self, open_journal, clock
    ):
        """Of ten a day, six are reserved before midnight, and one is paid after it: that leaves nine, not fourteen."""
        async with open_journal(budget=HomeBudget(micro_usd=10)) as journal:
            epoch = await driven(journal, "a")
            await self.book(journal, "a", epoch, 0, 1, 6, reserved=6)
            clock.time += DAY_SECONDS
            await self.book(journal, "a", epoch, 1, 2, 10, reserved=10)
            await self.book(journal, "a", epoch, 2, 2, 5, reserved=4)
            assert await journal.spent_today() == Amount(calls=1, micro_usd=5)
            with pytest.raises(HomeBudgetSpent):
                await self.book(journal, "a", epoch, 3, 3, 11, reserved=6)
            await self.book(journal, "a", epoch, 3, 3, 10, reserved=5)

    async def test_the_budget_holds_over_all_that_have_the_home_open(self, open_journal):
        budget = HomeBudget(calls=3)
        async with open_journal(budget=budget) as one, open_journal(budget=budget) as other:
            first, second = await driven(one, "a"), await driven(other, "b")
            await self.book(one, "a", first, 0, 2)
            with pytest.raises(HomeBudgetSpent):
                await self.book(other, "b", second, 0, 2)
            await self.book(other, "b", second, 0, 1)
            with pytest.raises(HomeBudgetSpent):
                await self.book(one, "a", first, 1, 3)
