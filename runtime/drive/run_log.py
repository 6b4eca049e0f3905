"""Writes the records of a run: for its driver, or a single event for a run without a driver.

An event is appended before anything acts on it. If the daily budget does not allow all events of a message, only the
first of them are appended. An append waits while the disk is full, the journal is busy, or its database cannot be
reached.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any, Generic, TypeVar, assert_never

import trio

from runtime.core.errors import (
    Fenced,
    HomeBudgetSpent,
    JournalBusy,
    JournalError,
    JournalUnreachable,
    StorageFull,
    UsageProblem,
)
from runtime.core.events import Record
from runtime.core.hooks import APPEND_SECONDS, mark_point, report_measure
from runtime.core.ledger import ZERO, Amount
from runtime.core.machine import Machine, Refused, Summary, fold, settle
from runtime.core.messages import Overdrawn, stamp
from runtime.drive.lease import LeaseKeeper, claim, release_quietly
from runtime.drive.options import Admission, DriveOptions, LeaseTerms, Stop
from runtime.journal.port import Fact, Journal
from runtime.logs import log

S = TypeVar("S")
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class Prefix(Generic[S, E]):
    """The first events of a batch."""

    state: S
    events: Sequence[E]
    next_reservation: Amount
    """The reservation of the next event of the batch; zero if there is no next event."""


def _prefixes(machine: Machine[S, E, Any], state: S, events: Sequence[E], facts: int = 1) -> list[Prefix[S, E]]:
    """Return the parts of a batch that begin with its first event and end before a reservation, the longest part first.

    Every prefix includes the first `facts` events. Events after a prefix are discarded, and the machine decides again
    when the next message arrives.
    """
    shorter: list[Prefix[S, E]] = []
    state = fold(machine, events[:facts], state)
    for position, event in enumerate(events[facts:], facts):
        after = machine.evolve(state, event)
        added = machine.summary(after).committed - machine.summary(state).committed
        if added.calls > 0 or added.micro_usd > 0:
            shorter.append(Prefix(state, events[:position], added))
        state = after
    return shorter[::-1] or [Prefix(state, events, ZERO)]


@dataclass(frozen=True, slots=True)
class Pause(Generic[S, E]):
    """The events with which a run stops because the daily budget is spent. They reserve nothing."""

    state: S
    events: Sequence[E]
    """The events of the prefix, then the events that stop the run."""
    notice: str


def pause(
    machine: Machine[S, E, Any], free: Prefix[S, E], spent: HomeBudgetSpent, now: float, mono: float
) -> Pause[S, E]:
    """Tell the machine that the daily budget is spent, and return the events with which the machine then stops the run.

    `now` and `mono` are the times of this message. Raises `spent` if the machine refuses or ignores the message.
    """
    never = spent.budget.reason_too_large(free.next_reservation)
    why = never or spent.why
    accepted = machine.accept(free.state, Overdrawn(now, spent.until, why, never=bool(never), mono=mono))
    if accepted is None or isinstance(accepted, Refused):
        raise spent
    state, events = settle(machine, free.state, accepted)
    then = "ends" if spent.until is None else "is parked" if never else "waits for the next day"
    return Pause(state, [*free.events, *events], f"{why}; the run {then}")


RETRY_SECONDS = 5.0
"""The seconds before a driver tries again to write to a full disk or a busy journal, or to read an unreadable inbox."""

Trace = Callable[[E, S], Mapping[str, str | int]]
"""A function that returns the fields for log lines about an event. It gets the event, and the run's state after the
event's transaction."""


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[S]):
    """The state of a run after some of its records. A driver with a snapshot reads only the records after it."""

    state: S
    seq: int
    """The number of the last record that was read; 0 for none."""
    inbox: int
    """The id of the last posted message that the records up to `seq` have consumed, or 0."""


class RunLog(Generic[S, E]):
    """Writes the records of one run.

    `state` and `summary` are those after the last record, whose number is `seq`.
    """

    def __init__(
        self,
        run: str,
        machine: Machine[S, E, Any],
        journal: Journal[E],
        lease: LeaseKeeper,
        *,
        stop: Stop,
        options: DriveOptions,
        trace: Trace[E, S],
        snapshot: Snapshot[S] | None,
        admission: Admission | None,
    ) -> None:
        """Store the arguments, which are those of `runtime.drive.supervisor.Supervisor`. Nothing is read yet."""
        self._run, self._machine, self._journal, self._lease = run, machine, journal, lease
        self._stop, self._new, self._turn = stop, admission, options.turn
        self.held_back = False
        """Whether the last write left out a request, because it is the turn of other runs."""
        self._on_record, self._trace, self._notice = options.on_record, trace, options.notice
        start = snapshot or Snapshot(machine.initial(), 0, 0)
        self.state, self.seq, self._consumed = start.state, start.seq, start.inbox
        self.summary = machine.summary(self.state)

    async def load(self) -> int:
        """Read the records after the snapshot. Return the id of the last consumed message, or 0.

        Raises `JournalDamaged`, `KindUnknown`.
        """
        for record in await self._journal.read(self._run, after=self.seq):
            self.state = self._machine.evolve(self.state, record.event)
            self.seq = record.seq
            self._consumed = max(self._consumed, record.inbox or 0)
        self.summary = self._machine.summary(self.state)
        return self._consumed

    async def write(self, facts: Sequence[tuple[E, int | None]], goes_on: Callable[[S], bool]) -> None:
        """Append facts and the decisions that follow them, as far as the daily budget allows.

        Each fact comes with the id of the posted message that it consumes, or None. `facts` may be empty. Decisions
        that are not appended are discarded: the machine decides again when the next message comes. If the budget is
        exceeded and `goes_on` returns that no message will come, the run pauses. While it is the turn of other runs, no
        request is appended. Raises the errors of `append`.
        """
        accepted, inbox = [event for event, _ in facts], [message for _, message in facts]
        state, following = settle(self._machine, fold(self._machine, accepted, self.state))
        events = [*accepted, *following]
        if self._turn is not None:
            free = _prefixes(self._machine, self.state, events, len(accepted))[-1]
            calls = self._machine.summary(free.state).committed.calls
            self.held_back = free.next_reservation != ZERO and not self._turn.may_call(calls)
            if self.held_back:
                await self._write_free(free, inbox)
                return
        if not events:
            return
        try:
            await self.append(state, events, inbox, waits=True)
        except HomeBudgetSpent as spent:
            shorter = _prefixes(self._machine, self.state, events, len(accepted))
            await self._write_prefix(shorter, spent, inbox, goes_on)

    async def write_start(self, first: Any) -> None:
        """Append only the event that starts the run, without the decisions that follow from it."""
        accepted = self._machine.accept(self.state, stamp(first, 0.0))
        if accepted is not None and not isinstance(accepted, Refused):
            await self.append(self._machine.evolve(self.state, accepted), [accepted])

    async def _write_free(self, free: Prefix[S, E], inbox: Sequence[int | None]) -> None:
        """Append a prefix without reservations even if the daily budget is exceeded, because it only reports usage."""
        if free.events:
            await self.append(free.state, free.events, inbox, overdraw=True, waits=True)

    async def _write_prefix(
        self,
        shorter: Sequence[Prefix[S, E]],
        spent: HomeBudgetSpent,
        inbox: Sequence[int | None],
        goes_on: Callable[[S], bool],
    ) -> None:
        *reserving, free = shorter
        for prefix in reserving:
            try:
                await self.append(prefix.state, prefix.events, inbox, waits=True)
            except HomeBudgetSpent as error:
                spent = error
            else:
                return
        if free.next_reservation == ZERO or goes_on(free.state):
            await self._write_free(free, inbox)
            return
        paused = pause(self._machine, free, spent, self._journal.now(), self._lease.seconds())
        self._notice(paused.notice)
        await self.append(paused.state, paused.events, inbox, overdraw=True, waits=True)

    def _note_holdup(self, held_up: StorageFull | JournalBusy | JournalUnreachable) -> None:
        match held_up:
            case StorageFull():
                name, text = "storage.full", "no room is left to write; the run goes on when there is room again"
            case JournalBusy():
                name, text = (
                    "journal.busy",
                    "another process keeps the journal busy; the run goes on when the journal is free",
                )
            case JournalUnreachable():
                name, text = (
                    "journal.unreachable",
                    "the database cannot be reached; the run goes on when the database answers again",
                )
            case _:
                assert_never(held_up)
        log.get_logger("run").warning(name, run_id=self._run)
        self._notice(f"{held_up.where}: {text}")

    async def append(
        self,
        state: S,
        events: Sequence[E],
        inbox: Sequence[int | None] = (),
        *,
        overdraw: bool = False,
        waits: bool = False,
    ) -> None:
        """Append events; `state` is the state after them.

        `inbox` has the ids of the posted messages that the first events consume.

        With `waits`, wait while the disk is full, or the journal is busy or cannot be reached. But raise the error if a
        stop was requested, or if the run is new, because a new run loses nothing.

        The first append of a new run also stores and claims the run. Raises the errors of `Journal.append`: `Fenced`,
        `StorageFull`, `JournalBusy`, `HomeBudgetSpent`; for a new run also `RunExists`.
        """
        facts = [Fact(event, message) for event, message in zip_longest(events, inbox)]
        summary = self._machine.summary(state)
        mark_point("append.before")
        records = await self._commit(facts, summary, overdraw=overdraw, waits=waits)
        mark_point("append.after")
        self.state, self.summary, self.seq = state, summary, records[-1].seq
        for record in records:
            log.log_record(record, partial(self._trace, record.event, state))
            if self._on_record is not None:
                self._on_record(record, state)
        if summary.status == "finished":
            mark_point("finish.after")

    async def _commit(
        self, facts: Sequence[Fact[E]], summary: Summary, *, overdraw: bool, waits: bool
    ) -> list[Record[E]]:
        noticed_cause: type[JournalError] | None = None
        while True:
            started_at, lease, new = trio.current_time(), self._lease, self._new
            try:
                if new is None:
                    records = await self._journal.append(
                        self._run,
                        after=self.seq,
                        epoch=lease.epoch,
                        facts=facts,
                        summary=summary,
                        overdraw=overdraw,
                    )
                else:
                    end, terms = lease.end_from_now(), lease.terms
                    records = await self._journal.create(
                        self._run,
                        new.title,
                        new.kind,
                        new.format,
                        facts=facts,
                        summary=summary,
                        owner=terms.owner,
                        ttl=terms.ttl,
                        overdraw=overdraw,
                        placement=new.placement,
                    )
                    lease.hold(records[0].epoch, end)
                    self._new = None
            except Fenced:
                lease.note_loss()
                raise
            except (StorageFull, JournalBusy, JournalUnreachable) as held_up:
                if not waits or self._stop.requested.is_set() or new is not None:
                    raise
                if noticed_cause is not type(held_up):
                    noticed_cause = type(held_up)
                    self._note_holdup(held_up)
                with trio.move_on_after(RETRY_SECONDS):
                    await self._stop.requested.wait()
            else:
                report_measure(APPEND_SECONDS, trio.current_time() - started_at)
                return records


M = TypeVar("M")


async def admit(
    machine: Machine[S, E, M], journal: Journal[E], run: str, admission: Admission, message: M
) -> list[Record[E]]:
    """Store a new run, which no driver has claimed yet.

    The run's first event is made from `first`, the message that starts the run.

    Raises `RunExists`, `StorageFull`, and `UsageProblem` for a message that cannot start a run.
    """
    initial = machine.initial()
    accepted = machine.accept(initial, stamp(message, 0.0))
    if accepted is None or isinstance(accepted, Refused):
        reason = accepted.reason if isinstance(accepted, Refused) else "the message cannot start a run"
        raise UsageProblem(reason, place=f"kind {admission.kind}")
    summary = machine.summary(machine.evolve(initial, accepted))
    mark_point("append.before")
    header = (run, admission.title, admission.kind, admission.format)
    records = await journal.create(*header, facts=[Fact(accepted)], summary=summary, placement=admission.placement)
    mark_point("append.after")
    for record in records:
        log.log_record(record)
    return records


async def append_one(
    machine: Machine[S, E, Any], journal: Journal[E], run: str, terms: LeaseTerms, message: Any
) -> bool:
    """Append the event for a message; return False if the machine refuses or ignores the message.

    Raises `RunNotFound`, `KindUnknown`, `Held`, `JournalDamaged`, `StorageFull`.
    """
    with trio.CancelScope(shield=True):  # Otherwise a lease could be claimed and never released.
        epoch = await claim(journal, run, terms)
        try:
            records = await journal.read(run)
            state = fold(machine, (record.event for record in records))
            accepted = machine.accept(state, stamp(message, 0.0))
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
