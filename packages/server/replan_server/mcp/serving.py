"""Serves a home over MCP, and drives its runs, until a stop is requested.

This module also stores the key that seals state. A client gets sealed state, cannot change it, and sends it back later.
"""

import fcntl
import json
import os
import secrets
from collections.abc import AsyncIterable, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import trio
from mcp.server import Server
from mcp.server.request_state import RequestStateSecurity
from mcp.server.stdio import stdio_server
from mcp_types import INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import from_json

from replan.runs.engine import Engine
from replan.setup.home_folder import Home
from replan_server.mcp.calls import Desk
from replan_server.mcp.server import make_server
from replan_server.service.cached_reader import CachedReader
from replan_server.service.live import Hub
from replan_server.service.orders import ServerOffer
from replan_server.service.service import WAITING_MAX, drive_runs
from replan_server.service.store import Store
from runtime.core.errors import UsageProblem
from runtime.drive.options import Stop
from runtime.host.notices import Report
from runtime.journal.port import Placement
from runtime.logs import log
from runtime.process.group import StreamLines

if TYPE_CHECKING:
    import anyio

LINE_BYTES_MAX = 4 * 1024 * 1024
"""The largest number of bytes in one message on standard input. Valid arguments of any tool fit into this size."""


async def _serve_stdio(server: Server[Any]) -> None:
    """Serve the client on standard input and output until the client closes the input."""
    async with _open_stdio() as (incoming, outgoing):
        lines = StreamLines(incoming, line_bytes_max=LINE_BYTES_MAX)
        writer = TextWriter(outgoing)
        files = cast("anyio.AsyncFile[str]", read_messages(lines, writer)), cast("anyio.AsyncFile[str]", writer)
        async with stdio_server(*files) as (read, write):
            await server.run(read, write, server.create_initialization_options())
        if lines.too_long:
            log.get_logger("mcp").warning("message.too_long", bytes_max=LINE_BYTES_MAX)


@asynccontextmanager
async def _open_stdio() -> AsyncIterator[tuple[trio.abc.ReceiveStream, trio.abc.SendStream]]:
    """Yield streams for standard input and output.

    During the block, other code that reads standard input gets nothing, and what it prints goes to stderr.
    """
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
    """Yield the lines that are messages of JSON-RPC. Answer every other line with an error, unless it is blank."""
    async for line in lines:
        if _is_message(line):
            yield line
        elif line.strip():
            await writer.write(f"{json.dumps(_error_for(line))}\n")


def _is_message(line: str) -> bool:
    """Return whether a line is a message of JSON-RPC.

    A request whose id is not a text or an integer is not a message. The SDK would read it as a notification.
    """
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return False
    return not (isinstance(message, JSONRPCNotification) and '"id"' in line and "id" in json.loads(line))


def _error_for(line: str) -> dict[str, Any]:
    code, message = INVALID_REQUEST, "this line is not a message of JSON-RPC 2.0"
    try:
        from_json(line)
    except ValueError as error:
        code, message = PARSE_ERROR, f"not JSON: {error}"[:200]
    try:
        sent = json.loads(line)  # It reads what the protocol's reader refuses, such as half a surrogate.
    except (ValueError, RecursionError):
        sent = None
    if isinstance(sent, list):
        message = "batches are not supported: send each message in a line of its own"
    number = sent.get("id") if isinstance(sent, dict) and "method" in sent else None
    known = isinstance(number, int | str) and not isinstance(number, bool)
    return {"jsonrpc": "2.0", "id": number if known else None, "error": {"code": code, "message": message}}


class TextWriter:
    """A text stream with the methods that the SDK's transport calls."""

    def __init__(self, stream: trio.abc.SendStream) -> None:
        self._stream, self._lock = stream, trio.Lock()

    async def write(self, text: str) -> None:
        """Send a text. If the client has closed its end, only log this, because the server's input ends too."""
        try:
            async with self._lock:
                await self._stream.send_all(text.encode("utf-8", "replace"))
        except trio.BrokenResourceError:
            log.get_logger("mcp").info("client.gone")

    async def flush(self) -> None:
        """Do nothing: `write` has no buffer."""


NAME = "mcp.key"
"""The name of the file with the key that seals state. The file is in the home, and only its owner can read it."""
BYTES = 32
"""The number of random bytes of the key that seals state."""
SECONDS = 30 * 24 * 3600.0
"""How long sealed state is valid, in seconds. The time is long, because people may take days to answer a question."""


def security(folder: Path) -> RequestStateSecurity:
    """Return the settings that seal state with the key in `folder`, the home. If there is no key, make one.

    Raises `UsageProblem` for a key that is not private, or has a wrong length.
    """
    return RequestStateSecurity(keys=[_key(folder / NAME)], ttl=SECONDS)


def _key(path: Path) -> bytes:
    hint = "delete the file; open forms are then refused, and their questions are asked again"
    with suppress(FileExistsError):
        _make(path)
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
            raise UsageProblem(
                "this key belongs to another user, or other users can read or change it", place=str(path), hint=hint
            )
        key = file.read(BYTES + 1)
    if len(key) != BYTES:
        raise UsageProblem(f"the key has {len(key)} bytes instead of {BYTES}", place=str(path), hint=hint)
    return key


def _make(path: Path) -> None:
    """Write a new key. The file appears only when it is complete. Raises `FileExistsError` if a key exists."""
    if path.exists():
        raise FileExistsError
    draft = path.with_name(f".{NAME}.{os.getpid()}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(BYTES))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    finally:
        draft.unlink()


@dataclass(frozen=True, slots=True)
class McpOptions:
    """The options of `replan mcp`."""

    port: int | None = None
    """The HTTP port; 0 for any free port; None for standard input and output."""
    hosts: bool = True
    """Whether this process drives the runs of the home."""
    allow_execute: bool = False
    """Whether clients may execute plans."""


async def serve_mcp(
    engine: Engine,
    home: Home,
    options: McpOptions,
    *,
    stop: Stop,
    report: Report,
    opened: Callable[[str], None],
) -> None:
    """Serve the runs of a home until a stop is requested or, over stdio, the client closes the input.

    Over HTTP, `opened` is called with the server's address when the server listens. Raises `UsageProblem` for a port or
    a key that cannot be used, and the errors of `drive_runs`.
    """
    waiting, requests = trio.open_memory_channel[str](WAITING_MAX)
    desk = Desk(
        engine=replace(engine, placement=Placement(engine.config.clients.tenant)),
        reader=CachedReader(engine.journal, engine.kinds),
        offer=ServerOffer(engine.config, home.folder, engine.root),
        store=Store(home.folder),
        hub=Hub(engine.journal),
        now=engine.clock.now,
        waiting=waiting if options.hosts else None,
        allow_execute=options.allow_execute,
    )
    sealed = security(home.folder)
    with waiting, requests:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.hub.watch)
            async with trio.open_nursery() as both:
                both.start_soon(_end_waits, stop, desk.stop)
                if options.hosts:
                    both.start_soon(partial(drive_runs, engine, requests, stop=stop, report=report))
                if options.port is None:
                    both.start_soon(_over_stdio, desk, sealed, stop)
                else:
                    both.start_soon(_over_http, desk, sealed, options.port, stop, opened)
            nursery.cancel_scope.cancel()


async def _over_stdio(desk: Desk, sealed: RequestStateSecurity, stop: Stop) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_cancel_at, stop, nursery.cancel_scope)
        await _serve_stdio(make_server(desk, sealed))
        stop.requested.set()


async def _over_http(
    desk: Desk, sealed: RequestStateSecurity, port: int, stop: Stop, opened: Callable[[str], None]
) -> None:
    from replan_server.mcp.http import PATH, http_app  # noqa: PLC0415 -- stdio needs no web server
    from replan_server.web.server import HOST, bind_socket, serve  # noqa: PLC0415

    with bind_socket(port) as listening:
        port = listening.getsockname()[1]
        async with http_app(desk, make_server(desk, sealed), port) as app:
            opened(f"http://{HOST}:{port}{PATH}")
            await serve(app, listening, stop.requested.wait)


async def _end_waits(stop: Stop, waits: trio.Event) -> None:
    await stop.requested.wait()
    waits.set()


async def _cancel_at(stop: Stop, scope: trio.CancelScope) -> None:
    await stop.requested.wait()
    scope.cancel()
