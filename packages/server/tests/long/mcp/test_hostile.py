"""Hostile clients: wrong tokens, other sites, names that are paths, raised limits, and messages that are too large."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import httpx2
import pytest
import trio
from click.testing import CliRunner
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, PARSE_ERROR

from packages.server.tests.mcp.world import House, at_rest, called, refused, served
from replan.cli.options import Invocation
from replan.runs.reader import ALL
from replan_server.commands.serve import mcp
from replan_server.mcp.calls import ANSWER_BYTES_MAX
from replan_server.mcp.server import check_arguments, offered_tools
from replan_server.mcp.serving import LINE_BYTES_MAX, TextWriter, read_messages
from replan_server.service.access import remove_token
from replan_server.service.store import Store
from replan_server.web.guarding import START_BODY_MAX
from runtime.core.errors import UsageProblem
from tests.cli.samples import PROBLEM

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


async def post(home, token, *, headers=None, content=None, path=""):
    """Send a request, as no client of the SDK would."""
    sent = {
        "content-type": "application/json",
        **ACCEPT,
        **({"authorization": token} if token else {}),
        **(headers or {}),
    }
    body = json.dumps(INITIALIZE) if content is None else content
    async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
        return await client.post(home.address + path, content=body, headers=sent)


async def test_wrong_tokens_are_refused_and_too_many_of_them_answered_late(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.service.LATE_SECONDS", 0.01)
    async with served(tmp_path, monkeypatch, hosts=False) as home:
        right = home.house.token()
        assert (await post(home, f"Bearer {right}")).status_code == 200
        found = [(await post(home, token)) for token in ("", "Bearer x", f"Basic {right}", f"Bearer {right}x")]
        assert {answer.status_code for answer in found} == {401}
        assert found[0].headers["www-authenticate"] == "Bearer"
        codes = [(await post(home, f"Bearer guess{number}")).status_code for number in range(10)]
        assert codes[-1] == 429
        assert (await post(home, f"Bearer {right}")).status_code == 200


async def test_a_token_that_is_revoked_ends_what_its_session_may_do(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, hosts=False) as home:
        token = home.house.token(name="gone")
        opened = await post(home, f"Bearer {token}")
        session = {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        other = home.house.token(name="other")
        stolen = await post(home, f"Bearer {other}", headers=session)
        assert stolen.status_code == 404
        Store(home.house.home).change(lambda state: remove_token(state, "gone"))
        assert (await post(home, f"Bearer {token}", headers=session)).status_code == 401


async def test_other_hosts_and_origins_and_paths_are_refused(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, hosts=False) as home:
        token = f"Bearer {home.house.token()}"
        for headers, status in (
            ({"host": "evil.example"}, 421),
            ({"origin": "https://evil.example"}, 403),
            ({"origin": "null"}, 403),
            ({"sec-fetch-site": "cross-site"}, 403),
        ):
            assert (await post(home, token, headers=headers)).status_code == status
        assert (await post(home, token, path="/../api/runs")).status_code == 404
        assert (await post(home, token, path="x")).status_code == 404
        assert (await post(home, token, content="[" * 100_000)).status_code == 400
        assert (await post(home, token, content=b"x" * (START_BODY_MAX + 1))).status_code == 413


PATHS = ("/etc/passwd", "../../home/config.yaml", "http://127.0.0.1:1/x", "scripted:/tmp/x.yaml")
NAMES = (*PATHS, "gpt-4", "", "x" * 101)


async def test_names_are_never_paths_addresses_or_models_of_the_clients_own(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, hosts=False, allow_execute=True) as home, home.client() as client:
        run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
        for name in NAMES:
            await refused(client, "execute", id=run, tools=name)
            for tool in ("status", "wait", "result", "cancel"):
                await refused(client, tool, id=name)
        for path in PATHS:
            await refused(client, "plan", problem=PROBLEM, attachments=[{"name": path, "text": "x"}])
        rows = await home.engine.rows(ALL)
        assert [row.run for row, _ in rows] == [run]


async def test_texts_that_are_too_long_are_refused_by_the_argument(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, hosts=False) as home, home.client() as client:
        run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
        assert (await refused(client, "plan", problem="x" * 1_100_000)).startswith("problem: ")
        assert (await refused(client, "tell", id=run, text="x" * 200_000)).startswith("text: ")
        assert (await refused(client, "answer", question=f"{run}/q1", answer="x" * 200_000)).startswith("answer: ")
        files = [{"name": f"f{number}.txt", "text": "x"} for number in range(21)]
        assert (await refused(client, "plan", problem="x", attachments=files)).startswith("attachments: ")
        assert "no such argument" in await refused(client, "plan", problem="x", plugins=["x.py"])


async def test_an_answer_that_is_too_large_is_an_error_and_not_sent(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.mcp.calls.ANSWER_BYTES_MAX", 500)
    async with served(tmp_path, monkeypatch) as home, home.client() as client:
        run = (await called(client, "plan", problem=PROBLEM, model="plans"))["run_id"]
        await home.settled(run, "finished")
        assert "show RUN --json" in await refused(client, "result", id=run)
    assert ANSWER_BYTES_MAX > 500


async def test_a_bug_is_one_line_without_its_text(tmp_path, monkeypatch):
    async def broken(call, wanted):
        raise RuntimeError("sk-secret-in-an-exception")

    async with served(tmp_path, monkeypatch, hosts=False) as home:
        monkeypatch.setattr("replan_server.mcp.server.answer_call", _with(broken))
        async with home.client() as client:
            assert await refused(client, "status", id="x") == "internal error; the log has the details"


HEAVY = (
    ("status", {"id": "a\u0000b"}),
    ("check_plan", {"plan": "[" * 100_000}),
    ("check_plan", {"plan": json.dumps({"steps": [1] * 200_000})}),
    ("answer", {"question": "x/../q1", "answer": "y" * 10}),
    ("nonesuch", {}),
    ("plan", {"problem": "x", "plugins": "os"}),
    ("wait", {"id": "x", "seconds": 1e308}),
    ("wait", {"id": "x", "seconds": -1}),
)
ADDRESSES = ("file:///etc/passwd", "replan://runs/..%2f..%2fx/plan", "replan://runs/%00/result", "http://127.0.0.1:1/")


async def test_no_argument_and_no_address_is_a_bug_or_much_work(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, hosts=False) as home, home.client() as client:
        for tool, arguments in HEAVY:
            began = time.process_time()
            try:
                text = (await client.call_tool(tool, arguments)).content[0].text
            except MCPError as error:
                text = str(error)
            assert "internal error" not in text, (tool, text)
            assert "Traceback" not in text
            assert time.process_time() - began < 8
        for address in ADDRESSES:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(address)
            assert "internal error" not in str(caught.value).lower()


async def test_no_message_is_a_bug(tmp_path, monkeypatch):
    async with served(tmp_path, monkeypatch, hosts=False) as home:
        token = f"Bearer {home.house.token()}"
        for content in (
            b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]',
            b"\xff",
            b'{"jsonrpc":"2.0","id":1e999}',
            b"",
        ):
            assert (await post(home, token, content=content)).status_code in (400, 415, 422)


def _with(handler):
    from dataclasses import replace

    from replan_server.mcp.server import answer_call

    async def changed(operation, tool, call, arguments):
        return await answer_call(replace(operation, function=handler), tool, call, arguments)

    return changed


async def test_writes_are_limited_in_a_minute(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.service.limits.WRITES_MAX", 2)
    async with served(tmp_path, monkeypatch, hosts=False) as home, home.client() as client:
        home_writes = 0
        while "writes in a minute" not in await refused(client, "cancel", id="nobody22"):
            home_writes += 1
            assert home_writes <= 60


@pytest.mark.parametrize("ending", ["close", "term"])
async def test_over_stdio_the_runs_are_parked_for_the_next_host_when_the_client_or_a_signal_ends_it(
    tmp_path, ending, commands
):
    house = House(tmp_path, commands=commands)
    async with house.over_stdio() as client:
        run = (await called(client, "plan", problem=PROBLEM, model="asks"))["run_id"]
        assert (await at_rest(client, run))["status"] == "waiting"
        if ending == "term":
            os.kill(house.processes[-1], signal.SIGTERM)
            await _ended(house.processes[-1])
    async with house.over_stdio("--no-host") as client:
        state = await called(client, "status", id=run)
        assert (state["status"], state["driven"]) == ("waiting", False)


async def _ended(pid):
    """Return once a process has ended, whether or not its parent has taken notice."""
    with trio.fail_after(300):
        for _ in range(10_000):
            if await trio.to_thread.run_sync(_has_ended, pid):
                return
            await trio.sleep(0.05)


def _has_ended(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_over_stdio_a_line_that_is_too_long_ends_the_connection_and_nothing_else_is_printed(tmp_path, commands):
    house = House(tmp_path, commands=commands)
    lines = b"no json\n" + json.dumps(INITIALIZE).encode() + b"\n"
    done = subprocess.run(
        house.words("--no-host"),
        input=lines + b"x" * (LINE_BYTES_MAX + 100_000),
        env=house.environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    error, answer = [json.loads(line) for line in done.stdout.splitlines()]
    assert (error["id"], error["error"]["code"]) == (None, PARSE_ERROR)
    assert answer["result"]["serverInfo"]["name"] == "replan"


PING = '"jsonrpc":"2.0","id":7,"method":"ping"'
UNREAD = {
    "no json": (None, PARSE_ERROR),
    f"{{{PING}": (None, PARSE_ERROR),
    f'{{{PING},"params":{{"a":"\\ud83d"}}}}': (7, PARSE_ERROR),
    f'{{{PING},"params":{"[" * 300}{"]" * 300}}}': (7, PARSE_ERROR),
    f'{{{PING},"params":{"[" * 100_000}{"]" * 100_000}}}': (None, PARSE_ERROR),
    f"[{{{PING}}}]": (None, INVALID_REQUEST),
    "[]": (None, INVALID_REQUEST),
    '{"id":"x","method":"ping"}': ("x", INVALID_REQUEST),
    f'{{{PING},"params":7}}': (7, INVALID_REQUEST),
    '{"jsonrpc":"2.0","id":true,"method":"ping"}': (None, INVALID_REQUEST),
    '{"jsonrpc":"2.0","id":null,"method":"ping"}': (None, INVALID_REQUEST),
    '{"jsonrpc":"2.0","id":7,"error":{"code":"E"}}': (None, INVALID_REQUEST),
    "7": (None, INVALID_REQUEST),
}


async def test_over_stdio_every_line_that_is_no_message_is_answered_with_an_error():
    class Kept:
        async def send_all(self, data):
            answers.append(json.loads(data))

    async def lines():
        for line in (*UNREAD, "", "  ", f"{{{PING}}}\r"):
            yield line

    answers = []
    read = [line async for line in read_messages(lines(), TextWriter(Kept()))]
    assert read == [f"{{{PING}}}\r"]
    assert [(each["id"], each["error"]["code"]) for each in answers] == list(UNREAD.values())
    assert all(each["jsonrpc"] == "2.0" and each["error"]["message"] for each in answers)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("plan", {"problem": PROBLEM, "workflow": None, "strict": None, "attachments": None, "max_calls": None}),
        ("check_plan", {"plan": {}, "level": None, "assurance": None, "r_max": None}),
        ("fork", {"id": "no-such-run", "at": None, "given": None, "model": None, "workflow": None}),
        ("tell", {"id": "no-such-run", "text": "x", "kind": None, "idempotency_key": None}),
        ("wait", {"id": "no-such-run", "seconds": None}),
    ],
)
def test_null_for_an_optional_argument_is_as_absent(tool, given):
    _, operation = offered_tools(allow_execute=True)[tool]
    absent = {name: value for name, value in given.items() if value is not None}
    assert check_arguments(operation, given) == check_arguments(operation, absent)
    for name in absent:
        with pytest.raises(UsageProblem, match=name):
            check_arguments(operation, {**absent, name: None})
    with pytest.raises(UsageProblem, match="no such argument"):
        check_arguments(operation, {**absent, "unknown": None})


def test_a_port_without_http_is_refused():
    result = CliRunner().invoke(mcp, ["--port", "1"], obj=Invocation())
    assert "add --http" in str(result.exception)


async def open_sessions(home, token, count):
    """Open sessions, and return their headers and the statuses of the answers."""
    answers = [await post(home, f"Bearer {token}") for _ in range(count)]
    sessions = [{"mcp-session-id": answer.headers.get("mcp-session-id", "")} for answer in answers]
    return sessions, [answer.status_code for answer in answers]


async def ping(home, token, session):
    """Return the status of the answer to a ping in a session."""
    content = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"})
    return (await post(home, f"Bearer {token}", headers=session, content=content)).status_code


async def test_one_more_session_of_a_token_ends_its_session_that_was_idle_the_longest(tmp_path, monkeypatch):
    """A client that abandons its sessions locks itself out no more, and no other client's session ends."""
    monkeypatch.setattr("replan_server.mcp.http.CLIENT_SESSIONS_MAX", 2)
    async with served(tmp_path, monkeypatch, hosts=False) as home:
        first, other = home.house.token("control", "a"), home.house.token("control", "b")
        kept, _ = await open_sessions(home, other, 1)
        sessions, _ = await open_sessions(home, first, 2)
        assert await ping(home, first, sessions[0]) == 200
        assert (await open_sessions(home, first, 1))[1] == [200]
        assert [await ping(home, first, session) for session in sessions] == [200, 404]
        assert await ping(home, other, kept[0]) == 200


async def test_a_session_with_a_request_in_flight_does_not_end_for_another(tmp_path, monkeypatch):
    monkeypatch.setattr("replan_server.mcp.http.CLIENT_SESSIONS_MAX", 2)
    async with served(tmp_path, monkeypatch, hosts=False) as home, httpx2.AsyncClient(trust_env=False) as client:
        token = home.house.token("control", "a")
        sessions, _ = await open_sessions(home, token, 2)
        headers = [ACCEPT | session | {"authorization": f"Bearer {token}"} for session in sessions]
        async with client.stream("GET", home.address, headers=headers[0]) as stream:
            assert stream.status_code == 200
            async with client.stream("GET", home.address, headers=headers[1]):
                assert (await open_sessions(home, token, 1))[1] == [503]
            with trio.fail_after(60):
                while (await open_sessions(home, token, 1))[1] == [503]:  # noqa: ASYNC110 -- the server sees it close
                    await trio.sleep(0.01)
            assert [await ping(home, token, session) for session in sessions] == [200, 404]


async def test_the_sessions_of_all_tokens_have_a_limit_and_a_revocation_ends_those_of_a_token(tmp_path, monkeypatch):
    """Sessions of one token leave those of others their room, also where a new token has the old one's name."""
    monkeypatch.setattr("replan_server.mcp.http.CLIENT_SESSIONS_MAX", 2)
    monkeypatch.setattr("replan_server.mcp.http.SESSIONS_MAX", 3)
    async with served(tmp_path, monkeypatch, hosts=False) as home:
        first, other = home.house.token("control", "a"), home.house.token("control", "b")
        opened, _ = await open_sessions(home, first, 3)
        assert (await open_sessions(home, other, 2))[1] == [200, 503]
        Store(home.house.home).change(lambda state: remove_token(state, "a"))
        again = home.house.token("control", "a")
        assert await ping(home, again, opened[2]) == 404
        assert (await open_sessions(home, again, 3))[1] == [200, 200, 200]
