"""A call of an MCP tool: its caller, its client's abilities and forms, and its result."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from mcp.server.context import ServerRequestContext
from mcp_types import CallToolResult, ElicitResult, InputResponses, TextContent
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from replan.setup.installation import program
from replan_server.service.access import Principal
from replan_server.service.limits import Streams
from replan_server.service.requests import MCP, ProgramRequest, encode_json
from replan_server.service.service import Service
from runtime.core.errors import UsageProblem

TASKS = "io.modelcontextprotocol/tasks"
"""The name of the MCP extension for tasks. For a client with this extension, a call that starts a run returns a
task."""
ANSWER_BYTES_MAX = 1024 * 1024
"""The largest number of bytes of the JSON that a call returns. The whole response contains this JSON twice: as text and
as a structure."""
LOCAL = Principal("mcp", "control")
"""The caller of a server that uses standard input and output. This caller is the user's own program, which has started
the server."""


@dataclass(frozen=True, kw_only=True)
class Desk(Service):
    """The service of an MCP server, with the limit on waiting calls."""

    waits: Streams = field(
        default_factory=lambda: Streams("too many calls are waiting; try again when one of them has ended")
    )


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool."""

    desk: Desk
    who: Principal
    context: ServerRequestContext[Any, Any]
    responses: InputResponses | None = None
    state: str | None = None
    """The sealed state that the client has sent back with its forms; None without forms."""

    @property
    def modern(self) -> bool:
        """Whether the protocol is so new that forms are the result of a call, and not sent during the call."""
        return self.context.protocol_version in MODERN_PROTOCOL_VERSIONS

    @property
    def can_ask(self) -> bool:
        """Whether the client can show forms to its user, and may send the answers."""
        known = self.context.session.client_capabilities
        offered = None if known is None else known.elicitation
        # An empty capability means forms, as in the first protocol version that had it.
        return self.who.may("answer") and offered is not None and (offered.form is not None or offered.url is None)

    @property
    def has_tasks(self) -> bool:
        """Whether the client accepts a task as the result of a call. Only newer versions of the protocol have tasks."""
        known = self.context.session.client_capabilities
        return self.modern and known is not None and TASKS in (known.extensions or {})

    @property
    def answers(self) -> Mapping[str, ElicitResult]:
        """The filled forms that the client has sent, by the names of the questions."""
        responses = self.responses or {}
        return {name: response for name, response in responses.items() if isinstance(response, ElicitResult)}

    def request(self, **given: Any) -> ProgramRequest:
        """Return the call as a `ProgramRequest`. `given` has further fields of the request."""
        return ProgramRequest(service=self.desk, who=self.who, terms=MCP, **given)

    async def progress(self, count: float, text: str) -> None:
        """Notify the client of the progress of the call, if the client has asked for notifications."""
        await self.context.session.report_progress(count, None, text)


def caller_of(context: ServerRequestContext[Any, Any]) -> Principal:
    """Return the sender of a request: the token's owner over HTTP, the user's own program over stdio."""
    request = context.request
    if request is None:
        return LOCAL
    who = request.scope["replan.caller"]
    assert isinstance(who, Principal)
    return who


def to_bounded_json(value: Any) -> bytes:
    """Return a value as JSON. Raises `UsageProblem` if it has more than `ANSWER_BYTES_MAX` bytes."""
    data = encode_json(value)
    if len(data) > ANSWER_BYTES_MAX:
        hint = f"`{program()} show RUN --json` prints the whole result"
        raise UsageProblem(f"the answer has {len(data):,} bytes; at most {ANSWER_BYTES_MAX:,} can be sent", hint=hint)
    return data


def call_result(value: Mapping[str, Any], *, is_error: bool = False) -> CallToolResult:
    """Return a value as the result of a call. Raises `UsageProblem` if the value is too large."""
    data = to_bounded_json(value)
    text = TextContent(text=data.decode())
    return CallToolResult(content=[text], structured_content=orjson.loads(data), is_error=is_error)


def error_result(text: str) -> CallToolResult:
    """Return an error as the result of a call."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
