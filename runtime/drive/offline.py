"""Writes one event of a run that nobody drives: the start of a new run, or the bug that ended one. Starts no work."""

from typing import Any, TypeVar

import trio

from runtime.core.crash_points import reached
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.core.machine import Machine, Refused, fold
from runtime.core.messages import stamped
from runtime.drive.lease import claim, release_quietly
from runtime.drive.options import Admission, LeaseTerms
from runtime.journal.port import Fact, Journal
from runtime.logs import log

S = TypeVar("S")
E = TypeVar("E")
M = TypeVar("M")


async def admit(
    machine: Machine[S, E, M], journal: Journal[E], run: str, admission: Admission, message: M
) -> list[Record[E]]:
    """Admit a run with the event that the machine makes of the message that starts it, in one transaction.

    Nobody holds the run then. Raises `RunExists`, `StorageFull`, and `UsageProblem` for a message that starts no run.
    """
    initial = machine.initial()
    accepted = machine.accept(initial, stamped(message, 0.0))
    if accepted is None or isinstance(accepted, Refused):
        reason = accepted.reason if isinstance(accepted, Refused) else "the message starts no run"
        raise UsageProblem(reason, place=f"kind {admission.kind}")
    summary = machine.summary(machine.evolve(initial, accepted))
    reached("append.before")
    header = (run, admission.title, admission.kind, admission.format)
    records = await journal.create(*header, facts=[Fact(accepted)], summary=summary, placement=admission.placement)
    reached("append.after")
    for record in records:
        log.log_record(record)
    return records


async def append_one(
    machine: Machine[S, E, Any], journal: Journal[E], run: str, terms: LeaseTerms, message: Any
) -> bool:
    """Append the event that the machine makes of a message; return False where it makes none.

    Raises `RunNotFound`, `KindUnknown`, `Held`, `JournalDamaged`, `StorageFull`.
    """
    with trio.CancelScope(shield=True):  # Else a lease could be taken and never given back.
        epoch = await claim(journal, run, terms)
        try:
            records = await journal.read(run)
            state = fold(machine, (record.event for record in records))
            accepted = machine.accept(state, stamped(message, 0.0))
            if accepted is None or isinstance(accepted, Refused):
                return False
            summary = machine.summary(machine.evolve(state, accepted))
            new_records = await journal.append(
                run, after=len(records), epoch=epoch, facts=[Fact(accepted)], summary=summary
            )
        finally:
            await release_quietly(journal, run, epoch)
    for record in new_records:
        log.log_record(record)
    return True
