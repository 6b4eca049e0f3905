"""The results of calls of tools."""

from collections.abc import Mapping
from typing import Any

import orjson
from mcp_types import CallToolResult, TextContent

from replan.service.requests import encoded
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem

ANSWER_BYTES_MAX = 1024 * 1024
"""Bytes of one answer as JSON; it is sent twice, as text and as a structure."""


def fitting(value: Any) -> bytes:
    """Return a value as JSON. Raises `UsageProblem` for one that is too large to be sent."""
    data = encoded(value)
    if len(data) > ANSWER_BYTES_MAX:
        hint = f"`{program()} show RUN --json` prints all of it"
        raise UsageProblem(f"the answer has {len(data):,} bytes, and {ANSWER_BYTES_MAX:,} are sent", hint=hint)
    return data


def sent(value: Mapping[str, Any], *, is_error: bool = False) -> CallToolResult:
    """Return a result. Raises `UsageProblem` for one that is too large."""
    data = fitting(value)
    text = TextContent(text=data.decode())
    return CallToolResult(content=[text], structured_content=orjson.loads(data), is_error=is_error)


def failed(text: str) -> CallToolResult:
    """Return an error as the answer of a call."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
