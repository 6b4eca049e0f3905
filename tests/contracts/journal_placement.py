"""Journal contract: the tenant of a run, which has a budget of its own, and its priority."""

import pytest

from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import HomeBudgetSpent, UsageProblem
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Summary
from runtime.journal.port import ORDINARY, Placement
from tests.contracts.toy_events import RUNNING, counted

RESEARCH = HomeBudget(calls=3, whose="the budget of the tenant research")


def committed(calls):
    return Summary("running", committed=Amount(calls))


async def started(journal, run, tenant, calls):
    """Admit a run of a tenant, which commits some calls at once, and hold it."""
    placement = Placement(tenant)
    await journal.create(
        run, "", facts=counted(1), summary=committed(calls), owner="driver", ttl=60.0, placement=placement
    )


class PlacementContract:
    async def test_a_run_keeps_its_tenant_and_its_priority(self, journal, open_journal):
        await journal.create("a", "", facts=counted(1), placement=Placement("research", -7))
        await journal.create("b", "")
        async with open_journal() as other:
            assert (await other.row("a")).placement == Placement("research", -7)
            assert (await other.row("b")).placement == ORDINARY

    @pytest.mark.parametrize("placement", [Placement("Not A Name"), Placement("a" * 65), Placement("", 101)])
    async def test_other_tenants_and_priorities_are_refused(self, journal, placement):
        with pytest.raises(UsageProblem):
            await journal.create("a", "", placement=placement)

    async def test_runs_of_a_higher_priority_are_due_first(self, journal):
        for run, priority in (("low", -1), ("first", 0), ("second", 0), ("high", 9)):
            await journal.create(run, "", facts=counted(1), summary=RUNNING, placement=Placement("", priority))
        assert (await journal.due(3)).runs == ("high", "first", "second")

    async def test_a_tenants_runs_are_booked_on_the_tenant_and_on_all(self, journal):
        await started(journal, "a", "research", 2)
        await started(journal, "b", "sales", 1)
        await started(journal, "c", "", 4)
        await journal.append("a", after=1, epoch=1, facts=counted(2), summary=committed(5))
        assert await journal.spent_today() == Amount(calls=10)
        assert await journal.spent_today("research") == Amount(calls=5)
        assert await journal.spent_today("sales") == Amount(calls=1)
        assert await journal.spent_today("nobody") == ZERO

    async def test_the_budget_of_a_tenant_holds_for_its_runs_alone(self, open_journal):
        async with open_journal(budget=HomeBudget(calls=8, tenants={"research": RESEARCH})) as journal:
            await started(journal, "a", "research", 3)
            with pytest.raises(
                HomeBudgetSpent, match="the budget of the tenant research for today is used up"
            ) as spent:
                await started(journal, "b", "research", 1)
            assert spent.value.budget == RESEARCH
            await started(journal, "c", "sales", 4)
            with pytest.raises(HomeBudgetSpent, match="the home's budget") as spent:
                await journal.append("c", after=1, epoch=1, facts=counted(2), summary=committed(6))
            assert spent.value.budget.calls == 8
            assert await journal.spent_today() == Amount(calls=7)
            assert await journal.spent_today("research") == Amount(calls=3)
            await journal.append("a", after=1, epoch=1, facts=counted(2), summary=committed(4), overdraw=True)
            assert await journal.spent_today("research") == Amount(calls=4)

    async def test_a_refused_append_is_booked_on_no_total(self, open_journal):
        async with open_journal(budget=HomeBudget(tenants={"research": RESEARCH})) as journal:
            await started(journal, "a", "research", 1)
            with pytest.raises(HomeBudgetSpent):
                await journal.append("a", after=1, epoch=1, facts=counted(2), summary=committed(9))
            assert await journal.spent_today() == await journal.spent_today("research") == Amount(calls=1)
