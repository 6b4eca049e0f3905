"""Slots for calls in the Postgres journal: a row for each host that has some, and one that is locked to count them."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from runtime.journal.postgres.connecting import Cursor
from runtime.journal.slots import Slots, granted
from runtime.journal.validation import check_text

T = TypeVar("T")

_LOCKED = ""
"""The name of no host: of the row whose lock lets one host count at a time."""

_LOCK = (
    "INSERT INTO replan.slots VALUES (%s, %s, 0, 0, 'infinity')"
    " ON CONFLICT (provider, host) DO UPDATE SET held = excluded.held"
)
_OTHERS = "SELECT held, wanted FROM replan.slots WHERE provider = %s AND host NOT IN (%s, %s) AND until > %s"
_TAKE = (
    "INSERT INTO replan.slots VALUES (%s, %s, %s, %s, %s)"
    " ON CONFLICT (provider, host) DO UPDATE SET held = excluded.held, wanted = excluded.wanted, until = excluded.until"
)
_DROP = "DELETE FROM replan.slots WHERE provider = %s AND (host = %s AND %s OR until <= %s)"


class PostgresSlots:
    """The methods of `runtime.journal.slots.CallSlots`."""

    _alone: Callable[[Callable[[Cursor, float], T]], Awaitable[T]]

    async def take_slots(self, provider: str, host: str, *, using: int, wanted: int, most: int, ttl: float) -> int:
        """As `CallSlots.take_slots`."""
        check_text(provider, "provider")
        check_text(host, "host")

        def work(cursor: Cursor, now: float) -> int:
            cursor.execute(_LOCK, (provider, _LOCKED))
            others = cursor.execute(_OTHERS, (provider, host, _LOCKED, now)).fetchall()
            held = granted(using, wanted, most, [Slots(*row) for row in others])
            if wanted or held:
                cursor.execute(_TAKE, (provider, host, held, wanted, now + ttl))
            cursor.execute(_DROP, (provider, host, not (wanted or held), now))
            return held

        return await self._alone(work)
