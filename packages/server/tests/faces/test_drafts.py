"""The draft of a run that ended without a plan, over HTTP, over MCP and on the page: everywhere it is not proved."""

import pytest

import replan
from packages.server.tests.faces.test_edit import ACTIONS, TOOLS
from packages.server.tests.faces.test_edit import PLAN as EXECUTED
from packages.server.tests.mcp.world import called
from packages.server.tests.mcp.world import served as served_to_mcp
from packages.server.tests.web.test_api import Program
from packages.server.tests.web.world import served, use_home
from tests.cli.samples import LOST, PLAN, PROBLEM, distinct
from tests.support.python_tools import execution_options

SCRIPTS = {"lost": {"g_plan": distinct(LOST, 3)}}
"""A model whose plans all lack a step, for the workflow `single`."""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    use_home(tmp_path, monkeypatch)


async def test_a_program_and_a_person_get_the_draft(tmp_path):
    async with served(tmp_path, scripts=SCRIPTS) as web:
        program = Program(web, "read")
        run = await web.start("lost", workflow="single")
        await web.settled(run, "finished")
        draft = (await program.get(f"/api/runs/{run}")).json()["draft"]
        assert (draft["proved"], draft["plan"]["plan_id"]) == (False, "p2")
        [finding] = draft["findings"]
        assert finding["code"] == "plan.precondition_unsatisfied"
        assert finding["takes"].startswith("a step that makes 'nobody_makes_this' early enough")
        address = f"/runs/{run}/export/draft"
        exported = (await web.client.get(f"/api{address}", headers=program.headers)).json()
        assert (next(iter(exported)), exported["plan"]) == ("not_proved", draft["plan"])
        page = (await web.browser.get(f"/runs/{run}")).text
        assert "Draft, not proved" in page
        assert f"{finding['code']} at fix: step fix needs" in page
        assert "Needed: a step that makes" in page
        assert f'href="{address}"' in page
        saved = await web.browser.get(address)
        assert saved.json() == exported
        assert f"{run}.draft.json" in saved.headers["content-disposition"]


async def test_what_a_cancelled_execution_has_left_is_in_every_face(tmp_path):
    options = {**execution_options(tmp_path, TOOLS, ACTIONS), "home": tmp_path / "home", "approve": "risky"}
    run = (await replan.aexecute(EXECUTED, **options)).run_id
    async with served(tmp_path, allow_execute=True) as web:
        await replan.acancel(run, home=options["home"])
        await web.settled(run, "finished")
        program = Program(web, "read")
        found = (await program.get(f"/api/runs/{run}")).json()
        assert (found["outcome"], found["next"], found["missing"]) == ("cancelled", ["a"], ["goal"])
        assert [step["status"] for step in found["steps"]] == ["not_done", "not_done"]
        rest = (await web.client.get(f"/api/runs/{run}/export/draft", headers=program.headers)).json()
        assert "is not proved: 2 of 2 steps are left" in rest["not_proved"]
        page = (await web.browser.get(f"/runs/{run}")).text
        assert "<dt>Next</dt><dd>a</dd>" in page
        assert f'<a href="/runs/{run}/export/draft" download>draft</a> (not proved)' in page


async def test_a_run_with_a_plan_offers_no_draft(tmp_path):
    async with served(tmp_path) as web:
        run = await web.start("plans")
        await web.settled(run, "finished")
        assert "/export/draft" not in (await web.browser.get(f"/runs/{run}")).text
        assert (await Program(web, "read").get(f"/api/runs/{run}/export/draft")).status_code == 404


async def test_a_client_of_mcp_gets_the_draft_and_checks_the_repaired_plan(tmp_path, monkeypatch):
    async with served_to_mcp(tmp_path, monkeypatch, scripts=SCRIPTS) as home, home.client() as client:
        started = await called(client, "plan", problem=PROBLEM, model="lost", workflow="single")
        await home.settled(started["run_id"], "finished")
        draft = (await called(client, "result", id=started["run_id"]))["draft"]
        assert draft["proved"] is False
        assert (await called(client, "check_plan", plan=draft["plan"]))["valid"] is False
        assert (await called(client, "check_plan", plan={**draft["plan"], "steps": PLAN["steps"]}))["valid"] is True
