"""A host's slots for calls to providers whose calls are limited for all hosts of the journal together.

The host takes slots from the journal for the calls that it has in flight and those that wait, and lends them to its
runs. A slot that it cannot renew in time is not used for a new call.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio

from runtime.core.errors import JournalError
from runtime.journal.slots import CallSlots
from runtime.logs import log

TTL_SECONDS = 8.0
"""How long slots are taken for; those of a host that has died are free after this time."""
RENEWALS = 4
"""How often slots are renewed in that time."""
ASK_SECONDS = 0.2
"""The pause between two questions for slots, while calls wait for some."""


@dataclass
class _Provider:
    most: int
    """The most calls in flight from all hosts."""
    using: int = 0
    """Calls in flight from this host."""
    waiting: int = 0
    """Calls of this host that wait for a slot."""
    held: int = 0
    """Slots that this host has."""
    until: float = 0.0
    """When they end, in trio's time."""
    changed: trio.Event = field(default_factory=trio.Event)
    """Set when a call may have a slot."""

    @property
    def wanted(self) -> int:
        """The calls of this host that are in flight or wait for a slot."""
        return self.using + self.waiting

    @property
    def has_room(self) -> bool:
        """Whether a call may begin."""
        return self.using < self.held and trio.current_time() <= self.until

    def wake(self) -> None:
        """Let the calls that wait look again."""
        self.changed.set()
        self.changed = trio.Event()


class SharedSlots:
    """The slots of one host."""

    def __init__(self, journal: CallSlots, host: str, most: Mapping[str, int]) -> None:
        """Take the journal, the host's id, and the most calls in flight by provider."""
        self._journal, self._host = journal, host
        self._providers = {provider: _Provider(limit) for provider, limit in most.items()}
        self._asked = trio.Event()

    @asynccontextmanager
    async def slot(self, provider: str) -> AsyncIterator[None]:
        """Wait for a free slot for a call to a provider, and free it at the end; at once where there is no limit."""
        found = self._providers.get(provider)
        if found is None:
            yield
            return
        found.waiting += 1
        if not found.has_room:
            self._asked.set()
        try:
            while not found.has_room:
                await found.changed.wait()
            found.using += 1
        finally:
            found.waiting -= 1
        try:
            yield
        finally:
            found.using -= 1
            if found.waiting:  # Slots are short: another host may be the next to get this one.
                found.held = min(found.held, found.using)
            self._asked.set()

    async def keep(self) -> None:
        """Take, renew and give back slots, until this is cancelled; then give all back."""
        try:
            while True:
                waiting = any(each.waiting for each in self._providers.values())
                with trio.move_on_after(ASK_SECONDS if waiting else TTL_SECONDS / RENEWALS):
                    await self._asked.wait()
                self._asked = trio.Event()
                for name, provider in self._providers.items():
                    if provider.held or provider.wanted:
                        await self._take(name, provider, provider.wanted)
        finally:
            with trio.move_on_after(1.0, shield=True):
                for name, provider in self._providers.items():
                    if provider.until:
                        await self._take(name, provider, 0)

    async def _take(self, name: str, provider: _Provider, wanted: int) -> None:
        until = trio.current_time() + TTL_SECONDS
        provider.held = provider.using  # No call begins meanwhile with a slot that another host may get now.
        try:
            held = await self._journal.take_slots(
                name, self._host, using=provider.using, wanted=wanted, most=provider.most, ttl=TTL_SECONDS
            )
        except JournalError as error:
            log.get_logger("host").warning("slots.not_renewed", provider=name, reason=str(error))
        else:
            provider.held, provider.until = held, until
            provider.wake()
