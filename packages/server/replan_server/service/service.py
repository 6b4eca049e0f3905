"""The state that all interfaces of a server share: the runs of a home, and the rights of its clients.

A request can resume a run that hosts do not resume by themselves, or wait until a run rests (`is_at_rest`).
"""

from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import trio

from replan.runs.engine import Engine
from replan.runs.families import ShownRun, read_shown
from replan.runs.hosting import host
from replan_server.service.access import Principal, of_token
from replan_server.service.cached_reader import CachedReader
from replan_server.service.limits import FAILURES_MAX, KEEP_CONNECTION, WRITES_MAX, Recent, RequestRefused
from replan_server.service.live import Hub
from replan_server.service.orders import ServerOffer
from replan_server.service.store import Scope, Start, Starts, Store, WebState
from runtime.core.errors import Held, JournalError, ReplanError
from runtime.drive.options import DriveOptions, Stop
from runtime.host.notices import OutsideTrouble, Report

WAITING_MAX = 100
"""The largest number of runs that may wait until the server resumes them."""


async def _resume_requested(
    engine: Engine, runs: trio.MemoryReceiveChannel[str], *, stop: Stop, report: Report
) -> None:
    """Drive each run whose id arrives in the channel. When a stop is requested, park all these runs."""
    driven_runs: set[str] = set()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_close_at, stop, runs)
        async with runs:
            try:
                async for run in runs:
                    if run not in driven_runs:
                        nursery.start_soon(_drive, engine, run, stop, report, driven_runs)
            except trio.ClosedResourceError:
                pass  # The stop was requested.


async def _drive(engine: Engine, run: str, stop: Stop, report: Report, driven: set[str]) -> None:
    driven.add(run)
    try:
        await engine.resume(run, DriveOptions(stop, notice=partial(_note, report, run)))
    except Held:
        pass  # Another process goes on with it already.
    except ReplanError as error:
        report(OutsideTrouble(run, str(error)))
    except Exception as error:  # noqa: BLE001 -- a bug ends its own run, and no other
        report(OutsideTrouble(run, f"{type(error).__name__}: {error}"))
    finally:
        driven.discard(run)


def _note(report: Report, run: str, text: Any) -> None:
    report(OutsideTrouble(run, str(text)))


async def _close_at(stop: Stop, runs: trio.MemoryReceiveChannel[str]) -> None:
    await stop.requested.wait()
    runs.close()


T = TypeVar("T")

LATE_SECONDS = 1.0
"""By how many seconds the response to a failed sign-in is delayed if there were too many failures in the last
minute."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """The state of one server for one home."""

    engine: Engine
    reader: CachedReader
    offer: ServerOffer
    store: Store
    hub: Hub
    now: Callable[[], float]
    """The wall clock, in UTC seconds since 1970."""
    allow_execute: bool = False
    """Whether clients may execute plans with the tool sets of the settings."""
    waiting: trio.MemorySendChannel[str] | None = None
    """The channel for the ids of the runs to resume; None if this server drives no runs."""
    starting: trio.Lock = field(default_factory=trio.Lock)
    """The lock that is held while a run is started for a client."""
    repeating: trio.Lock = field(default_factory=trio.Lock)
    """The lock that is held while a request with an idempotency key starts a run."""
    stop: trio.Event = field(default_factory=trio.Event)
    """The event that is set when the server stops. Streams and waits then end."""
    failures: Recent = field(default_factory=lambda: Recent(FAILURES_MAX, trio.current_time))
    writes: Recent = field(default_factory=lambda: Recent(WRITES_MAX, trio.current_time))

    async def starts_of(self, who: Principal) -> tuple[Start, ...]:
        """Return the runs that a client has started, the oldest first. Raises `UsageProblem` for a damaged file."""
        return await trio.to_thread.run_sync(Starts(self.store.folder).of_client, who.client)

    async def add_start(self, who: Principal, start: Start) -> None:
        """Store a start durably. Raises `UsageProblem` for a damaged file."""
        await trio.to_thread.run_sync(Starts(self.store.folder).add, who.client, start)

    async def change(self, work: Callable[[WebState], tuple[WebState, T]]) -> T:
        """Change the store (`Store.change`).

        This happens in a thread, because it may wait for another process that holds the lock.
        """
        return await trio.to_thread.run_sync(partial(self.store.change, work))

    def go_on(self, run: str) -> bool:
        """Ask this server to resume a run that hosts do not resume by themselves.

        Return False if this server drives no runs, otherwise True.
        """
        if self.waiting is None:
            return False
        with suppress(trio.WouldBlock):  # `WAITING_MAX` runs wait already. The person may ask again.
            self.waiting.send_nowait(run)
        return True

    async def bearer(self, authorization: str, scope: Scope) -> Principal:
        """Return the owner of the token in a header `Authorization`.

        Raises `RequestRefused` if there is no valid token, or if the scope of the token is too small.
        """
        scheme, _, token = authorization.partition(" ")
        who = of_token(self.store.read(), token.strip()) if scheme.lower() == "bearer" else None
        if who is None:
            await self.count_failure()
            wrong = "this token is unknown or was revoked (`replan token list` lists the valid tokens)"
            none = "a bearer token is needed (`replan token add NAME` makes a token)"
            raise RequestRefused(wrong if scheme.lower() == "bearer" and token.strip() else none, "unauthorized")
        KEEP_CONNECTION.get()()
        self.check_scope(who, scope)
        return who

    def has_token(self, who: Principal) -> bool:
        """Return whether the token of a program is still valid.

        Open streams use this to end when their token is revoked.
        """
        return who.token in {token.digest for token in self.store.read().tokens.values()}

    def check_scope(self, who: Principal, scope: Scope) -> None:
        """Raise `RequestRefused` if a client does not have a scope."""
        if not who.may(scope):
            raise RequestRefused(
                f"this request needs the scope {scope}, but {who.client} has only the scope {who.scope}", "forbidden"
            )

    def check_execute(self) -> None:
        """Raise `RequestRefused` if clients may not execute plans."""
        if not self.allow_execute:
            raise RequestRefused("this server executes no plans: it was started without --allow-execute", "forbidden")

    async def count_failure(self) -> None:
        """Count a failed sign-in. If there were too many in the last minute, wait and raise `RequestRefused`."""
        if not self.failures.add("all"):
            await trio.sleep(LATE_SECONDS)
            raise RequestRefused("too many wrong tokens; try again in a minute", "too_many", retry_after=60)

    def count_write(self, who: Principal) -> None:
        """Count a write. Raises `RequestRefused` if there were too many in the last minute."""
        if not self.writes.add(who.client):
            raise RequestRefused(
                f"this client has sent more than {WRITES_MAX} writes in a minute; try again later",
                "too_many",
                retry_after=60,
            )


async def drive_runs(engine: Engine, runs: trio.MemoryReceiveChannel[str], *, stop: Stop, report: Report) -> None:
    """Drive the runs of a home, and the runs that clients resume, until a stop is requested.

    Raises the errors of `host`.
    """
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(_resume_requested, engine, runs, stop=stop, report=report))
        nursery.start_soon(partial(host, engine, runs_max=engine.config.host.runs_max, stop=stop, report=report))


OnChange = Callable[[ShownRun], Awaitable[None]]
"""A function that is called with the run after each change of the run, and from time to time if the run does not
change."""


def is_at_rest(service: Service, shown: ShownRun) -> bool:
    """Return whether a run rests: nothing happens to it until a person or a program does something."""
    common = shown.common
    match shown.status:
        case "finished" if common is not None and common.reopening:  # A message lets it go on, so it is driven next.
            return service.waiting is None and not shown.hosted
        case "finished" | "moved":
            return True
        case "waiting":
            return common is not None and bool(common.open_questions)
        case "parked" if shown.row.status == "parked":
            handed_over = common is not None and common.handover and not common.parked_reason
            return not (handed_over and (service.waiting is not None or shown.hosted))
        case "parked":  # Either nobody drives it, or it waits for its provider.
            return service.waiting is None and not shown.driven
        case _:
            return False


async def wait_for_rest(service: Service, run: str, seconds: float, on_change: OnChange) -> ShownRun:
    """Wait at most `seconds` until a run rests (`is_at_rest`), and return the run.

    Raises the errors of `read_shown`.
    """
    shown = await read_shown(service.reader, run)
    last_facts: tuple[object, ...] = ()
    with trio.move_on_after(seconds):
        async with aclosing(service.hub.changes(service.stop)) as changes:
            async for changed in changes:
                try:
                    row = await service.engine.journal.row(run)
                    facts = row.last_seq, row.owner, row.unread, row.updated
                    if changed and facts == last_facts:
                        continue  # Something else of the home has changed.
                    shown, last_facts = await read_shown(service.reader, run), facts
                except JournalError as error:
                    if not error.passing:
                        raise
                    continue  # The next change, or the next ping, tells.
                if is_at_rest(service, shown):
                    break
                await on_change(shown)
    return shown
