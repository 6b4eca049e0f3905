"""Serving a home over MCP, with a host beside it and the key that seals what clients hand back, until a stop."""

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import trio
from mcp.server.request_state import RequestStateSecurity

from replan.mcp.calls import Desk
from replan.mcp.server import make_server
from replan.mcp.stdio import serve_stdio
from replan.runs.cached import CachedReader
from replan.runs.engine import Engine
from replan.runs.orders import Offer
from replan.service.live import Hub
from replan.service.service import WAITING_MAX, drive_runs
from replan.service.store import Store
from replan.setup.home_folder import Home
from replan.setup.settings import UserConfig
from runtime.core.errors import UsageProblem
from runtime.drive.options import Stop
from runtime.host.notices import Report
from runtime.journal.port import Placement

NAME = "mcp.key"
"""The name of the file in the home; it is private, and made when it is needed first."""
BYTES = 32
"""Random bytes of the key."""
SECONDS = 30 * 24 * 3600.0
"""How long a client may keep what was sealed: people take days to answer."""


def security(folder: Path) -> RequestStateSecurity:
    """Return how state is sealed, with the key of a home, whose folder exists. Raises `UsageProblem`."""
    return RequestStateSecurity(keys=[_key(folder / NAME)], ttl=SECONDS)


def _key(path: Path) -> bytes:
    hint = "remove it: forms that clients still show are refused then, and asked again"
    with suppress(FileExistsError):
        _make(path)
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(handle)
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o077:
            raise UsageProblem("others than you may read or change this key", place=str(path), hint=hint)
        key = file.read(BYTES + 1)
    if len(key) != BYTES:
        raise UsageProblem(f"a key has {BYTES} bytes, this one {len(key)}", place=str(path), hint=hint)
    return key


def _make(path: Path) -> None:
    """Write a new key. Raises `FileExistsError` where there is one; a file with half a key is never at the path."""
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
class Wish:
    """How the server is to be run."""

    port: int | None = None
    """The port of HTTP, 0 for any that is free; None for standard input and output."""
    hosts: bool = True
    """Whether the runs of the home are driven here."""
    allow_execute: bool = False
    """Whether clients may execute plans."""


async def serve_mcp(
    engine: Engine,
    home: Home,
    config: UserConfig,
    wish: Wish,
    *,
    stop: Stop,
    report: Report,
    opened: Callable[[str], None],
) -> None:
    """Serve the runs of a home until a stop is requested, over stdio also until the client closes its end.

    `opened` is called with the address once the server listens on one. Raises `UsageProblem` for a port that cannot be
    used, and the errors of `host`.
    """
    waiting, asked = trio.open_memory_channel[str](WAITING_MAX)
    desk = Desk(
        engine=replace(engine, placement=Placement(config.clients.tenant)),
        reader=CachedReader(engine.journal, engine.kinds),
        offer=Offer(config, home.folder, engine.root),
        store=Store(home.folder),
        hub=Hub(engine.journal),
        now=engine.clock.now,
        waiting=waiting if wish.hosts else None,
        allow_execute=wish.allow_execute,
    )
    sealed = security(home.folder)
    with waiting, asked:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(desk.hub.watch)
            async with trio.open_nursery() as both:
                both.start_soon(_end_waits, stop, desk.stop)
                if wish.hosts:
                    both.start_soon(partial(drive_runs, engine, config, asked, stop=stop, report=report))
                if wish.port is None:
                    both.start_soon(_over_stdio, desk, sealed, stop)
                else:
                    both.start_soon(_over_http, desk, sealed, wish.port, stop, opened)
            nursery.cancel_scope.cancel()


async def _over_stdio(desk: Desk, sealed: RequestStateSecurity, stop: Stop) -> None:
    """Serve the client on standard input and output; when it has gone, request the stop."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_cancel_at, stop, nursery.cancel_scope)
        await serve_stdio(make_server(desk, sealed))
        stop.requested.set()


async def _over_http(
    desk: Desk, sealed: RequestStateSecurity, port: int, stop: Stop, opened: Callable[[str], None]
) -> None:
    from replan.mcp.http import PATH, http_app  # noqa: PLC0415 -- stdio needs no web server
    from replan.web.server import HOST, bind_socket, serve  # noqa: PLC0415

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
