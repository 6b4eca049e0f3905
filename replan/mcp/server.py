"""The MCP server: its handlers over the table of tools and the resources, whatever the transport."""

from collections.abc import Mapping
from typing import Any

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
    TextResourceContents,
    ToolAnnotations,
)
from mcp_types import Tool as ListedTool

from actors.files.suggestions import nearest
from replan.mcp.answering import ANSWER_BYTES_MAX, answered, failed
from replan.mcp.calls import Call, Desk, caller_of
from replan.mcp.resources import JSON, RESOURCES, TEMPLATES, read_resource
from replan.service.operations import OPERATIONS, Operation, Tool
from replan.service.problems import MCP, in_terms
from replan.service.requests import encoded
from replan.setup.version import release
from replan.views.errors import line_of_error
from runtime.core.errors import ReplanError


def offered(*, allow_execute: bool) -> Mapping[str, tuple[Operation, Tool]]:
    """Return the tools of a server by name, each with its operation."""
    return {
        operation.mcp.name: (operation, operation.mcp)
        for operation in OPERATIONS
        if operation.mcp is not None and (allow_execute or not operation.executes)
    }


def listed(operation: Operation, tool: Tool) -> ListedTool:
    """Return a tool as clients list it. The annotations are hints; the scope is what counts."""
    gives = operation.gives
    assert not isinstance(gives, str), "a tool returns an object"
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
        call = Call(desk, caller_of(context), context, params.input_responses, params.request_state)
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
