"""Everything that the pages and the API of one server share, and whose request it is."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import trio
from starlette.exceptions import HTTPException
from starlette.requests import Request

from replan.runs.cached import CachedReader
from replan.runs.engine import Engine
from replan.runs.orders import Offer
from replan.web.access import SESSION_SECONDS, Principal, of_session, of_token
from replan.web.limits import FAILURES_MAX, WRITES_MAX, Recent, Streams
from replan.web.live import Hub
from replan.web.store import Scope, Store, WebState

T = TypeVar("T")

LATE_SECONDS = 1.0
"""How much later a failed sign-in is answered, after too many of them."""


@dataclass(frozen=True)
class Site:
    """One server over one home."""

    engine: Engine
    """Posts messages and starts runs."""
    reader: CachedReader
    """Reads runs."""
    offer: Offer
    """What clients may choose."""
    store: Store
    """Who may use the server."""
    hub: Hub
    """Tells streams that a run has changed."""
    port: int
    """The port that the server listens on."""
    now: Callable[[], float]
    """The wall clock, in UTC seconds since 1970."""
    hosts: bool = True
    """Whether this server drives runs."""
    waiting: trio.MemorySendChannel[str] | None = None
    """Takes the runs that are to be gone on with; None where this server drives no runs."""
    starting: trio.Lock = field(default_factory=trio.Lock)
    """Held while a run is started for a client."""
    repeating: trio.Lock = field(default_factory=trio.Lock)
    """Held while a request that may be a repetition starts a run."""
    stop: trio.Event = field(default_factory=trio.Event)
    """Set when the server stops: streams end."""
    streams: Streams = field(default_factory=Streams)
    """The open streams of each client."""
    failures: Recent = field(default_factory=lambda: Recent(FAILURES_MAX, trio.current_time))
    """Failed tries to sign in."""
    writes: Recent = field(default_factory=lambda: Recent(WRITES_MAX, trio.current_time))
    """Writes of each client."""

    @property
    def cookie(self) -> str:
        """The name of the session's cookie: browsers do not tell servers on different ports apart."""
        return f"replan_{self.port}"

    async def change(self, work: Callable[[WebState], tuple[WebState, T]]) -> T:
        """Change the store as `Store.change` does, in a thread, since another process may hold the lock."""
        return await trio.to_thread.run_sync(partial(self.store.change, work))

    def go_on(self, run: str) -> bool:
        """Have a run gone on with that a host leaves alone; return whether this server drives runs."""
        if self.waiting is None:
            return False
        with suppress(trio.WouldBlock):  # Then very many are asked for, and the person may ask again.
            self.waiting.send_nowait(run)
        return True

    def visitor(self, request: Request) -> Principal | None:
        """Return whose session the request belongs to; None for nobody's."""
        session = request.cookies.get(self.cookie, "")
        return of_session(self.store.read(), session, self.now()) if session else None

    def visitor_ended(self, who: Principal) -> bool:
        """Tell whether the session or the token, of which a stream is open, has ended since."""
        state = self.store.read()
        if who.session:
            return of_session(state, who.session, self.now()) is None
        return who.client.removeprefix("token:") not in state.tokens

    async def bearer(self, request: Request, scope: Scope) -> Principal:
        """Return whose token the request carries. Raises `HTTPException` for none, and for one of a smaller scope."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        who = of_token(self.store.read(), token.strip()) if scheme.lower() == "bearer" else None
        if who is None:
            await self.failed()
            raise HTTPException(401, "a bearer token is needed", {"www-authenticate": "Bearer"})
        if not who.may(scope):
            raise HTTPException(403, f"this token may not do that: it needs the scope {scope}")
        return who

    async def failed(self) -> None:
        """Count a failed try. Raises `HTTPException`, after a while, where there were too many in the last minute."""
        if not self.failures.add("all"):
            await trio.sleep(LATE_SECONDS)
            raise HTTPException(429, "too many wrong tokens; try again in a minute", {"retry-after": "60"})

    def count_write(self, who: Principal) -> None:
        """Count a write. Raises `HTTPException` where there were too many in the last minute."""
        if not self.writes.add(who.client):
            raise HTTPException(429, f"more than {WRITES_MAX} writes in a minute", {"retry-after": "60"})

    def cookie_header(self, session: str) -> str:
        """Return the header that sets the session's cookie; for an empty id, the one that removes it."""
        age = int(SESSION_SECONDS) if session else 0
        return f"{self.cookie}={session}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"
