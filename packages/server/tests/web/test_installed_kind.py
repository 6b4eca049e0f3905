"""A kind of another distribution: HTTP, MCP and the page start its runs, and show them with their questions."""

import pytest

from packages.server.tests.web.test_api import Program
from packages.server.tests.web.world import served
from replan_server.mcp.server import check_arguments, describe_tool, offered_tools
from replan_server.web.api_routes import openapi
from runtime.core.errors import UsageProblem
from tests.support.distributions import install
from tests.support.poems import GROUPS

POEM = {"poem": ["Dew on the lawn"] * 9}


@pytest.fixture
async def web(tmp_path, monkeypatch):
    install(monkeypatch, tmp_path / "site", "replan-poems", GROUPS)
    async with served(tmp_path, hosts=False, scripts={"poet": POEM}) as world:
        yield world


async def test_the_form_has_the_fields_of_the_order_and_starts_a_run_once(web):
    page = (await web.browser.get("/new/poem")).text
    assert '<a href="/new/poem" aria-current="page">Write a poem</a>' in page
    assert '<textarea id="topic" name="topic" rows="3" required' in page
    assert '<option value="haiku">haiku</option>' in page
    assert '<input type="checkbox" name="rhymes" value="yes">' in page
    assert "Write a line `NAME = VALUE` for each, such as dew = wet grass." in page
    assert "3 calls, the limit" in page
    form = {"topic": "the sea", "style": "haiku", "rhymes": "yes", "words": "dew = wet grass", "model": "poet"}
    started = await web.post("/new/poem", {**form, "max_calls": "2"})
    run = started.headers["location"].split("/")[2].partition("?")[0]
    assert (await web.engine.journal.row(run)).title == "the sea: three lines, in rhymes; dew means wet grass"
    state = await web.engine.state_with_inbox(run)
    assert state.run.ledger.limits.calls == 2


async def test_the_run_is_shown_asked_about_and_started_again(web):
    started = await web.post("/new/poem", {"topic": "the sea", "model": "poet"})
    run = started.headers["location"].split("/")[2].partition("?")[0]
    await web.engine.resume(run)
    page = (await web.browser.get(f"/runs/{run}")).text
    assert "Do you like Dew on the lawn?" in page
    assert f'href="/new/poem?like={run}' in page
    assert "poet" in (await web.browser.get(f"/new/poem?like={run}")).text
    await web.engine.answer(f"{run}/q1", "yes", via="web")
    await web.engine.resume(run)
    assert (await web.engine.result(run)).outcome == "success"


@pytest.mark.parametrize(
    ("field", "value", "line"),
    [
        ("topic", "", "topic: the field is missing (needed: topic)"),
        ("style", "epic", "style: this server offers no style &#39;epic&#39;"),
        ("words", "x", "has no value"),
        ("max_calls", "many", "max_calls: &#39;many&#39; is not a number"),
    ],
)
async def test_a_wrong_form_is_shown_again_with_its_values(web, field, value, line):
    refused = await web.post("/new/poem", {"topic": "the sea", "model": "poet", field: value})
    assert refused.status_code == 422
    assert line in refused.text
    assert field == "topic" or "the sea</textarea>" in refused.text
    assert await web.reader_rows() == []


async def test_a_program_reads_what_it_may_order_and_starts_such_a_run_once(web):
    program = Program(web)
    assert (await program.get("/api/offer")).json()["styles"] == ["haiku", "limerick"]
    order = {"topic": "the sea", "style": "limerick", "model": "poet", "max_calls": 2}
    answers = [await program.post("/api/poems", order) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 200]
    for wrong in ({"topic": ""}, {"style": "epic"}, {"rhymes": "yes"}, {"colour": "red"}, {"max_calls": 10**6}):
        assert (await program.post("/api/poems", {**order, **wrong}, key=str(wrong))).status_code == 422
    body = openapi()["components"]["schemas"]["StartPoem"]
    assert body["required"] == ["topic"]
    assert {"style", "rhymes", "words", "model", "max_cost"} <= body["properties"].keys()


async def test_the_tool_of_the_kind_has_the_same_fields(web):
    operation, tool = offered_tools(allow_execute=False)["write_poem"]
    assert check_arguments(tool, {"topic": "the sea", "style": None}).topic == "the sea"
    with pytest.raises(UsageProblem, match="topic"):
        check_arguments(tool, {})
    listed = describe_tool(operation, tool)
    assert listed.title == "Write a poem"
    assert {"topic", "idempotency_key", "max_calls"} <= listed.input_schema["properties"].keys()
