"""A driver's hold on a run: claimed, renewed while it lasts, made sure of before anything is paid for, released."""

from typing import Any

import trio

from runtime.crash import reached
from runtime.driving import Lease
from runtime.errors import JournalError
from runtime.journal.port import Journal


class Tenure:
    """One driver's lease of one run, under an epoch."""

    def __init__(self, journal: Journal[Any], run: str, lease: Lease) -> None:
        self._journal, self._run, self._lease = journal, run, lease
        self.epoch = 0
        self._until = 0.0  # In trio's time, which goes on while a process is stopped.

    async def claim(self) -> None:
        """Take the run. Raises `Held`, `RunNotFound`."""
        until = trio.current_time() + self._lease.ttl
        self.epoch = await self._journal.claim(self._run, self._lease.owner, self._lease.ttl, dead=self._lease.dead)
        self._until = until

    async def keep(self) -> None:
        """Renew the lease for as long as this is let run. Raises `Fenced` if another driver has taken over."""
        while True:
            await trio.sleep(self._lease.ttl / 3)
            reached("renew.before")
            try:
                await self._renew()
            except JournalError as error:
                if not error.passing:  # Else it may work the next time; until then others may take the run.
                    raise

    async def make_sure(self) -> None:
        """Return if the run is still this driver's, which it may not know after it has stood still. Raises `Fenced`."""
        if trio.current_time() > self._until:
            await self._renew()

    async def release(self) -> None:
        """Give the run back, if it is still this driver's."""
        await self._journal.release(self._run, self.epoch)

    async def _renew(self) -> None:
        until = trio.current_time() + self._lease.ttl
        await self._journal.renew(self._run, self.epoch, self._lease.ttl)
        self._until = until
