"""The streams of server-sent events that tell open pages when to load their content again.

A cursor names a state of a run. It has the run's id, the number of its last record, and a hash of facts without a
record, such as its driver. The cursor of the whole home is a hash. Each page contains the cursor of its content.

The id of an event is a cursor. The event `changed` says that the run or the home has changed, and `gone` says that the
run was deleted. The first event is `at` if the browser sends no cursor, or a cursor that is still current. A browser
that reconnects sends its last cursor, so it misses no change.

The event `reply` has the last part of a reply in progress, if this process makes the call. The event has no id, because
no record contains it.
"""

import hashlib
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import trio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from replan.runs.reader import ALL
from replan_server.service.access import Principal
from replan_server.service.limits import Place
from replan_server.web.site import Site
from runtime.core.errors import JournalError, RunNotFound
from runtime.core.names import RUN_ID
from runtime.journal.port import RunFilter, RunRow

if TYPE_CHECKING:
    from runtime.models.watched import LiveReply

CURSOR_MAX = 120
"""The largest number of characters in the cursor that a browser sends. A longer cursor is ignored."""
RETRY_MILLISECONDS = 1000
"""How many milliseconds a browser waits before it connects to the stream again."""


async def live(site: Site, request: Request, who: Principal) -> Response:
    """Return the stream of the run in the query; if the query names no run, the stream of the whole home."""
    run = request.query_params.get("run", "")
    if run and not RUN_ID.fullmatch(run):
        raise HTTPException(404, "no such run")
    if run:
        await site.engine.journal.row(run)
    after = request.headers.get("last-event-id") or request.query_params.get("after", "")
    place = site.streams.take(who.client)
    events = _events(site, who, run, after if len(after) <= CURSOR_MAX else "")
    return EventStream(place, events, _replies(site, who, run)) if run else EventStream(place, events)


class EventStream(Response):
    """A response of server-sent events.

    The response ends when one of its `sources` ends, or when the client has disconnected.
    """

    def __init__(self, place: Place, *sources: AsyncGenerator[str, None]) -> None:
        super().__init__(headers={"content-type": "text/event-stream", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._place, self._sources, self._sending = place, sources, trio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send each event as soon as one of the sources yields it."""
        del scope
        with self._place:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_cancel_on_disconnect, receive, nursery.cancel_scope)
                for source in self._sources:
                    nursery.start_soon(self._pass_on, source, send, nursery.cancel_scope)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pass_on(self, source: AsyncGenerator[str, None], send: Send, scope: trio.CancelScope) -> None:
        async with aclosing(source) as events:
            async for text in events:
                async with self._sending:
                    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
        scope.cancel()


async def _cancel_on_disconnect(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def event(name: str, cursor: str, data: str = "{}") -> str:
    """Return an event in the form that is sent. `data` must be one line."""
    return f"id: {cursor}\nevent: {name}\ndata: {data}\n\n"


async def _events(site: Site, who: Principal, run: str, after: str) -> AsyncGenerator[str, None]:
    yield f"retry: {RETRY_MILLISECONDS}\n\n"
    known = after
    first = True
    async with aclosing(site.hub.changes(site.stop)) as changes:
        async for changed in changes:
            if site.visitor_ended(who):
                return
            try:
                cursor = await site.hub.ask_once(("cursor", run), partial(cursor_of, site, run))
            except RunNotFound:
                yield event("gone", "")
                return
            except JournalError:  # The journal may be busy. The next change or ping tells.
                continue
            if first:
                yield event("at" if known in ("", cursor) else "changed", cursor)
            elif cursor != known:
                yield event("changed", cursor)
            elif not changed:
                yield ": ping\n\n"
            first, known = False, cursor


async def _replies(site: Site, who: Principal, run: str) -> AsyncGenerator[str, None]:
    sent: dict[str, LiveReply] = {}
    async with aclosing(site.engine.replies.changes(run)) as changes:
        async for replies in changes:
            if site.visitor_ended(who):
                return
            for name, reply in replies.items():
                if sent.get(name) is not reply:
                    data = {"request_id": name, "characters": reply.characters, "text": reply.text}
                    yield f"event: reply\ndata: {json.dumps(data)}\n\n"
            sent = replies


async def cursor_of(site: Site, run: str) -> str:
    """Return the cursor of a run; if `run` is empty, the cursor of the home.

    Call this function before reading the data of a page, so that no later change is missed.
    """
    if run:
        return cursor_at(await site.engine.journal.row(run))
    journal = site.engine.journal
    # The totals count runs and records. A finished run changes only if it gets records, or is moved or deleted.
    finished = await journal.totals(RunFilter(status="finished"))
    unfinished = await journal.runs(replace(ALL, unfinished=True))
    return f"*:{_mark(str(finished), *map(_facts, unfinished))}"


def cursor_at(row: RunRow) -> str:
    """Return the cursor of a run from its row."""
    return f"{row.run}:{row.last_seq}:{_mark(str(row.owner), str(row.unread))}"


def _facts(row: RunRow) -> str:
    return f"{row.run} {row.status} {row.detail} {row.owner is None} {row.unread} {row.updated // 10}"


def _mark(*facts: str) -> str:
    return hashlib.sha256("\n".join(facts).encode("utf-8", "replace")).hexdigest()[:12]
