"""Reading runs again and again, for a server: of a run that has been read before, only its new records are read."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from replan.runs.loaded import Loaded
from replan.runs.reader import Reading
from runtime.core.events import Record
from runtime.journal.port import Readable

if TYPE_CHECKING:
    from replan.setup.kinds import Kinds

RECORDS_MAX = 50_000
"""Records of the runs that are kept in memory, all together; the run that was read least recently is dropped first."""
MARK = 200
"""A state is kept after so many records each, so that a page of records need not fold the run from its beginning."""


@dataclass(slots=True)
class _Kept:
    """A run as it was read last."""

    created: float
    loaded: Loaded
    marks: list[Any] = field(default_factory=list)


class CachedReader(Reading):
    """Reads the runs of a journal, and keeps those that were read lately."""

    def __init__(self, journal: Readable[Any], kinds: "Kinds", *, records_max: int = RECORDS_MAX) -> None:
        self.journal, self.kinds, self._records_max = journal, kinds, records_max
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def read(self, run: str) -> Loaded:
        """Return a run as `Reading.read` does; the records that were read before are not read again."""
        return (await self._read(run)).loaded

    async def page(self, run: str, after: int, most: int = MARK) -> tuple[Loaded, list[tuple[Record[Any], Any]]]:
        """Return a run, and at most `most` of its records after `after`, each with the state after it."""
        kept = await self._read(run)
        place = min(after // MARK, len(kept.marks) - 1)
        state, machine, shown = kept.marks[place], kept.loaded.kind.machine, []
        for record in kept.loaded.records[place * MARK : after + most]:
            state = machine.evolve(state, record.event)
            if record.seq > after:
                shown.append((record, state))
        return kept.loaded, shown

    async def _read(self, run: str) -> _Kept:
        row = await self.journal.row(run)
        known = self._kept.get(run)
        if known is None or known.created != row.created:  # Another run may have been given the id of a deleted one.
            kind = self.kinds.get(run, row.kind, row.format)
            initial = kind.machine.initial()
            known = _Kept(row.created, Loaded(kind, initial, []), [initial])
        loaded = known.loaded
        new = [] if row.last_seq == loaded.seq else await self.journal.read(run, loaded.seq)
        if new:
            state, marks = loaded.state, list(known.marks)
            for record in new:
                state = loaded.kind.machine.evolve(state, record.event)
                if record.seq % MARK == 0:
                    marks.append(state)
            known = _Kept(row.created, Loaded(loaded.kind, state, [*loaded.records, *new]), marks)
        self._kept[run] = known
        self._kept.move_to_end(run)
        total = sum(len(each.loaded.records) for each in self._kept.values())
        while total > self._records_max and len(self._kept) > 1:
            total -= len(self._kept.popitem(last=False)[1].loaded.records)
        return known
