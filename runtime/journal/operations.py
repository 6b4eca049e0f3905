"""The operations of the journal's port, for every store.

They check and encode the input, apply the rules, and return records.

A store defines how a snapshot is read (`_look`) and how an operation is carried out in a transaction (`_write`).
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from runtime.core.daily_budget import HOME, BudgetSource, HomeBudget, day_of
from runtime.core.events import Codec, Record
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal import rules
from runtime.journal.chain import records
from runtime.journal.head import RunHead, new_head
from runtime.journal.port import (
    FIRST_FORMAT,
    FIRST_KIND,
    NEW,
    ORDINARY,
    Codecs,
    Dead,
    Deleted,
    Due,
    Fact,
    Formats,
    HostRow,
    InboxItem,
    Placement,
    Posted,
    RunFilter,
    RunRow,
    Totals,
    codec_of,
    nobody,
)
from runtime.journal.raw import RawStore, StoreReader
from runtime.journal.rules import RunOperation
from runtime.journal.validation import check_known_run, check_new, check_size, check_text, encode_facts

E = TypeVar("E")
T = TypeVar("T")


class ReadOperations(Generic[E]):
    """The reading half of the journal's port (`runtime.journal.port.Readable`)."""

    _codecs: Codecs

    @abstractmethod
    async def _look(self, read: Callable[[StoreReader], T]) -> T:
        """Call `read` with one snapshot of the store, and return its result."""

    def _check_text(self, text: str, place: str) -> str:
        return check_text(text, place)

    async def _check_end(self, head: RunHead) -> None:
        """Raise `JournalDamaged` if the end of the run's chain shows that records are missing."""

    async def row(self, run: str) -> RunRow:
        check_known_run(run)
        return await self._look(lambda reader: reader.row(run))

    async def runs(self, which: RunFilter) -> list[RunRow]:
        self._check_filter(which)
        return await self._look(lambda reader: reader.rows(which))

    async def totals(self, which: RunFilter) -> Totals:
        self._check_filter(which)
        return await self._look(lambda reader: reader.totals(which))

    def _check_filter(self, which: RunFilter) -> None:
        self._check_text(which.status or "", "status")
        self._check_text(which.title_start, "title")
        self._check_text(which.run_start, "run")

    async def read(self, run: str, after: int = 0) -> list[Record[E]]:
        check_known_run(run)

        def read(reader: StoreReader) -> tuple[RunHead, list[Record[E]]]:
            head = reader.head(run)
            return head, reader.records(self._codecs, head, reader.chain(head, after))

        head, found = await self._look(read)
        await self._check_end(head)
        return found

    async def inbox(self, run: str, after: int = 0) -> list[InboxItem]:
        check_known_run(run)
        return await self._look(lambda reader: reader.inbox(run, after))

    async def hosts(self, *, dead: Dead = nobody) -> list[HostRow]:
        present = await self._look(lambda reader: reader.hosts())
        return [row for row in present if not dead(row.owner)]


class RawOperations(ReadOperations[Any]):
    """The reading half of a journal over a raw store. The methods never wait."""

    def __init__(self, store: RawStore, codecs: Codecs) -> None:
        self._store, self._codecs = store, codecs

    async def _look(self, read: Callable[[StoreReader], T]) -> T:
        with self._store.look() as reader:
            return read(reader)


class Operations(ReadOperations[E]):
    """The operations of the journal's port, except those on hosts and cursors, which each store implements itself."""

    def __init__(self, codecs: Codecs, budget: BudgetSource) -> None:
        self._codecs, self._budget = codecs, budget
        self._kinds: dict[str, tuple[str, int]] = {}  # These belong to runs that are claimed here, and never change.

    @abstractmethod
    async def _write(self, work: RunOperation[T]) -> T:
        """Carry out an operation in a transaction, and return its result after the commit."""

    @abstractmethod
    async def _delete(self, runs: Mapping[str, int], dead: Dead) -> Deleted:
        """Implement `Journal.delete`. The run ids are checked already."""

    async def create(
        self,
        run: str,
        title: str,
        kind: str = FIRST_KIND,
        format: int = FIRST_FORMAT,
        *,
        facts: Sequence[Fact[E]] = (),
        summary: Summary = NEW,
        owner: str | None = None,
        ttl: float = 0.0,
        overdraw: bool = False,
        placement: Placement = ORDINARY,
    ) -> list[Record[E]]:
        check_new(run, title, kind, format, owner=owner, placement=placement)
        self._check_text(owner or "", "owner")
        self._check_summary(summary)
        entries = encode_facts(codec_of(self._codecs, run, kind, format), facts) if facts else []
        work = RunOperation(
            "create",
            run,
            lambda locked: rules.admit(locked, entries, summary, owner=owner, ttl=ttl, overdraw=overdraw),
            new=new_head(run, title, kind, format, placement),
            entries=entries,
        )
        rows = await self._write(work)
        if owner is not None:
            self._kinds[run] = kind, format
        return records(run, entries, rows)

    async def claim(
        self, run: str, owner: str, ttl: float, *, dead: Dead = nobody, kinds: Formats | None = None
    ) -> int:
        check_known_run(run)
        self._check_text(owner, "owner")
        work = RunOperation("claim", run, lambda locked: rules.claim(locked, owner, ttl, dead, kinds), resumes=True)
        head = await self._write(work)
        self._kinds[run] = head.kind, head.format
        return head.epoch

    async def renew(self, run: str, epoch: int, ttl: float) -> None:
        check_known_run(run)
        await self._write(RunOperation("renew", run, lambda locked: rules.renew(locked, epoch, ttl)))

    async def release(self, run: str, epoch: int) -> None:
        check_known_run(run)
        await self._write(RunOperation("release", run, lambda locked: rules.release(locked, epoch)))
        self._kinds.pop(run, None)

    async def append(
        self,
        run: str,
        *,
        after: int,
        epoch: int,
        facts: Sequence[Fact[E]],
        summary: Summary,
        overdraw: bool = False,
    ) -> list[Record[E]]:
        check_known_run(run)
        self._check_summary(summary)
        entries = encode_facts(await self._codec(run), facts) if facts else []
        work = RunOperation(
            "append",
            run,
            lambda locked: rules.append(locked, entries, summary, after=after, epoch=epoch, overdraw=overdraw),
            entries=entries,
        )
        return records(run, entries, await self._write(work))

    async def post(self, run: str, key: str, body: str) -> Posted:
        check_known_run(run)
        check_text(key, "key")
        check_text(body, "body")
        return await self._write(RunOperation("post", run, lambda locked: rules.post(locked, key, body), key=key))

    async def delete(self, runs: Mapping[str, int], *, dead: Dead = nobody) -> Deleted:
        for run in runs:
            check_known_run(run)
        return await self._delete(runs, dead)

    async def due(self, limit: int, *, dead: Dead = nobody, kinds: Formats | None = None) -> Due:
        return await self._look(lambda reader: reader.due(max(0, limit), dead, kinds))

    async def spent_today(self, tenant: str = HOME) -> Amount:
        return await self._look(lambda reader: reader.spent(tenant, day_of(reader.now)))

    async def budgets_today(self, run: str) -> list[tuple[HomeBudget, Amount]]:
        budget = self._budget.current()
        if not any(limits.limited for limits in (budget, *budget.tenants.values())):
            return []

        def read(reader: StoreReader) -> list[tuple[HomeBudget, Amount]]:
            day, limits = day_of(reader.now), budget.of(reader.head(run).placement.tenant)
            return [(limit, reader.spent(tenant, day)) for tenant, limit in limits.items() if limit.limited]

        return await self._look(read)

    async def _codec(self, run: str) -> Codec[E]:
        kind = self._kinds.get(run)
        if kind is None:
            head = await self._look(lambda reader: reader.head(run))
            kind = head.kind, head.format
        return codec_of(self._codecs, run, *kind)

    def _check_summary(self, summary: Summary) -> None:
        self._check_text(summary.status, "status")
        self._check_text(summary.detail, "detail")
        check_size(len(summary.asks), "questions")
