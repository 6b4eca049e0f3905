"""The HTTP server: Hypercorn under trio. It speaks only HTTP/1.1, and limits connections and slow clients.

The server listens on the loopback address. Behind a proxy, it may listen on another address. There, it accepts only
connections from the proxy.
"""

import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from math import inf
from typing import TYPE_CHECKING, cast

import h11
import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, Updated
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.protocol.http_stream import HTTPStream
from hypercorn.trio.task_group import TaskGroup
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import parse_socket_addr, wrap_app
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from replan_server.service.limits import KEEP_CONNECTION
from runtime.core.errors import UsageProblem
from runtime.logs import log

if TYPE_CHECKING:
    from hypercorn.typing import AppWrapper, ASGIFramework, ASGIReceiveEvent

HOST = "127.0.0.1"
CONNECTIONS_MAX = 64
"""The largest number of open connections from one address, if the server is not behind a proxy."""
PROXY_CONNECTIONS_MAX = 1024
"""The largest number of open connections from a proxy, for all its users together."""
SPARE_MAX = 16
"""The largest number of connections beyond the limits for addresses and proxies. Over these spare connections, only
health checks are answered."""
HEALTH = ("/livez", "/readyz")
HEAD_SECONDS = 10.0
"""How many seconds a client may take to send the head of its next request."""
HEAD_BYTES_MAX = 16 * 1024
"""The largest number of bytes in the head of a request."""
SEND_SECONDS = 30.0
"""How many seconds a client may take to read each part (64 KiB) of a response."""
TELL_SECONDS = 1.0
"""The time limit in seconds for passing the app the message that its request has ended."""
GRACE_SECONDS = 3.0
"""How many seconds requests in flight may still take after the server begins to stop."""


def loopback_names(port: int) -> frozenset[str]:
    """Return the values of the header `Host` that name a server on a port of this machine, such as `localhost:8430`."""
    return frozenset(f"{name}:{port}" for name in (HOST, "localhost"))


def bind_socket(port: int, host: str = HOST, option: str = "--port") -> socket.socket:
    """Return a socket that listens on a port of an address. The port 0 stands for any free port. Raises `UsageProblem`.

    `option` is the command line option that sets the port. The error message names this option.
    """
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(100)
    except OSError as error:
        listening.close()
        cause = f"port {port} of {host} cannot be used: {(error.strerror or str(error)).lower()}"
        raise UsageProblem(cause, place=option, hint="name another port, or 0 for any free port") from None
    listening.setblocking(False)
    return listening


class _Connection:
    """A connection that is closed if its client does not read the response.

    Hypercorn uses this class in place of `trio.SocketStream`.
    """

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self.socket = stream.socket
        self.is_known = False
        """Whether a client with a session or a token has sent a request over the connection."""
        self.in_flight = False
        """Whether a request is open: its head has come, and its response has not ended."""

    async def receive_some(self, most: int) -> bytes:
        return bytes(await self._stream.receive_some(most))

    async def send_all(self, data: bytes) -> None:
        view = memoryview(data)
        for start in range(0, len(view), 2**16):  # Each part has its own time limit.
            try:
                with trio.fail_after(SEND_SECONDS):
                    await self._stream.send_all(view[start : start + 2**16])
            except trio.TooSlowError:
                await trio.aclose_forcefully(self._stream)  # Else Hypercorn goes on reading requests from it.
                raise trio.BrokenResourceError("the client does not read the response") from None

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()

    def close(self) -> None:
        """Close the connection at once. Tasks that use the connection then fail."""
        self.socket.close()

    def keep(self) -> None:
        """Mark the client of the connection as known. Connections of unknown clients are closed first to make room."""
        self.is_known = True


class _OtherProtocol(Exception):
    """Raised for a client that speaks HTTP/2."""


class _Http1(H11Protocol):
    """Speaks only HTTP/1.1. Hypercorn's own class changes to HTTP/2 if the client asks for it."""

    async def _create_stream(self, request: h11.Request) -> None:
        self._giving = trio.CancelScope()
        await super()._create_stream(request)
        if isinstance(self.stream, HTTPStream):
            self.stream.app_put = partial(self._give, self.stream.app_put)

    async def _give(self, put: "Callable[[ASGIReceiveEvent], Awaitable[None]]", message: "ASGIReceiveEvent") -> None:
        """Pass a message to the app: a part of the body, or the end of the request.

        At the end of the request, no longer wait for the app to receive a part of the body.
        """
        ended = message["type"] == "http.disconnect"
        if ended:
            self._giving.cancel()
        with trio.move_on_after(TELL_SECONDS if ended else inf) as scope:
            if not ended:
                self._giving = scope
            await put(message)

    async def _check_protocol(self, event: h11.Request) -> None:
        if event.method == b"PRI":  # The beginning of HTTP/2. A header `upgrade: h2c` may be ignored (RFC 9110, 7.8).
            await self._send_error_response(505)
            raise _OtherProtocol

    async def _maybe_recycle(self) -> None:
        # Hypercorn tells the app here that the request has ended. If the app then cancels itself, the connection would
        # stay open without the shield.
        with trio.CancelScope(shield=True):
            await super()._maybe_recycle()


class _Server(TCPServer):
    """Serves one connection until it is closed."""

    def __init__(self, app: "AppWrapper", config: Config, context: WorkerContext, connection: _Connection) -> None:
        super().__init__(app, config, context, ConnectionState({}), connection)  # type: ignore[arg-type]
        self._connection = connection

    async def protocol_send(self, event: Event) -> None:
        """Send an event of the protocol. If the event is `Updated`, store whether a request is in flight."""
        if isinstance(event, Updated):
            self._connection.in_flight = not event.idle
        await super().protocol_send(event)

    async def run(self) -> None:
        """Serve the connection."""
        try:
            family = self.stream.socket.family
            client = parse_socket_addr(family, self.stream.socket.getpeername())
            server = parse_socket_addr(family, self.stream.socket.getsockname())
            async with TaskGroup() as tasks:
                self._task_group = tasks
                state = ConnectionState(self.state)
                self.protocol = _Http1(  # type: ignore[assignment]
                    self.app, self.config, self.context, tasks, state, False, client, server, self.protocol_send
                )
                await self.idle_task.restart(tasks, self._idle_timeout)
                try:
                    await self._read_data()
                except _OtherProtocol:
                    await self.protocol.handle(Closed())
                # The client has left. Its request may go on, but no longer counts as open, and no other request
                # follows.
                self._connection.in_flight = False
                await self.idle_task.stop()
        except OSError:
            pass
        finally:
            await self._close()


class Connections:
    """The open connections by address, at most `most` from one address.

    A client is known after it has sent a request with a session or a token. If an address has `most` connections, a new
    connection closes the oldest connection of an unknown client. If all clients are known, it closes the oldest
    connection without an open request. If all have open requests, the new connection is a spare one, over which only
    health checks are answered. If `SPARE_MAX` spare connections are open, a new one closes the oldest of them.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[str, list[_Connection]] = {}
        self._spare: list[_Connection] = []

    @contextmanager
    def count(self, peer: str, connection: _Connection) -> Iterator[bool]:
        """Count `connection` as open during a `with` block.

        Yield False if only health checks may be answered over it.
        """
        members = self._open.setdefault(peer, [])
        if len(members) >= self._most:
            waiting = (member for member in members if not member.in_flight)
            closed = next((member for member in members if not member.is_known), None) or next(waiting, None)
            if closed is None:
                members = self._spare
                closed = members[0] if len(members) >= SPARE_MAX else None
            if closed is not None:
                members.remove(closed)
                closed.close()
        members.append(connection)
        try:
            yield members is not self._spare
        finally:
            if connection in members:
                members.remove(connection)
            if not self._open.get(peer, True):
                del self._open[peer]


def only(paths: Sequence[str], app: ASGIApp) -> ASGIApp:
    """Return an app that passes only requests for `paths` to the other app.

    The returned app answers 503 for all other paths.
    """

    async def limited(scope: Scope, receive: Receive, send: Send) -> None:
        refusal = PlainTextResponse(
            "503 Service Unavailable: too many connections from this address are open\n",
            503,
            headers={"connection": "close", "retry-after": "5"},
        )
        await (app if scope.get("path") in paths else refusal)(scope, receive, send)

    return limited


async def serve(
    app: ASGIApp,
    listening: socket.socket,
    until: Callable[[], Awaitable[object]],
    trusted: Callable[[str], bool] | None = None,
) -> None:
    """Serve an ASGI app on a socket until `until` returns. Then wait at most `GRACE_SECONDS` for open requests.

    `trusted` tells whether an address belongs to the proxy. Connections from other addresses are closed before anything
    is read. If `trusted` is None, every address is served.
    """
    config = Config()
    config.errorlog = config.accesslog = None  # The app logs, after the redactor.
    config.include_server_header = False
    config.keep_alive_timeout = HEAD_SECONDS
    config.h11_max_incomplete_size = HEAD_BYTES_MAX
    context = WorkerContext(None)
    apps = {any_path: _wrap(app if any_path else only(HEALTH, app), config) for any_path in (True, False)}
    connections_of = Connections(CONNECTIONS_MAX if trusted is None else PROXY_CONNECTIONS_MAX)

    async def handle(stream: trio.SocketStream) -> None:
        try:
            peer = str(stream.socket.getpeername()[0])
        except OSError:  # It has gone already.
            peer = ""
        if not peer or (trusted is not None and not trusted(peer)):
            await trio.aclose_forcefully(stream)
            return
        connection = _Connection(stream)
        KEEP_CONNECTION.set(connection.keep)  # The tasks of its requests have this context.
        try:
            with connections_of.count(peer, connection) as any_path:
                await _Server(apps[any_path], config, context, connection)
        except Exception:  # noqa: BLE001 -- a fault of one connection ends that one only
            log.get_logger("web").exception("connection.failed")

    listener = trio.SocketListener(trio.socket.from_stdlib_socket(listening))
    async with trio.open_nursery() as connections, listener:
        async with trio.open_nursery() as accepting:
            accepting.start_soon(partial(trio.serve_listeners, handle, [listener], handler_nursery=connections))
            await until()
            accepting.cancel_scope.cancel()
        await context.terminated.set()
        connections.cancel_scope.deadline = trio.current_time() + GRACE_SECONDS


def _wrap(app: ASGIApp, config: Config) -> "AppWrapper":
    return wrap_app(cast("ASGIFramework", app), config.wsgi_max_body_size, "asgi")
