"""Following a run that another process drives: its records as they are written, from the journal."""

import trio

from actors.machine.state import State
from replan.engine import Engine, OnRecord
from replan.result import Result
from runtime.driving import Stop
from runtime.news import Polling
from runtime.process import is_dead

LOOK_SECONDS = 0.05
"""How often to ask whether anything was committed."""
AT_LEAST_SECONDS = 1.0
"""How often to look at the run whatever was heard: its driver may have died."""


class Follower:
    """Reads one run. What it has told once it does not tell again; records up to `after` are not told at all."""

    def __init__(self, engine: Engine, run: str, on_record: OnRecord, *, after: int = 0) -> None:
        self._engine, self._run, self._on_record, self._after = engine, run, on_record, after
        self._state: State = engine.machine.initial()
        self._seq, self._read = 0, 0

    async def follow(self) -> Result | None:
        """Tell what happens until the run has finished, waits for a person or was parked by one; return the result.

        Return None when the run is in nobody's hands: its driver has left, and no host is there.
        """
        journal, changed = self._engine.journal, Polling(self._engine.journal, LOOK_SECONDS)
        while True:
            await self._catch_up()
            row = await journal.row(self._run)
            if row.last_seq == self._seq and row.summary.status != "running" and not await self._unread():
                result = await self._engine.result(self._run)
                if result.status != "running":  # Else a message has come this moment, and it goes on.
                    return result
            if (row.owner is None or is_dead(row.owner)) and not self._engine.hosted:
                return None
            with trio.move_on_after(AT_LEAST_SECONDS):
                await changed()

    async def follow_until(self, stop: Stop) -> Result | None:
        """Do the same until a stop is wished for; that ends the following alone, with what there is so far."""
        result = None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancel_at, stop.park, nursery.cancel_scope)
            result = await self.follow()
            nursery.cancel_scope.cancel()
        return await self._engine.result(self._run) if result is None and stop.park.is_set() else result

    async def _catch_up(self) -> None:
        for record in await self._engine.journal.read(self._run, self._seq):
            self._state = self._engine.machine.evolve(self._state, record.event)
            self._seq, self._read = record.seq, max(self._read, record.inbox or 0)
            if record.seq > self._after:
                self._on_record(record, self._state)

    async def _unread(self) -> bool:
        """Tell whether a message was posted that a run which waits has not taken in: then it does not rest for long."""
        if self._state.finished is not None or self._state.parked:
            return False
        return bool(await self._engine.journal.inbox(self._run, self._read))


async def _cancel_at(wish: trio.Event, scope: trio.CancelScope) -> None:
    await wish.wait()
    scope.cancel()
