"""What an execution did is undone from Python, over HTTP, over MCP and on its page, also after its end."""

import pytest
import trio

import replan
from packages.server.tests.mcp.world import called
from packages.server.tests.mcp.world import served as served_to_mcp
from packages.server.tests.web.world import served, use_home
from tests.cli.test_undo import ACTIONS, PLAN, TOOLS, UNDONE
from tests.support.python_tools import execution_options

DONE = ["book hotel", "book flight", "pay"]
ALL = [*DONE, "refund", *UNDONE]


@pytest.fixture
def options(tmp_path, monkeypatch):
    """Keywords that execute the trip in a home of the test's own."""
    use_home(tmp_path, monkeypatch)
    return {**execution_options(tmp_path, TOOLS, ACTIONS), "home": tmp_path / "home"}


async def undone(web, run):
    """Wait until a run is undone; before, it has ended otherwise."""
    with trio.fail_after(300):
        while True:
            if (await web.engine.result(run)).outcome == "undone":
                return
            await trio.sleep(0.02)


def log(options):
    return (options["workspace"] / "log").read_text().splitlines()


def test_an_execution_is_undone_from_python_and_only_once(options):
    run = replan.execute(PLAN, **options).run_id
    assert log(options) == DONE
    assert replan.undo(run, home=options["home"]).outcome == "undone"
    assert log(options) == ALL
    with pytest.raises(replan.UsageProblem, match="undone already"):
        replan.undo(run, home=options["home"])
    assert log(options) == ALL


async def test_a_program_has_an_execution_undone_where_it_may_execute(options, tmp_path):
    run = (await replan.aexecute(PLAN, **options)).run_id
    async with served(tmp_path, hosts=False, signed_in=False) as web:
        sent = {**web.token("control"), "idempotency-key": "k"}
        refused = await web.client.post(f"/api/runs/{run}/undo", json={}, headers=sent)
        assert refused.status_code == 403, refused.text
    async with served(tmp_path, signed_in=False, allow_execute=True) as web:
        sent = {**web.token("control", "other"), "idempotency-key": "k"}
        for scope in ("read", "answer"):
            refused = await web.client.post(f"/api/runs/{run}/undo", json={}, headers={**sent, **web.token(scope)})
            assert refused.status_code == 403
        answer = await web.client.post(f"/api/runs/{run}/undo", json={}, headers=sent)
        assert (answer.status_code, answer.json()["result"]) == (200, "accepted"), answer.text
        await undone(web, run)
        again = await web.client.post(f"/api/runs/{run}/undo", json={}, headers=sent)
        assert again.status_code == 422
        assert "undone already" in again.json()["error"]["message"] + again.json()["error"].get("cause", "")
    assert log(options) == ALL


async def test_a_client_of_mcp_has_an_execution_undone(options, tmp_path, monkeypatch):
    async with served_to_mcp(tmp_path, monkeypatch, allow_execute=True) as home, home.client() as client:
        run = (await replan.aexecute(PLAN, **options)).run_id
        assert (await called(client, "undo", id=run))["result"] == "accepted"
        state = await called(client, "wait", id=run, seconds=30)
        assert (state["status"], state["outcome"]) == ("finished", "undone")
        shown = await called(client, "result", id=run)
        assert [each["status"] for each in shown["undo"]] == ["undone"] * 3
    assert log(options) == ALL


async def test_a_person_undoes_an_execution_on_its_page(options, tmp_path):
    """Once the box is ticked; afterwards the page says what was undone, and offers it no more."""
    run = (await replan.aexecute(PLAN, **options)).run_id
    async with served(tmp_path, allow_execute=True) as web:
        assert 'id="form-undo"' in (await web.browser.get(f"/runs/{run}")).text
        assert (await web.post(f"/runs/{run}/undo")).status_code == 422
        assert log(options) == DONE
        done = await web.post(f"/runs/{run}/undo", {"sure": "yes"})
        assert done.status_code == 303, done.text
        await undone(web, run)
        page = await web.run_page(run)
        assert 'id="form-undo"' not in page
        assert "3 undone" in page
        assert "undo of call 3" in page
    assert log(options) == ALL
