"""The transport over standard input and output: a message a line, of bounded length, and both cut off at a stop.

What else the process prints goes to standard error while the server runs, and its children read nothing: a stray line
would break the protocol.
"""

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import trio
from mcp.server import Server
from mcp.server.stdio import stdio_server

from runtime.logs import log
from runtime.process.group import StreamLines

LINE_BYTES_MAX = 4 * 1024 * 1024
"""The longest message, in bytes: longer than any that the tools take."""


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the client on standard input and output until it closes its end, or this is cancelled."""
    async with _wires() as (incoming, outgoing):
        lines = StreamLines(incoming, line_bytes_max=LINE_BYTES_MAX)
        files = cast("anyio.AsyncFile[str]", lines), cast("anyio.AsyncFile[str]", TextWriter(outgoing))
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


class TextWriter:
    """A stream that takes text, as the transport writes it."""

    def __init__(self, stream: trio.abc.SendStream) -> None:
        self._stream = stream

    async def write(self, text: str) -> None:
        """Send a text. A client that has gone is noticed where its input ends."""
        try:
            await self._stream.send_all(text.encode("utf-8", "replace"))
        except trio.BrokenResourceError:
            log.get_logger("mcp").info("client.gone")

    async def flush(self) -> None:
        """Do nothing: nothing is kept back."""
