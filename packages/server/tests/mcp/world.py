"""A home that `replan mcp` serves as a process of its own, over stdio or HTTP, and the SDK's client for it."""

import json
import os
import subprocess
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import httpx2
import pytest
import trio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult, InputRequiredResult

from packages.server.tests.web.world import ASKS, PLANS
from replan.runs.home import open_home
from replan.setup.home_folder import locate_home
from replan.setup.plugins import registry
from replan.setup.settings import read_user_config
from replan_server.mcp.serving import McpOptions, serve_mcp
from replan_server.service.access import with_token
from replan_server.service.store import Store
from runtime.drive.options import Stop
from tests.cli.samples import write_script

ERAS = ("auto", "legacy")
"""The modes of the client: the version of 2026-07-28, and the handshake of the ones before it."""
TRANSPORTS = ("stdio", "http")
ANSWER = "3.12"


class House:
    """A home with models by the names of their scripts, and the servers that are started over it.

    `commands` starts them.
    """

    def __init__(self, folder, *, commands=None, scripts=None, settings=None, **clients):
        self.folder, self.home, self.commands = folder, folder / "home", commands
        self.home.mkdir(mode=0o700)
        models = {"exact": "quoting:"} | {
            name: str(write_script(folder, script, f"{name}.yaml"))
            for name, script in {"asks": ASKS, "plans": PLANS, **(scripts or {})}.items()
        }
        value = {"clients": {"models": models, **clients}, **(settings or {})}
        (self.home / "config.yaml").write_text(json.dumps(value))
        self.processes: list[int] = []

    @property
    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("REPLAN", "OPENAI"))}
        return {**kept, "REPLAN_HOME": str(self.home)}

    def words(self, *arguments):
        return [str(self.commands.folder / "replan"), "mcp", *arguments]

    def token(self, scope="control", name=None):
        return Store(self.home).change(lambda state: with_token(state, name or scope, scope, 0.0))

    @asynccontextmanager
    async def server(self, transport, *arguments):
        """Run a server for the length of a block, and yield a function that connects a client with it."""
        if transport == "stdio":
            yield partial(self.over_stdio, *arguments)
            return
        token = self.token(name=f"t{len(self.processes)}") if not self.processes else None
        self.secret = token or self.secret
        process = await trio.lowlevel.open_process(
            self.words("--http", "--port", "0", "--json", *arguments),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process.pid)
        try:
            address = await _address(process.stdout)
            yield partial(self.over_http, address, self.secret)
        finally:
            process.terminate()
            with trio.CancelScope(shield=True), trio.move_on_after(20):
                await process.wait()
            if process.poll() is None:
                process.kill()
            await process.stdout.aclose()

    @asynccontextmanager
    async def over_stdio(self, *arguments, **options):
        """Start a server, and yield a client that speaks with it over its standard input and output."""
        note = self.folder / f"pid{len(self.processes)}"
        script = f'echo $$ > "{note}"; exec "$@"'
        words = ["-c", script, "sh", *self.words(*arguments)]
        parameters = StdioServerParameters(command="/bin/sh", args=words, env=self.environment)
        with (self.folder / "stderr.txt").open("a") as errors:
            async with Client(stdio_client(parameters, errlog=errors), **options) as client:
                self.processes.append(int(note.read_text()))
                yield client

    @asynccontextmanager
    async def over_http(self, address, token, **options):
        headers = {"authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60, trust_env=False, verify=False) as http,
            Client(streamable_http_client(address, http_client=http), **options) as client,
        ):
            yield client

    def kill(self):
        """Kill the server that was started last."""
        self.commands.kill(self.processes[-1])


async def _address(stream):
    text = b""
    with trio.fail_after(300):
        while b'"listening"' not in text or not text.endswith(b"\n"):
            data = await stream.receive_some()
            assert data, text
            text += data
    lines = [json.loads(line) for line in text.decode().splitlines()]
    return next(line["url"] for line in lines if line["event"] == "listening")


@contextmanager
def broken():
    """Expect that the connection breaks within a block, and nothing else goes wrong."""
    try:
        yield
    except MCPError:
        return
    except BaseExceptionGroup as group:
        if group.subgroup(AssertionError) is not None:
            raise
        return
    pytest.fail("the connection held")


async def called(client, tool, **arguments):
    """Return the structured result of a call that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


async def refused(client, tool, **arguments):
    """Return the line of a call that must fail."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert result.structured_content is None
    assert "\n" not in result.content[0].text
    return result.content[0].text


async def at_rest(client, run):
    """Return a run's state once it rests; a client without forms is asked nothing."""
    while True:
        state = await called(client, "wait", id=run)
        if state["status"] != "running":
            return state


def answering(*answers):
    """Return a callback that fills forms, and the list of what it was shown."""
    shown, left = [], list(answers)

    async def fill(context, params):
        shown.append(params)
        return left.pop(0) if left else ElicitResult(action="cancel")

    return fill, shown


def filled(answer):
    return ElicitResult(action="accept", content={"answer": answer})


async def first_form(client, run):
    """Return what a call of the version of 2026-07-28 comes back with: a form."""
    result = await client.session.call_tool("wait", {"id": run}, allow_input_required=True)
    assert isinstance(result, InputRequiredResult), result
    return result


class Served:
    """A home that is served over HTTP in this process."""

    def __init__(self, house, engine, address):
        self.house, self.engine, self.address = house, engine, address

    def client(self, scope="control", name=None, **options):
        return self.house.over_http(self.address, self.house.token(scope, name), **options)

    async def settled(self, run, *statuses):
        """Return a run's result once it has one of some statuses."""
        with trio.fail_after(300):
            while True:
                result = await self.engine.result(run)
                if result.status in statuses:
                    return result
                await trio.sleep(0.02)


@asynccontextmanager
async def served(folder, monkeypatch, *, hosts=True, allow_execute=False, scripts=None, **more):
    """Serve a home over HTTP in this process for the length of a block."""
    house = House(folder, scripts=scripts, **more)
    monkeypatch.setenv("REPLAN_HOME", str(house.home))
    monkeypatch.delenv("REPLAN_MODEL", raising=False)
    home = locate_home()
    config, stop, addresses, is_open = read_user_config(home.config), Stop(handover=True), [], trio.Event()

    def opened(address):
        addresses.append(address)
        is_open.set()

    async with open_home(config=config, registry=registry()) as engine, trio.open_nursery() as nursery:
        options = McpOptions(port=0, hosts=hosts, allow_execute=allow_execute)
        nursery.start_soon(partial(serve_mcp, engine, home, options, stop=stop, report=lambda _: None, opened=opened))
        with trio.fail_after(300):
            await is_open.wait()
        yield Served(house, engine, addresses[0])
        stop.requested.set()
        stop.forced.set()
