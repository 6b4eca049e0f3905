"""The table of demands on the page of a run and in the HTTP API, and the form that asks for a strict run."""

from packages.server.tests.web.test_api import Program
from packages.server.tests.web.world import PLANS, served
from tests.cli.samples import DEMANDED


async def test_a_run_page_has_the_table_of_demands_and_the_api_the_same_as_data(tmp_path):
    """A demand in no step is marked; the text below the table does not repeat it."""
    lazy = {**PLANS, "g_plan": [{**plan, "requirements": []} for plan in PLANS["g_plan"]]}
    problem = f"# Login fails\n\n{DEMANDED}."
    async with served(tmp_path, scripts={"lazy": lazy}) as web:
        run = await web.start("lazy", problem)
        await web.settled(run, "finished")
        page = (await web.browser.get(f"/runs/{run}")).text
        assert page.count(f'<tr class="missing"><td class="title">{DEMANDED}</td>') == 1
        assert page.count(DEMANDED) == 2, "in the problem and in the table"
        assert "Consistent, but 1 demand is in no step (level medium)." in page
        shown = (await Program(web).get(f"/api/runs/{run}")).json()
        (row,) = [each for each in shown["demands"] if each["quote"] == DEMANDED]
        assert (row["standing"], shown["proved"], shown["unread"]) == ("in_no_step", False, [])


async def test_the_form_of_a_run_offers_strictness(tmp_path):
    async with served(tmp_path) as web:
        assert 'name="strict" value="yes"' in (await web.browser.get("/new")).text
