"""Taking a run on from the command line: following it while a host has it, else driving it in this process."""

import trio

from actors.machine.events import PlanningEvent
from actors.machine.state import State
from replan.engine import Engine
from replan.following import Follower
from replan.job import Job
from replan.notify import Asked
from replan.result import Result
from replan.show.progress import Progress
from runtime.errors import Held
from runtime.events import Record
from runtime.supervisor import Stop

TAKEN_UP_SECONDS = 5.0
"""How long a host may take to take a run up before the user is told that it has not."""


class Going:
    """One run of one command. `following` says that a host has it: to leave it, is all that a stop then does.

    The notify hook's calls run in `hooks`.
    """

    def __init__(self, engine: Engine, run: str, title: str, shown: Progress, hooks: trio.Nursery) -> None:
        self._engine, self._run, self._title, self._shown, self._hooks = engine, run, title, shown, hooks
        self._asked = Asked()
        self._seq = 0
        self.following = False

    async def begin(self, job: Job, stop: Stop) -> Result:
        """Admit a new run and take it on."""
        if self._engine.hosted:
            await self._engine.admit(job, run=self._run)
            return await self.go_on(stop)
        result = await self._engine.begin(
            job, run=self._run, stop=stop, on_record=self._on_record, notice=self._shown.note
        )
        return self._driven(result)

    async def go_on(self, stop: Stop) -> Result:
        """Take on a run that a host may have."""
        if self._engine.hosted:
            result = await self._follow(stop)
            if result is not None:
                return result
            self._shown.note("the host has left; going on here")
        return await self.drive(stop)

    async def drive(self, stop: Stop) -> Result:
        """Drive the run here, unless a host was faster."""
        self.following = False
        try:
            result = await self._engine.resume(self._run, stop=stop, on_record=self._on_record, notice=self._shown.note)
        except Held:
            if not self._engine.hosted:
                raise
            self._seq = self._seq or (await self._engine.journal.row(self._run)).last_seq
            return await self.go_on(stop)
        return self._driven(result)

    async def _follow(self, stop: Stop) -> Result | None:
        """Follow the run; None when no host has it any more. A stop ends only the following."""
        self.following = True
        follower = Follower(self._engine, self._run, self._on_record, after=self._seq)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._wonder)
            result = await follower.follow_until(stop)
            nursery.cancel_scope.cancel()
        return result

    async def _wonder(self) -> None:
        await trio.sleep(TAKEN_UP_SECONDS)
        row = await self._engine.journal.row(self._run)
        if row.owner is None and row.summary.status == "running" and row.summary.next_wake is None:
            self._shown.note("the host has not taken the run up: it is busy, or says why it cannot")

    def _on_record(self, record: Record[PlanningEvent], state: State) -> None:
        self._seq = record.seq
        if not self.following:
            self._asked.take(record.event)  # Else the host tells.
        self._shown.on_record(record, state)

    def _driven(self, result: Result) -> Result:
        if result.question is not None and self._asked.ids:
            message = self._asked.message(self._run, self._title)
            self._hooks.start_soon(self._engine.hook.call, message)
        return result
