"""The MCP server: it lists tools and resources, carries out calls of tools, and returns their results."""

import re
import secrets
from collections.abc import Mapping
from functools import cache
from typing import Any, Union
from urllib.parse import parse_qsl

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
    Resource,
    ResourcesCapability,
    ResourceTemplate,
    ServerCapabilities,
    TextResourceContents,
    ToolAnnotations,
    ToolsCapability,
)
from mcp_types import Tool as ListedTool
from pydantic import TypeAdapter, ValidationError

from actors.files.suggestions import nearest
from replan.runs.families import read_shown
from replan.setup.installation import program, release
from replan.views.errors import line_of_error
from replan.views.rows import row_to_json
from replan_server.mcp.asking import wait
from replan_server.mcp.calls import Desk, ToolCall, call_result, caller_of, error_result, to_bounded_json
from replan_server.mcp.task_methods import add_task_methods
from replan_server.mcp.tasks import created_task
from replan_server.service.bodies import StartedBody
from replan_server.service.messages import hash_key
from replan_server.service.operations import McpOperation, Operation, operations, result_model
from replan_server.service.read_operations import FIELDS, offer_of, run_page, tree_of
from replan_server.service.requests import MCP, in_terms, wrong_value
from runtime.core.errors import ReplanError, UsageProblem
from runtime.logs import log

ROWS_MAX = 50
"""The largest number of runs in one list that the server returns."""
RUNS = "replan://runs"
QUERY_LENGTH_MAX = 1000
"""The largest number of characters that are read of the query in an address `replan://runs`."""
PAGE_DIGITS_MAX = 6
"""The largest number of digits in the page number of a list of runs."""
JSON = "application/json"

_OF_RUN = re.compile(r"replan://runs/([^/?#]{1,64})/(result|plan|tree)")

RESOURCES = (
    Resource(
        name="offer",
        uri="replan://offer",
        title="Names and ceilings",
        description="The names of workflows, policies, models and tool sets, further names of installed kinds, and the "
        "ceilings of limits.",
        mime_type=JSON,
    ),
    Resource(
        name="runs",
        uri=RUNS,
        title="Runs",
        description=f"The newest {ROWS_MAX} runs with their status.",
        mime_type=JSON,
    ),
)
TEMPLATES = (
    ResourceTemplate(
        name="some_runs",
        uri_template=f"{RUNS}{{?{','.join((*FIELDS, 'page'))}}}",
        title="Some runs",
        description=f"{ROWS_MAX} runs a page, selected by status, kind, least cost in dollars, and a text in id, title "
        "or kind (`q`).",
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="result",
        uri_template="replan://runs/{id}/result",
        title="Result of a run",
        description="The result of a run.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="plan",
        uri_template="replan://runs/{id}/plan",
        title="Plan of a run",
        description="The proved plan of a planning run, or the plan that an execution follows.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="tree",
        uri_template="replan://runs/{id}/tree",
        title="Search of a run",
        description="The attempts of a run with their verdicts, and each move to an earlier step.",
        mime_type=JSON,
    ),
)


async def _read_resource(desk: Desk, uri: str) -> Any:
    """Return a resource as plain data.

    Raises `UsageProblem` for an unknown resource, and the errors of `read_shown`.
    """
    if uri == "replan://offer":
        return offer_of(desk)
    if uri == RUNS or uri.startswith(f"{RUNS}?"):
        return await _runs(desk, uri.removeprefix(RUNS).lstrip("?"))
    found = _OF_RUN.fullmatch(uri)
    if found is None:
        raise UsageProblem(f"there is no resource {uri[:100]!r}", hint="replan://offer, or replan://runs/ID/plan")
    shown = await read_shown(desk.reader, found[1])
    match found[2]:
        case "result":
            return shown.result_json
        case "tree":
            return tree_of(shown)
        case _:
            loaded = shown.loaded
            plan_document = loaded.kind.views.documents.get("plan")
            if plan_document is None:
                raise UsageProblem(f"a run of kind {loaded.kind.name!r} has no plan", place=shown.row.run)
            return plan_document(loaded.state, shown.result, program()).json


async def _runs(desk: Desk, query: str) -> Mapping[str, Any]:
    fields = dict(parse_qsl(query[:QUERY_LENGTH_MAX]))
    if unknown := sorted(set(fields) - {*FIELDS, "page"}):
        raise UsageProblem(
            "runs cannot be selected by this name", place=unknown[0][:100], hint=", ".join((*FIELDS, "page"))
        )
    page = fields.pop("page", "0")
    if not (page.isascii() and page.isdigit() and len(page) <= PAGE_DIGITS_MAX):
        raise UsageProblem("this is not a page number", place="page", hint="the first page is 0")
    rows, total = await run_page(desk.reader, fields, number=int(page), rows_max=ROWS_MAX)
    return {"runs": [row_to_json(row, word) for row, word in rows], "more": total > (int(page) + 1) * ROWS_MAX}


Answer = CallToolResult | InputRequiredResult | dict[str, Any]


async def answer_call(operation: Operation, tool: McpOperation, call: ToolCall, arguments: Mapping[str, Any]) -> Answer:
    """Carry out a call of a tool, and return its result. For a bad request, return an error as the result.

    For an unexpected exception, return one line, and log the exception.
    """
    try:
        call.desk.check_scope(call.who, operation.scope)
        wanted = check_arguments(tool, arguments)
        if operation.scope != "read":
            call.desk.count_write(call.who)
        return await _carry_out(operation, call, wanted)
    except ReplanError as error:
        return error_result(line_of_error(in_terms(error, MCP)))
    except Exception:  # noqa: BLE001 -- whatever fails, the client gets an answer, and the log the traceback
        log.get_logger("mcp").exception("call.failed", tool=tool.name)
        return error_result("internal error; the log has the details")


async def _carry_out(operation: Operation, call: ToolCall, wanted: Any) -> Answer:
    if operation.function is None:
        waited = await wait(call, wanted)
        return waited if isinstance(waited, InputRequiredResult) else call_result(waited)
    starts, run, key = operation.gives is StartedBody, getattr(wanted, "id", None) or "", ""
    sent_key = getattr(wanted, "idempotency_key", None)
    if sent_key is None and starts and call.has_tasks:
        sent_key = secrets.token_hex()  # Its run gets a long id, so nobody guesses the id of a task.
    if sent_key is not None:
        action = f"mcp {operation.name}" if starts else f"mcp {operation.name} {run}"
        key = hash_key(sent_key, call.who, action, place="idempotency_key")
    question = getattr(wanted, "question", "")
    value = await operation.function(call.request(run=run, question=question, body=wanted, key=key))
    if starts and call.has_tasks:
        return await created_task(call, value["run_id"])
    return call_result({**value, "next": "call `wait`"} if starts else value)


def check_arguments(tool: McpOperation, arguments: Mapping[str, Any]) -> Any:
    """Return the arguments of a call. Raises `UsageProblem`, whose place is the wrong argument."""
    try:
        return tool.takes.model_validate(arguments)
    except ValidationError as error:
        raise wrong_value(error, tool.takes, MCP) from None


def offered_tools(*, allow_execute: bool) -> Mapping[str, tuple[Operation, McpOperation]]:
    """Return, for the name of each tool that a server offers, the operation and the tool."""
    return {
        operation.mcp.name: (operation, operation.mcp)
        for operation in operations()
        if operation.mcp is not None and (allow_execute or not operation.executes)
    }


def describe_tool(operation: Operation, tool: McpOperation) -> ListedTool:
    """Return the description of a tool that clients get. Its annotations are only hints for the client.

    What a client may do depends only on the scope of its token.
    """
    gives = operation.gives
    assert not isinstance(gives, tuple), "a tool returns an object"
    schema = gives.model_json_schema(mode="serialization")
    if gives is StartedBody:  # As a task, a call that starts a run comes to the run's result.
        either: Any = Union[StartedBody, result_model()]  # noqa: UP007 -- its second part is known at run time only
        schema = {"type": "object", **TypeAdapter(either).json_schema(mode="serialization")}
    annotations = ToolAnnotations(
        title=tool.title,
        read_only_hint=not operation.writes,
        destructive_hint=tool.destroys if operation.writes else None,
        idempotent_hint=tool.idempotent if operation.writes else None,
        open_world_hint=tool.calls_tools,
    )
    return ListedTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.takes.model_json_schema(),
        output_schema=schema,
        annotations=annotations,
    )


NAME = "replan"
"""The name of the MCP server. The server refuses sealed state that was sealed for a server with another name."""
TEXTS = "mcp.md"
"""The file in the folder `prompts` with the instructions that the server sends to clients."""

Context = ServerRequestContext[Any, Any]


class RunServer(Server[Any]):
    """The SDK's server. The server sends notifications about tasks, but not about changed lists and resources."""

    def get_capabilities(self, *arguments: Any, **options: Any) -> ServerCapabilities:
        """Return the capabilities of the server."""
        found = super().get_capabilities(*arguments, **options)
        resources = ResourcesCapability(subscribe=False, list_changed=False)
        return found.model_copy(update={"tools": ToolsCapability(list_changed=False), "resources": resources})


def make_server(desk: Desk, sealed: RequestStateSecurity) -> Server[Any]:
    """Return the MCP server of a home."""
    tools = offered_tools(allow_execute=desk.allow_execute)

    @cache  # The schemas take 0.1 s of processor time.
    def describe_tools() -> tuple[ListedTool, ...]:
        return tuple([describe_tool(*tool) for tool in tools.values()])

    async def list_tools(context: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        del context, params
        return ListToolsResult(tools=[*describe_tools()])

    async def call_tool(context: Context, params: CallToolRequestParams) -> Answer:
        found = tools.get(params.name)
        if found is None:
            hint = nearest(params.name[:100], tools, kind="tools")
            return error_result(f"there is no tool {params.name[:100]!r} ({hint})")
        call = ToolCall(desk, caller_of(context), context, params.input_responses, params.request_state)
        return await answer_call(*found, call, params.arguments or {})

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
            data = to_bounded_json(await _read_resource(desk, uri))
        except ReplanError as error:
            raise MCPError(INVALID_PARAMS, line_of_error(in_terms(error, MCP)), {"uri": uri[:200]}) from None
        return ReadResourceResult(contents=[TextResourceContents(uri=params.uri, text=data.decode(), mime_type=JSON)])

    server = RunServer(
        NAME,
        version=release(),
        title="Replan",
        instructions=(desk.engine.root / "prompts" / TEXTS).read_text(encoding="utf-8"),
        on_list_tools=list_tools,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read,
    )
    server.add_request_handler("tools/call", CallToolRequestParams, call_tool)
    add_task_methods(server, desk)
    server.middleware.append(RequestStateBoundary(sealed, default_audience=NAME))
    return server
