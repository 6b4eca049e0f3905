"""Everything that the pages and the API of one server share, and whose request it is."""

import secrets
from dataclasses import dataclass, field

from starlette.requests import Request

from replan.service.access import SESSION_SECONDS, Principal, Sessions
from replan.service.limits import Streams
from replan.service.service import Service
from replan.setup.proxy import ProxyEntry
from replan.web.proxied import user_of
from replan.web.run_parts import PartsMaker


def new_name() -> str:
    """Return a random name of this machine: browsers find every name below `localhost` without asking anybody.

    A cookie goes to every port of its host. Under a name that nobody else knows, no other server is visited.
    """
    return f"r{secrets.token_hex(16)}.localhost"


@dataclass(frozen=True, kw_only=True)
class Site(Service):
    """The web server over one home."""

    port: int
    """The port that the server listens on."""
    name: str
    """The name of this machine by which pages are asked for: random, for this server alone (`new_name`)."""
    hosts: bool = True
    """Whether this server drives runs."""
    proxy: ProxyEntry | None = None
    """The proxy that the server is behind; None for a server of this machine alone."""
    form_key: str = ""
    """What signs the forms of the proxy's users."""
    sessions: Sessions = field(default_factory=Sessions)
    """The sessions of browsers."""
    streams: Streams = field(default_factory=Streams)
    """The open streams of each client."""
    parts: PartsMaker = field(default_factory=PartsMaker)
    """The long parts of the runs that were looked at lately."""

    @property
    def hosts_named(self) -> frozenset[str]:
        """The values of `Host` under which pages are served."""
        return frozenset((f"{self.name}:{self.port}" if self.proxy is None else self.proxy.host,))

    @property
    def cookie(self) -> str:
        """The name of the session's cookie."""
        return f"replan_{self.port}"

    def visitor(self, request: Request) -> Principal | None:
        """Return whose session the request belongs to, or which user the proxy names; None for nobody."""
        if self.proxy is not None:
            return user_of(self.proxy, request.headers, self.form_key)
        session = request.cookies.get(self.cookie, "")
        return self.sessions.whose(session, self.now()) if session else None

    def visitor_ended(self, who: Principal) -> bool:
        """Tell whether the session or the token, of which a stream is open, has ended since."""
        if self.proxy is not None and who.session:
            return False  # The proxy decides, with the next request.
        if who.session:
            return self.sessions.whose(who.session, self.now()) is None
        return who.token not in {token.digest for token in self.store.read().tokens.values()}

    def cookie_header(self, session: str) -> str:
        """Return the header that sets the session's cookie; for an empty id, the one that removes it."""
        age = int(SESSION_SECONDS) if session else 0
        return f"{self.cookie}={session}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"
