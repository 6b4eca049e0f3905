"""A user's session with one run. This process drives the run, or reads the records of the host that drives it."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import trio

from actors.run.kind import PreparedRun
from actors.run.parking import RunParked
from actors.run.result import RunResult
from actors.run.state import RunState
from replan.runs.engine import Engine
from replan.setup.installation import program
from runtime.core.errors import Held, root_cause
from runtime.core.events import Record
from runtime.drive.options import DriveOptions, Notice, OnRecord, Polling, Stop, ignore
from runtime.process.identity import is_dead

if TYPE_CHECKING:
    from replan.runs.loaded import AnyKind

Admit = Callable[[], Awaitable[None]]
LOOK_SECONDS = 0.05
"""The seconds between two checks for new commits in the journal."""
LOOK_ANYWAY_SECONDS = 1.0
"""The seconds after which a follower reads the run's status row even without a new commit in the journal, because the
driver may have died."""


class Follower:
    """Follows one run: calls `on_record` once for every record, with the state after the record."""

    def __init__(self, engine: Engine, run: str, on_record: OnRecord) -> None:
        self._engine, self._run, self._on_record = engine, run, on_record
        self._kind: AnyKind | None = None
        self._state: Any = None
        self._seq = 0

    async def follow(self, *, leave_undrivable: bool = False) -> RunResult | None:
        """Report records until the run has finished, waits for a person or was parked by a person.

        Then return the run's result.

        Return None if no process drives the run and no host will. With `leave_undrivable`, also return None if the
        run's records say why hosts cannot drive it.
        """
        journal, changed = self._engine.journal, Polling(self._engine.journal, LOOK_SECONDS)
        while True:
            common = await self._read()
            row = await journal.row(self._run)
            unread = row.unread and not (common and common.parked)  # A waiting run takes unread mail soon.
            if row.last_seq == self._seq and row.status != "running" and not unread:
                result = await self._engine.result(self._run)
                if result.status != "running":  # Else a message came just now, and the run goes on.
                    return result
            if row.owner is None or is_dead(row.owner):
                if common is not None and common.outage is not None and row.last_seq == self._seq and not unread:
                    return await self._engine.result(self._run)  # This process does not wait for a provider.
                has_reason = leave_undrivable and common is not None and common.handover and bool(common.parked_reason)
                if has_reason or not await self._engine.has_host(row.kind, row.format):
                    return None
            with trio.move_on_after(LOOK_ANYWAY_SECONDS):
                await changed()

    async def catch_up(self) -> None:
        """Report the records that were written since the last report."""
        await self._read()

    async def _read(self) -> RunState[Any] | None:
        if self._kind is None:
            self._kind = await self._engine.kind_of(self._run)
            self._state = self._kind.machine.initial()
        for record in await self._engine.journal.read(self._run, self._seq):
            self._state = self._kind.machine.evolve(self._state, record.event)
            self._seq = record.seq
            self._on_record(record, self._state)
        return self._kind.run_state(self._state)


TAKEN_UP_SECONDS = 5.0
"""If no host has started to drive the run after so many seconds, the user gets a notice."""


class RunSession:
    """Drives one run in this process, or follows the host that drives it. Reports its records in order, each once.

    The reports of a new run begin with its first record. The reports of any other run begin with the next record that
    is written.
    """

    def __init__(
        self,
        engine: Engine,
        run: str,
        on_record: OnRecord,
        note: Notice = ignore,
    ) -> None:
        """Store the run's id and two callbacks: `on_record` is called with each record, and `note` with each notice."""
        self._engine, self._run = engine, run
        self._on_record, self._note = on_record, note
        self._follower = Follower(engine, run, self._report)
        self._reported: int | None = None
        self._leaves_undrivable = False
        self.following = False
        """Whether this process only follows the run, which a host drives. If so, the user's request to stop does not
        park the run.
        """

    async def begin(self, prepared: PreparedRun, stop: Stop, admit: Admit | None = None) -> RunResult:
        """Drive a new run here. If a host can drive it, record its start with `admit` instead, and follow the host.

        Without `admit`, the run is driven here even if a host could drive it.
        """
        kind = self._engine.kinds.named(prepared.kind)
        if admit is not None and await self._engine.has_host(kind.name, kind.format):
            await admit()
            return await self.go_on(stop)
        options = DriveOptions(stop, self._report, self._note)
        return await self._engine.begin(prepared, options, run=self._run)

    async def go_on(self, stop: Stop) -> RunResult:
        """Follow the run if a host drives it. Otherwise, drive the run here."""
        if not await self._has_host():
            return await self.drive(stop)
        result = await self._follow(stop, leave_undrivable=False)
        return await self.drive(stop) if result is None else result

    async def drive(self, stop: Stop, *, compare: bool = False) -> RunResult:
        """Drive the run here. If a host drives it already, follow the run as long as the host can drive it.

        With `compare`, the user gets a notice if files that the run uses have changed since its start. Raises `Held` if
        a process that is not a host drives the run.
        """
        while True:
            try:
                return await self._drive_here(stop, compare=compare)
            except Held:
                if not await self._has_host():
                    raise
            if self._reported is None:
                self._reported = (await self._engine.journal.row(self._run)).last_seq
            result = await self._follow(stop, leave_undrivable=True)
            if result is not None:
                return result
            compare = False

    async def _drive_here(self, stop: Stop, *, compare: bool) -> RunResult:
        await self._catch_up()
        self.following = False
        on_drift = self._note if compare else None
        options = DriveOptions(stop, self._report, self._note, on_drift=on_drift)
        result = await self._engine.resume(self._run, options)
        await self._catch_up()
        return result

    async def _follow(self, stop: Stop, *, leave_undrivable: bool) -> RunResult | None:
        """Follow the run until a stop is requested. Return None, after a notice, if no host drives the run any more.

        With `leave_undrivable`, also return None if the hosts have recorded why they cannot drive it.
        """
        self.following, self._leaves_undrivable, result = True, leave_undrivable, None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_cancel_at, stop.requested, nursery.cancel_scope)
                nursery.start_soon(self._warn_if_idle)
                result = await self._follower.follow(leave_undrivable=leave_undrivable)
                nursery.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            raise root_cause(group) from group
        if result is None and stop.requested.is_set():
            return await self._engine.result(self._run)
        if result is None:
            reason = "the host cannot drive the run" if await self._has_host() else "the host has stopped"
            self._note(f"{reason}; this process drives it now")
        return result

    async def _has_host(self) -> bool:
        row = await self._engine.journal.row(self._run)
        return await self._engine.has_host(row.kind, row.format)

    async def _warn_if_idle(self) -> None:
        await trio.sleep(TAKEN_UP_SECONDS)
        row = await self._engine.journal.row(self._run)
        has_reason = bool(row.detail) if row.status == "running" else not row.unread
        if row.owner is None and row.next_wake is None and not has_reason:
            self._note("the host is busy and has not started to drive the run yet; Ctrl-C leaves the run to the host")

    def _report_undrivable(self, why: str) -> None:
        self._note(why)
        if self._leaves_undrivable:
            return
        command = f"{program()} resume {self._run}"
        self._note(f"repair this and start the host again, or press Ctrl-C and drive the run here with: {command}")

    async def _catch_up(self) -> None:
        """Report the records that another process has written since the last report.

        Before the first report, do nothing.
        """
        if self._reported is not None:
            await self._follower.catch_up()

    def _report(self, record: Record[Any], state: Any) -> None:
        """Report a record if it is the next one.

        Ignore a record if an earlier record was not reported yet; `_catch_up` reports both later.
        """
        if self._reported is None:
            self._reported = record.seq - 1
        if record.seq == self._reported + 1:
            self._reported = record.seq
            match record.event:
                case RunParked(handover=True, why=why) if why and self.following:
                    self._report_undrivable(why)
                case _:
                    pass
            self._on_record(record, state)


async def _cancel_at(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
