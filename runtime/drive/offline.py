"""Writing one fact into a run that nobody drives, and nothing that follows from it: an admission, or an epitaph."""

from typing import Any, TypeVar

import trio

from runtime.core.machine import Machine, Refused, fold
from runtime.drive.lease import claim, release_quietly
from runtime.drive.options import LeaseTerms
from runtime.journal.port import Fact, Journal
from runtime.logs import log

S = TypeVar("S")
E = TypeVar("E")
M = TypeVar("M")


async def record(machine: Machine[S, E, Any], journal: Journal[E], run: str, lease: LeaseTerms, message: Any) -> bool:
    """Take a message into a run; return whether the machine took it. No work is handed out.

    Raises `RunNotFound`, `KindUnknown`, `Held`, `JournalDamaged`, `StorageFull`.
    """
    with trio.CancelScope(shield=True):  # Else a lease could be taken and never given back.
        epoch = await claim(journal, run, lease)
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
            await release_quietly(journal, run, epoch)
    for one in written:
        log.log_record(one)
    return True
