"""Reads the runs of a journal: their kinds, states, results, status rows and statuses. Writes nothing.

A short command reads only rows or one run. So modules that compute states from records are imported when they are
needed.
"""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from actors.run.ids import is_child
from replan.setup.installation import program
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem
from runtime.core.events import Record
from runtime.core.names import RUN_ID
from runtime.journal.head import place_moved_to
from runtime.journal.port import Readable, RunFilter, RunRow, is_drivable
from runtime.process.identity import is_dead

if TYPE_CHECKING:
    from actors.run.result import RunResult
    from actors.run.state import RunState
    from replan.runs.loaded import AnyKind, Loaded
    from replan.setup.kinds import Kinds
    from runtime.drive.options import Ending


ALL = RunFilter(limit=1_000_000)
"""A filter that selects all runs of the home."""
PREFIX_MIN = 6
"""The smallest number of characters at the beginning of a run's id that can stand for the whole id."""


SHOWN = 8
"""The number of characters that web pages show of a run's id. A new id has this length."""


def new_run_id() -> str:
    """Return a new random run id: eight letters and digits that are easy to type."""
    alphabet = "abcdefghjkmnpqrstuvwxyz23456789"
    return "".join(secrets.choice(alphabet) for _ in range(SHOWN))


def short_id(run: str) -> str:
    """Return the part of a run's id that pages show. For a child run, this is a part of the text after the last dot."""
    return run.rpartition(".")[2][:SHOWN]


async def resolve_run(journal: Readable[Any], prefix: str) -> str:
    """Return the id of the run with an id or an unambiguous prefix of an id. Raises the errors of `find_run`.

    For a prefix, the rows of all runs whose ids begin with the prefix are read.
    """
    try:
        return (await journal.row(prefix)).run
    except RunNotFound:
        if prefix and RUN_ID.fullmatch(prefix) is None:  # No id begins so.
            raise
        return find_run(await journal.runs(replace(ALL, run_start=prefix)), prefix)


def find_run(rows: list[RunRow], prefix: str) -> str:
    """Return the id of the run that `prefix` names: the run with this id, or the only run whose id begins with it.

    A prefix has at least `PREFIX_MIN` characters. Raises `RunNotFound`, and `UsageProblem` if several runs match.
    """
    if prefix in [row.run for row in rows]:
        return prefix
    names = [row.run for row in rows if is_child(prefix) or not is_child(row.run)]
    near = [name for name in names if name.startswith(prefix)]
    if near and len(prefix) < PREFIX_MIN:
        raise RunNotFound(
            prefix, cause=f"{prefix!r} is too short: give at least {PREFIX_MIN} characters of the run's id"
        )
    if not near:
        raise RunNotFound(prefix)
    if len(near) > 1:
        raise UsageProblem(
            f"{len(near)} runs have ids that begin with {prefix!r}", place="RUN", hint=", ".join(near[:5])
        )
    return near[0]


Status = Literal["running", "waiting", "parked", "finished", "moved"]
"""The status of a run for people. Frozen: programs read it in JSON."""
STATUSES: tuple[str, ...] = get_args(Status)


def status_of(row: RunRow, *, hosted: bool = False, with_inbox: "RunState[Any] | None" = None) -> str:
    """Return a run's status for people: `running`, `waiting`, `parked`, `finished` or `moved`.

    If the driver of a run was killed, the run's row still says `running`. The status of such a run is `parked`. With
    `hosted`, the status is `running`, because a host will continue the run. By the same rule, a `waiting` run whose
    questions are all answered is `parked` or `running`. `with_inbox` is the common part of the run's state after the
    messages in its inbox. A run that was moved to another journal is `moved`. The row of a child run says `parked`
    while its parent run drives it, so that no host drives it; its status is `running`.
    """
    if place_moved_to(row.owner) is not None:
        return "moved"
    status = row.status
    if status == "parked" and is_child(row.run) and row.owner is not None and not is_dead(row.owner):
        return "running"
    if status == "waiting" and with_inbox is not None and not with_inbox.open_questions:
        status = "running"
    if status == "running" and (row.owner is None or is_dead(row.owner)):
        if row.detail and row.next_wake is not None:
            return "parked"  # The run waits for its provider. A host tries again now and then.
        return "running" if hosted and row.last_seq > 0 else "parked"
    return status


def status_at_rest(kind: "AnyKind", state: Any, ending: "Ending") -> str:
    """Return a run's status for people, right after this process has driven the run."""
    from runtime.drive.options import Ending  # noqa: PLC0415 -- reading a run needs no event loop

    common = kind.run_state(state)
    if ending is Ending.WAITING and common is not None and common.outage is not None and not common.open_questions:
        return "parked"
    return {Ending.FINISHED: "finished", Ending.WAITING: "waiting", Ending.PARKED: "parked"}[ending]


def goes_on(common: "RunState[Any] | None") -> bool:
    """Return whether a finished run continues if a person resumes it.

    `common` is the common part of its state after the messages in its inbox.
    """
    return common is not None and common.undoes_end(at_once=True)


def row_after(row: RunRow, with_inbox: "RunState[Any]") -> RunRow:
    """Return the status row of a waiting run after the messages of its inbox. The row names the first open question."""
    first = next(iter(with_inbox.open_questions), "")
    return row._replace(detail=first, waiting_since=with_inbox.asked_since)


READ_TRIES = 10
"""A run's records and its status row are read again until both have the same last record. This is the largest number of
reads."""


class RunReader:
    """Reads the runs of a journal."""

    journal: Readable[Any]
    kinds: "Kinds"

    async def kind_of(self, run: str) -> "AnyKind":
        """Return a run's kind.

        Raises `RunNotFound`, `KindUnknown`, and `UsageProblem` for a kind that cannot be loaded.
        """
        row = await self.journal.row(run)
        return self.kinds.get(run, row.kind, row.format)

    async def read(self, run: str) -> "Loaded":
        """Return a run's kind, state and records. Raises the errors of `kind_of`, and `JournalDamaged`."""
        from replan.runs.loaded import Loaded  # noqa: PLC0415 -- as the module says
        from runtime.core.machine import fold  # noqa: PLC0415

        kind = await self.kind_of(run)
        records = await self.journal.read(run)
        return Loaded(kind, fold(kind.machine, (record.event for record in records)), records)

    async def read_with_row(self, run: str) -> "tuple[Loaded, RunRow]":
        """Return a run and its status row, both as of the same record. Raises the errors of `read`.

        If a driver appends a record between the two reads, both are read again, at most `READ_TRIES` times.
        """
        loaded, row = await self.read(run), await self.journal.row(run)
        for _ in range(READ_TRIES - 1):
            if row.last_seq == loaded.seq:
                break
            loaded, row = await self.read(run), await self.journal.row(run)
        return loaded, row

    async def load(self, run: str) -> tuple[Any, list[Record[Any]]]:
        """Return a run's state and its records. Raises the errors of `read`."""
        loaded = await self.read(run)
        return loaded.state, loaded.records

    async def result(self, run: str) -> "RunResult":
        """Return the result of a run so far. Raises the errors of `read`."""
        loaded, row = await self.read_with_row(run)
        with_inbox = await self.with_inbox(run, loaded)
        hosted = await self.has_host(row.kind, row.format)
        status = status_of(row, hosted=hosted, with_inbox=loaded.kind.run_state(with_inbox))
        return self.view(run, loaded.kind, loaded.state, status, with_inbox)

    def view(self, run: str, kind: "AnyKind", state: Any, status: str, with_inbox: Any = None) -> "RunResult":
        """Return the result of a run with this state.

        `with_inbox` is the state after the messages in the run's inbox.
        """
        from actors.run.result import RunView  # noqa: PLC0415 -- as the module says

        common = state if with_inbox is None else with_inbox
        lines = partial(kind.views.lines, program=program(), full=False)
        return kind.views.result(RunView(run, status, state, common, program(), lines))

    async def has_host(self, kind: str, format: int) -> bool:
        """Return whether a running host of this home drives runs of a kind whose stored format is `format`.

        No host is woken.
        """
        return any(is_drivable(host.kinds, kind, format) for host in await self.journal.hosts(dead=is_dead))

    async def with_inbox(self, run: str, loaded: "Loaded") -> Any:
        """Return a run's state after the run has accepted the unread messages in its inbox.

        The run decides nothing about them yet.

        So people see the effect of their messages at once, even if no process drives the run.
        """
        return loaded.after(await self.journal.inbox(run, loaded.inbox))

    async def state_with_inbox(self, run: str) -> Any:
        """Return a run's state after the messages in its inbox. Raises the errors of `read`."""
        return await self.with_inbox(run, await self.read(run))

    async def common_with_inbox(self, run: str) -> "RunState[Any] | None":
        """Return the common part of a run's state after the messages in its inbox; None if the run has not begun.

        Raises the errors of `read`.
        """
        loaded = await self.read(run)
        return loaded.kind.run_state(await self.with_inbox(run, loaded))

    async def rows(self, which: RunFilter) -> list[tuple[RunRow, str]]:
        """Return the rows that `which` selects, each with its status for people.

        A posted message changes this status at once.

        Child runs are left out. A run is read only if it waits and has unread messages. If the messages answer all its
        questions, the run no longer waits. If a question is still open, the row names that question. If a run cannot be
        read, for example because its kind is unknown, its row is returned unchanged.
        """
        rows, hosted = [], dict[tuple[str, int], bool]()
        for row in await self.journal.runs(replace(which, tops=True)):
            common = None
            if row.unread and row.status == "waiting":
                try:
                    common = await self.common_with_inbox(row.run)
                except (JournalDamaged, RunNotFound, KindUnknown, UsageProblem):
                    common = None
            kind = row.kind, row.format
            if kind not in hosted:
                hosted[kind] = await self.has_host(*kind)
            status = status_of(row, hosted=hosted[kind], with_inbox=common)
            if which.status in (None, status):
                rows.append((row if common is None else row_after(row, common), status))
        return rows

    async def row_page(self, which: RunFilter, query: "RowQuery") -> tuple[list[tuple[RunRow, str]], int]:
        """Return the rows of one page, which `which` selects, and the number of rows on all pages.

        If the journal cannot select the rows itself, all rows are read and compared with the status and the query.
        """
        if which.status is None and query == RowQuery():
            return await self.rows(which), (await self.journal.totals(replace(which, tops=True))).runs
        rows = await self.rows(replace(which, begin=0, limit=ALL.limit))
        matching = [row for row in rows if query.matches(row[0])]
        order = ORDERS[query.order]
        if order is not None:
            matching.sort(key=lambda item: order(item[0]), reverse=True)
        return matching[which.begin : which.begin + which.limit], len(matching)


ORDERS: Mapping[str, Callable[[RunRow], float] | None] = {
    "newest": None,
    "changed": lambda row: row.updated,
    "calls": lambda row: row.calls,
    "cost": lambda row: row.micro_usd,
}
"""A mapping from the name of an order to a function. Runs are sorted by the number that the function returns for their
row, the largest first. None means the order of the journal, the newest run first.
"""


class RowQuery(NamedTuple):
    """A filter and an order for a list of runs."""

    text: str = ""
    """A text that the id, the title or the kind must contain; empty for any run."""
    kind: str = ""
    micro_usd_min: int = 0
    """The smallest cost of a run, in micro-dollars. An unknown cost counts as 0."""
    order: str = "newest"

    def matches(self, row: RunRow) -> bool:
        """Return whether a run's row matches the query."""
        if self.kind not in ("", row.kind) or row.micro_usd < self.micro_usd_min:
            return False
        text = self.text.strip().casefold()
        return not text or text in f"{row.run} {row.title} {row.kind}".casefold()


@dataclass(frozen=True)
class LightRunReader(RunReader):
    """A reader of a journal's runs for short commands. It needs few imports."""

    journal: Readable[Any]
    kinds: "Kinds"
