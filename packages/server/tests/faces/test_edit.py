"""A plan, or what is left of one, is edited over HTTP, over MCP and on the page, and the guards judge it there."""

import html
import re

import pytest
import trio

import replan
from packages.server.tests.mcp.world import called, refused
from packages.server.tests.mcp.world import served as served_to_mcp
from packages.server.tests.web.world import served, use_home
from replan.runs.inbox import questions_of
from replan_server.service.run_data import with_form
from replan_server.web import run_actions
from runtime.core.errors import Held
from tests.cli.samples import PLAN as PROVED
from tests.execution.stage import plan, step
from tests.support.python_tools import execution_options

ACTIONS = """
def make(workspace, name):
    (workspace / name).write_text("made")
"""
TOOLS = """
tools:
  make:
    python: ./actions.py:make
    parameters: {name: {type: string, pattern: "[a-z]+"}}
  fine: {command: ["true"], risk: none}
guards: {syntax: fine}
generators:
  first: {tool: make, with: {name: one}}
  second: {tool: make, with: {name: two}}
"""
AVOIDED = {"kind": "must_avoid", "text": "no shredder", "quote": "no shredder", "tools": ["shredder"]}
PLAN = plan(
    step("a", "start", "one", generator="first"),
    step("b", "one", "goal", generator="second", dependencies="a"),
    requirements=[AVOIDED],
)


REVIEWED = """
name: house
action_pairs:
  g_plan:
    generator: LLMPlanGenerator
    guard: {all_of: [plan_medium, human_review]}
"""


@pytest.fixture
def options(tmp_path, monkeypatch):
    """Keywords that execute the plan in a home of the test's own, up to its first approval."""
    use_home(tmp_path, monkeypatch)
    return {**execution_options(tmp_path, TOOLS, ACTIONS), "home": tmp_path / "home", "approve": "risky"}


async def revision(web, run, number):
    """Wait until a run has a revision of its plan."""
    with trio.fail_after(300):
        while (await web.engine.result(run)).revision < number:  # noqa: ASYNC110 -- the run tells nobody
            await trio.sleep(0.02)


async def made(path):
    """Wait until a step has made a file."""
    with trio.fail_after(300):
        while not path.exists():  # noqa: ASYNC110 -- the step tells nobody
            await trio.sleep(0.02)


def renamed(value, name):
    [first, *rest] = value["steps"]
    return {**value, "steps": [{**first, "name": name}, *rest]}


async def edit_over_mcp(client, run):
    opened = await called(client, "rest_of_plan", id=run)
    fields = {"plan": renamed(opened["plan"], "Mine"), "revision": opened["revision"], "edits": opened["edits"]}
    assert (await called(client, "edit_plan", id=run, **fields))["result"] == "accepted"


def hidden_fields(page):
    """Return the plan in a form, and its hidden numbers."""
    text = html.unescape(re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)[1])
    return text, {name: re.search(rf'name="{name}" value="(\d+)"', page)[1] for name in ("revision", "edits")}


async def test_a_program_edits_a_plan_where_it_may_execute(options, tmp_path):
    run = (await replan.aexecute(PLAN, **options)).run_id
    async with served(tmp_path, hosts=False, signed_in=False) as web:
        rest = (await web.client.get(f"/api/runs/{run}/plan", headers=web.token("read"))).json()
        sent = {name: rest[name] for name in ("revision", "edits", "plan")}
        refused = await web.client.post(f"/api/runs/{run}/plan", json=sent, headers=web.token("control"))
        assert refused.status_code == 403, refused.text
        assert "--allow-execute" in refused.text
    async with served(tmp_path, signed_in=False, allow_execute=True) as web:
        headers = web.token("control", "other")
        rest = (await web.client.get(f"/api/runs/{run}/plan", headers=headers)).json()
        assert [each["step_id"] for each in rest["plan"]["steps"]] == ["a", "b"]
        sent = {"revision": rest["revision"], "edits": rest["edits"], "plan": renamed(rest["plan"], "Mine")}
        wrong = {**sent, "plan": {**sent["plan"], "requirements": []}}
        answer = await web.client.post(f"/api/runs/{run}/plan", json=wrong, headers=headers)
        assert (answer.status_code, "leaves out a requirement that every plan must meet" in answer.text) == (422, True)
        answer = await web.client.post(f"/api/runs/{run}/plan", json=sent, headers=headers)
        assert (answer.status_code, answer.json()["result"]) == (200, "accepted"), answer.text
        await revision(web, run, 2)
        late = await web.client.post(f"/api/runs/{run}/plan", json=sent, headers=headers)
        assert late.status_code == 409, late.text
        assert "+- step_id: a" in late.text or "+  name: Mine" in late.text, (
            "the second sees what the first has changed"
        )
        [_, now] = (await web.client.get(f"/api/runs/{run}", headers=headers)).json()["revisions"]
        assert now["edited_by"] == "a person over HTTP"


async def test_a_client_of_mcp_edits_a_plan(options, tmp_path, monkeypatch):
    async with served_to_mcp(tmp_path, monkeypatch, allow_execute=True) as home, home.client() as client:
        run = (await replan.aexecute(PLAN, **options)).run_id
        await edit_over_mcp(client, run)


async def test_a_person_edits_a_plan_on_its_page_and_approves_in_the_same_act(options, tmp_path):
    run = (await replan.aexecute(PLAN, **options)).run_id
    async with served(tmp_path, allow_execute=True) as web:
        assert 'id="edit-plan"' in (await web.browser.get(f"/runs/{run}")).text
        page = (await web.browser.get(f"/runs/{run}/plan")).text
        text, hidden = hidden_fields(page)
        assert "Also approve: a" in page
        wrong = await web.post(f"/runs/{run}/plan", {**hidden, "plan": text.replace("first", "third")})
        assert wrong.status_code == 422
        assert "no tool implements generator &#39;third&#39;" in wrong.text
        assert "generator: third" in wrong.text, "the text is shown again"
        edited = {**hidden, "plan": text.replace("name: a", "name: Mine"), "approve": "a"}
        done = await web.post(f"/runs/{run}/plan", edited)
        assert done.status_code == 303, done.text
        await revision(web, run, 2)
        await made(options["workspace"] / "one")
        late = await web.post(f"/runs/{run}/plan", edited)
        assert late.status_code == 422
        assert "it is revision 2 now" in late.text
        assert "+  name: Mine" in late.text


async def test_the_text_is_shown_again_if_another_process_drives_the_run(tmp_path, monkeypatch):
    async def held(*_, **__):
        raise Held("r1", "somebody", 0.0)

    use_home(tmp_path, monkeypatch)
    async with served(tmp_path) as web:
        run = await web.start("plans")
        await web.settled(run, "finished")
        text, hidden = hidden_fields((await web.browser.get(f"/runs/{run}/plan")).text)
        monkeypatch.setattr(run_actions, "post_edit", held)
        answer = await web.post(f"/runs/{run}/plan", {**hidden, "plan": text.replace("name: Fix it", "name: Mend it")})
        assert (answer.status_code, "until its lease ends" in answer.text) == (409, True), answer.text
        assert "name: Mend it" in answer.text


async def test_a_program_edits_the_plan_of_a_planning_run_that_has_ended(tmp_path, monkeypatch):
    """No server option is needed: nothing is executed."""
    use_home(tmp_path, monkeypatch)
    async with served(tmp_path, signed_in=False) as web:
        run = await web.start("plans")
        assert (await web.settled(run, "finished")).outcome == "success"
        headers = web.token("control")
        opened = (await web.client.get(f"/api/runs/{run}/plan", headers=headers)).json()
        sent = {name: opened[name] for name in ("revision", "edits")} | {"plan": renamed(opened["plan"], "Mine")}
        wrong = {**sent, "plan": {**sent["plan"], "goal_state": ["nowhere"]}}
        answer = await web.client.post(f"/api/runs/{run}/plan", json=wrong, headers=headers)
        assert (answer.status_code, "plan.goal_unreachable" in answer.text) == (422, True), answer.text
        answer = await web.client.post(f"/api/runs/{run}/plan", json=sent, headers=headers)
        assert (answer.status_code, answer.json()["result"]) == (200, "accepted"), answer.text
        late = await web.client.post(f"/api/runs/{run}/plan", json=sent, headers=headers)
        assert (late.status_code, "+  name: Mine" in late.text) == (409, True), late.text
        found = (await web.client.get(f"/api/runs/{run}", headers=headers)).json()
        assert found["plan"]["steps"][0]["name"] == "Mine"
        assert found["edits"][0]["edited_by"] == "a person over HTTP"


async def test_a_client_of_mcp_edits_the_plan_of_a_planning_run(tmp_path, monkeypatch):
    async with served_to_mcp(tmp_path, monkeypatch) as home, home.client() as client:
        run = (await called(client, "plan", problem="# Login fails\n\nIt fails.", model="plans"))["run_id"]
        await called(client, "wait", id=run)
        await edit_over_mcp(client, run)


async def test_a_client_of_mcp_does_not_get_a_plan_under_review(tmp_path, monkeypatch):
    (tmp_path / "house.yaml").write_text(REVIEWED)
    clients = {"scripts": {"one": {"g_plan": [PROVED]}}, "workflows": {"house": str(tmp_path / "house.yaml")}}
    async with served_to_mcp(tmp_path, monkeypatch, **clients) as home, home.client() as client:
        problem = "# Login fails\n\nIt fails."
        run = (await called(client, "plan", problem=problem, model="one", workflow="house"))["run_id"]
        await home.settled(run, "waiting")
        assert "only a person may edit" in await refused(client, "rest_of_plan", id=run)


async def test_a_person_edits_a_plan_under_review_and_approves_it_in_the_same_act(tmp_path, monkeypatch):
    use_home(tmp_path, monkeypatch)
    (tmp_path / "house.yaml").write_text(REVIEWED)
    house = {"house": str(tmp_path / "house.yaml")}
    async with served(tmp_path, scripts={"one": {"g_plan": [PROVED]}}, workflows=house) as web:
        run = await web.start("one", workflow="house")
        await web.settled(run, "waiting")
        headers = web.token("control")
        assert f'href="/runs/{run}/plan"' in (await web.browser.get("/")).text
        [question] = await questions_of(web.engine, run)
        assert [with_form({**question, "run_id": name})["edits"] for name in (run, f"{run}.step")] == [True, False]
        text, hidden = hidden_fields((await web.browser.get(f"/runs/{run}/plan")).text)
        opened = (await web.client.get(f"/api/runs/{run}/plan", headers=headers)).json()
        sent = {name: opened[name] for name in ("revision", "edits", "plan")}
        refused = await web.client.post(f"/api/runs/{run}/plan", json=sent, headers=headers)
        assert (refused.status_code, "only a person" in refused.text) == (403, True), refused.text
        wrong = await web.post(f"/runs/{run}/plan", {**hidden, "plan": text.replace("- fixed", "- nothing", 1)})
        assert (wrong.status_code, "plan.goal_unreachable" in wrong.text) == (422, True)
        edited = {**hidden, "plan": text.replace("name: Fix it", "name: Mend it")}
        done = await web.post(f"/runs/{run}/plan", edited)
        assert done.status_code == 303, done.text
        result = await web.settled(run, "finished")
        assert (result.outcome, result.plan_json["steps"][2]["name"]) == ("success", "Mend it")
        page = (await web.browser.get(f"/runs/{run}")).text
        assert "Edited by a person on the web page" in page
        assert "+  name: Mend it" in page
