"""Searches with the search tool of an MCP server: what is asked, what its answers are read as, and how it fails."""

import json
import sys

import pytest

from actors.run.tools import ToolOutcome
from replan_acquire.documents.search_config import McpSearch
from replan_acquire.documents.tools import SearchPlaces, read_answer, search_tool

SERVER = """
import json
from mcp.server.mcpserver import MCPServer

server = MCPServer("documents")


@server.tool()
def find(q: str, most: int) -> str:
    if q == "fail":
        raise ValueError("no index")
    text = "The insurance is {}50 EUR per year."
    found = [{"url": f"doc://{n}", "title": q, "snippet": text.format(n), "page": n} for n in (1, 2, 3)]
    return json.dumps({"hits": found[:most]})


server.run()
"""
ARGUMENTS = {"q": "{query}", "most": "{limit}"}


@pytest.fixture
def server(tmp_path):
    """Return the words that start a server with a tool `find`."""
    (tmp_path / "server.py").write_text(SERVER)
    return [sys.executable, "-I", str(tmp_path / "server.py")]


async def asked(home, query, **settings):
    places = SearchPlaces(mcp=McpSearch.model_validate({"tool": "find", "arguments": ARGUMENTS, **settings}))
    tool = search_tool(places, outside={}, home=home)
    async with tool.prepare({"query": query, "limit": 2}) as call:
        assert call.process or "url" in settings
        return await call.run()


async def test_a_server_is_asked_and_its_results_are_passages_with_their_place(tmp_path, server):
    done = await asked(tmp_path, "insurance {limit}", command=server)
    assert done.outcome is ToolOutcome.SUCCEEDED, done.reason
    passages = json.loads(done.output)["passages"]
    assert [each["source"] for each in passages] == ["doc://1", "doc://2"]
    assert passages[1]["text"] == "The insurance is 250 EUR per year."
    assert passages[1]["places"] == [[0, "page 2"]]
    assert passages[0]["title"] == "insurance {limit}"


async def test_what_a_server_cannot_do_is_the_outcome_of_the_search(tmp_path, server):
    assert (await asked(tmp_path, "fail", command=server)).outcome is ToolOutcome.FAILED
    missing = await asked(tmp_path, "x", command=server, tool="none")
    assert missing.outcome is ToolOutcome.PERMANENT
    assert "lists no tool 'none'" in missing.reason
    refused = await asked(tmp_path, "x", url="http://127.0.0.1:1/mcp")
    assert refused.outcome is ToolOutcome.TRANSIENT


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ('[{"text": "a", "source": "s"}, "b", 5, {"text": " "}, {"source": "s"}]', ["a", "b"]),
        ('{"results": [{"content": "a"}]}', ["a"]),
        ('{"text": "a", "more": 1}', ["a"]),
        ("The insurance is 310 EUR.\n\nMore.", ["The insurance is 310 EUR.\n\nMore."]),
        ("", []),
        ("5", ["5"]),
        ("[" * 100_000, ["[" * 1498] * 66 + ["[" * 1132]),
        ('[{"text": "\\ud800"}]', ["?"]),
    ],
)
def test_answers_of_any_form_are_read_as_passages(answer, texts):
    found = list(read_answer(answer, "mcp:server"))
    assert [each.text for each in found] == texts
    assert all(each.source for each in found)


def test_a_long_answer_is_bounded():
    answer = json.dumps([{"text": "x" * 5_000, "source": "s" * 5_000, "title": "t" * 5_000}] * 500)
    found = list(read_answer(answer, "mcp:server"))
    assert len(found) == 100
    assert (len(found[0].text), len(found[0].source), len(found[0].title)) == (1500, 500, 500)


@pytest.mark.parametrize("settings", [{}, {"url": "https://a/mcp", "command": ["a"]}])
def test_a_server_has_one_place(settings):
    with pytest.raises(ValueError, match="either `url` or `command`"):
        McpSearch.model_validate({"tool": "find", **settings})
