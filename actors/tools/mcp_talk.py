"""One session with an MCP server: the tool is compared with the server's list of tools, and called."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import trio
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp_types import Tool as ListedTool

from actors.handlers.tools import ToolResult
from actors.run.tools import ToolOutcome
from actors.tools.mcp_arguments import schema_problem
from actors.tools.mcp_tasks import ANY, TaskFailed, TasksAccepted, finished
from actors.tools.mcp_wires import Streams
from actors.tools.specs import McpSpec
from runtime.core.errors import root_cause

PAGES_MAX = 20
"""The most pages of a server's list of tools that are read."""


@dataclass(slots=True)
class TalkEnd:
    """How a session ended."""

    result: ToolResult
    """The result of the call."""
    sent: bool = False
    """Whether the call itself was made, so that the tool may have done something."""


async def called(spec: McpSpec, arguments: Mapping[str, Any], streams: AbstractAsyncContextManager[Streams]) -> TalkEnd:
    """Return the result of a call. Raises nothing but cancellation."""
    end = TalkEnd(ToolResult(ToolOutcome.BROKEN))
    try:
        async with Client(streams, cache=None, extensions=[TasksAccepted()]) as client:
            await _call(spec, arguments, client, end)
    except BaseExceptionGroup as group:
        cancelled, rest = group.split(trio.Cancelled)
        if cancelled is not None:
            raise cancelled from None
        assert rest is not None
        cause = root_cause(rest)
        if not isinstance(cause, Exception):
            raise
        _break(end, cause)
    except Exception as error:  # noqa: BLE001 -- whatever a server causes is the outcome of the call
        _break(end, error)
    return end


async def listed(client: Client, name: str) -> ListedTool | None:
    """Return a tool as a server lists it; None if it lists no tool of this name."""
    cursor: str | None = None
    for _ in range(PAGES_MAX):
        # The session's own method would have it check results against the server's schemas later.
        request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
        page = await client.session.send_request(request, ListToolsResult)
        for tool in page.tools:
            if tool.name == name:
                return tool
        cursor = page.next_cursor
        if not cursor:
            return None
    return None


async def _call(spec: McpSpec, arguments: Mapping[str, Any], client: Client, end: TalkEnd) -> None:
    tool = await listed(client, spec.remote)
    problem = f"the server {spec.server!r} lists no tool {spec.remote!r}"
    if tool is None or (problem := schema_problem(tool.input_schema, arguments)):
        end.result = ToolResult(ToolOutcome.PERMANENT, reason=problem)
        return
    end.sent = True
    end.result = await _result(spec, arguments, client)


async def _result(spec: McpSpec, arguments: Mapping[str, Any], client: Client) -> ToolResult:
    request = CallToolRequest(params=CallToolRequestParams(name=spec.remote, arguments=dict(arguments)))
    try:
        sent = await client.session.send_request(request, ANY)
        result = CallToolResult.model_validate(
            await finished(client, sent) if sent.get("resultType") == "task" else sent, by_name=False
        )
    except TaskFailed as failure:
        return ToolResult(ToolOutcome.FAILED, reason=str(failure))
    except MCPError as error:
        refused = error.code in (INVALID_PARAMS, METHOD_NOT_FOUND)
        outcome = ToolOutcome.PERMANENT if refused else ToolOutcome.BROKEN
        return ToolResult(outcome, reason=_one_line(f"the server answered with an error: {error.message}"))
    text = "\n".join(_text(block) for block in result.content)
    if result.is_error:
        return ToolResult(ToolOutcome.FAILED, text, "the tool says that it failed")
    return ToolResult(ToolOutcome.SUCCEEDED, text)


def _text(block: ContentBlock) -> str:
    if isinstance(block, TextContent):
        return block.text
    return f"[{block.type}]"


def _break(end: TalkEnd, error: BaseException) -> None:
    """Set the result to broken, unless there is one. The reason is one line, with the library's text."""
    if end.result.outcome is not ToolOutcome.BROKEN or end.result.reason:
        return
    words = str(error) if isinstance(error, MCPError) else f"{type(error).__name__}: {error}"
    end.result = ToolResult(ToolOutcome.BROKEN, reason=_one_line(f"the talk with the server broke off: {words}"))


def _one_line(text: str) -> str:
    return " ".join(text.split())
