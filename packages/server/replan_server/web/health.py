"""Health endpoints, which tell service managers whether a process is alive and ready. The answers have no data of runs.

`/livez` answers as soon as the event loop runs, even if the journal fails. A process that does not answer has to be
restarted. `/readyz` answers 200 if the journal can be read, a host has begun to serve, and no stop is requested.
"""

import socket
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import trio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from replan_server.web.guarding import RequestGuard
from replan_server.web.server import HEALTH, loopback_names, serve
from runtime.core.errors import JournalError
from runtime.host.notices import Notice, Ready, Report
from runtime.journal.port import Journal

ASK_SECONDS = 2.0
"""How many seconds a health check waits for the journal."""
AGE_SECONDS = 1.0
"""For how many seconds the result of a health check is reused. Many health requests then do not keep the journal
busy."""


@dataclass
class Health:
    """The health of this process."""

    journal: Journal[Any]
    stopping: Callable[[], bool]
    """Returns whether a stop of the process is requested."""
    serving: bool = False
    """Whether the process has begun its work. A host begins after it has registered in the journal."""
    _asked: float = field(default=float("-inf"), init=False)
    _answers: bool = field(default=False, init=False)
    _asking: trio.Lock = field(default_factory=trio.Lock, init=False)

    def report_to(self, report: Report) -> Report:
        """Return a function that calls `report`, and also sets `serving` when the host begins to serve."""

        def heard(notice: Notice) -> None:
            self.serving |= isinstance(notice, Ready)
            report(notice)

        return heard

    async def problem(self) -> str:
        """Return why this process is not ready: `stopping`, `starting` or `no journal`; empty if it is ready."""
        if self.stopping():
            return "stopping"
        if not self.serving:
            return "starting"
        async with self._asking:
            if trio.current_time() - self._asked > AGE_SECONDS:
                self._answers = await self._ask()
                self._asked = trio.current_time()
        return "" if self._answers else "no journal"

    async def _ask(self) -> bool:
        with trio.move_on_after(ASK_SECONDS):
            try:
                await self.journal.spent_today()
            except JournalError:
                return False
            return True
        return False


def health_routes(health: Health) -> Sequence[BaseRoute]:
    """Return the routes of `/livez` and `/readyz`, which need no token."""

    async def live(_: Request) -> Response:
        return PlainTextResponse("ok\n", headers=_FRESH)

    async def ready(_: Request) -> Response:
        problem = await health.problem()
        return PlainTextResponse(f"{problem or 'ok'}\n", 503 if problem else 200, headers=_FRESH)

    return [Route(path, answer) for path, answer in zip(HEALTH, (live, ready), strict=True)]


_FRESH = {"cache-control": "no-store"}


async def serve_health(health: Health, listening: socket.socket, until: Callable[[], Awaitable[object]]) -> None:
    """Serve only the health endpoints until `until` returns. `listening` is a socket on the loopback address."""
    port = listening.getsockname()[1]
    await serve(
        RequestGuard(Starlette(routes=health_routes(health)), loopback_names(port), frozenset()), listening, until
    )
