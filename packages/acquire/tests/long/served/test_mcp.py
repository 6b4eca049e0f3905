"""Acquisitions as tools and tasks of the MCP server."""

from mcp_types import CallToolResult, ElicitResult

from packages.acquire.tests.acquisition.stage import GIVEN
from packages.server.tests.long.mcp.test_tasks import with_tasks
from packages.server.tests.mcp.task_client import new_task, until, updated
from packages.server.tests.mcp.world import at_rest, called, refused, served
from replan_server.mcp.server import check_arguments, offered_tools


def with_documents(tmp_path, monkeypatch):
    """Serve a home whose settings name an empty folder of documents `market`."""
    (tmp_path / "docs").mkdir()
    named = {"acquisitions": {"documents": {"market": str(tmp_path / "docs")}}}
    return served(tmp_path, monkeypatch, settings=named)


async def test_a_profile_is_filled_from_the_documents_that_the_settings_name(tmp_path, monkeypatch):
    async with with_documents(tmp_path, monkeypatch) as home, home.client() as client:
        order = {"profile": "market_size", "goal": "EV charging in Portugal", "model": "exact"}
        run = (await called(client, "acquire", documents="market", **order))["run_id"]
        state = await at_rest(client, run)
        assert (state["kind"], state["status"]) == ("acquisition", "waiting")
        assert state["questions"]
        unknown = "documents: this server offers no folder of documents '/etc' (documents: market)"
        assert await refused(client, "acquire", documents="/etc", **order) == unknown
        assert "no profile" in await refused(client, "acquire", profile="./x.yaml", goal="x")


async def test_where_no_folder_has_a_name_the_refusal_says_where_names_are_given(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch) as home, home.client() as client:
        order = {"profile": "market_size", "goal": "EV charging in Portugal", "model": "exact", "documents": "/etc"}
        where = "add it under acquisitions.documents in the server's config.yaml"
        unknown = f"documents: this server offers no folder of documents '/etc' ({where})"
        assert await refused(client, "acquire", **order) == unknown


async def test_a_value_is_told_to_a_finished_acquisition(tmp_path, monkeypatch):
    async with with_documents(tmp_path, monkeypatch) as home, home.client() as client:
        order = {"profile": "market_size", "goal": "EV charging in Portugal", "model": "exact", "given": GIVEN}
        run = (await called(client, "acquire", documents="market", **order))["run_id"]
        assert (await at_rest(client, run))["status"] == "finished"
        assert "is not a field" in await refused(client, "tell", id=run, text="market.custamers=5")
        told = await called(client, "tell", id=run, text="market.customers=3000")
        assert told["result"] == "accepted"
        state = await home.engine.state_with_inbox(run)
        assert state.planner.values["market.customers"][-1].value == 3000


async def test_an_acquisition_is_a_task_too(tmp_path, monkeypatch):
    async with with_documents(tmp_path, monkeypatch) as home, home.client(**with_tasks()) as client:
        order = {"profile": "market_size", "goal": "EV charging in Portugal", "documents": "market", "model": "exact"}
        task = (await new_task(client, "acquire", **order)).taskId
        while (state := await until(client.session, task, "input_required"))["status"] == "input_required":
            declined = {name: ElicitResult(action="decline") for name in state["inputRequests"]}
            await updated(client.session, task, **declined)
        answer = CallToolResult.model_validate(state["result"])
        assert (await called(client, "status", id=task))["kind"] == "acquisition"
        assert answer.structured_content["run_id"] == task
        assert answer.is_error is (answer.structured_content["outcome"] != "success")


async def test_names_are_never_paths_and_a_unit_that_no_number_holds_is_refused(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, hosts=False) as home, home.client() as client:
        for name in ("/etc/passwd", "../../home/config.yaml", "http://127.0.0.1:1/x", "*", "", "x" * 101):
            await refused(client, "acquire", profile=name, goal="x")
            await refused(client, "acquire", profile="market_size", goal="x", documents=name)
        given = {"core.region": "Chile", "core.currency": "EUR", "market.annual_spend": "5 quettaparsec^12"}
        order = {"profile": "market_size", "goal": "x", "model": "exact", "given": given}
        assert "quettaparsec" in await refused(client, "acquire", **order)


def test_null_for_an_optional_argument_is_as_absent():
    _, operation = offered_tools(allow_execute=True)["acquire"]
    needed = {"profile": "no-such-profile", "goal": "x"}
    absent = check_arguments(operation, needed)
    assert check_arguments(operation, {**needed, "given": None, "documents": None, "model": None}) == absent
