"""Slots for calls in the journal in memory."""

from collections.abc import Awaitable, Callable
from typing import Any

from runtime.core.clock import Clock
from runtime.journal.memory_store import MemoryStore
from runtime.journal.slots import Slots, granted
from runtime.journal.validation import check_text


class MemorySlots:
    """The methods of `runtime.journal.slots.CallSlots`."""

    _clock: Clock
    _store: MemoryStore
    _commit: Callable[[str, Callable[[], Any]], Awaitable[Any]]

    async def take_slots(self, provider: str, host: str, *, using: int, wanted: int, most: int, ttl: float) -> int:
        """As `CallSlots.take_slots`."""
        check_text(provider, "provider")
        check_text(host, "host")
        now, store = self._clock.now(), self._store

        def commit() -> int:
            rows = {name: row for name, row in store.slots.get(provider, {}).items() if row[1] > now and name != host}
            held = granted(using, wanted, most, [slots for slots, _ in rows.values()])
            if wanted or held:
                rows[host] = Slots(held, wanted), now + ttl
            store.slots[provider] = rows
            return held

        return int(await self._commit("take_slots", commit))
