"""The MCP server: its handlers over the table of tools and the resources, and the results of calls."""

from collections.abc import Mapping
from typing import Any

import orjson
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Tool as ListedTool
from pydantic import ValidationError

from actors.files.suggestions import nearest
from replan.mcp.asking import wait
from replan.mcp.calls import Desk, ToolCall, caller_of
from replan.mcp.resources import JSON, RESOURCES, TEMPLATES, read_resource
from replan.service.bodies import StartedBody
from replan.service.messages import hashed_key
from replan.service.operations import OPERATIONS, McpOperation, Operation
from replan.service.requests import MCP, encoded, in_terms, wrong_value
from replan.setup.command_name import program
from replan.setup.version import release
from replan.views.errors import line_of_error
from runtime.core.errors import ReplanError, UsageProblem
from runtime.logs import log

ANSWER_BYTES_MAX = 1024 * 1024
"""Bytes of one answer as JSON; it is sent twice, as text and as a structure."""


async def answered(
    operation: Operation, tool: McpOperation, call: ToolCall, arguments: Mapping[str, Any]
) -> CallToolResult | InputRequiredResult:
    """Carry a call out. What is wrong with it is its answer, as an error; a bug is one line, and the log has it."""
    try:
        call.desk.check_scope(call.who, operation.scope)
        wanted = checked(tool, arguments)
        if operation.scope != "read":
            call.desk.count_write(call.who)
        value = await _carried_out(operation, call, wanted)
        return value if isinstance(value, InputRequiredResult) else sent(value)
    except ReplanError as error:
        return failed(line_of_error(in_terms(error, MCP)))
    except Exception:  # noqa: BLE001 -- whatever fails, the client gets an answer, and the log the traceback
        log.get_logger("mcp").exception("call.failed", tool=tool.name)
        return failed("internal error; the log has the details")


async def _carried_out(operation: Operation, call: ToolCall, wanted: Any) -> Mapping[str, Any] | InputRequiredResult:
    if operation.function is None:
        return await wait(call, wanted)
    starts, run, key = operation.gives is StartedBody, getattr(wanted, "id", None) or "", ""
    if (sent_key := getattr(wanted, "idempotency_key", None)) is not None:
        action = f"mcp {operation.name}" if starts else f"mcp {operation.name} {run}"
        key = hashed_key(sent_key, call.who, action, place="idempotency_key")
    question = getattr(wanted, "question", "")
    value = await operation.function(call.request(run=run, question=question, body=wanted, key=key))
    return {**value, "next": "call `wait`"} if starts else value


def checked(tool: McpOperation, arguments: Mapping[str, Any]) -> Any:
    """Return the arguments of a call. Raises `UsageProblem`, whose place is the key."""
    try:
        return tool.takes.model_validate(dict(arguments))
    except ValidationError as error:
        raise wrong_value(error, tool.takes, MCP) from None


def sent(value: Mapping[str, Any]) -> CallToolResult:
    """Return a result. Raises `UsageProblem` for one that is too large."""
    data = encoded(value)
    if len(data) > ANSWER_BYTES_MAX:
        hint = f"`{program()} show RUN --json` prints all of it"
        raise UsageProblem(f"the answer has {len(data):,} bytes, and {ANSWER_BYTES_MAX:,} are sent", hint=hint)
    return CallToolResult(content=[TextContent(text=data.decode())], structured_content=orjson.loads(data))


def failed(text: str) -> CallToolResult:
    """Return an error as the answer of a call."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def offered(*, allow_execute: bool) -> Mapping[str, tuple[Operation, McpOperation]]:
    """Return the tools of a server by name, each with its operation."""
    return {
        operation.mcp.name: (operation, operation.mcp)
        for operation in OPERATIONS
        if operation.mcp is not None and (allow_execute or not operation.executes)
    }


def listed(operation: Operation, tool: McpOperation) -> ListedTool:
    """Return a tool as clients list it. The annotations are hints; the scope is what counts."""
    gives = operation.gives
    assert not isinstance(gives, tuple), "a tool returns an object"
    annotations = ToolAnnotations(
        title=tool.title,
        read_only_hint=not operation.writes,
        destructive_hint=tool.destroys if operation.writes else None,
        idempotent_hint=tool.repeats if operation.writes else None,
        open_world_hint=operation.executes,
    )
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.takes.model_json_schema(),
        output_schema=gives.model_json_schema(mode="serialization"),
        annotations=annotations,
    )


NAME = "replan"
"""The name of the server; what it seals is for a server of this name."""
TEXTS = "mcp.md"
"""The file in the folder of prompts with what clients are told about the server."""

Context = ServerRequestContext[Any, Any]


def make_server(desk: Desk, sealed: RequestStateSecurity) -> Server[Any]:
    """Return the server over a home."""
    tools = offered(allow_execute=desk.allow_execute)

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        del context, params
        return ListToolsResult(tools=[listed(*each) for each in tools.values()])

    async def call_tool(context: Context, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        found = tools.get(params.name)
        if found is None:
            hint = nearest(params.name[:100], tools, kind="tools")
            return failed(f"there is no tool {params.name[:100]!r} ({hint})")
        call = ToolCall(desk, caller_of(context), context, params.input_responses, params.request_state)
        return await answered(*found, call, params.arguments or {})

    async def list_resources(context: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        del context, params
        return ListResourcesResult(resources=list(RESOURCES))

    async def list_templates(context: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        del context, params
        return ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def read(context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        uri = str(params.uri)
        try:
            desk.check_scope(caller_of(context), "read")
            data = encoded(await read_resource(desk, uri))
        except ReplanError as error:
            raise MCPError(INVALID_PARAMS, line_of_error(in_terms(error, MCP)), {"uri": uri[:200]}) from None
        if len(data) > ANSWER_BYTES_MAX:
            raise MCPError(INVALID_PARAMS, f"it has {len(data):,} bytes, and {ANSWER_BYTES_MAX:,} are sent")
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=data.decode(), mime_type=JSON)])

    server: Server[Any] = Server(
        NAME,
        version=release(),
        title="Replan",
        instructions=(desk.engine.root / "prompts" / TEXTS).read_text(encoding="utf-8"),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
    )
    server.middleware.append(RequestStateBoundary(sealed, default_audience=NAME))
    return server
