"""A driver's hold on a run: claimed, renewed while it lasts, made sure of before anything is paid for, released."""

from typing import Any

import trio

from runtime.core.clock import Clock
from runtime.core.crash_points import reached
from runtime.core.errors import JournalError
from runtime.drive.options import LeaseTerms
from runtime.journal.port import Journal
from runtime.logs import log

AGAIN_SECONDS = 1.0
"""How long a call waits before it asks again whose the run is, where the journal could not say."""


class LeaseKeeper:
    """One driver's lease of one run, under an epoch. A journal that is in trouble for a while does not end it."""

    def __init__(self, journal: Journal[Any], run: str, lease: LeaseTerms, clock: Clock) -> None:
        self._journal, self._run, self._lease, self._clock = journal, run, lease, clock
        self.epoch = 0
        self._end = (0.0, 0.0)

    async def claim(self) -> None:
        """Take the run. Raises `RunNotFound`, `KindUnknown`, `Held`."""
        end = self._end_from_now()
        self.epoch = await claim(self._journal, self._run, self._lease)
        self._end = end

    async def keep(self) -> None:
        """Renew the lease for as long as this is let run. Raises `Fenced` if another driver has taken over."""
        while True:
            await trio.sleep(self._lease.ttl / 3)
            reached("renew.before")
            await self._renewed()  # If not, it may be the next time; until then others may take the run.

    async def ensure_held(self) -> None:
        """Return if the run is still this driver's, which it may not know after it has stood still. Raises `Fenced`."""
        while self._may_be_over() and not await self._renewed():  # noqa: ASYNC110 - nobody tells
            await trio.sleep(AGAIN_SECONDS)

    async def release(self) -> None:
        """Give the run back, if it is still this driver's."""
        await release_quietly(self._journal, self._run, self.epoch)

    async def _renewed(self) -> bool:
        end = self._end_from_now()
        try:
            await self._journal.renew(self._run, self.epoch, self._lease.ttl)
        except JournalError as error:
            if not error.passing:
                raise
            return False
        self._end = end
        return True

    def _end_from_now(self) -> tuple[float, float]:
        """Return when a lease that begins now ends: by trio's clock, and by the one that rivals go by.

        The first goes on while a process is stopped and cannot be set, the second while the machine is suspended.
        """
        return trio.current_time() + self._lease.ttl, self._clock.now() + self._lease.ttl

    def _may_be_over(self) -> bool:
        return trio.current_time() > self._end[0] or self._clock.now() > self._end[1]


async def claim(journal: Journal[Any], run: str, terms: LeaseTerms) -> int:
    """Take a run on these terms; return the epoch. Raises `RunNotFound`, `KindUnknown`, `Held`."""
    return await journal.claim(run, terms.owner, terms.ttl, dead=terms.dead, kinds=terms.kinds)


async def release_quietly(journal: Journal[Any], run: str, epoch: int) -> None:
    """Release a run. If that fails for a while the lease ends by itself, and what was written stands all the same."""
    try:
        await journal.release(run, epoch)
    except JournalError as error:
        if not error.passing:
            raise
        log.get_logger("run").warning("lease.kept", run_id=run, reason=str(error))
