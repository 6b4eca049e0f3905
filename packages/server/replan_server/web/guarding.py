"""Checks the host name, the origin and the size of every request, and the speed at which its body arrives.

The guard also adds headers to every response. If the app raises an unexpected exception, the guard answers 500.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus

import trio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from replan_server.web.api_reads import json_error
from runtime.logs import log

API = "/api/"

BODY_MAX = 512 * 1024
"""The largest number of bytes in the body of a request that does not start a run."""
START_BODY_MAX = 2 * 1024 * 1024
"""The largest number of bytes in the body of a request that starts a run: a problem and its attachments."""
BODY_SECONDS = 10.0
"""The time limit for receiving a request's body, in seconds."""
BODY_RATE = 1024
"""The lowest average speed, in bytes per second, at which the body of a request may arrive."""
BODY_START_SECONDS = 2.0
"""For how many seconds at the beginning the body of a request may arrive at any speed."""
HEADERS_MAX = 100
"""The largest number of header lines in a request."""
HEADER_BYTES_MAX = 16 * 1024
"""The largest number of bytes in all header lines together."""
TARGET_MAX = 2048
"""The largest number of bytes in a request's path and query."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With `no-referrer`, browsers would send `Origin: null` with our own forms.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


@dataclass(frozen=True, slots=True)
class RequestGuard:
    """Wraps the app, and refuses requests that another website may have made a browser send.

    Such requests can be recognized by their host name or origin.
    """

    app: ASGIApp
    """The app that answers requests that are not refused."""
    hosts: frozenset[str]
    """The values of the header `Host`, such as `localhost:8430`, for which all paths are served."""
    large: frozenset[str]
    """The paths whose bodies may have `START_BODY_MAX` bytes."""
    origin: str | None = None
    """The origin of the server's own pages behind a proxy. If it is None, it is `http://` and the header `Host`."""
    linked: tuple[str, ...] = ()
    """The paths of pages that need no session. Links on other sites may lead to these pages. A path with a final `/`
    stands for all paths below it.
    """
    loopback: frozenset[str] = frozenset()
    """Further values of the header `Host`, which name the loopback address. For these values, only `public` paths are
    served.
    """
    public: tuple[str, ...] = ()
    """The beginnings of the paths that use no cookie: paths for programs with tokens, and paths for everybody."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the app, or refuse the request."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        started = False
        unread = _has_body(scope)

        async def receiving() -> Message:
            nonlocal unread
            message = await receive()
            unread = unread and message.get("more_body", False)
            return message

        async def sending(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = _with_headers(message.get("headers", ()))
                if unread and all(name != b"connection" for name, _ in headers):
                    # The server closes the connection then, and a client must not send another request on it.
                    headers.append((b"connection", b"close"))
                message = {**message, "headers": headers}
            await send(message)

        refused = self._find_refusal(scope)
        if refused is not None:
            await refused(scope, receive, sending)
            return
        try:
            await self.app(scope, self._limited(scope, receiving), sending)
        except HTTPException as error:  # The body was too large or too slow, and the app has not caught it.
            if not started:
                await _refuse(scope, error.status_code, error.detail)(scope, receive, sending)
        except Exception:  # noqa: BLE001 -- whatever fails, the client gets an answer, and the log the traceback
            log.get_logger("web").exception("request.failed", method=scope["method"])
            if not started:
                await _refuse(scope, 500, "internal error; the log has the details")(scope, receive, sending)

    def _find_refusal(self, scope: Scope) -> Response | None:
        """Return the response that refuses a request because of its headers or address.

        Return None if the request may pass.
        """
        headers = Headers(scope=scope)
        if scope["http_version"] not in ("1.0", "1.1"):
            return _refuse(scope, 505, "only HTTP/1.1 is served")
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        if len(scope["headers"]) > HEADERS_MAX or size > HEADER_BYTES_MAX:
            return _refuse(
                scope,
                431,
                f"the request has more than {HEADERS_MAX} headers, or over {HEADER_BYTES_MAX:,} bytes of headers",
            )
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > TARGET_MAX:
            return _refuse(scope, 414, f"the address has more than {TARGET_MAX:,} bytes")
        host_names = headers.getlist("host")
        if len(host_names) != 1 or not self._is_served(host_names[0].lower(), scope["path"]):
            return _refuse(
                scope,
                421,
                "this server has another host name; open the address that it or `replan serve --sign-in` printed",
            )
        origins = headers.getlist("origin")
        own = self.origin or f"http://{host_names[0].lower()}"
        if any(origin.lower() != own for origin in origins):
            return _refuse(scope, 403, "the request comes from another site")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not self._is_link(scope, headers):
            return _refuse(scope, 403, "the request comes from another site; open the address in a new tab")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            return _refuse(scope, 400, "the header content-length is not a number")
        # 18 digits are already too large, and `int` refuses thousands of digits.
        if int(length[:18]) > self._body_bytes_max(scope):
            return _refuse(scope, 413, f"the body has more than {self._body_bytes_max(scope):,} bytes")
        return None

    def _is_served(self, host: str, path: str) -> bool:
        return host in self.hosts or (host in self.loopback and path.startswith(self.public))

    def _is_link(self, scope: Scope, headers: Headers) -> bool:
        """Return whether a request follows a link, perhaps from another site, to a page without a session."""
        opened = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest")) == ("navigate", "document")
        below = tuple([path for path in self.linked if path.endswith("/")])
        named = scope["path"] in self.linked or scope["path"].startswith(below)
        return opened and scope["method"] == "GET" and named

    def _body_bytes_max(self, scope: Scope) -> int:
        return START_BODY_MAX if scope["path"] in self.large else BODY_MAX

    def _limited(self, scope: Scope, receive: Receive) -> Receive:
        begun = trio.current_time()
        byte_count = 0
        complete = False

        async def limited() -> Message:
            nonlocal byte_count, complete
            if complete:  # After the body, the only message is that the client has left, at any time.
                return await receive()
            ends = begun + min(BODY_SECONDS, BODY_START_SECONDS + byte_count / BODY_RATE)
            with trio.move_on_at(ends) as timer:
                message = await receive()
            if timer.cancelled_caught:
                raise HTTPException(408, "the body came too slowly")
            if message["type"] == "http.request":
                byte_count += len(message.get("body", b""))
                complete = not message.get("more_body", False)
                if byte_count > self._body_bytes_max(scope):
                    raise HTTPException(413, f"the body has more than {self._body_bytes_max(scope):,} bytes")
            return message

        return limited


def _has_body(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers


def _with_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return a response's headers, and the default headers that the response does not set itself.

    By default, a response must not be cached.
    """
    own = list(headers)
    names = {name.lower() for name, _ in own}
    added = {**HEADERS, "cache-control": "no-store"}
    return own + [(name.encode(), value.encode()) for name, value in added.items() if name.encode() not in names]


def _refuse(scope: Scope, status: int, text: str) -> Response:
    headers = {"connection": "close"}
    if scope["path"].startswith(API):
        return json_error(HTTPException(status, text, headers))
    phrase = HTTPStatus(status).phrase
    return PlainTextResponse(f"{status} {phrase}: {text}\n", status, headers=headers)
