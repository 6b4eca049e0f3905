"""Everything that the pages and the API of one server share, and whose request it is, also behind a proxy."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.requests import Request

from replan.service.access import SESSION_SECONDS, Principal, Sessions
from replan.service.limits import KEEP_CONNECTION, Streams
from replan.service.service import Service
from replan.service.store import WebState
from replan.setup.notifications import Answering
from replan.setup.proxy import EVERYBODY, ProxyEntry
from replan.web.run_parts import PartsMaker

_USER = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,98}[\x21-\x7e])?")


def user_of(proxy: ProxyEntry, headers: Headers, key: str) -> Principal | None:
    """Return the user of a request through the proxy; None where it names none, several, or one who may do nothing.

    `key` signs the token that the user's forms carry, in place of a session's.
    """
    named = headers.getlist(proxy.user_header)
    if len(named) != 1 or not _USER.fullmatch(named[0]) or not key:
        return None
    name = named[0]
    scope = proxy.users.get(name) or proxy.users.get(EVERYBODY)
    if scope is None or name == EVERYBODY:
        return None
    session = hmac.new(key.encode(), f"user {name}".encode(), hashlib.sha256).hexdigest()
    return Principal(f"user:{name}", scope, session)


def with_key(state: WebState) -> tuple[WebState, str]:
    """Return the state with the key that forms are signed with, and the key: the same one after a restart."""
    key = state.form_key or secrets.token_urlsafe(32)
    return state.model_copy(update={"form_key": key}), key


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
    """The name of this machine by which pages are asked for: random, for this server only (`new_name`)."""
    hosts: bool = True
    """Whether this server drives runs."""
    proxy: ProxyEntry | None = None
    """The proxy that the server is behind; None for a server that only this machine reaches."""
    answering: Answering | None = None
    """Who may answer questions through links; None for nobody."""
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
            who = user_of(self.proxy, request.headers, self.form_key)
        else:
            session = request.cookies.get(self.cookie, "")
            who = self.sessions.whose(session, self.now()) if session else None
        if who is not None:
            KEEP_CONNECTION.get()()
        return who

    def visitor_ended(self, who: Principal) -> bool:
        """Tell whether the session or the token with which a stream was opened has ended since."""
        if self.proxy is not None and who.session:
            return False  # The proxy decides, with the next request.
        if who.session:
            return self.sessions.whose(who.session, self.now()) is None
        return not self.has_token(who)

    def cookie_header(self, session: str) -> str:
        """Return the header that sets the session's cookie; for an empty id, the one that removes it."""
        age = int(SESSION_SECONDS) if session else 0
        return f"{self.cookie}={session}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"
