"""What a call of a tool comes to on the wire: the checked arguments, the result within its size, errors as one line."""

from collections.abc import Mapping
from typing import Any

import orjson
from mcp_types import CallToolResult, InputRequiredResult, TextContent
from pydantic import ValidationError

from replan.mcp.asking import wait
from replan.mcp.calls import Call
from replan.service.bodies import Started
from replan.service.messages import hashed_key
from replan.service.operations import Operation, Tool
from replan.service.problems import MCP, in_terms, wrong_value
from replan.service.requests import encoded
from replan.setup.command_name import program
from replan.views.errors import line_of_error
from runtime.core.errors import ReplanError, UsageProblem
from runtime.logs import log

ANSWER_BYTES_MAX = 1024 * 1024
"""Bytes of one answer as JSON; it is sent twice, as text and as a structure."""


async def answered(
    operation: Operation, tool: Tool, call: Call, arguments: Mapping[str, Any]
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


async def _carried_out(operation: Operation, call: Call, wanted: Any) -> Mapping[str, Any] | InputRequiredResult:
    if operation.function is None:
        return await wait(call, wanted)
    starts, run, key = operation.gives is Started, getattr(wanted, "id", None) or "", ""
    if (sent_key := getattr(wanted, "idempotency_key", None)) is not None:
        action = f"mcp {operation.name}" if starts else f"mcp {operation.name} {run}"
        key = hashed_key(sent_key, call.who, action, place="idempotency_key")
    question = getattr(wanted, "question", "")
    value = await operation.function(call.request(run=run, question=question, body=wanted, key=key))
    return {**value, "next": "call `wait`"} if starts else value


def checked(tool: Tool, arguments: Mapping[str, Any]) -> Any:
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
