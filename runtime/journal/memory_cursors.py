"""Cursors of the journal in memory."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import trio

from runtime.core.clock import Clock
from runtime.journal.cursors import CURSOR_LIMIT, Behind, Tally
from runtime.journal.memory_store import MemoryCursor, MemoryStore
from runtime.journal.rules import may_hold
from runtime.journal.validation import check_text


class MemoryCursors:
    """The methods of `runtime.journal.cursors.Cursors`."""

    _clock: Clock
    _store: MemoryStore
    _commit: Callable[[str, Callable[[], Any]], Awaitable[Any]]

    async def hold_cursor(
        self, name: str, owner: str, ttl: float, *, dead: Callable[[str], bool], skip: frozenset[str] = frozenset()
    ) -> bool:
        """As `Cursors.hold_cursor`."""
        check_text(name, "name")
        check_text(owner, "owner")
        now, store = self._clock.now(), self._store

        def commit() -> bool:
            held = store.cursors.get(name)
            if held is None:
                runs = store.runs.items()
                passed = {run: each.head.tip.seq for run, each in runs if each.head.summary.status in skip}
                held = store.cursors[name] = MemoryCursor(positions=passed)
            if not may_hold(held.owner, held.until, owner, now, dead):
                return False
            held.owner, held.until = owner, now + ttl
            return True

        return bool(await self._commit("hold_cursor", commit))

    async def leave_cursor(self, name: str, owner: str) -> None:
        """As `Cursors.leave_cursor`."""

        def commit() -> None:
            held = self._store.cursors.get(name)
            if held is not None and held.owner == owner:
                held.owner = None

        await self._commit("leave_cursor", commit)

    async def move_cursor(self, name: str, owner: str, positions: Mapping[str, int]) -> bool:
        """As `Cursors.move_cursor`."""

        def commit() -> bool:
            held = self._store.cursors.get(name)
            if held is None or held.owner != owner:
                return False
            for run, seq in positions.items():
                if run in self._store.runs:
                    last = self._store.runs[run].head.tip.seq
                    held.positions[run] = max(held.positions.get(run, 0), min(seq, last))
            return True

        return bool(await self._commit("move_cursor", commit))

    async def behind(self, name: str, limit: int = CURSOR_LIMIT, *, beyond: int = 0) -> list[Behind]:
        """As `Cursors.behind`."""
        await trio.lowlevel.checkpoint()
        cursor = self._store.cursors.get(name) or MemoryCursor()
        rows = [
            Behind(number, run, each.head.kind, each.head.format, cursor.positions.get(run, 0), each.head.tip.seq)
            for number, (run, each) in enumerate(self._store.runs.items(), 1)
        ]
        return [row for row in rows if row.number > beyond and row.last_seq > row.position][:limit]

    async def tally(self) -> list[Tally]:
        """As `Cursors.tally`."""
        await trio.lowlevel.checkpoint()
        now, tallies = self._clock.now(), dict[tuple[str, str], Tally]()
        for head in (held.head for held in self._store.runs.values()):
            key, due = (head.kind, head.summary.status), head.summary.due if head.tip.seq else None
            free = head.owner is None or head.end <= now
            undriven = head.updated if due is not None and due <= now and free else None
            old = tallies.get(key, Tally(*key, 0))
            tallies[key] = Tally(
                *key,
                old.runs + 1,
                _earlier(old.waiting_since, head.summary.waiting_since),
                _earlier(old.undriven_since, undriven),
            )
        return [tallies[key] for key in sorted(tallies)]


def _earlier(one: float | None, other: float | None) -> float | None:
    return min((time for time in (one, other) if time is not None), default=None)
