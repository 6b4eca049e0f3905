"""The server: Hypercorn under trio with limits of connections and of unread responses.

It listens on the loopback address, or on another one for a proxy, whose addresses alone may connect.
"""

import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, cast

import trio
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import wrap_app
from starlette.types import ASGIApp

from runtime.core.errors import UsageProblem
from runtime.logs import log

if TYPE_CHECKING:
    from hypercorn.typing import ASGIFramework

HOST = "127.0.0.1"
"""The address that the server listens on, unless a proxy is before it."""
CONNECTIONS_MAX = 64
"""Connections of one address at a time."""
PROXY_CONNECTIONS_MAX = 1024
"""Connections of a proxy at a time: those of all its users."""
HEAD_SECONDS = 10.0
"""How long a connection may take until the head of its next request is complete."""
HEAD_BYTES_MAX = 16 * 1024
"""The longest head of a request."""
SEND_SECONDS = 30.0
"""How long a client may leave a part of a response unread."""
GRACE_SECONDS = 3.0
"""How long requests in flight may take when the server stops."""


def loopback_names(port: int) -> frozenset[str]:
    """Return the values of `Host` by which everybody knows a server on a port of this machine."""
    return frozenset(f"{name}:{port}" for name in (HOST, "localhost"))


def bound(port: int, host: str = HOST, option: str = "--port") -> socket.socket:
    """Return a socket that listens on a port of an address; 0 takes a free port. Raises `UsageProblem`.

    `option` is the one that names the port, for the message.
    """
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(100)
    except OSError as error:
        listening.close()
        cause = f"port {port} of {host} cannot be used: {(error.strerror or str(error)).lower()}"
        raise UsageProblem(cause, place=option, hint="name another port, or 0 for any that is free") from None
    listening.setblocking(False)
    return listening


class _Connection:
    """A connection whose peer must read what it is sent. Hypercorn uses it as it uses a `trio.SocketStream`."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self.socket = stream.socket

    async def receive_some(self, most: int) -> bytes:
        return bytes(await self._stream.receive_some(most))

    async def send_all(self, data: bytes) -> None:
        view = memoryview(data)
        for start in range(0, len(view), 2**16):  # The time is one for each part.
            try:
                with trio.fail_after(SEND_SECONDS):
                    await self._stream.send_all(view[start : start + 2**16])
            except trio.TooSlowError:
                await trio.aclose_forcefully(self._stream)  # Else Hypercorn goes on reading requests from it.
                raise trio.BrokenResourceError("the client does not read") from None

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        await self._stream.aclose()


async def serve(
    app: ASGIApp,
    listening: socket.socket,
    until: Callable[[], Awaitable[object]],
    trusted: Callable[[str], bool] | None = None,
) -> None:
    """Serve an ASGI app on a socket until `until` returns; then let requests in flight end, for `GRACE_SECONDS`.

    `trusted` tells whether a proxy connects from an address; with it, other connections are closed unread.
    """
    config = Config()
    config.errorlog = config.accesslog = None  # The app logs, after the redactor.
    config.include_server_header = False
    config.keep_alive_timeout = HEAD_SECONDS
    config.h11_max_incomplete_size = HEAD_BYTES_MAX
    context, peers = WorkerContext(None), Counter[str]()
    wrapped = wrap_app(cast("ASGIFramework", app), config.wsgi_max_body_size, "asgi")

    async def handle(stream: trio.SocketStream) -> None:
        try:
            peer = str(stream.socket.getpeername()[0])
        except OSError:  # It has gone already.
            peer = ""
        most = CONNECTIONS_MAX if trusted is None else PROXY_CONNECTIONS_MAX
        if not peer or peers[peer] >= most or (trusted is not None and not trusted(peer)):
            await trio.aclose_forcefully(stream)
            return
        peers[peer] += 1
        try:
            await TCPServer(wrapped, config, context, ConnectionState({}), _Connection(stream))  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 -- a fault of one connection ends that one only
            log.get_logger("web").exception("connection.failed")
        finally:
            peers[peer] -= 1

    listener = trio.SocketListener(trio.socket.from_stdlib_socket(listening))
    async with trio.open_nursery() as connections, listener:
        async with trio.open_nursery() as accepting:
            accepting.start_soon(partial(trio.serve_listeners, handle, [listener], handler_nursery=connections))
            await until()
            accepting.cancel_scope.cancel()
        await context.terminated.set()
        connections.cancel_scope.deadline = trio.current_time() + GRACE_SECONDS
