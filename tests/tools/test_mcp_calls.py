"""Tools of MCP servers, with real processes and a real address: what they get, how calls end, and bad servers."""

import json
import sys
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from mcp.server.mcpserver import MCPServer

from actors.run.texts import storable
from actors.run.tools import ToolOutcome
from actors.tools.loader import load_tools
from actors.tools.mcp_arguments import filled_in, schema_problem
from actors.tools.specs import McpSpec
from actors.tools.uses import read_stored, use_text
from runtime.core.errors import UsageProblem
from runtime.process.identity import end_of_group
from tests.tools import calling

PROGRAM = Path(__file__).with_name("mcp_program.py")


def tracker(bench, behaviour="good", *, keys="", environment="[PATH]"):
    """Pin a tool `t` of a server that behaves in some way."""
    words = json.dumps([sys.executable, "-I", str(PROGRAM), behaviour])
    return bench.pin(
        f"""
        mcp_servers:
          tracker:
            command: {words}
            environment: {environment}
        tools:
          t:
            mcp:
              server: tracker
              tool: create
              arguments: {{title: "Fix {{title}}", count: "{{count}}", labels: [bug]}}
            parameters:
              title: {{type: string, pattern: ".*"}}
              count: {{type: integer, minimum: 1, maximum: 9, default: 2}}
            {keys}
        generators:
          Ticket: {{tool: t, with: {{title: it}}}}
        """
    )


async def test_a_tool_of_a_server_gets_its_arguments_and_its_text_is_the_output(bench):
    done = await bench.call(tracker(bench), title="{count} $(x)", count=3)
    assert (done.outcome, done.reason) == (ToolOutcome.SUCCEEDED, "")
    assert json.loads(done.output) == {"title": "Fix {count} $(x)", "count": 3, "labels": ["bug"]}


async def test_the_process_is_recorded_before_it_begins_and_is_gone_afterwards(bench):
    await bench.call(tracker(bench), title="x", count=1)
    [begun] = bench.begun
    assert end_of_group(begun.process) is True


CASES = [
    ("failed", ToolOutcome.FAILED, "the tool says that it failed", "there is such a ticket"),
    ("error", ToolOutcome.BROKEN, "the server answered with an error: the tracker is closed", ""),
    ("unknown", ToolOutcome.PERMANENT, "the server answered with an error: no such tool", ""),
    ("die", ToolOutcome.BROKEN, "", "out of memory"),
    ("gone", ToolOutcome.FAILED, "the call was not made: the talk with the server broke off", "no licence"),
    ("nonsense", ToolOutcome.BROKEN, "the talk with the server broke off", ""),
    ("flood", ToolOutcome.BROKEN, "the server sent too much", ""),
    ("long-line", ToolOutcome.BROKEN, "the server sent too much", ""),
    ("other-tool", ToolOutcome.PERMANENT, "the server 'tracker' lists no tool 'create'", ""),
    ("other-schema", ToolOutcome.PERMANENT, "the server wants the argument 'name'", ""),
    ("other-type", ToolOutcome.PERMANENT, "the server wants object as 'title', not \"Fix x\"", ""),
    ("wild-schema", ToolOutcome.SUCCEEDED, "", '"title": "Fix x"'),
    ("chatty", ToolOutcome.SUCCEEDED, "", '"title": "Fix x"'),
    ("picture", ToolOutcome.SUCCEEDED, "", "[image]\na cat"),
    ("asks", ToolOutcome.SUCCEEDED, "", "true"),
]


@pytest.mark.parametrize(("behaviour", "outcome", "reason", "output"), CASES, ids=[case[0] for case in CASES])
async def test_how_a_call_ends(bench, behaviour, outcome, reason, output):
    done = await bench.call(tracker(bench, behaviour), title="x", count=1)
    assert done.outcome is outcome, done
    assert reason in done.reason
    assert "\n" not in done.reason
    assert output in done.output


LIES = {
    "deep": (ToolOutcome.BROKEN, ToolOutcome.TRANSIENT),
    "not-utf-8": (ToolOutcome.BROKEN, ToolOutcome.TRANSIENT, ToolOutcome.SUCCEEDED),
    "huge-number": (ToolOutcome.BROKEN, ToolOutcome.TRANSIENT),
    "surrogate": (ToolOutcome.BROKEN, ToolOutcome.TRANSIENT, ToolOutcome.SUCCEEDED),
    "not-a-number": (ToolOutcome.BROKEN, ToolOutcome.TRANSIENT),
    "no-json": (ToolOutcome.BROKEN, ToolOutcome.TRANSIENT),
    "another-number": (ToolOutcome.BROKEN, ToolOutcome.TRANSIENT),
    "twice": (ToolOutcome.SUCCEEDED,),
    "terminal": (ToolOutcome.SUCCEEDED,),
    "wants-a-model": (ToolOutcome.SUCCEEDED,),
    "pages": (ToolOutcome.PERMANENT,),
    "many": (ToolOutcome.PERMANENT,),
    "deep-schema": (ToolOutcome.SUCCEEDED,),
}
"""What a hostile server does, and how the call may end: never by an exception, and never later than its limit."""


@pytest.mark.parametrize("behaviour", LIES)
async def test_whatever_a_server_answers_is_an_outcome_in_time_that_the_journal_can_hold(bench, behaviour):
    with trio.fail_after(80):
        seconds = 60.0 if ToolOutcome.BROKEN not in LIES[behaviour] else 1.0
        done = await bench.call(tracker(bench, behaviour), seconds=seconds, title="x", count=1)
    assert done.outcome in LIES[behaviour], done
    assert len(done.output) < 3_000_000
    assert "\n" not in done.reason
    assert len(done.reason) < 2_000
    storable(done.output + done.reason).encode()
    assert end_of_group(bench.begun[0].process) is True
    if behaviour == "twice":
        assert done.output == "first"
    if behaviour == "wants-a-model":
        assert done.output == "[true, true]"


@pytest.mark.parametrize("behaviour", ["hang", "silent"])
async def test_a_server_that_hangs_is_ended_at_the_time_limit(bench, behaviour):
    done = await bench.call(tracker(bench, behaviour), seconds=1.5, title="x", count=1)
    assert (done.outcome, done.reason) == (ToolOutcome.TRANSIENT, "it took longer than 1.5 s")
    assert end_of_group(bench.begun[0].process) is True


async def test_a_cancelled_call_leaves_no_process(bench):
    with trio.move_on_after(1.5) as waiting:
        await bench.call(tracker(bench, "hang"), seconds=60, title="x", count=1)
    assert waiting.cancelled_caught
    assert end_of_group(bench.begun[0].process) is True


async def test_an_answer_is_cut_to_the_bytes_of_the_tools_file(bench):
    done = await bench.call(tracker(bench, "large", keys="output_bytes: 1000"), title="x", count=1)
    assert done.outcome is ToolOutcome.SUCCEEDED
    assert len(done.output.encode()) <= 1000
    assert "more bytes]" in done.output


async def test_a_server_sees_the_listed_variables_and_its_secrets_are_not_recorded(bench, monkeypatch):
    done = await bench.call(tracker(bench, "environment", environment="[NOT_SET, CI=1]"), title="x", count=1)
    names, folder = json.loads(done.output)
    assert (names, folder) == (["CI"], str(bench.workspace))
    monkeypatch.setitem(calling.ENVIRONMENT, "TRACKER_TOKEN", "tr4cker-t0ken-0123456789")
    toolset = tracker(bench, "secret", environment="[TRACKER_TOKEN]")
    assert "tr4cker" not in toolset.stored_form()
    done = await bench.call(toolset, title="x", count=1)
    assert done.outcome is ToolOutcome.SUCCEEDED
    assert "tr4cker" not in done.output


def test_repeatable_and_risky_are_what_the_tools_file_says(bench):
    use = tracker(bench).generators["Ticket"]
    assert (use.repeatable, use.risky) == (False, True)
    use = tracker(bench, keys="repeatable: true\n            risk: none").generators["Ticket"]
    assert (use.repeatable, use.risky) == (True, False)


def test_the_tool_is_pinned_and_shown_whole(bench):
    toolset = tracker(bench)
    assert read_stored(toolset.stored_form()) == toolset
    spec = toolset.tools["t"]
    assert isinstance(spec, McpSpec)
    assert (spec.server, spec.remote) == ("tracker", "create")
    text = use_text(toolset.generators["Ticket"], toolset)
    assert text.startswith("t: create of the MCP server tracker (")
    assert text.endswith('with {"count": 2, "labels": ["bug"], "title": "Fix it"}')


SERVER = "mcp_servers: {s: {command: [ls]}}\n"
WRONG = [
    ("mcp_servers: {}\ntools: {t: {mcp: {server: s, tool: x}}}", "there is no MCP server 's'"),
    ("mcp_servers: {s: {}}\ntools: {}", "should have either `command` or `url`"),
    ("mcp_servers: {s: {command: [ls], url: 'http://127.0.0.1/mcp'}}\ntools: {}", "either `command` or `url`"),
    ("mcp_servers: {s: {command: ls -l}}\ntools: {}", "write [ls, -l]"),
    ("mcp_servers: {s: {command: [ls, '{x}']}}\ntools: {}", "takes no parameters"),
    ("mcp_servers: {s: {command: [nobody-has-this]}}\ntools: {t: {mcp: {server: s, tool: x}}}", "no program 'nobody"),
    ("mcp_servers: {s: {url: 'http://tools.example.org/mcp'}}\ntools: {}", "plain http"),
    ("mcp_servers: {s: {url: 'https://me:secret@x.org/mcp'}}\ntools: {}", "user name or password"),
    ("mcp_servers: {s: {command: [ls], token: X}}\ntools: {}", "is for an address"),
    (
        "mcp_servers: {s: {url: 'http://127.0.0.1/m', token: NOT_SET}}\ntools: {t: {mcp: {server: s, tool: x}}}",
        "not set",
    ),
    (
        "mcp_servers: {s: {command: [ls]}}\ntools: {t: {mcp: {server: s, tool: x, arguments: {a: '{b}'}}}}",
        "parameter 'b'",
    ),
    (
        f"{SERVER}tools: {{t: {{mcp: {{server: s, tool: x, arguments: {{}}}}, parameters: {{p: {{type: path}}}}}}}}",
        "no argument uses it",
    ),
    ("mcp_servers: {s: {command: [ls], shell: true}}\ntools: {}", "unknown key 'shell'"),
]


@pytest.mark.parametrize(("text", "cause"), WRONG)
def test_a_wrong_file_is_refused_with_the_place(bench, text, cause):
    with pytest.raises(UsageProblem) as caught:
        bench.pin(text)
    assert cause in str(caught.value)
    assert str(caught.value).startswith(str(bench.folder / "tools.yaml"))
    assert "secret@" not in str(caught.value)


def test_a_server_that_no_tool_names_is_noted(bench):
    (bench.folder / "tools.yaml").write_text("mcp_servers: {s: {command: [ls]}}\ntools: {}")
    loaded = load_tools(bench.folder / "tools.yaml", environment=calling.ENVIRONMENT)
    assert "nothing is bound to the server s" in loaded.notices[0]


def test_parameters_are_filled_in_once_and_keep_their_type():
    values = {"a": "{b}", "b": 2}
    assert filled_in({"x": "{a}-{{b}}", "y": ["{b}", {"z": "{a}"}], "n": None}, values) == {
        "x": "{b}-{b}",
        "y": [2, {"z": "{b}"}],
        "n": None,
    }


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({}, "lists no argument 'a'"),
        ({"properties": {"a": {}}}, ""),
        ({"properties": {"a": True}}, ""),
        ({"properties": {"a": {"type": ["string", "null"]}}}, ""),
        ({"properties": {"a": {"type": "number"}}}, "wants number as 'a'"),
        ({"properties": {"a": {"type": "boolean"}}, "required": ["a", "b"]}, "wants the argument 'b'"),
        ({"properties": [1]}, "no schema that can be read"),
        ({"properties": {"a": {"type": {"x": 1}}}, "required": [7]}, ""),
    ],
)
def test_names_and_types_are_compared_with_any_schema(schema, problem):
    assert problem in schema_problem(schema, {"a": "x"})
    assert bool(schema_problem(schema, {"a": "x"})) is bool(problem)


@asynccontextmanager
async def listening(token=""):
    """Serve an MCP server on a free port, and yield its address."""
    server = MCPServer("tracker")

    @server.tool()
    def create(title: str, count: int, labels: list[str]) -> str:
        """Create a ticket."""
        if title == "Fix big":
            return "x" * 20_000_000
        return f"{title} {count} {labels}"

    app, config = server.streamable_http_app(), Config()
    config.bind, config.errorlog, config.accesslog = ["127.0.0.1:0"], None, None

    async def guarded(scope, receive, send):
        headers = dict(scope.get("headers", ()))
        if scope["type"] == "http" and token and headers.get(b"authorization") != f"Bearer {token}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        binds = await nursery.start(partial(serve, guarded, config, shutdown_trigger=stop.wait))
        yield f"{binds[0]}/mcp"
        stop.set()
        nursery.cancel_scope.cancel()


def at(bench, url, keys="", tool="repeatable: false"):
    """Pin a tool `t` of a server that listens."""
    return bench.pin(
        f"""
        mcp_servers:
          tracker: {{url: "{url}"{keys}}}
        tools:
          t:
            mcp: {{server: tracker, tool: create, arguments: {{title: "Fix {{title}}", count: 1, labels: [bug]}}}}
            parameters:
              title: {{type: string, pattern: ".*"}}
            {tool}
        """
    )


async def test_a_server_that_listens_is_called_with_its_token(bench, monkeypatch):
    monkeypatch.setitem(calling.ENVIRONMENT, "TRACKER_TOKEN", "tr4cker-t0ken-0123456789")
    async with listening("tr4cker-t0ken-0123456789") as url:
        toolset = at(bench, url, ", token: TRACKER_TOKEN")
        assert "tr4cker" not in toolset.stored_form()
        done = await bench.call(toolset, title="it")
        assert (done.outcome, done.output) == (ToolOutcome.SUCCEEDED, "Fix it 1 ['bug']")
        done = await bench.call(toolset, title="big")
        assert (done.outcome, done.reason) == (ToolOutcome.BROKEN, "the server sent too much")
        monkeypatch.setitem(calling.ENVIRONMENT, "TRACKER_TOKEN", "another-t0ken-0123456789")
        done = await bench.call(toolset, title="it")
        assert (done.outcome, done.reason) == (ToolOutcome.PERMANENT, "the server answered with status 401")
        monkeypatch.delitem(calling.ENVIRONMENT, "TRACKER_TOKEN")
        done = await bench.call(toolset, title="it")
        assert done.outcome is ToolOutcome.PERMANENT
        assert "TRACKER_TOKEN" in done.reason


async def test_a_server_that_does_not_listen_is_a_transient_failure_of_a_repeatable_tool(bench):
    toolset = at(bench, "http://127.0.0.1:9/mcp", tool="repeatable: true")
    done = await bench.call(toolset, title="it")
    assert (done.outcome, "cannot be reached" in done.reason) == (ToolOutcome.TRANSIENT, True)
    done = await bench.call(at(bench, "http://127.0.0.1:9/mcp"), title="it")
    assert (done.outcome, "the call was not made" in done.reason) == (ToolOutcome.FAILED, True)
