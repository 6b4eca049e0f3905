"""Everything that the pages and the API of one server share, and whose request it is."""

from dataclasses import dataclass, field

from starlette.requests import Request

from replan.service.access import SESSION_SECONDS, Principal, of_session
from replan.service.limits import Streams
from replan.service.refusals import RequestRefused
from replan.service.service import Service
from replan.setup.proxy import ProxyEntry
from replan.web.proxied import user_of
from replan.web.run_parts import PartsMaker


@dataclass(frozen=True, kw_only=True)
class Site(Service):
    """The web server over one home."""

    port: int
    """The port that the server listens on."""
    hosts: bool = True
    """Whether this server drives runs."""
    allow_execute: bool = False
    """Whether clients may execute plans with the tool sets of the settings."""
    proxy: ProxyEntry | None = None
    """The proxy that the server is behind; None for a server of this machine alone."""
    form_key: str = ""
    """What signs the forms of the proxy's users."""
    streams: Streams = field(default_factory=Streams)
    """The open streams of each client."""
    parts: PartsMaker = field(default_factory=PartsMaker)
    """The long parts of the runs that were looked at lately."""

    def check_execute(self) -> None:
        """Raise `RequestRefused` where clients may not execute plans."""
        if not self.allow_execute:
            raise RequestRefused("this server executes no plans: it was started without --allow-execute", "forbidden")

    @property
    def hosts_named(self) -> frozenset[str]:
        """The values of `Host` that name this server."""
        if self.proxy is not None:
            return frozenset((self.proxy.host,))
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost"))

    @property
    def cookie(self) -> str:
        """The name of the session's cookie: browsers do not tell servers on different ports apart."""
        return f"replan_{self.port}"

    def visitor(self, request: Request) -> Principal | None:
        """Return whose session the request belongs to, or which user the proxy names; None for nobody."""
        if self.proxy is not None:
            return user_of(self.proxy, request.headers, self.form_key)
        session = request.cookies.get(self.cookie, "")
        return of_session(self.store.read(), session, self.now()) if session else None

    def visitor_ended(self, who: Principal) -> bool:
        """Tell whether the session or the token, of which a stream is open, has ended since."""
        state = self.store.read()
        if self.proxy is not None and who.session:
            return False  # The proxy decides, with the next request.
        if who.session:
            return of_session(state, who.session, self.now()) is None
        return who.token not in {token.digest for token in state.tokens.values()}

    def cookie_header(self, session: str) -> str:
        """Return the header that sets the session's cookie; for an empty id, the one that removes it."""
        age = int(SESSION_SECONDS) if session else 0
        return f"{self.cookie}={session}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"
