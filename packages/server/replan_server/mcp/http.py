"""MCP over HTTP: an app with one address, behind the request guard. Clients use the bearer tokens of the HTTP API."""

import json
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from mcp.server import Server
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, AuthorizationContext, authorization_context
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from replan_server.mcp.calls import Desk
from replan_server.service.access import Principal
from replan_server.service.limits import RequestRefused
from replan_server.web.guarding import START_BODY_MAX, RequestGuard
from replan_server.web.requests import as_http
from replan_server.web.server import loopback_names

PATH = "/mcp"
"""The only path that the app serves. Requests for other paths get the status 404."""
SESSIONS_MAX = 100
"""The largest number of open sessions of clients that use an older version of the protocol. Newer clients have no
sessions.
"""
CLIENT_SESSIONS_MAX = 20
"""The largest number of open sessions of one token. A further session ends the session of the token that has been idle
the longest."""
IDLE_SECONDS = 1800.0
"""How many seconds a session may be without a request. After this time, the session ends."""


@asynccontextmanager
async def http_app(desk: Desk, server: Server[Any], port: int) -> AsyncIterator[ASGIApp]:
    """Yield the app that serves an MCP server on a port of the loopback address."""
    manager = _Sessions(
        desk, server, max_request_body_size=START_BODY_MAX, session_idle_timeout=IDLE_SECONDS, max_sessions=SESSIONS_MAX
    )
    async with manager.run():
        yield RequestGuard(
            _Gate(desk, AuthContextMiddleware(manager.handle_request)), loopback_names(port), frozenset({PATH})
        )


class _Sessions(StreamableHTTPSessionManager):
    """The open sessions. Each token has a limited number of sessions, and a revoked token has none."""

    def __init__(self, desk: Desk, server: Server[Any], **limits: Any) -> None:
        super().__init__(server, **limits)
        self._desk = desk

    async def _handle_stateful_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        living = {token.digest for token in self._desk.store.read().tokens.values()}
        for session, owner in list(self._session_owners.items()):
            if owner["subject"] not in living:
                await self._discard_session(session, self._server_instances[session])
        if MCP_SESSION_ID_HEADER not in Headers(scope=scope):
            await self._make_room(authorization_context(scope["user"]))
        await super()._handle_stateful_request(scope, receive, send)

    async def _make_room(self, requestor: AuthorizationContext) -> None:
        sessions = self._sessions_of(requestor)
        if len(sessions) < CLIENT_SESSIONS_MAX:
            return
        idle = {
            session: scope.deadline for session in sessions if (scope := self._server_instances[session].idle_scope)
        }
        session = min(idle, key=idle.__getitem__, default="")
        if session and idle[session] < math.inf:  # It has no request in flight.
            await self._discard_session(session, self._server_instances[session])

    def _sessions_of(self, requestor: AuthorizationContext | None) -> list[str]:
        return [session for session, owner in self._session_owners.items() if owner == requestor]

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        if len(self._sessions_of(requestor)) >= CLIENT_SESSIONS_MAX:
            return None
        return super()._admit_session(requestor)


class _Gate:
    """Passes requests with a valid token to the app, and tells the app who owns the token."""

    def __init__(self, desk: Desk, app: ASGIApp) -> None:
        self._desk, self._app = desk, app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != PATH:
            await _refusal(404, f"this server has only the path {PATH}")(scope, receive, send)
            return
        try:
            who = await self._desk.bearer(Headers(scope=scope).get("authorization", ""), "read")
        except RequestRefused as refused:
            error = as_http(refused)
            response = _refusal(error.status_code, error.detail)
            response.headers.update(error.headers or {})
            await response(scope, receive, send)
            return
        # A session belongs to the client that opened it. Sealed data belong to the client that they were sent to.
        await self._app({**scope, "user": _user(who), "replan.caller": who}, receive, send)


def _user(who: Principal) -> AuthenticatedUser:
    # The SDK compares the client's name and the token's hash. The token itself is not kept.
    return AuthenticatedUser(AccessToken(token="", client_id=who.client, scopes=[who.scope], subject=who.token))


def _refusal(status: int, text: str) -> Response:
    body = {"error": {"kind": HTTPStatus(status).phrase, "message": text}}
    return Response(json.dumps(body), status, media_type="application/json")
