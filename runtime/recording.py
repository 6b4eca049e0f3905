"""Writing one fact into a run that nobody drives, and nothing that follows from it: an admission, or an epitaph."""

from typing import Any, TypeVar

import trio

from runtime import logs
from runtime.driving import Lease
from runtime.journal.port import Fact, Journal
from runtime.machine import Machine, Refused, fold
from runtime.tenure import give_back

S = TypeVar("S")
E = TypeVar("E")
M = TypeVar("M")


async def record(machine: Machine[S, E, Any], journal: Journal[E], run: str, lease: Lease, message: Any) -> bool:
    """Take a message into a run; return whether the machine took it. No work is handed out.

    Raises `RunNotFound`, `Held`, `JournalDamaged`, `StorageFull`.
    """
    with trio.CancelScope(shield=True):  # Else a lease could be taken and never given back.
        epoch = await journal.claim(run, lease.owner, lease.ttl, dead=lease.dead)
        try:
            records = await journal.read(run)
            state = fold(machine, (record.event for record in records))
            accepted = machine.accept(state, message)
            if accepted is None or isinstance(accepted, Refused):
                return False
            summary = machine.summary(machine.evolve(state, accepted))
            written = await journal.append(
                run, after=len(records), epoch=epoch, facts=[Fact(accepted)], summary=summary
            )
        finally:
            await give_back(journal, run, epoch)
    for one in written:
        logs.log_record(one)
    return True
