"""The transport over standard input and output: a message a line, of bounded length, and both cut off at a stop.

A line that is no message is answered with an error of JSON-RPC, under the id of the request if it can be read.

What else the process prints goes to standard error while the server runs, and its children read nothing: a stray line
would break the protocol.
"""

import fcntl
import json
import os
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import trio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import from_json

from runtime.logs import log
from runtime.process.group import StreamLines

LINE_BYTES_MAX = 4 * 1024 * 1024
"""The longest message, in bytes: longer than any that the tools take."""


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the client on standard input and output until it closes its end, or this is cancelled."""
    async with _wires() as (incoming, outgoing):
        lines = StreamLines(incoming, line_bytes_max=LINE_BYTES_MAX)
        writer = TextWriter(outgoing)
        files = cast("anyio.AsyncFile[str]", read_messages(lines, writer)), cast("anyio.AsyncFile[str]", writer)
        async with stdio_server(*files) as (read, write):
            await server.run(read, write, server.create_initialization_options())
        if lines.too_long:
            log.get_logger("mcp").warning("message.too_long", bytes_max=LINE_BYTES_MAX)


@asynccontextmanager
async def _wires() -> AsyncIterator[tuple[trio.abc.ReceiveStream, trio.abc.SendStream]]:
    """Yield standard input and output, in whose places are nothing and standard error for the length of a block."""
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    kept = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 3) for number in (0, 1)]
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    incoming, outgoing = trio.lowlevel.FdStream(kept[0]), trio.lowlevel.FdStream(kept[1])
    try:
        yield incoming, outgoing
    finally:
        with trio.CancelScope(shield=True):
            await incoming.aclose()
            await outgoing.aclose()


async def read_messages(lines: AsyncIterable[str], writer: "TextWriter") -> AsyncIterator[str]:
    """Yield the lines that are messages of JSON-RPC; answer each other line with an error, unless it is empty."""
    async for line in lines:
        if is_message(line):
            yield line
        elif line.strip():
            await writer.write(f"{json.dumps(error_for(line))}\n")


def is_message(line: str) -> bool:
    """Tell whether a line is a message. To the SDK, a request whose id is neither text nor int is a notification."""
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return False
    return not (isinstance(message, JSONRPCNotification) and '"id"' in line and "id" in json.loads(line))


def error_for(line: str) -> dict[str, Any]:
    """Return the error of JSON-RPC that answers a line which is no message."""
    code, message = INVALID_REQUEST, "this is no message of JSON-RPC 2.0"
    try:
        from_json(line)
    except ValueError as error:
        code, message = PARSE_ERROR, f"not JSON: {error}"[:200]
    try:
        sent = json.loads(line)  # It reads what the protocol's reader refuses, such as half a surrogate.
    except (ValueError, RecursionError):
        sent = None
    if isinstance(sent, list):
        message = "a batch is not read: send each message in a line of its own"
    number = sent.get("id") if isinstance(sent, dict) and "method" in sent else None
    known = isinstance(number, int | str) and not isinstance(number, bool)
    return {"jsonrpc": "2.0", "id": number if known else None, "error": {"code": code, "message": message}}


class TextWriter:
    """A stream that takes text, as the transport writes it."""

    def __init__(self, stream: trio.abc.SendStream) -> None:
        self._stream, self._lock = stream, trio.Lock()

    async def write(self, text: str) -> None:
        """Send a text. A client that has gone is noticed where its input ends."""
        try:
            async with self._lock:
                await self._stream.send_all(text.encode("utf-8", "replace"))
        except trio.BrokenResourceError:
            log.get_logger("mcp").info("client.gone")

    async def flush(self) -> None:
        """Do nothing: nothing is kept back."""
