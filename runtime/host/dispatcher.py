"""The port of engines that place runs on workers. An engine gives hints; the journal is the source of truth.

A job is a hint that a run may need a driver. A worker that gets a job tries to claim the run, and the claim decides. So
lost, repeated and late jobs do no harm: `sweep` makes a job for every due run without one.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from runtime.journal.port import Dead, Formats


@dataclass(frozen=True, slots=True)
class Job:
    """A hint that a run may need a driver."""

    id: int
    run: str


class Dispatcher(Protocol):
    """An engine, as one worker sees it. All methods raise `JournalError` if the engine cannot be used."""

    async def fetch(self) -> Job | None:
        """Return the next job, which no other worker gets; None if there is none.

        Jobs of runs with a higher priority come first. Among equal priorities, the tenant with the fewest running runs
        on all workers comes first. Within a tenant, the oldest job comes first.
        """

    async def finish(self, job: Job) -> None:
        """Delete a job, because its run has been claimed or needs no driver."""

    async def sweep(self, limit: int, *, dead: Dead, kinds: Formats | None, skip: Collection[str]) -> int:
        """Make jobs for at most `limit` due runs that have none, and return the number of new jobs.

        `dead` and `kinds` are as for `Journal.due`; the runs in `skip` are left out.
        """

    async def beat(self) -> None:
        """Tell the engine that this worker lives, and delete the entries of dead workers. Call it every 10 s."""
