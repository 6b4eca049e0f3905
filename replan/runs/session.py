"""Taking a run on: driving it in this process, or following it while a host has it, whoever was faster."""

from collections.abc import Callable

import trio

from actors.planning.events import PlanningEvent, RunParked
from actors.planning.state import State
from replan.runs.engine import DriveOptions, Engine, Notice, OnRecord, ignore
from replan.runs.follow import Follower
from replan.runs.prepare import RunRequest
from replan.setup.command_name import program
from replan.views.result import Result
from runtime.core.errors import Held, root_cause
from runtime.core.events import Record
from runtime.drive.options import Stop

TAKEN_UP_SECONDS = 5.0
"""How long a host may take to take a run up before the user is told that it has not."""


class RunSession:
    """One run, as its user goes on with it. `following` says that a host has it: a stop then ends only the following.

    `on_record` hears of its records in their order, each once, whoever has written them: of a new run from the first
    one on, else from the first one that is written now. `note` gets a line when something holds the run up, `rested`
    what came of driving it here.
    """

    def __init__(
        self,
        engine: Engine,
        run: str,
        on_record: OnRecord,
        note: Notice = ignore,
        rested: Callable[[Result], None] = ignore,
    ) -> None:
        self._engine, self._run = engine, run
        self._on_record, self._note, self._rested = on_record, note, rested
        self._follower = Follower(engine, run, self._tell)
        self._told: int | None = None
        self._insists = False
        self.following = False

    async def begin(self, job: RunRequest, stop: Stop) -> Result:
        """Drive a new run here."""
        result = await self._engine.begin(job, DriveOptions(stop, self._tell, self._note), run=self._run)
        self._rested(result)
        return result

    async def go_on(self, stop: Stop, *, insist: bool = False) -> Result:
        """Take on a run that a host may have; `insist` drives it here if no host can, instead of waiting for that."""
        self._insists = insist
        if await self._engine.hosted():
            result = await self._follow(stop)
            if result is not None:
                return result
            self._note(f"{await self._gone()}; going on here")
        return await self.drive(stop)

    async def drive(self, stop: Stop, *, compare: bool = False) -> Result:
        """Drive the run here, unless a host was faster and can; `compare` notes where its workflow was edited."""
        await self._catch_up()
        self.following = False
        try:
            manner = DriveOptions(stop, self._tell, self._note, differs=self._note if compare else None)
            result = await self._engine.resume(self._run, manner)
        except Held:
            if not await self._engine.hosted():
                raise
            if self._told is None:
                self._told = (await self._engine.journal.row(self._run)).last_seq
            return await self.go_on(stop, insist=True)
        await self._catch_up()
        self._rested(result)
        return result

    async def _follow(self, stop: Stop) -> Result | None:
        """Follow the run until a stop; None when no host has it any more."""
        self.following, result = True, None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_cancel_at, stop.requested, nursery.cancel_scope)
                nursery.start_soon(self._wonder)
                result = await self._follower.follow(insist=self._insists)
                nursery.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            raise root_cause(group) from group
        return await self._engine.result(self._run) if result is None and stop.requested.is_set() else result

    async def _gone(self) -> str:
        """Say why nobody is followed any more."""
        return "the host cannot drive it" if await self._engine.hosted() else "the host has left"

    async def _wonder(self) -> None:
        await trio.sleep(TAKEN_UP_SECONDS)
        row = await self._engine.journal.row(self._run)
        held = bool(row.summary.detail) if row.summary.status == "running" else not row.unread
        if row.owner is None and row.summary.next_wake is None and not held:
            self._note("the host has not taken the run up yet: it is busy; Ctrl-C leaves the run to it")

    def _tell_why(self, why: str) -> None:
        """Tell why no host drives the run, and what to do about it where it does not go on here by itself."""
        self._note(why)
        if self._insists:
            return
        here = f"{program()} resume {self._run}"
        self._note(f"mend that and start the host again, or leave it (Ctrl-C) and go on here with: {here}")

    async def _catch_up(self) -> None:
        """Tell what another driver has written. Where nothing was told yet, nothing can have been missed."""
        if self._told is not None:
            await self._follower.catch_up()

    def _tell(self, record: Record[PlanningEvent], state: State) -> None:
        """Tell of the next record. What comes after a gap is told with what is in the gap, when that has been read."""
        if self._told is None:
            self._told = record.seq - 1
        if record.seq == self._told + 1:
            self._told = record.seq
            match record.event:
                case RunParked(handover=True, why=why) if why and self.following:
                    self._tell_why(why)
                case _:
                    pass
            self._on_record(record, state)


async def _cancel_at(wish: trio.Event, scope: trio.CancelScope) -> None:
    await wish.wait()
    scope.cancel()
