"""A session with an MCP server. The tool is first compared with the server's list of tools, and is then called.

If the call returns a task, the task is polled until it ends. Tasks are the protocol's extension
`io.modelcontextprotocol/tasks` of 2026-07-28. A server without this extension returns the result of each call directly.
"""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from itertools import islice
from typing import Any, ClassVar, Literal

import trio
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match
from jsonschema.validators import extend, validator_for
from mcp import Client
from mcp.client import ClaimContext, ClientExtension, ResultClaim
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    Request,
    RequestParams,
    ResourceLink,
    Result,
    TextContent,
    TextResourceContents,
)
from mcp_types import Tool as ListedTool
from pydantic import ConfigDict, TypeAdapter
from referencing import Registry

from actors.handlers.tools import ToolResult
from actors.run.tools import ToolOutcome
from actors.tools.mcp_wires import ReplyUnreadable, Streams, open_streams
from actors.tools.specs import McpSpec
from runtime.core.errors import root_cause

POLL_SECONDS = (0.05, 30.0)
"""The shortest and the longest time between two polls of a task, in seconds. If the server asks for a pause outside
these bounds, the nearest bound is used.
"""
SLOWER = 0.05
"""The shortest time between two polls of a task, as a fraction of the time that the task has taken so far."""
CANCEL_SECONDS = 2.0
"""The time limit, in seconds, for cancelling a task of an MCP server."""
ANY: Any = TypeAdapter(dict[str, Any])
"""The type that accepts any JSON object and returns it unchanged."""


class StartedTask(Result):
    """The result of a call that the server continues as a task."""

    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"]


class _TaskParams(RequestParams):
    task_id: str


class _Poll(Request[_TaskParams, Literal["tasks/get"]]):
    name_param: ClassVar[str | None] = "taskId"


class _Cancel(Request[_TaskParams, Literal["tasks/cancel"]]):
    name_param: ClassVar[str | None] = "taskId"


class TaskFailed(Exception):
    """A task has ended without a result. The message of the exception is the cause, as a clause."""


class TasksAccepted(ClientExtension):
    """Tells servers that they may answer a call with a task."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> list[ResultClaim[Any]]:
        """Return the type of a result that is a task. The SDK does not poll the task, because `wait_for_task` does."""
        return [ResultClaim(result_type="task", model=StartedTask, resolve=_never)]


async def _never(task: StartedTask, context: ClaimContext) -> CallToolResult:
    raise AssertionError(f"{task} is polled by `wait_for_task`, not in {context}")


async def wait_for_task(client: Client, started: Mapping[str, Any]) -> Mapping[str, Any]:
    """Wait until a task has ended, and return its result.

    Raises `TaskFailed`. Raises `MCPError` if the server answers a poll with an error, or if the task has failed with an
    error.
    """
    task, begun, state = started.get("taskId"), trio.current_time(), started
    if not isinstance(task, str):
        raise TaskFailed("the server has started a task without an id")
    while True:
        match state.get("status"):
            case "completed" if isinstance(result := state.get("result"), dict):
                return result
            case "completed" if state is not started:  # Only a poll can have the result.
                raise MCPError(INTERNAL_ERROR, "the task is completed, but has no result")
            case "completed" | "working":
                await trio.sleep(_pause(state.get("pollIntervalMs"), trio.current_time() - begun))
            case "failed":
                raise MCPError(INTERNAL_ERROR, _message(state.get("error")))
            case "input_required":
                await _cancel_task(client, task)
                raise TaskFailed("the task asks for input, which no step can give")
            case "cancelled":
                raise TaskFailed("the server has cancelled the task")
            case _:
                raise TaskFailed("the server reports a task status that the protocol does not define")
        poll = _Poll(method="tasks/get", params=_TaskParams(task_id=task))
        state = await client.session.send_request(poll, ANY)


def _pause(wished_ms: Any, elapsed: float) -> float:
    """Return the seconds until the next poll of a task.

    `wished_ms` is the pause that the server wishes, in milliseconds. `elapsed` is how long the task has taken so far,
    in seconds.
    """
    least, most = POLL_SECONDS
    wish = wished_ms / 1000 if isinstance(wished_ms, int | float) else least
    return min(max(least, wish, SLOWER * elapsed), most)


def _message(error: Any) -> str:
    message = error.get("message") if isinstance(error, dict) else None
    return message[:500] if isinstance(message, str) else "the task failed without a reason"


async def _cancel_task(client: Client, task: str) -> None:
    """Send a request to cancel a task. Errors and a missing answer are ignored."""
    with trio.move_on_after(CANCEL_SECONDS):
        try:
            cancel = _Cancel(method="tasks/cancel", params=_TaskParams(task_id=task))
            await client.session.send_request(cancel, ANY)
        except Exception:  # noqa: BLE001, S110 -- the call has ended, whatever the server says
            pass


PAGES_MAX = 20
"""The largest number of pages that are read from the list of an MCP server's tools."""
REASON_READ = 2_000
"""The largest number of characters that are used from the text of an MCP server's error."""
EVALUATIONS_MAX = 2_000
"""The largest number of keywords that are evaluated when the arguments of one call are checked against a schema.
Without this limit, a small schema with references can take endless time.
"""
ERRORS_MAX = 10
"""The largest number of errors in a call's arguments that are compared. Only the most relevant of them is reported."""
UNEVALUATED = frozenset({"pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems"})
"""The keywords of a schema that only the server checks. Evaluating them can match patterns, and this might never
end."""


async def call_server(
    spec: McpSpec,
    arguments: Mapping[str, Any],
    streams: AbstractAsyncContextManager[Streams],
    send: Callable[[], None],
) -> ToolResult:
    """Return the result of a call. `send` is called right before the call is sent.

    Raises nothing except cancellation.
    """
    return await _talk(streams, lambda client: _call(spec, arguments, client, send))


async def list_schemas(streams: AbstractAsyncContextManager[Streams]) -> ToolResult:
    """Return a result whose output is a JSON object: the name of each tool of a server, with the tool's schema.

    Raises nothing except cancellation.
    """

    async def listed(client: Client) -> ToolResult:
        async with aclosing(_listed_tools(client)) as tools:
            schemas = {tool.name: tool.input_schema async for tool in tools}
        return ToolResult(ToolOutcome.SUCCEEDED, json.dumps(schemas))

    return await _talk(streams, listed)


async def _talk(
    streams: AbstractAsyncContextManager[Streams], work: Callable[[Client], Awaitable[ToolResult]]
) -> ToolResult:
    result: ToolResult | None = None
    try:
        async with Client(open_streams(streams), cache=None, extensions=[TasksAccepted()]) as client:
            result = await work(client)
    except BaseExceptionGroup as group:
        cancelled, rest = group.split(trio.Cancelled)
        if cancelled is not None:
            raise cancelled from None
        assert rest is not None
        cause = root_cause(rest)
        if not isinstance(cause, Exception):
            raise
        return result or _broken_result(cause)
    except Exception as error:  # noqa: BLE001 -- whatever a server causes is the outcome of the call
        return result or _broken_result(error)
    return result


async def _listed_tools(client: Client) -> AsyncGenerator[ListedTool]:
    cursor: str | None = None
    for _ in range(PAGES_MAX):
        # With the session's own method, the session would check later results against the server's schemas.
        request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
        page = await client.session.send_request(request, ListToolsResult)
        for tool in page.tools:
            yield tool
        cursor = page.next_cursor
        if not cursor:
            return


async def _find_tool(client: Client, name: str) -> ListedTool | None:
    async with aclosing(_listed_tools(client)) as tools:
        async for tool in tools:
            if tool.name == name:
                return tool
    return None


def schema_problem(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """Return why arguments do not fit a server's schema, as a clause; empty if they fit.

    Nothing is downloaded. Parts of the schema that cannot be evaluated are skipped, because the server checks the
    arguments too.
    """
    if not isinstance(schema.get("properties", {}), Mapping):
        return "the server's schema of the tool cannot be read"
    left = EVALUATIONS_MAX

    def guarded(keyword: str, evaluate: Callable[..., Any]) -> Callable[..., Any]:
        def errors(validator: Any, value: Any, instance: Any, around: Mapping[str, Any]) -> Iterator[ValidationError]:
            nonlocal left
            left -= 1
            is_open = keyword == "additionalProperties" and "patternProperties" in around
            if left > 0 and not is_open and keyword not in UNEVALUATED:
                with suppress(Exception):  # A keyword may be wrong, or refer to an address.
                    yield from evaluate(validator, value, instance, around) or ()

        return errors

    known = validator_for(schema, default=Draft202012Validator)
    bounded = extend(  # type: ignore[no-untyped-call]
        known, {keyword: guarded(keyword, evaluate) for keyword, evaluate in known.VALIDATORS.items()}
    )
    error = best_match(islice(bounded(schema, registry=Registry()).iter_errors(arguments), ERRORS_MAX))
    if error is None:
        return ""
    place = ".".join(map(str, error.absolute_path))
    return _one_line(f"the server's schema rejects {place or 'the arguments'}: {error.message[:200]}")


async def _call(spec: McpSpec, arguments: Mapping[str, Any], client: Client, send: Callable[[], None]) -> ToolResult:
    tool = await _find_tool(client, spec.remote)
    problem = f"the server {spec.server!r} lists no tool {spec.remote!r}"
    if tool is not None:
        problem = await trio.to_thread.run_sync(schema_problem, tool.input_schema, arguments)
    if problem:
        return ToolResult(ToolOutcome.PERMANENT, reason=problem)
    send()
    return await _result(spec, arguments, client)


async def _result(spec: McpSpec, arguments: Mapping[str, Any], client: Client) -> ToolResult:
    request = CallToolRequest(params=CallToolRequestParams(name=spec.remote, arguments=dict(arguments)))
    try:
        sent = await client.session.send_request(request, ANY)
        result = CallToolResult.model_validate(
            await wait_for_task(client, sent) if sent.get("resultType") == "task" else sent, by_name=False
        )
    except TaskFailed as failure:
        return ToolResult(ToolOutcome.FAILED, reason=str(failure))
    except MCPError as error:
        refused = error.code in (INVALID_PARAMS, METHOD_NOT_FOUND)
        outcome = ToolOutcome.PERMANENT if refused else ToolOutcome.BROKEN
        return ToolResult(outcome, reason=_one_line(f"the server answered with an error: {error.message}"))
    text = await trio.to_thread.run_sync(text_of, result)
    if result.is_error:
        return ToolResult(ToolOutcome.FAILED, text, "the server reports that the tool failed")
    return ToolResult(ToolOutcome.SUCCEEDED, text)


def text_of(result: CallToolResult) -> str:
    """Return the texts of a result, the names of other content, and the structured value.

    The value is left out if a text repeats it.
    """
    texts = [_text(block) for block in result.content]
    value = result.structured_content
    if value is not None and not _is_json_of(texts, value):
        texts.append(json.dumps(value, ensure_ascii=False))
    return "\n".join(texts)


def _is_json_of(texts: list[str], value: Any) -> bool:
    """Return whether the texts of a result repeat its structured value as JSON.

    Servers that use the SDK may wrap the value as `{"result": …}`.
    """
    read = [_parse_message(text) for text in texts]
    forms: list[Any] = [texts, read, *(texts + read if len(texts) == 1 else ())]
    return value in forms or (isinstance(value, dict) and [*value] == ["result"] and value["result"] in forms)


def _parse_message(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(block: ContentBlock) -> str:
    match block:
        case TextContent():
            return block.text
        case ResourceLink():
            return f"[{block.type}: {block.uri}]"
        case EmbeddedResource(resource=TextResourceContents(uri=uri, text=text)):
            return f"[{block.type}: {uri}]\n{text}"
        case EmbeddedResource():
            return f"[{block.type}: {block.resource.uri}]"
        case _:
            return f"[{block.type}]"


def _broken_result(error: Exception) -> ToolResult:
    words = str(error) if isinstance(error, MCPError | ReplyUnreadable) else f"{type(error).__name__}: {error}"
    return ToolResult(ToolOutcome.BROKEN, reason=_one_line(f"the connection to the server broke: {words}"))


def _one_line(text: str) -> str:
    return " ".join(text[:REASON_READ].split())
