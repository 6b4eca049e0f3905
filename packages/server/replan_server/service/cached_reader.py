"""Keeps the runs that a server has read, so that it reads only new records.

"To fold" means to compute a state from records.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import trio

from actors.run.views import Near
from replan.runs.loaded import AnyKind, Loaded
from replan.runs.reader import RunReader
from runtime.core.events import Record
from runtime.journal.port import Readable, RunRow

if TYPE_CHECKING:
    from actors.run.result import RunResult
    from replan.setup.kinds import Kinds

RECORDS_MAX = 20_000
"""The largest number of records kept in memory, for all runs together. A record takes about 5 KiB. The records of the
least recently read run are dropped first.
"""
VIEWS_MAX = 8
"""The largest number of runs whose results are kept in memory. The least recently used result is dropped first."""
AT_ONCE_MAX = 500
"""The largest number of new records of a run that are folded in the event loop. Folding them takes about 50 ms. More
records are folded in a thread.
"""
MARK = 200
"""The number of records between two states of a run that are kept. With these states, a page of records can be shown
without folding the whole run.
"""

_FOLDS = trio.CapacityLimiter(1)
"""Lets only one thread at a time fold records, because folding occupies a whole processor core."""


@dataclass(slots=True)
class _Kept:
    """A run as it was when it was last read, with its states after every `MARK` records."""

    created: float
    loaded: Loaded
    marks: list[Any] = field(default_factory=list)

    def near(self, position: int) -> tuple[int, Any]:
        """Find the last kept state at or before `position`.

        Return the number of records before the state, and the state.
        """
        mark = min(position // MARK, len(self.marks) - 1)
        return mark * MARK, self.marks[mark]

    def with_records(self, new: Sequence[Record[Any]]) -> "_Kept":
        """Return the run with more records. Nothing is changed in place, so any thread may call this method."""
        state, marks, loaded = self.loaded.state, list(self.marks), self.loaded
        for record in new:
            state = loaded.kind.machine.evolve(state, record.event)
            if record.seq % MARK == 0:
                marks.append(state)
        return _Kept(self.created, Loaded(loaded.kind, state, [*loaded.records, *new]), marks)


class CachedReader(RunReader):
    """Reads the runs of a journal, and keeps the recently read runs."""

    def __init__(self, journal: Readable[Any], kinds: "Kinds", *, records_max: int = RECORDS_MAX) -> None:
        self.journal, self.kinds, self._records_max = journal, kinds, records_max
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._count = 0
        self._views: OrderedDict[str, tuple[Any, str, RunResult]] = OrderedDict()

    async def read(self, run: str) -> Loaded:
        """Return a run. The journal is asked only for records that this reader has not read before."""
        return (await self._read(run)).loaded

    def takes_long(self, row: RunRow) -> bool:
        """Return whether reading the new records of a run takes noticeably long."""
        kept = self._kept.get(row.run)
        known = 0 if kept is None or kept.created != row.created else kept.loaded.seq
        return row.last_seq - known > AT_ONCE_MAX

    async def read_marked(self, run: str) -> tuple[Loaded, Near[Any]]:
        """Return a run, and a function that returns the last kept state before any of its records."""
        kept = await self._read(run)
        return kept.loaded, kept.near

    async def page(self, run: str, after: int, most: int = MARK) -> tuple[Loaded, list[tuple[Record[Any], Any]]]:
        """Return a run, and up to `most` records with numbers above `after`, each with the state after it."""
        kept = await self._read(run)
        (place, state), machine, pairs = kept.near(after), kept.loaded.kind.machine, []
        for record in kept.loaded.records[place : after + most]:
            state = machine.evolve(state, record.event)
            if record.seq > after:
                pairs.append((record, state))
        return kept.loaded, pairs

    def view(self, run: str, kind: AnyKind, state: Any, status: str, with_inbox: Any = None) -> "RunResult":
        """Return the result of a run in a state. As long as the state is the same, the same object is returned."""
        if with_inbox is not None and with_inbox is not state:
            return super().view(run, kind, state, status, with_inbox)
        kept_view = self._views.get(run)
        if kept_view is None or kept_view[0] is not state or kept_view[1] != status:
            kept_view = state, status, super().view(run, kind, state, status)
            self._views[run] = kept_view
        self._views.move_to_end(run)
        while len(self._views) > VIEWS_MAX:
            self._views.popitem(last=False)
        return kept_view[2]

    async def _read(self, run: str) -> _Kept:
        row = await self.journal.row(run)
        kept = self._kept.get(run)
        if kept is None or kept.created != row.created:  # Another run may have got the id of a deleted run.
            kind = self.kinds.get(run, row.kind, row.format)
            initial = kind.machine.initial()
            kept = _Kept(row.created, Loaded(kind, initial, []), [initial])
        loaded = kept.loaded
        new = [] if row.last_seq <= loaded.seq else await self.journal.read(run, loaded.seq)
        if len(new) > AT_ONCE_MAX:
            kept = await trio.to_thread.run_sync(kept.with_records, new, limiter=_FOLDS)
        elif new:
            kept = kept.with_records(new)
        self._keep(run, kept)
        return kept

    def _keep(self, run: str, kept: _Kept) -> None:
        """Keep a run, unless another call has kept more records of it in the meantime.

        If there is no room, drop other runs.
        """
        before = self._kept.get(run)
        if before is None or before.created != kept.created or before.loaded.seq <= kept.loaded.seq:
            self._count += len(kept.loaded.records) - (0 if before is None else len(before.loaded.records))
            self._kept[run] = kept
        self._kept.move_to_end(run)
        while self._count > self._records_max and len(self._kept) > 1:
            self._count -= len(self._kept.popitem(last=False)[1].loaded.records)
