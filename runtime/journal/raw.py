"""The port of a store that holds a journal, for reading, copying and verification.

A `StoreReader` is one snapshot of a store. A reader returns rows, records with their hashes, and messages, for whole
runs or for parts of runs. This module verifies the chain, the texts and the events, in the same way for every store.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from runtime.core.errors import JournalError, RunExists, RunMoved
from runtime.core.events import Record
from runtime.core.ledger import ZERO, Amount
from runtime.journal import rules
from runtime.journal.chain import Stored, Tip, decode, verify
from runtime.journal.head import RunHead
from runtime.journal.port import (
    Codecs,
    Dead,
    Deleted,
    Due,
    Formats,
    HostRow,
    InboxItem,
    RunFilter,
    RunRow,
    Totals,
    codec_of,
)
from runtime.journal.rules import RunOperation, named_texts

TextOf = Callable[[str], bytes | None]
"""A function that gets the hash of a text in hexadecimal digits, and returns the text's UTF-8 bytes. It returns None if
the text is missing."""


class Part(NamedTuple):
    """Some stored records of a run, not verified."""

    start: Tip
    """The tip of the chain before the first of these records."""
    rows: list[Stored]
    ends: frozenset[int]
    """The numbers of those records that were the last of their append. The set may contain numbers that are not in
    `rows`.
    """


class RunCopy(NamedTuple):
    """Everything that a journal has of a run."""

    head: RunHead
    records: Sequence[Stored]
    ends: frozenset[int]
    """The numbers of those records that were the last of their append."""
    inbox: Sequence[InboxItem]
    texts: Mapping[bytes, bytes]
    """The texts of the run's events, by hash."""

    @property
    def size(self) -> int:
        """The number of bytes in the records, messages and texts."""
        records, inbox = sum(len(row.body) for row in self.records), sum(len(item.body) for item in self.inbox)
        return records + inbox + sum(map(len, self.texts.values()))

    @property
    def added(self) -> RunHead:
        """The run's row as it is added to another journal, without an owner."""
        return self.head._replace(owner=None, end=0.0)


class StoreReader(ABC):
    """One snapshot of a store."""

    now: float
    """The time of the snapshot by the journal's clock."""

    @abstractmethod
    def names(self, *, recorded: bool = False) -> list[str]:
        """Return the ids of all runs, or only of runs with records, in the order of admission."""

    @abstractmethod
    def head(self, run: str, *, asks: bool = False) -> RunHead:
        """Return a run's row. With `asks`, the open questions are included. Raises `RunNotFound`, `JournalDamaged`."""

    def rows(self, which: RunFilter) -> list[RunRow]:
        """Implement `Journal.runs`."""
        found = [head for run in reversed(self.names()) if _matches(which, head := self.head(run))]
        begin = max(0, which.begin)
        return [head.row_at(self.now, asks=which.asks) for head in found[begin : begin + max(0, which.limit)]]

    def totals(self, which: RunFilter) -> Totals:
        """Implement `Journal.totals`."""
        rows = self.rows(replace(which, begin=0, limit=sys.maxsize))
        return Totals(len(rows), sum(row.last_seq for row in rows), sum(row.owner is not None for row in rows))

    @abstractmethod
    def part(self, head: RunHead, after: int) -> Part:
        """Return a run's records after `after`. Earlier records of the same append may come before them."""

    @abstractmethod
    def messages(self, run: str, after: int) -> list[InboxItem]:
        """Return the messages with an id above `after`, in order. Raises `RunNotFound`, `JournalDamaged`."""

    @abstractmethod
    def text(self, digest: str) -> bytes | None:
        """Return the bytes of the text whose hash in hex is `digest`; None if the text is missing."""

    def due(self, limit: int, dead: Dead, kinds: Formats | None) -> Due:
        """Implement `Journal.due`."""
        return rules.due(map(self.head, self.names()), limit, self.now, dead, kinds)

    def hosts(self) -> list[HostRow]:
        """Return the hosts whose presence has not ended."""
        return []

    def spending(self) -> dict[tuple[str, int], Amount]:
        """Return the total of each tenant on each day. The tenant `HOME` stands for all runs."""
        return {}

    def spent(self, tenant: str, day: int) -> Amount:
        """Return the total of a tenant on a day. The tenant `HOME` stands for all runs."""
        return self.spending().get((tenant, day), ZERO)

    def row(self, run: str) -> RunRow:
        """Implement `Journal.row`. This call must be the last read from a snapshot."""
        return self.head(run, asks=True).row_at(self.now)

    def inbox(self, run: str, after: int) -> list[InboxItem]:
        """Implement `Journal.inbox`. This call must be the last read from a snapshot."""
        return self.messages(run, after)

    def texts_of(self, rows: Iterable[Stored]) -> TextOf:  # noqa: ARG002 -- a store may read them all at once
        """Return a function that finds a text of these records by its hash."""
        return self.text

    def chain(self, head: RunHead, after: int = 0) -> list[Stored]:
        """Return the rows of a run's records after `after`, verified by their chain. Raises `JournalDamaged`."""
        start, rows, _ = self.part(head, max(0, after))
        verify(head.run, start, rows, head.tip)
        return rows[max(0, after) - start.seq :]

    def records(self, codecs: Codecs, head: RunHead, chained: Sequence[Stored]) -> list[Record[Any]]:
        """Return the records from rows that `chain` has returned, after verifying their texts.

        Raises `JournalDamaged`, `KindUnknown`.
        """
        return decode(codec_of(codecs, head.run, head.kind, head.format), head.run, chained, self.texts_of(chained))

    def copy(self, run: str) -> RunCopy:
        """Return everything that the journal has of a run, after verifying it.

        Raises `RunNotFound`, `JournalDamaged`.
        """
        head = self.head(run, asks=True)
        start, rows, ends = self.part(head, 0)
        verify(run, start, rows, head.tip)
        return RunCopy(head, rows, ends, self.messages(run, 0), self.named(rows))

    def copies(self, runs: Sequence[str]) -> Iterator[tuple[str, RunCopy | JournalError]]:
        """Yield for each run its verified copy, or the error that prevents reading the run."""
        for run in runs:
            try:
                yield run, self.copy(run)
            except JournalError as error:
                yield run, error

    def named(self, rows: Sequence[Stored]) -> dict[bytes, bytes]:
        """Return the texts to which records refer, by hash, without those that are missing from the store."""
        found, text_of = dict[bytes, bytes](), self.texts_of(rows)
        for digest in named_texts(row.body for row in rows):
            text = text_of(digest.hex())
            if text is not None:
                found[digest] = text
        return found


def _matches(which: RunFilter, head: RunHead) -> bool:
    summary, before = head.summary, which.waiting_since_before
    if which.status not in (None, summary.status) or (which.asks and not summary.asks):
        return False
    if (which.unfinished and summary.status == "finished") or (which.tops and "." in head.run):
        return False
    if not (head.title.startswith(which.title_start) and head.run.startswith(which.run_start)):
        return False
    return before is None or (summary.waiting_since is not None and summary.waiting_since < before)


Refused = RunExists | RunMoved
"""The errors with which a journal refuses to add the copy of a run."""

Spent = Mapping[int, Amount]
"""A mapping from a day to the amount that a run has added to the total of this day."""


class RawStore(ABC):
    """A journal without an event loop. It is used to move whole runs out of the journal or into it."""

    @abstractmethod
    def look(self) -> AbstractContextManager[StoreReader]:
        """Yield one snapshot of the committed data. The caller must end the snapshot before it waits for anything."""

    @abstractmethod
    def carry_out(self, works: Sequence[RunOperation[None]]) -> list[JournalError | None]:
        """Carry out operations in one transaction.

        Return for each operation the error that prevented the operation, or None.
        """

    @abstractmethod
    def add(self, copies: Sequence[tuple[RunCopy, Spent]], source: str = "") -> list[bool | Refused]:
        """Add runs, and the amounts that the runs have committed on each day, in one transaction.

        Return a result for each run. The result is True if the run was added, False if the store had this copy already,
        and otherwise the error of `rules.receive`. `source` is the place from which the runs are copied. If a run here
        is marked as moved to that place, because the copying was interrupted, the mark is removed. If `JournalError` is
        raised, nothing is added.
        """

    @abstractmethod
    def remove(self, heads: Sequence[RunHead], place: str) -> Deleted:
        """Delete runs in one transaction. Each run must be marked as moved to `place`, and its row must be unchanged.

        If `RunNotFound` or `Fenced` is raised, no run is deleted.
        """

    def head(self, run: str) -> RunHead:
        """Return a run's row. Raises `RunNotFound`, `JournalDamaged`."""
        with self.look() as reader:
            return reader.head(run)


@dataclass(frozen=True, slots=True)
class Inspection:
    """One snapshot of a journal, with all that is needed to check what it stores. The check changes nothing."""

    reader: StoreReader
    problems: Iterable[str] = ()
    """The defects of the store itself, one line for each. The iteration searches for them."""
    lost: Sequence[str] = ()
    """The ids of runs that were in the journal and are missing now; empty if the store cannot tell."""
    may_lack_deleted: bool = True
    agenda: Callable[[RunHead], tuple[float | None, bool]] = lambda head: (head.summary.due, head.unread)
    """A function that looks in the store's extra tables, and returns when a run is due and whether it has unread
    messages.
    """
    check_end: Callable[[RunHead, Sequence[Stored]], None] = lambda _, __: None
    """A function that raises `JournalDamaged` if the run's row or its anchor shows that records are missing."""
    last_posted: Callable[[RunHead], int] = lambda head: head.last_posted
    """A function that returns the id of the last posted message, according to the row and the anchor."""
