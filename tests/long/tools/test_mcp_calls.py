"""Tools of MCP servers, with real processes and a real address: what they get, how calls end, and bad servers."""

import json
import sys
import time
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
from hypercorn.config import Config
from hypercorn.trio import serve
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult

from actors.run.tools import ToolOutcome
from actors.tools.loader import load_tools
from actors.tools.mcp_talk import schema_problem, text_of
from actors.tools.specs import McpSpec, fill_template
from actors.tools.uses import ToolSet, use_text
from runtime.core.errors import UsageProblem
from runtime.logs.redact import MARGIN, Redactor
from runtime.process.identity import end_of_group
from tests.tools import calling

PROGRAM = Path(__file__).parents[2] / "tools" / "mcp_program.py"


def tracker(bench, behaviour="good", *, keys="", environment="[PATH]"):
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


CASES = [
    ("failed", ToolOutcome.FAILED, "the server reports that the tool failed", "there is such a ticket"),
    ("error", ToolOutcome.BROKEN, "the server answered with an error: the tracker is closed", ""),
    ("unknown", ToolOutcome.PERMANENT, "the server answered with an error: no such tool", ""),
    ("die", ToolOutcome.BROKEN, "", "out of memory"),
    ("gone", ToolOutcome.BROKEN, "the call was not made: the connection to the server broke", "no licence"),
    ("nonsense", ToolOutcome.BROKEN, "the connection to the server broke", ""),
    ("flood", ToolOutcome.BROKEN, "the server sent more data than Replan accepts", ""),
    ("long-line", ToolOutcome.BROKEN, "the server sent more data than Replan accepts", ""),
    ("other-tool", ToolOutcome.PERMANENT, "the server 'tracker' lists no tool 'create'", ""),
    ("other-schema", ToolOutcome.PERMANENT, "schema rejects the arguments: 'name' is a required property", ""),
    ("other-type", ToolOutcome.PERMANENT, "schema rejects title: 'Fix x' is not of type 'object'", ""),
    ("no-type", ToolOutcome.SUCCEEDED, "", '"title": "Fix x"'),
    ("wild-schema", ToolOutcome.SUCCEEDED, "", '"title": "Fix x"'),
    ("chatty", ToolOutcome.SUCCEEDED, "", '"title": "Fix x"'),
    ("picture", ToolOutcome.SUCCEEDED, "", "[image]\na cat"),
    (
        "resources",
        ToolOutcome.SUCCEEDED,
        "",
        "[resource_link: file:///a]\n[resource: file:///b]\ntext\n[resource: file:///c]",
    ),
    ("only-structure", ToolOutcome.SUCCEEDED, "", '{"id": "Ä7"}'),
    ("failed-structure", ToolOutcome.FAILED, "the server reports that the tool failed", 'no\n{"code": 7}'),
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
    **dict.fromkeys(
        ["deep", "huge-number", "surrogate", "not-a-number", "code-is-text", "no-message"], (ToolOutcome.BROKEN,)
    ),
    **dict.fromkeys(
        ["printed-before", "batch", "no-jsonrpc", "no-result", "no-id", "two-lines"], (ToolOutcome.BROKEN,)
    ),
    **dict.fromkeys(["pretty", "pretty-without-jsonrpc", "cut", "another-number"], (ToolOutcome.BROKEN,)),
    **dict.fromkeys(
        ["not-utf-8", "logs", "twice", "terminal", "wants-a-model", "endless-schema"], (ToolOutcome.SUCCEEDED,)
    ),
    **dict.fromkeys(["pages", "many", "deep-schema"], (ToolOutcome.PERMANENT,)),
    "no-json": (ToolOutcome.BROKEN, ToolOutcome.TRANSIENT),
}
"""What a hostile server does, and how the call may end: never by an exception, and never later than its limit."""


@pytest.mark.parametrize("behaviour", LIES)
async def test_whatever_a_server_answers_is_an_outcome_in_time_that_the_journal_can_hold(bench, behaviour):
    with trio.fail_after(80):
        seconds = 60.0 if ToolOutcome.TRANSIENT not in LIES[behaviour] else 1.0
        done = await bench.call(tracker(bench, behaviour), seconds=seconds, title="x", count=1)
    assert done.outcome in LIES[behaviour], done
    assert len(done.output) < 3_000_000
    assert "\n" not in done.reason
    assert len(done.reason) < 2_000
    (done.output + done.reason).encode()
    assert end_of_group(bench.begun[0].process) is True
    if behaviour == "twice":
        assert done.output == "first"
    if behaviour == "wants-a-model":
        assert done.output == "[true, true]"


@pytest.mark.parametrize("behaviour", ["hang", "silent", "silent-list", "silent-ping"])
async def test_a_server_that_hangs_is_ended_at_the_time_limit(bench, behaviour):
    """Where it hangs before it gets the call, it has done nothing."""
    seconds = 12.0 if behaviour == "hang" else 1.5  # Only this one has to be reached.
    done = await bench.call(tracker(bench, behaviour), seconds=seconds, title="x", count=1)
    assert done.outcome is ToolOutcome.TRANSIENT
    assert done.not_made is (behaviour != "hang")
    assert done.reason == f"{'the call was not made: ' if done.not_made else ''}the call took longer than {seconds:g} s"
    assert end_of_group(bench.begun[0].process) is True


async def keep_open(_):
    await trio.sleep_forever()


async def test_an_address_that_never_answers_has_not_got_the_call(bench):
    async with trio.open_nursery() as nursery:
        [listener] = await nursery.start(partial(trio.serve_tcp, keep_open, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        done = await bench.call(at(bench, f"http://127.0.0.1:{port}/mcp"), seconds=1.5, title="it")
        nursery.cancel_scope.cancel()
    assert (done.outcome, done.not_made) == (ToolOutcome.TRANSIENT, True)


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
    assert "tr4cker" not in toolset.model_dump_json()
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
    assert ToolSet.model_validate_json(toolset.model_dump_json()) == toolset
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
    ("mcp_servers: {s: {command: [ls, '{x}']}}\ntools: {}", "cannot contain a parameter"),
    ("mcp_servers: {s: {command: [nobody-has-this]}}\ntools: {t: {mcp: {server: s, tool: x}}}", "no program 'nobody"),
    ("mcp_servers: {s: {url: 'http://tools.example.org/mcp'}}\ntools: {}", "plain http"),
    ("mcp_servers: {s: {url: 'https://me:secret@x.org/mcp'}}\ntools: {}", "user name or password"),
    ("mcp_servers: {s: {command: [ls], token: X}}\ntools: {}", "is only for a server with a `url`"),
    (
        "mcp_servers: {s: {url: 'http://127.0.0.1/m', token: NOT_SET}}\ntools: {t: {mcp: {server: s, tool: x}}}",
        "not set",
    ),
    (SERVER + "tools: {t: {mcp: {server: s, tool: x, arguments: {a: '{b}'}}}}", "parameter 'b'"),
    (
        SERVER + "tools: {t: {mcp: {server: s, tool: x, arguments: {}}, parameters: {p: {type: path}}}}",
        "no argument uses this parameter",
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
    assert "nothing uses the server s" in loaded.notices[0]


def test_parameters_are_filled_in_once_and_keep_their_type():
    values = {"a": "{b}", "b": 2}
    assert fill_template({"x": "{a}-{{b}}", "y": ["{b}", {"z": "{a}"}], "n": None}, values) == {
        "x": "{b}-{b}",
        "y": [2, {"z": "{b}"}],
        "n": None,
    }


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({}, ""),
        ({"type": "object"}, ""),
        ({"properties": {"b": {}}}, ""),
        ({"properties": {"b": {}}, "additionalProperties": False}, "'a' was unexpected"),
        ({"additionalProperties": {"type": "string"}}, ""),
        ({"additionalProperties": {"type": "integer"}}, "rejects a: 'x' is not of type 'integer'"),
        ({"anyOf": [{"properties": {"a": {"type": "null"}}}, {"required": ["a"]}]}, ""),
        ({"anyOf": [{"required": ["b"]}, {"required": ["c"]}]}, "rejects"),
        ({"properties": {"a": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}}, "rejects a: "),
        ({"allOf": [{"properties": {"b": {}}}, {"properties": {"a": {"enum": ["x"]}}}]}, ""),
        ({"patternProperties": {"^a": {}}, "additionalProperties": False}, ""),
        ({"properties": {"a": {"$ref": "#/$defs/text"}}, "$defs": {"text": {"type": "string"}}}, ""),
        ({"properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}, ""),
        ({"properties": {"a": {"pattern": "(x+)+$"}}}, ""),
        ({"properties": {"a": {}}}, ""),
        ({"properties": {"a": True}}, ""),
        ({"properties": {"a": {"type": ["string", "null"]}}}, ""),
        ({"properties": {"a": {"type": "number"}}}, "rejects a: 'x' is not of type 'number'"),
        ({"properties": {"a": {"type": "string"}}, "required": ["a", "b"]}, "'b' is a required property"),
        ({"properties": [1]}, "schema of the tool cannot be read"),
        ({"properties": {"a": {"type": {"x": 1}}}, "required": 7}, ""),
    ],
)
def test_arguments_are_compared_with_any_schema(schema, problem):
    assert problem in schema_problem(schema, {"a": "x"})
    assert bool(schema_problem(schema, {"a": "x"})) is bool(problem)


@asynccontextmanager
async def listening(token="", app=None):
    """Serve an MCP server, or another app, on a free port, and yield its address."""
    server = MCPServer("tracker")

    @server.tool()
    def create(title: str, count: int, labels: list[str]) -> str:
        """Create a ticket."""
        if title == "Fix big":
            return "x" * 20_000_000
        return f"{title} {count} {labels}"

    app, config = app or server.streamable_http_app(), Config()
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
        assert "tr4cker" not in toolset.model_dump_json()
        done = await bench.call(toolset, title="it")
        assert (done.outcome, done.output) == (ToolOutcome.SUCCEEDED, "Fix it 1 ['bug']")
        done = await bench.call(toolset, title="big")
        assert (done.outcome, done.reason) == (ToolOutcome.BROKEN, "the server sent more data than Replan accepts")
        monkeypatch.setitem(calling.ENVIRONMENT, "TRACKER_TOKEN", "another-t0ken-0123456789")
        done = await bench.call(toolset, title="it")
        assert (done.outcome, done.reason) == (ToolOutcome.PERMANENT, "the server answered with HTTP status 401")
        monkeypatch.delitem(calling.ENVIRONMENT, "TRACKER_TOKEN")
        done = await bench.call(toolset, title="it")
        assert done.outcome is ToolOutcome.PERMANENT
        assert "TRACKER_TOKEN" in done.reason


RESULT = {"content": [{"type": "text", "text": "done"}]}
REPLIES = {
    "its id": ({"id": 0, "result": RESULT}, ToolOutcome.SUCCEEDED),
    "its id as text": ({"id": "0", "result": RESULT}, ToolOutcome.SUCCEEDED),
    "another id": ({"id": 10**9, "result": RESULT}, ToolOutcome.BROKEN),
    "another id as text": ({"id": "x", "result": RESULT}, ToolOutcome.BROKEN),
    "an error of another request": ({"id": 10**9, "error": {"code": 1, "message": "no"}}, ToolOutcome.BROKEN),
    "an error of no request": ({"id": None, "error": {"code": -32700, "message": "what?"}}, ToolOutcome.BROKEN),
    "a notification": ({"method": "notifications/message", "params": {}}, ToolOutcome.BROKEN),
    "a request": ({"id": 0, "method": "ping"}, ToolOutcome.BROKEN),
    "neither": ({"id": 0}, ToolOutcome.BROKEN),
}
"""What a server that listens replies to a call, where 0 stands for the id of the call, and how the call ends."""


@pytest.mark.parametrize("form", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("name", REPLIES)
async def test_a_reply_over_http_that_fits_no_request_is_read_or_broken_at_once(bench, name, form):
    """A stream of events belongs to its request: a reply in it is read, whatever its id."""
    reply, outcome = REPLIES[name]
    tool = {"name": "create", "inputSchema": {"type": "object"}}
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    results = {"initialize": client, "tools/list": {"tools": [tool]}}

    async def app(scope, receive, send):
        assert scope["type"] in ("http", "lifespan")
        body = b""
        while scope["type"] == "http" and (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message.get("more_body"):
                break
        asked = json.loads(body or "{}")
        number, method = asked.get("id"), asked.get("method")
        answer, kind, status = {"id": number, "error": {"code": -32601, "message": "no"}}, "application/json", 200
        if method in results:
            answer = {"id": number, "result": results[method]}
        elif method == "tools/call":
            answer, kind = dict(reply), form
            if answer.get("id") in (0, "0"):
                answer["id"] = type(answer["id"])(number)
        elif number is None:
            status = 202 if body else 405
        data = json.dumps({"jsonrpc": "2.0"} | answer).encode() if status == 200 else b""
        data = b"event: message\ndata: " + data + b"\n\n" if kind == "text/event-stream" else data
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind.encode())]})
        await send({"type": "http.response.body", "body": data})

    async with listening(app=app) as url:
        with trio.fail_after(80):
            done = await bench.call(at(bench, url), seconds=60.0, title="it")
    is_reply = "result" in reply
    assert done.outcome is (ToolOutcome.SUCCEEDED if form == "text/event-stream" and is_reply else outcome), done
    assert "longer than" not in done.reason


def test_no_schema_takes_endless_time_and_no_pattern_of_a_server_is_run():
    steps = {f"a{number}": {"allOf": [{"$ref": f"#/$defs/a{number + 1}"}] * 2} for number in range(60)}
    before = time.process_time()
    assert schema_problem({"$defs": steps | {"a60": {}}, "$ref": "#/$defs/a0"}, {"x": 1}) == ""
    assert schema_problem({"$ref": "#"}, {"x": 1}) == ""
    slow = {"pattern": "(a+)+$"}
    schema = {"properties": {"x": slow}, "patternProperties": {"(a+)+$": False}, "propertyNames": slow}
    assert schema_problem({**schema, "additionalProperties": False}, {"x": "a" * 40 + "!", "a" * 40 + "!": 1}) == ""
    assert time.process_time() - before < 20


@pytest.mark.parametrize(
    ("texts", "value", "shown"),
    [
        ([], {"id": "D7"}, '{"id": "D7"}'),
        ([""], {"id": "D7"}, '\n{"id": "D7"}'),
        (["1 record"], {"id": "D7"}, '1 record\n{"id": "D7"}'),
        (['{"id":"D7"}'], {"id": "D7"}, '{"id":"D7"}'),
        (["D7"], {"result": "D7"}, "D7"),
        (["7"], {"result": 7}, "7"),
        (["1", "2"], {"result": [1, 2]}, "1\n2"),
        (["a"], {"result": ["a"]}, "a"),
        (["1"], {"count": 1}, '1\n{"count": 1}'),
        (["no value"], None, "no value"),
    ],
)
def test_a_structured_value_is_shown_once(texts, value, shown):
    content = [{"type": "text", "text": text} for text in texts]
    assert text_of(CallToolResult(content=content, structured_content=value)) == shown


async def test_a_large_result_is_cut_before_its_secrets_are_looked_for(bench, monkeypatch):
    monkeypatch.setitem(calling.ENVIRONMENT, "TRACKER_TOKEN", "tr4cker-t0ken-0123456789")
    read = []
    text = Redactor.text
    monkeypatch.setattr(Redactor, "text", lambda self, value: read.append(len(value)) or text(self, value))
    done = await bench.call(tracker(bench, "huge", environment="[TRACKER_TOKEN]"), title="x", count=1)
    assert done.outcome is ToolOutcome.SUCCEEDED
    assert "tr4cker" not in done.output
    assert max(read) <= 65_536 + MARGIN


async def test_a_server_that_does_not_listen_is_a_transient_failure_of_a_repeatable_tool(bench):
    toolset = at(bench, "http://127.0.0.1:9/mcp", tool="repeatable: true")
    done = await bench.call(toolset, title="it")
    assert (done.outcome, "cannot be reached" in done.reason) == (ToolOutcome.TRANSIENT, True)
    done = await bench.call(at(bench, "http://127.0.0.1:9/mcp"), title="it")
    assert (done.outcome, done.not_made) == (ToolOutcome.TRANSIENT, True)
