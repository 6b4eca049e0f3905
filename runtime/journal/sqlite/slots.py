"""Slots for calls in the SQLite file: a row for each host that has some, changed by the thread that commits."""

import apsw

from runtime.core.clock import Clock
from runtime.journal.slots import Slots, granted
from runtime.journal.sqlite.writer import Writer
from runtime.journal.validation import check_text

_OTHERS = "SELECT held, wanted FROM slots WHERE provider = ? AND host <> ? AND until > ?"
_TAKE = "INSERT OR REPLACE INTO slots VALUES (?, ?, ?, ?, ?)"
_DROP = "DELETE FROM slots WHERE provider = ? AND (host = ? AND ? OR until <= ?)"


class SqliteSlots:
    """The methods of `runtime.journal.slots.CallSlots`."""

    _clock: Clock
    _writing: Writer

    async def take_slots(self, provider: str, host: str, *, using: int, wanted: int, most: int, ttl: float) -> int:
        """As `CallSlots.take_slots`."""
        check_text(provider, "provider")
        check_text(host, "host")
        now = self._clock.now()

        def work(connection: apsw.Connection) -> int:
            others = [Slots(int(held), int(want)) for held, want in connection.execute(_OTHERS, (provider, host, now))]
            held = granted(using, wanted, most, others)
            if wanted or held:
                connection.execute(_TAKE, (provider, host, held, wanted, now + ttl))
            connection.execute(_DROP, (provider, host, not (wanted or held), now))
            return held

        return await self._writing.do(work)
