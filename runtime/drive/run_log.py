"""A run's records in the hands of its driver: the state that they come to, and the writing of further ones.

Nothing is acted on before it is written. Written is as much as the home's budget allows, and on a full disk what is in
hand waits for room.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import trio

from runtime.core.clock import Clock
from runtime.core.crash_points import reached
from runtime.core.errors import HomeBudgetSpent, StorageFull
from runtime.core.events import Record
from runtime.core.ledger import ZERO
from runtime.core.machine import Machine, settle
from runtime.drive.lease import LeaseKeeper
from runtime.drive.options import Stop
from runtime.drive.overdraft import Part, parts, saving
from runtime.journal.port import Fact, Journal
from runtime.logs import log

S = TypeVar("S")
E = TypeVar("E")

AGAIN_SECONDS = 5.0
"""How long a run waits before it tries again to write on a full disk, or to read mail that was out of reach."""

OnRecord = Callable[[Record[E], S], None]
"""Hears of a record, with the state after its transaction."""
Trace = Callable[[E, S], Mapping[str, str | int]]
"""Says what an event is about, for logs."""


class History(Generic[S, E]):
    """The records of one run, and the state and the status row after the last of them."""

    def __init__(
        self,
        run: str,
        machine: Machine[S, E, Any],
        journal: Journal[E],
        tenure: LeaseKeeper,
        *,
        clock: Clock,
        stop: Stop,
        on_record: OnRecord[E, S] | None,
        trace: Trace[E, S],
        notice: Callable[[str], None],
    ) -> None:
        """Take what `runtime.drive.supervisor.Supervisor` was given; nothing is read yet."""
        self._run, self._machine, self._journal, self._tenure = run, machine, journal, tenure
        self._clock, self._stop = clock, stop
        self._on_record, self._trace, self._notice = on_record, trace, notice
        self.state = machine.initial()
        self.summary = machine.summary(self.state)
        self.seq = 0

    async def load(self) -> int:
        """Read what is there; return the last posted message that it has consumed, or 0. Raises `JournalDamaged`."""
        mail = 0
        for record in await self._journal.read(self._run):
            self.state = self._machine.evolve(self.state, record.event)
            self.seq = record.seq
            mail = max(mail, record.inbox or 0)
        self.summary = self._machine.summary(self.state)
        return mail

    async def write(self, accepted: E, inbox: int | None, goes_on: Callable[[S], bool]) -> bool:
        """Write an event and what follows from it, as far as the home's budget allows.

        What is left out is asked for with the next message. Where none is to come, which `goes_on` says of a state, the
        machine is told to save; returns whether for good. Raises as `append`.
        """
        state, events = settle(self._machine, self.state, accepted)
        try:
            await self._store(state, events, inbox)
        except HomeBudgetSpent as spent:
            return await self._write_part(parts(self._machine, self.state, events), spent, inbox, goes_on)
        return False

    async def _write_part(
        self, shorter: Sequence[Part[S, E]], spent: HomeBudgetSpent, inbox: int | None, goes_on: Callable[[S], bool]
    ) -> bool:
        *costly, free = shorter
        for part in costly:
            try:
                await self._store(part.state, part.events, inbox)
            except HomeBudgetSpent as again:
                spent = again
            else:
                return False
        if free.following == ZERO or goes_on(free.state):
            await self._store(free.state, free.events, inbox, overdraw=True)  # It only tells what was used.
            return False
        saved = saving(self._machine, free, spent, self._clock.now())
        self._notice(saved.notice)
        await self._store(saved.state, saved.events, inbox, overdraw=True)
        return saved.for_good

    async def _store(self, state: S, events: Sequence[E], inbox: int | None, *, overdraw: bool = False) -> None:
        """Append; on a full disk wait for room, with what is in hand, unless a stop is wished for."""
        told = False
        while True:
            try:
                return await self.append(state, events, inbox, overdraw=overdraw)
            except StorageFull as full:
                if self._stop.park.is_set():
                    raise
                if not told:
                    log.get_logger("run").warning("storage.full", run_id=self._run)
                    self._notice(f"{full.where}: no room left to write; the run goes on when there is some")
                told = True
            with trio.move_on_after(AGAIN_SECONDS):
                await self._stop.park.wait()

    async def append(self, state: S, events: Sequence[E], inbox: int | None = None, *, overdraw: bool = False) -> None:
        """Write events and the state that they lead to; the first consumes the posted message `inbox`.

        Raises as `Journal.append`: `Fenced`, `StorageFull`, `HomeBudgetSpent`.
        """
        facts = [Fact(event, inbox if place == 0 else None) for place, event in enumerate(events)]
        summary = self._machine.summary(state)
        reached("append.before")
        records = await self._journal.append(
            self._run, after=self.seq, epoch=self._tenure.epoch, facts=facts, summary=summary, overdraw=overdraw
        )
        reached("append.after")
        self.state, self.summary, self.seq = state, summary, records[-1].seq
        for record in records:
            log.log_record(record, partial(self._trace, record.event, state))
            if self._on_record is not None:
                self._on_record(record, state)
        if summary.status == "finished":
            reached("finish.after")
