"""Calls of tools of MCP servers. If the server is a program, it is started for each call, in its own process group."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import trio

from actors.handlers.tools import PreparedCall, Tool, ToolResult
from actors.run.tools import ToolOutcome
from actors.tools.binding import environment_of
from actors.tools.command_calls import (
    CallRefused,
    RefusedCall,
    check_arguments,
    claim_workspace,
    refuse_call,
    system_refusal,
    without_secrets,
)
from actors.tools.programs import ProgramMissing, find_server
from actors.tools.specs import McpSpec, fill_template
from actors.tools.workspace import Workspace
from runtime.logs.redact import Redactor, secrets_in
from runtime.process.group import CommandNotStarted, GatedProcess, start_gated

if TYPE_CHECKING:
    from actors.tools.mcp_wires import Streams


def mcp_tool(spec: McpSpec, workspace: Workspace, outside: Mapping[str, str]) -> Tool:
    """Return a tool of an MCP server.

    `outside` is the driver's environment, which has the token if the server needs a token. The server says whether a
    call is a success or a failure. The text of its reply is the output. A call is a permanent failure if the server
    does not list the tool, lists other arguments, or refuses the token. A call is a transient failure if the server's
    address cannot be reached. A call is broken if the server ends, sends too much, or sends unreadable data. The result
    records whether the call was sent.
    """

    @asynccontextmanager
    async def prepare(arguments: Mapping[str, Any]) -> AsyncIterator[PreparedCall]:
        try:
            await claim_workspace(workspace)
            check_arguments(spec.parameters, arguments, workspace)
        except CallRefused as refused:
            yield RefusedCall(refused.result)
            return
        async with open_call(spec, arguments, outside, workspace.folder, workspace.lock.inherited) as call:
            yield call

    return Tool(spec.name, prepare)


@asynccontextmanager
async def open_call(
    spec: McpSpec,
    arguments: Mapping[str, Any],
    outside: Mapping[str, str],
    folder: Path,
    inherited: Sequence[int] = (),
    *,
    confined: Sequence[str] = (),
    added: Mapping[str, str] = MappingProxyType({}),
    lists: bool = False,
) -> AsyncIterator[PreparedCall]:
    """Yield a call with checked arguments.

    With `lists`, no tool is called, and the output has the schemas of all tools. If the server is a program, its
    process is started in `folder`, but waits until the call begins. The process inherits the open files `inherited`.
    `confined` has the words to put before the server's program. `added` has further environment variables. If the call
    cannot be made, a refused call is yielded.
    """
    async with AsyncExitStack() as stack:
        call: PreparedCall
        try:
            _check_installed()
            sent = {} if lists else fill_template(json.loads(spec.arguments), arguments)
            token = _token(spec, outside)
            redactor = Redactor([*secrets_in(outside), token])
            if spec.url:
                call = _AddressCall(spec=spec, arguments=sent, redactor=redactor, lists=lists, token=token)
            else:
                gated = start_gated(
                    [*confined, find_server(spec, outside), *spec.argv[1:]],
                    folder=folder,
                    environment={**added, **environment_of(spec.environment, outside)},
                    inherited=inherited,
                    talks=True,
                )
                opened = await stack.enter_async_context(gated)
                call = _ProgramCall(spec=spec, arguments=sent, redactor=redactor, lists=lists, gated=opened)
        except (CallRefused, ProgramMissing, OSError) as error:
            call = refuse_call(error, "the server cannot be started")
        yield call


def is_installed() -> bool:
    """Return whether the SDK of the protocol is installed."""
    return find_spec("mcp") is not None and find_spec("mcp_types") is not None


def _check_installed() -> None:
    if not is_installed():
        raise CallRefused(ToolOutcome.PERMANENT, "the extra `mcp` is not installed")


def _token(spec: McpSpec, outside: Mapping[str, str]) -> str:
    token = outside.get(spec.token_variable, "") if spec.token_variable else ""
    if spec.token_variable and not token:
        reason = f"the environment variable {spec.token_variable} with the server's token is not set"
        raise CallRefused(ToolOutcome.PERMANENT, reason)
    return token


@dataclass(slots=True, kw_only=True)
class _ServerCall(PreparedCall):
    """A call of a tool of an MCP server."""

    spec: McpSpec
    arguments: Mapping[str, Any]
    redactor: Redactor
    lists: bool
    """Whether the call asks for the schemas of all tools, and calls no tool."""
    is_made: bool = False

    def send(self) -> None:
        self.is_made = True

    async def talk(self, streams: "AbstractAsyncContextManager[Streams]") -> ToolResult:
        from actors.tools.mcp_talk import call_server, list_schemas  # noqa: PLC0415 -- slow to import

        if self.lists:
            return await list_schemas(streams)
        return await call_server(self.spec, self.arguments, streams, self.send)

    async def shorten(self, result: ToolResult) -> ToolResult:
        """Return a result without secrets, with its output cut to `output_bytes`. Schemas are not cut."""
        if self.lists and result.outcome is ToolOutcome.SUCCEEDED:
            return result
        return await trio.to_thread.run_sync(without_secrets, result, self.redactor, self.spec.output_bytes)


@dataclass(slots=True, kw_only=True)
class _ProgramCall(_ServerCall):
    """A call to a server that is a program. The server's process waits until the call is recorded."""

    gated: GatedProcess

    @property
    def process(self) -> str:
        return self.gated.name

    async def run(self) -> ToolResult:
        from actors.tools.mcp_wires import Talk  # noqa: PLC0415 -- slow to import

        talk = Talk(self.gated.begin())
        result = await self.talk(talk.streams())
        try:
            self.gated.check_started()
        except CommandNotStarted as error:
            return system_refusal(error, "the server cannot be started").result
        if result.outcome is ToolOutcome.BROKEN and talk.too_much:
            result = ToolResult(ToolOutcome.BROKEN, reason="the server sent more data than Replan accepts")
        elif result.outcome is ToolOutcome.BROKEN and talk.errors:
            result = ToolResult(ToolOutcome.BROKEN, talk.errors, result.reason)
        return await self.shorten(result)


@dataclass(slots=True, kw_only=True)
class _AddressCall(_ServerCall):
    """A call to a server at an address."""

    token: str

    async def run(self) -> ToolResult:
        from actors.tools.mcp_wires import Web  # noqa: PLC0415 -- slow to import

        web = Web(self.spec.url, self.token)
        result = await self.talk(web.streams())
        if result.outcome is ToolOutcome.BROKEN and web.too_much:
            result = ToolResult(ToolOutcome.BROKEN, reason="the server sent more data than Replan accepts")
        elif result.outcome is ToolOutcome.BROKEN and web.status in (401, 403, 404):
            result = ToolResult(ToolOutcome.PERMANENT, reason=f"the server answered with HTTP status {web.status}")
        elif result.outcome is ToolOutcome.BROKEN and not web.answered:
            result = ToolResult(ToolOutcome.TRANSIENT, reason=f"the server cannot be reached: {result.reason}")
        return await self.shorten(result)
