"""The port of engines that place runs on workers. An engine hands out hints; the journal knows what is to be done.

A job says that a run may have to be driven. A worker that gets one tries to claim the run; the claim decides. So a job
that is lost, doubled or late does no harm: `sweep` makes a job for every due run that has none.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from runtime.journal.kinds import Formats
from runtime.journal.port import Dead


@dataclass(frozen=True, slots=True)
class Job:
    """A hint that a run may have to be driven."""

    id: int
    """Its number in the engine."""
    run: str
    """The id of the run."""


class Dispatcher(Protocol):
    """An engine, as one worker uses it. All calls raise `JournalError` where the engine cannot be used."""

    async def fetch(self) -> Job | None:
        """Take the next job, which no other worker gets; None where there is none.

        Jobs of runs with a higher priority come first. Among equal priorities, the tenant with the fewest runs under
        way on all workers comes first. Within a tenant, the oldest job comes first.
        """
        ...

    async def finish(self, job: Job) -> None:
        """Delete a job: its run has been claimed, or need not be."""
        ...

    async def sweep(self, limit: int, *, dead: Dead, kinds: Formats | None, skip: Collection[str]) -> int:
        """Make a job for due runs that have none and return for how many, at most `limit`.

        `dead` and `kinds` are as for `Journal.due`; the runs in `skip` are left out.
        """
        ...

    async def beat(self) -> None:
        """Tell the engine that this worker lives, and delete what workers left that do not. Call it every 10 s."""
        ...
