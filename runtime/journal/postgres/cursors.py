"""Cursors in the Postgres journal: tables of their own; leases go by the server's clock."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from runtime.journal.cursors import CURSOR_LIMIT, Behind, Tally
from runtime.journal.postgres.connecting import Cursor
from runtime.journal.rules import may_hold
from runtime.journal.validation import check_text

T = TypeVar("T")

_HOLD = (
    "INSERT INTO replan.cursors VALUES (%s, %s, %s)"
    " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"
)
_SKIP = "INSERT INTO replan.positions SELECT %s, id, last_seq FROM replan.runs WHERE status = ANY(%s)"
_MOVE = (
    "INSERT INTO replan.positions AS passed SELECT %s, id, least(%s, last_seq) FROM replan.runs WHERE run = %s"
    " ON CONFLICT (cursor, run) DO UPDATE SET seq = greatest(passed.seq, excluded.seq)"
)
_PASSED = "replan.runs r LEFT JOIN replan.positions p ON p.cursor = %s AND p.run = r.id"
_BEHIND = (
    "SELECT r.id, r.run, r.kind, r.format, coalesce(p.seq, 0), r.last_seq"
    f" FROM {_PASSED} WHERE r.id > %s AND r.last_seq > coalesce(p.seq, 0) ORDER BY r.id LIMIT %s"
)
_TALLY = (
    "SELECT kind, status, count(*), min(waiting_since),"
    " min(updated) FILTER (WHERE due <= %s AND (owner IS NULL OR lease_end <= %s))"
    " FROM replan.runs GROUP BY kind, status ORDER BY kind, status"
)


class PostgresCursors:
    """The methods of `runtime.journal.cursors.Cursors`."""

    _alone: Callable[[Callable[[Cursor, float], T]], Awaitable[T]]
    _snapshot: Callable[[Callable[[Cursor, float], T]], Awaitable[T]]

    async def hold_cursor(
        self, name: str, owner: str, ttl: float, *, dead: Callable[[str], bool], skip: frozenset[str] = frozenset()
    ) -> bool:
        """As `Cursors.hold_cursor`."""
        check_text(name, "name")
        check_text(owner, "owner")

        def work(cursor: Cursor, now: float) -> bool:
            statement = "INSERT INTO replan.cursors VALUES (%s, NULL, 0) ON CONFLICT DO NOTHING"
            fresh = cursor.execute(statement, (name,)).rowcount == 1
            statement = "SELECT owner, until FROM replan.cursors WHERE name = %s FOR UPDATE"
            for holder, until in cursor.execute(statement, (name,)).fetchall():
                if not may_hold(holder, until, owner, now, dead):
                    return False
            cursor.execute(_HOLD, (name, owner, now + ttl))
            if fresh and skip:
                cursor.execute(_SKIP, (name, sorted(skip)))
            return True

        return await self._alone(work)

    async def leave_cursor(self, name: str, owner: str) -> None:
        """As `Cursors.leave_cursor`."""

        def work(cursor: Cursor, _: float) -> None:
            cursor.execute("UPDATE replan.cursors SET owner = NULL WHERE name = %s AND owner = %s", (name, owner))

        await self._alone(work)

    async def move_cursor(self, name: str, owner: str, positions: Mapping[str, int]) -> bool:
        """As `Cursors.move_cursor`."""

        def work(cursor: Cursor, _: float) -> bool:
            statement = "SELECT 1 FROM replan.cursors WHERE name = %s AND owner = %s FOR UPDATE"
            if not cursor.execute(statement, (name, owner)).fetchall():
                return False
            for run, seq in positions.items():
                cursor.execute(_MOVE, (name, seq, run))
            return True

        return await self._alone(work)

    async def behind(self, name: str, limit: int = CURSOR_LIMIT, *, beyond: int = 0) -> list[Behind]:
        """As `Cursors.behind`."""

        def work(cursor: Cursor, _: float) -> list[Behind]:
            return [Behind(*row) for row in cursor.execute(_BEHIND, (name, beyond, limit)).fetchall()]

        return await self._snapshot(work)

    async def tally(self) -> list[Tally]:
        """As `Cursors.tally`."""

        def work(cursor: Cursor, now: float) -> list[Tally]:
            return [Tally(*row) for row in cursor.execute(_TALLY, (now, now)).fetchall()]

        return await self._snapshot(work)
