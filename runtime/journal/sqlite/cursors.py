"""Cursors in the SQLite file: tables of their own, changed by the thread that commits."""

from collections.abc import Callable, Mapping

import apsw

from runtime.core.clock import Clock
from runtime.journal.cursors import CURSOR_LIMIT, Behind, Tally
from runtime.journal.rules import may_hold
from runtime.journal.sqlite.writer import Writer
from runtime.journal.thread import ConnectionThread
from runtime.journal.validation import check_text

_HOLD = (
    "INSERT INTO cursors VALUES (?, ?, ?)"
    " ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until"
)
_PASSED = "runs r LEFT JOIN positions p ON p.cursor = ? AND p.run = r.id"
_BEHIND = (
    "SELECT r.id, r.run, r.kind, r.format, coalesce(p.seq, 0), r.last_seq"  # noqa: S608 -- names of our own
    f" FROM {_PASSED} WHERE r.id > ? AND r.last_seq > coalesce(p.seq, 0) ORDER BY r.id LIMIT ?"
)
_MOVE = (
    "INSERT INTO positions SELECT ?, id, min(?, last_seq) FROM runs WHERE run = ?"
    " ON CONFLICT (cursor, run) DO UPDATE SET seq = max(seq, excluded.seq)"
)
_UNDRIVEN = "CASE WHEN a.at <= ? AND (owner IS NULL OR lease_end <= ?) THEN updated END"
_TALLY = (
    f"SELECT kind, status, count(*), min(waiting_since), min({_UNDRIVEN})"  # noqa: S608 -- names of our own
    " FROM runs r LEFT JOIN agenda a ON a.run = r.id GROUP BY kind, status ORDER BY kind, status"
)


class SqliteCursors:
    """The methods of `runtime.journal.cursors.Cursors`."""

    _clock: Clock
    _writing: Writer
    _reading: ConnectionThread[apsw.Connection]

    async def hold_cursor(
        self, name: str, owner: str, ttl: float, *, dead: Callable[[str], bool], skip: frozenset[str] = frozenset()
    ) -> bool:
        """As `Cursors.hold_cursor`."""
        check_text(name, "name")
        check_text(owner, "owner")
        now = self._clock.now()

        def work(connection: apsw.Connection) -> bool:
            held = [*connection.execute("SELECT owner, until FROM cursors WHERE name = ?", (name,))]
            for holder, until in held:
                if not may_hold(holder, until, owner, now, dead):
                    return False
            connection.execute(_HOLD, (name, owner, now + ttl))
            for status in sorted(skip) if not held else ():
                passed = "INSERT INTO positions SELECT ?, id, last_seq FROM runs WHERE status = ?"
                connection.execute(passed, (name, status))
            return True

        return await self._writing.do(work)

    async def leave_cursor(self, name: str, owner: str) -> None:
        """As `Cursors.leave_cursor`."""
        statement = "UPDATE cursors SET owner = NULL WHERE name = ? AND owner = ?"

        def work(connection: apsw.Connection) -> None:
            connection.execute(statement, (name, owner))

        await self._writing.do(work)

    async def move_cursor(self, name: str, owner: str, positions: Mapping[str, int]) -> bool:
        """As `Cursors.move_cursor`."""

        def work(connection: apsw.Connection) -> bool:
            if not [*connection.execute("SELECT 1 FROM cursors WHERE name = ? AND owner = ?", (name, owner))]:
                return False
            for run, seq in positions.items():
                connection.execute(_MOVE, (name, seq, run))
            return True

        return await self._writing.do(work)

    async def behind(self, name: str, limit: int = CURSOR_LIMIT, *, beyond: int = 0) -> list[Behind]:
        """As `Cursors.behind`."""

        def work(connection: apsw.Connection) -> list[Behind]:
            return [Behind(*row) for row in connection.execute(_BEHIND, (name, beyond, limit))]

        return await self._reading.do(work)

    async def tally(self) -> list[Tally]:
        """As `Cursors.tally`."""
        now = self._clock.now()

        def work(connection: apsw.Connection) -> list[Tally]:
            return [Tally(*row) for row in connection.execute(_TALLY, (now, now))]

        return await self._reading.do(work)
