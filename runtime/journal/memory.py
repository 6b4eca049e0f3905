"""The journal in memory: no threads, no I/O, deterministic. For simulation and tests.

A `MemoryStore` holds what was committed and outlives the journals opened on it, as a disk outlives processes. A `Fault`
is called just before and just after the commit of every operation, and may raise there: a crash with nothing written,
or a crash with everything written and not reported.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

import trio

from runtime.core.clock import Clock
from runtime.core.daily_budget import HomeBudget
from runtime.core.events import Codec
from runtime.journal.kinds import Codecs, Formats, codecs_by_kind
from runtime.journal.memory_cursors import MemoryCursors
from runtime.journal.memory_slots import MemorySlots
from runtime.journal.memory_store import MemoryReader, MemoryStore
from runtime.journal.operations import Operations
from runtime.journal.port import Dead, Deleted, HostRow, Journal
from runtime.journal.raw import Reader
from runtime.journal.rules import Work
from runtime.journal.validation import check_text

E = TypeVar("E")
T = TypeVar("T")

Moment = Literal["before", "after"]

Fault = Callable[[str, Moment], None]
"""Called with an operation's name (`append`, `claim`, ...) and the moment relative to its commit. May raise."""


@asynccontextmanager
async def open_memory(
    codecs: Codec[E] | Codecs,
    clock: Clock,
    *,
    store: MemoryStore | None = None,
    fault: Fault | None = None,
    budget: HomeBudget | None = None,
) -> AsyncIterator[Journal[E]]:
    """Open a journal in memory, on a new store or the one given; `codecs` are those of the kinds that it can read."""
    by_kind = codecs_by_kind(codecs)
    kept, faults, allowed = store or MemoryStore(), fault or _no_fault, budget or HomeBudget()
    yield _MemoryJournal(by_kind, clock, kept, faults, budget=allowed)


def _no_fault(operation: str, moment: Moment) -> None:
    """Let everything succeed."""


class _MemoryJournal(Operations[E], MemoryCursors, MemorySlots):
    def __init__(self, codecs: Codecs, clock: Clock, store: MemoryStore, fault: Fault, *, budget: HomeBudget) -> None:
        super().__init__(codecs)
        self._clock, self._store, self._fault, self._budget = clock, store, fault, budget

    def now(self) -> float:
        return self._clock.now()

    async def announce(self, host: str, owner: str, ttl: float, kinds: Formats | None = None) -> None:
        check_text(host, "host")
        check_text(owner, "owner")
        row = HostRow(host, owner, self._clock.now() + ttl, kinds)
        await self._commit("announce", lambda: self._store.hosts.update({host: row}))

    async def depart(self, host: str) -> None:
        await self._commit("depart", lambda: self._store.hosts.pop(host, None))

    async def version(self) -> int:
        await trio.lowlevel.checkpoint()
        return self._store.version

    async def _look(self, read: Callable[[Reader], T]) -> T:
        await trio.lowlevel.checkpoint()
        return read(MemoryReader(self._store, self._clock.now()))

    async def _write(self, work: Work[T]) -> T:
        now = self._clock.now()
        return await self._commit(work.operation, lambda: self._store.carry_out(work, now, self._budget))

    async def _delete(self, runs: Mapping[str, int], dead: Dead) -> Deleted:
        now = self._clock.now()
        return await self._commit("delete", lambda: self._store.delete(runs, now, dead))

    async def _commit(self, operation: str, commit: Callable[[], T]) -> T:
        # As with a disk: cancelled before the commit, nothing is written; afterwards the caller gets the result.
        await trio.lowlevel.checkpoint()
        self._fault(operation, "before")
        result = commit()
        self._store.version += 1
        self._fault(operation, "after")
        await trio.lowlevel.cancel_shielded_checkpoint()
        return result


__all__ = ["Fault", "MemoryStore", "Moment", "open_memory"]
