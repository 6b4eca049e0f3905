"""The state that the pages and the API of one server share: the sessions, the proxy, and cached parts of pages."""

import hashlib
import hmac
import re
import secrets
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import trio
from starlette.datastructures import Headers
from starlette.requests import Request

from actors.demands.table import DemandTable
from actors.run.views import Tree, calls_of
from actors.values.flow import Checklist, Flow
from actors.values.lines import Line
from replan.runs.families import ShownRun
from replan.setup.installation import program
from replan_server.notifications import Answering
from replan_server.service.access import SESSION_SECONDS, Principal, Sessions
from replan_server.service.cached_reader import AT_ONCE_MAX
from replan_server.service.limits import KEEP_CONNECTION, Streams
from replan_server.service.service import Service
from replan_server.service.store import WebState
from replan_server.settings import EVERYBODY, ProxyEntry
from replan_server.web.drawing import Drawing, draw
from replan_server.web.replies import ToolOutput, tool_outputs
from replan_server.web.timeline import Timeline, timeline

RUNS_MAX = 8
"""The largest number of runs whose parts of pages are cached. The parts of the least recently used run are dropped
first."""

_MAKERS = trio.CapacityLimiter(1)
"""Lets only one thread at a time make the page parts of a run, because this work occupies a whole processor core."""


@dataclass(frozen=True, slots=True)
class RunParts:
    """The parts of a run's page that are slow to make."""

    tree: Tree
    flow: Flow | None
    """The graph of the run's steps or gates; None if there is no graph yet."""
    drawing: Drawing | None
    """The drawing of the graph; None if there is no graph, or if it is too large to be drawn."""
    checklist: Checklist | None
    """The checklist of an execution; None for other kinds."""
    calls: Sequence[str]
    """The nodes of the run's model calls, if the tree names no nodes; empty if the tree names nodes."""
    timeline: Timeline | None
    """When the run's calls, waits and questions began and ended; None if the run has none of these yet."""
    outputs: Sequence[ToolOutput]
    lines: Sequence[Line]
    """The lines of the run's result, without the table of demands."""
    demands: DemandTable | None
    """The table of the user's demands and the plan's steps for them; None for a run without a plan."""


class PartsMaker:
    """Makes the page parts of runs, and caches the most recently used ones."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Hashable, RunParts]] = OrderedDict()

    async def parts(self, shown: ShownRun) -> RunParts:
        """Return the page parts of a run.

        The parts depend only on the run's records, its status and the unread messages of its inbox.
        """
        if shown.with_inbox is not shown.loaded.state:
            return await _make_aside(shown)
        run, place = shown.row.run, (shown.row.created, shown.loaded.seq, shown.status)
        known = self._kept.get(run)
        if known is None or known[0] != place:
            known = place, await _make_aside(shown)
            self._kept[run] = known
        self._kept.move_to_end(run)
        while len(self._kept) > RUNS_MAX:
            self._kept.popitem(last=False)
        return known[1]


async def _make_aside(shown: ShownRun) -> RunParts:
    """Return the page parts of a run. For a long run, they are made in a thread, so that other tasks need not wait."""
    if shown.loaded.seq <= AT_ONCE_MAX:
        return _make_parts(shown)
    return await trio.to_thread.run_sync(_make_parts, shown, limiter=_MAKERS)


def _make_parts(shown: ShownRun) -> RunParts:
    loaded, views = shown.loaded, shown.loaded.kind.views
    interrupted = shown.status == "parked"
    tree = views.tree(shown.row.title, loaded.state, loaded.records, interrupted=interrupted, brief=False)
    flow, checklist = views.flow(loaded.state, shown.result), views.checklist(shown.result)
    lines = views.lines(shown.result, program(), full=flow is not None, demands=False)
    named = any(child.key for child in tree.tree.children)
    calls = () if named else tuple(dict.fromkeys(call.node for _, call in calls_of(loaded.records)))
    outstanding = loaded.kind.machine.outstanding(loaded.state) if loaded.started else ()
    bars = timeline(loaded.records, outstanding, price_known=shown.result.cost_usd is not None)
    outputs = tool_outputs(loaded.records)
    return RunParts(tree, flow, draw(flow), checklist, calls, bars, outputs, lines, shown.result.demands)


_USER = re.compile(r"[\x21-\x7e]([\x20-\x7e]{0,98}[\x21-\x7e])?")


def _user_of(proxy: ProxyEntry, headers: Headers, key: str) -> Principal | None:
    """Return the user whom the proxy names in the headers of a request.

    Return None if the headers name no user, several users, or a user without rights. `key` is the secret from which the
    CSRF token of the user's forms is made.
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
    """Return the state with the secret of CSRF tokens, and the secret itself. An existing secret is kept."""
    key = state.form_key or secrets.token_urlsafe(32)
    return state.model_copy(update={"form_key": key}), key


def new_name() -> str:
    """Return a random host name that leads to this machine.

    Browsers resolve every name below `localhost` without a DNS server. Browsers send a cookie to every port of its
    host. Nobody else knows this name, so no other server gets the cookie.
    """
    return f"r{secrets.token_hex(16)}.localhost"


@dataclass(frozen=True, kw_only=True)
class Site(Service):
    """The state of the web server of one home."""

    port: int
    name: str
    """The host name under which pages are served. The name is random, and only this server has it (`new_name`)."""
    hosts: bool = True
    """Whether this server drives runs."""
    proxy: ProxyEntry | None = None
    """The proxy in front of the server; None for a server that only this machine reaches."""
    answering: Answering | None = None
    """The people who may answer questions through links; None if nobody may."""
    form_key: str = ""
    sessions: Sessions = field(default_factory=Sessions)
    streams: Streams = field(default_factory=Streams)
    parts: PartsMaker = field(default_factory=PartsMaker)

    @property
    def hosts_named(self) -> frozenset[str]:
        """The values of the header `Host` for which pages are served."""
        return frozenset((f"{self.name}:{self.port}" if self.proxy is None else self.proxy.host,))

    @property
    def cookie(self) -> str:
        """The name of the session's cookie."""
        return f"replan_{self.port}"

    def visitor(self, request: Request) -> Principal | None:
        """Return the owner of the request's session, or the user whom the proxy names; None if there is neither."""
        if self.proxy is not None:
            who = _user_of(self.proxy, request.headers, self.form_key)
        else:
            session = request.cookies.get(self.cookie, "")
            who = self.sessions.whose(session, self.now()) if session else None
        if who is not None:
            KEEP_CONNECTION.get()()
        return who

    def visitor_ended(self, who: Principal) -> bool:
        """Return whether the session or the token that opened a stream has ended since then."""
        if self.proxy is not None and who.session:
            return False  # The proxy decides, with the next request.
        if who.session:
            return self.sessions.whose(who.session, self.now()) is None
        return not self.has_token(who)

    def cookie_header(self, session: str) -> str:
        """Return the header that sets the session's cookie. If `session` is empty, the header removes the cookie."""
        age = int(SESSION_SECONDS) if session else 0
        return f"{self.cookie}={session}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"
