"""Many clients misuse connections to two servers. A client with a token must still get answers.

The clients open, close, starve and abandon connections. Open files and memory of the servers must not grow. `make soak`
runs this for two hours, against `replan serve` and `replan mcp --http` with one home.
"""

import json
import os
import random
import re
import socket
import statistics
import struct
import subprocess
import sys
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path

import trio
import yaml

from packages.server.tests.long.web.test_memory import SERVE
from packages.server.tests.web.world import ASKS, PLANS
from replan_server.service.access import remove_token, with_token
from replan_server.service.store import Store
from tests.cli.samples import PROBLEM, write_script
from tests.tidy.source import ROOT

SECONDS = float(os.environ.get("REPLAN_SERVER_SECONDS", "6"))
"""The time in seconds during which clients come."""
ANSWER_SECONDS_MAX = 2.0
"""The time limit in seconds for an answer to a client with a token."""
STAY_SECONDS = 45.0
"""The longest time that a client keeps a connection, in seconds. The limits of the server are shorter."""
PAUSE_SECONDS = 0.2
"""The mean time until the next client comes, in seconds."""
SAMPLE_SECONDS = min(5.0, SECONDS / 40)
LEVEL_FROM_SECONDS = 100.0
"""The shortest run whose quarters are compared, in seconds. In a shorter one, clients have not begun to leave."""
IS_SOAK = SECONDS >= LEVEL_FROM_SECONDS
"""Whether answer times and quarters are checked. A short run has other tests beside it, which slow it down."""
FILES_GROWTH_MAX = 10
"""How much higher the median of open files may be in the last quarter of the time than in the second."""
MIB_GROWTH_MAX = 24
"""How much higher the median of memory may be in the last quarter of the time than in the second, in MiB. Garbage takes
up to 30 MB before it is collected.
"""
FILES_LEFT_MAX = 6
"""The largest number of open files that may remain when all clients have left, beyond those before they came."""
HELD_MAX = 40
"""The largest number of connections with open requests of clients with tokens. One address may have 64 connections."""
THREAD_SECONDS = 30.0
"""The seconds between two starts of runs."""
BURST = 70
"""How many connections one client opens at once: more than an address may have."""


class Server:
    """A process that serves the home, and its measurements."""

    def __init__(self, name, process, port):
        self.name, self.process, self.port = name, process, port
        self.seconds, self.failures, self.samples, self.came = [], [], [], Counter()

    def head(self, line, token="", *lines, keep=False):
        named = [f"Host: 127.0.0.1:{self.port}", "Connection: keep-alive" if keep else "Connection: close", *lines]
        if token:
            named.append(f"Authorization: Bearer {token}")
        return "\r\n".join((f"{line} HTTP/1.1", *named, "", "")).encode()

    def json_request(self, path, token, body, *lines, keep=False):
        data = json.dumps(body).encode()
        sent = ("Content-Type: application/json", f"Content-Length: {len(data)}", *lines)
        return self.head(f"POST {path}", token, *sent, keep=keep) + data

    @asynccontextmanager
    async def connect(self, *, buffer=0, breaks=False):
        """Open a connection for the length of a block. `buffer` is its receive buffer in bytes; `breaks` ends it by a
        reset.
        """
        stream = trio.socket.socket()
        with stream:
            if buffer:
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            if breaks:
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            await stream.connect(("127.0.0.1", self.port))
            yield trio.SocketStream(stream)

    async def ask(self, request):
        """Send a request over a new connection, and return the whole response."""
        async with self.connect() as stream:
            await stream.send_all(request)
            received = b""
            while part := await stream.receive_some():
                received += part
            return received

    def sample(self):
        """Return the number of open files, the memory in MiB and the processor time in seconds."""
        folder = Path(f"/proc/{self.process.pid}")
        used = (folder / "stat").read_text().rpartition(")")[2].split()[11:13]
        mib = int(re.search(r"VmRSS:\s+(\d+)", (folder / "status").read_text())[1]) / 1024
        return len([*(folder / "fd").iterdir()]), mib, sum(map(int, used)) / os.sysconf("SC_CLK_TCK")

    def quarter(self, number, column):
        """Return the median of one measurement in a quarter of the time. Quarters count from 0."""
        part = len(self.samples) // 4
        return statistics.median(row[column] for row in self.samples[part * number : part * (number + 1)])


class Crowd:
    """All clients of both servers."""

    def __init__(self, serve, mcp, store):
        self.serve, self.mcp, self.store = serve, mcp, store
        self.chance, self.numbers, self.held = random.Random(7), count(), trio.CapacityLimiter(HELD_MAX)
        self.tokens = [self.new_token() for _ in range(2)]
        self.sessions = {token: [] for token in self.tokens}
        self.good, self.run, self.session, self.begun = self.new_token(), "", "", trio.current_time()

    def new_token(self, name=None):
        return self.store.change(lambda state: with_token(state, name or f"t{next(self.numbers)}", "control", 0.0))

    # Clients without a token.

    async def leave(self, server):
        async with server.connect() as stream:
            if self.chance.random() < 0.5:
                await stream.send_all(server.head("GET /livez"))

    async def reset(self, server):
        """Send a part of a head, then reset the connection."""
        async with server.connect(breaks=True) as stream:
            await stream.send_all(b"GET / HTTP/1.1\r\nHo")

    async def stay_silent(self, server):
        """Open a connection and send nothing."""
        async with server.connect() as stream:
            await _read(stream)

    async def trickle_head(self, server):
        """Send a line of a head each second."""
        async with server.connect() as stream:
            await stream.send_all(b"GET / HTTP/1.1\r\n")
            while True:
                await stream.send_all(b"x: y\r\n")
                await trio.sleep(1)

    async def trickle_body(self, server, token=""):
        """Send a byte of a body each second."""
        path = "/mcp" if server is self.mcp else "/api/runs" if token else "/sign-in"
        kind = "json" if token else "x-www-form-urlencoded"
        async with server.connect() as stream:
            lines = ("Content-Length: 4000", f"Content-Type: application/{kind}", "Idempotency-Key: k")
            await stream.send_all(server.head(f"POST {path}", token, *lines))
            while True:
                await stream.send_all(b" ")
                await trio.sleep(1)

    async def speak_http2(self, server):
        """Begin HTTP/2 without asking, with a window of 0 bytes."""
        settings = b"\x00\x00\x06\x04\x00\x00\x00\x00\x00" + struct.pack(">HI", 4, 0)
        async with server.connect() as stream:
            await stream.send_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings)
            await _read(stream)

    async def guess(self, server):
        """Send a wrong token and a body of many parts. The server must not read the body."""
        path = "/mcp" if server is self.mcp else "/api/runs"
        head = server.head(f"POST {path}", "wrong", "Transfer-Encoding: chunked")
        await server.ask(head + b"1\r\nx\r\n" * 100 + b"0\r\n\r\n")

    async def burst(self, server):
        """Open more connections than an address may have."""
        async with AsyncExitStack() as stack:
            for _ in range(BURST):
                await stack.enter_async_context(server.connect())
            await trio.sleep(1)

    # Clients with a token.

    async def stay_idle(self, server, token):
        async with server.connect() as stream:
            await stream.send_all(server.head("GET /api/runs", token, keep=True))
            await _read(stream)

    async def leave_stream(self, server, token):
        """Follow a run for a while, then leave."""
        async with server.connect(breaks=self.chance.random() < 0.5) as stream:
            await stream.send_all(server.head(f"GET /api/runs/{self.run}/stream", token))
            with trio.move_on_after(self.chance.uniform(0, STAY_SECONDS)):
                await _read(stream)

    async def read_nothing(self, server, token):
        """Request much, and read none of it."""
        async with server.connect(buffer=1024) as stream:
            await stream.send_all(server.head("GET /api/openapi.json", token, keep=True) * 40)
            await trio.sleep(STAY_SECONDS)

    async def start_and_leave(self, server, token):
        """Start a run as an AG-UI client, or follow the one that was started last; then leave."""
        name = f"thread {(trio.current_time() - self.begun) // THREAD_SECONDS}"
        message = {"id": "m1", "role": "user", "content": PROBLEM}
        body = {"threadId": name, "runId": "r", "state": {}, "messages": [message], "tools": [], "context": []}
        body["forwardedProps"] = {"replan": {"model": "plans"}}
        async with server.connect() as stream:
            await stream.send_all(server.json_request("/api/ag-ui", token, body))
            with trio.move_on_after(self.chance.uniform(0, 5)):
                await _read(stream)

    async def session_of(self, token):
        """Return the header of a new MCP session, or of an earlier one if the token may have no more sessions."""
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "soak", "version": "1"}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
        answer = await self.mcp.ask(self.mcp.json_request("/mcp", token, body, ACCEPTS))
        found = re.search(rb"mcp-session-id: (\w+)", answer)
        known = self.sessions.setdefault(token, [])
        if found is None:
            assert answer.startswith(b"HTTP/1.1 503"), answer
            return self.chance.choice(known)
        known.append(f"Mcp-Session-Id: {found[1].decode()}")
        body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self.mcp.ask(self.mcp.json_request("/mcp", token, body, ACCEPTS, known[-1]))
        return known[-1]

    async def leave_session(self, server, token):
        """Open an MCP session with a stream or a waiting call, then leave. Most sessions are not closed."""
        session = await self.session_of(token)
        call = {"name": "wait", "arguments": {"id": self.run, "seconds": 30}}
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        waits, breaks = self.chance.random() < 0.5, self.chance.random() < 0.5
        follow = server.head("GET /mcp", token, ACCEPTS, session)
        async with server.connect(breaks=breaks) as stream:
            await stream.send_all(server.json_request("/mcp", token, body, ACCEPTS, session) if waits else follow)
            with trio.move_on_after(self.chance.uniform(0, STAY_SECONDS)):
                await _read(stream)
        if self.chance.random() < 0.3:
            with suppress(ValueError):  # Another client of the token has closed it.
                self.sessions[token].remove(session)
            await server.ask(server.head("DELETE /mcp", token, ACCEPTS, session))

    async def be_revoked(self):
        """Open streams and sessions with a token, then revoke the token. Each stream must end."""
        while True:
            name = f"r{next(self.numbers)}"
            token = await trio.to_thread.run_sync(self.new_token, name)
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(self.follow_until_end, self.serve, f"GET /api/runs/{self.run}/stream", token)
                for _ in range(2):
                    session = await self.session_of(token)
                    nursery.start_soon(self.follow_until_end, self.mcp, "GET /mcp", token, ACCEPTS, session)
                await trio.sleep(self.chance.uniform(0, 10))
                await trio.to_thread.run_sync(self.store.change, partial(remove_token, name=name))
            del self.sessions[token]

    async def follow_until_end(self, server, line, token, *lines):
        """Read a stream until the server ends it."""
        server.came["be_revoked"] += 1
        with trio.move_on_after(60) as limit:
            async with server.connect() as stream:
                await stream.send_all(server.head(line, token, *lines))
                await _read(stream)
        if limit.cancelled_caught:
            server.failures.append(f"{line} of a revoked token did not end")

    async def come(self, nursery):
        """Start clients until this is cancelled."""
        free = self.leave, self.reset, self.stay_silent, self.trickle_head, self.speak_http2, self.guess
        free = (*free * 4, *[self.trickle_body] * 4, self.burst)
        known = self.stay_idle, self.leave_stream, self.read_nothing, self.start_and_leave, self.trickle_body
        while True:
            server, token = self.chance.choice((self.serve, self.mcp)), self.chance.choice(self.tokens)
            if self.chance.random() < 0.7:
                nursery.start_soon(self.visit, server, self.chance.choice(free))
            elif self.held.available_tokens:
                work = self.chance.choice(known if server is self.serve else (self.leave_session,) * 3 + known[-1:])
                nursery.start_soon(self.visit, server, work, token)
            await trio.sleep(self.chance.expovariate(1 / PAUSE_SECONDS))

    async def visit(self, server, work, *token):
        server.came[work.__name__ + (" with a token" if token else "")] += 1
        async with self.held if token else _nothing():
            with trio.move_on_after(STAY_SECONDS), suppress(OSError, trio.BrokenResourceError):
                await work(server, *token)

    # The client that must be answered.

    async def use(self, server):
        """Send a request each second over a new connection, and record how long the answer takes."""
        requests = [server.head(f"GET {path}", self.good) for path in ("/api/runs", f"/api/runs/{self.run}")]
        requests.append(server.head("GET /livez"))
        if server is self.mcp:
            session = self.session
            bodies = [{"jsonrpc": "2.0", "id": 3, "method": method} for method in ("ping", "tools/list")]
            requests = [server.json_request("/mcp", self.good, body, ACCEPTS, session) for body in bodies]
        while True:
            for request in requests:
                begun, answer = trio.current_time(), b"nothing"
                try:
                    with trio.move_on_after(300):
                        answer = await server.ask(request)
                except (OSError, trio.BrokenResourceError) as error:
                    answer = repr(error).encode()
                seconds = trio.current_time() - begun
                server.seconds.append(seconds)
                if (IS_SOAK and seconds > ANSWER_SECONDS_MAX) or not answer.startswith(b"HTTP/1.1 200"):
                    line = request.partition(b"\r\n")[0].decode()
                    server.failures.append(
                        f"{begun - self.begun:.1f} s: {line}: {answer[:200]!r} after {seconds:.2f} s"
                    )
                await trio.sleep(max(0.0, min(1.0, SECONDS / 20) - seconds))


ACCEPTS = "Accept: application/json, text/event-stream"


async def test_a_client_is_answered_and_the_servers_stay_level_while_others_starve_them(
    tmp_path, record_property, capfd
):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    models = {
        name: write_script(tmp_path, script, f"{name}.yaml") for name, script in (("asks", ASKS), ("plans", PLANS))
    }
    settings = {"clients": {"models": {name: str(path) for name, path in models.items()}}}
    (home / "config.yaml").write_text(yaml.safe_dump(settings))
    async with _server(tmp_path, "serve") as serve, _server(tmp_path, "mcp", "--http", "--no-host") as mcp:
        crowd = Crowd(serve, mcp, Store(home))
        await _start_run(crowd)
        crowd.session = await crowd.session_of(crowd.good)
        with trio.move_on_after(3 * SAMPLE_SECONDS):
            await _use_and_measure(crowd, capfd)
        before = {server: max(row[0] for row in server.samples) for server in (serve, mcp)}
        begun = {server: server.sample()[2] for server in (serve, mcp)}
        for server in (serve, mcp):
            server.samples.clear()
        crowd.begun = trio.current_time()
        with trio.move_on_after(SECONDS):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_use_and_measure, crowd, capfd)
                nursery.start_soon(crowd.be_revoked)
                nursery.start_soon(crowd.come, nursery)
        for server in (serve, mcp):
            for name, value in _facts(server, begun[server]).items():
                record_property(f"{server.name}_{name}", value)
            print(server.name, _facts(server, begun[server]))
        for server in (serve, mcp):
            assert not server.failures, server.failures[:20]
            assert server.process.poll() is None
            if IS_SOAK:
                assert server.quarter(3, 0) - server.quarter(1, 0) <= FILES_GROWTH_MAX, server.samples
                assert server.quarter(3, 1) - server.quarter(1, 1) <= MIB_GROWTH_MAX, server.samples
            with trio.fail_after(120):
                while server.sample()[0] > before[server] + FILES_LEFT_MAX:  # noqa: ASYNC110 -- another process closes them
                    await trio.sleep(0.1)
    for log in tmp_path.glob("*.log"):
        assert "Traceback" not in log.read_text(), log.read_text()[-5_000:]


async def _start_run(crowd):
    """Start the run that clients follow, and wait for its question."""
    serve, body = crowd.serve, {"problem": PROBLEM, "model": "asks"}
    answer = await serve.ask(serve.json_request("/api/runs", crowd.good, body, "Idempotency-Key: first"))
    crowd.run = re.search(rb'"run_id": ?"(\w+)"', answer)[1].decode()
    with trio.fail_after(300):
        while b'"waiting"' not in await serve.ask(serve.head(f"GET /api/runs/{crowd.run}", crowd.good)):  # noqa: ASYNC110 -- another process drives it
            await trio.sleep(0.1)


async def _use_and_measure(crowd, capfd):
    """Have the client that must be answered use both servers. Measure the servers, and print a line each minute."""
    async with trio.open_nursery() as nursery:
        for server in (crowd.serve, crowd.mcp):
            nursery.start_soon(crowd.use, server)
        for number in count(1):
            await trio.sleep(SAMPLE_SECONDS)
            for server in (crowd.serve, crowd.mcp):
                server.samples.append(server.sample())
            if number % max(1, round(60 / SAMPLE_SECONDS)) == 0:
                with capfd.disabled():
                    print(_line(crowd, number * SAMPLE_SECONDS / 60), file=sys.stderr, flush=True)


def _line(crowd, minutes):
    parts = [
        f"{server.name} {len(server.seconds)} answers, max {max(server.seconds):.3f} s, "
        f"{len(server.failures)} failures, {server.samples[-1][0]} files, {server.samples[-1][1]:.1f} MiB"
        for server in (crowd.serve, crowd.mcp)
    ]
    return f"{minutes:.0f} min: {'; '.join(parts)}"


def _facts(server, begun):
    """Return the measurements of a server that are published."""
    seconds = sorted(server.seconds)
    return {
        "clients": sum(server.came.values()),
        "answers": len(seconds),
        "failures": len(server.failures),
        "max_seconds": round(seconds[-1], 3),
        "p99_seconds": round(seconds[int(len(seconds) * 0.99)], 3),
        "files_second_quarter": server.quarter(1, 0),
        "files_last_quarter": server.quarter(3, 0),
        "mib_second_quarter": round(server.quarter(1, 1), 1),
        "mib_last_quarter": round(server.quarter(3, 1), 1),
        "core_share": round((server.samples[-1][2] - begun) / SECONDS, 3),
    }


@asynccontextmanager
async def _server(folder, *words):
    """Run a server for the length of a block."""
    name = words[0]
    output = folder / f"{name}.txt"
    command = [sys.executable, "-c", SERVE, *words, "--port", "0", "--json"]
    with output.open("w") as file, (folder / f"{name}.log").open("w") as errors:
        process = _begin(command, file, errors)
    try:
        with trio.fail_after(300):
            while (found := re.search(r'"url": "http://[^:"]+:(\d+)', output.read_text())) is None:  # noqa: ASYNC110 -- another process writes it
                await trio.sleep(0.1)
        yield Server(name, process, int(found[1]))
    finally:
        process.terminate()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(partial(process.wait, timeout=60))


def _begin(command, output, errors):
    return subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=output, stderr=errors)


@asynccontextmanager
async def _nothing():
    yield


async def _read(stream):
    """Read until the server closes the connection."""
    with suppress(trio.BrokenResourceError):
        while await stream.receive_some():
            pass
