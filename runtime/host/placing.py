"""The jobs that an engine has handed to one worker: fetched where a slot is free, deleted once their runs are claimed.

A job never drives a run: it only names one. When there is no job and a slot is free, the journal's agenda is swept for
due runs without a job, which the engine has lost or never got.
"""

from collections.abc import Collection

import trio

from runtime.core.errors import JournalError
from runtime.dispatch.port import Dispatcher, Job
from runtime.journal.kinds import Formats
from runtime.journal.port import Dead

SWEEP_SECONDS = 0.5
"""The shortest and the usual time between two sweeps: it bounds how late a dead driver's runs are found."""


class Placing:
    """The jobs of one worker."""

    def __init__(self, dispatcher: Dispatcher, dead: Dead, kinds: Formats | None) -> None:
        """Take the engine, and what a sweep looks for: leases of dead owners, and the kinds that are driven here."""
        self._dispatcher, self._dead, self._kinds = dispatcher, dead, kinds
        self._held: dict[str, Job] = {}
        self._ended: list[Job] = []
        self._swept = -SWEEP_SECONDS

    async def next(self, room: int, skip: Collection[str]) -> Job | None:
        """Return the next job, None where there is none; `skip` are runs that need no job. Raises `JournalError`."""
        await self.finish_ended()
        while True:
            job = await self._dispatcher.fetch()
            if job is not None:
                return job
            if self.seconds_until_sweep() > 0:
                return None
            self._swept = trio.current_time()
            if not await self._dispatcher.sweep(room, dead=self._dead, kinds=self._kinds, skip=skip):
                return None

    def hold(self, job: Job) -> None:
        """Keep a job until its run is claimed, or found not to need it; an earlier one of the same run ends."""
        self.end(job.run)
        self._held[job.run] = job

    def end(self, run: str) -> None:
        """Let the job of a run end, if there is one: the run is claimed, or need not be."""
        job = self._held.pop(run, None)
        if job is not None:
            self._ended.append(job)

    async def finish_ended(self) -> None:
        """Delete the jobs that have ended. Raises `JournalError`."""
        while self._ended:
            job = self._ended.pop()  # At once, since another one may end meanwhile.
            try:
                await self._dispatcher.finish(job)
            except JournalError:
                self._ended.append(job)
                raise

    async def beat(self) -> None:
        """Tell the engine that this worker lives. Raises `JournalError`."""
        await self._dispatcher.beat()

    def seconds_until_sweep(self) -> float:
        """Return how long it is until the next sweep."""
        return self._swept + SWEEP_SECONDS - trio.current_time()
