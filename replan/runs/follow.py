"""Following a run that another process drives: its records as they are written, from the journal."""

from typing import Any

import trio

from actors.run.result import RunResult
from actors.run.state import RunState
from replan.runs.engine import Engine
from replan.runs.loaded import AnyKind
from replan.runs.options import OnRecord
from runtime.drive.changes import Polling
from runtime.process.identity import is_dead

LOOK_SECONDS = 0.05
"""How often to ask whether anything was committed."""
AT_LEAST_SECONDS = 1.0
"""How often to look at the run even if the journal did not change: its driver may have died."""


class Follower:
    """Reads one run, and reports every record once, with the state after it."""

    def __init__(self, engine: Engine, run: str, on_record: OnRecord) -> None:
        self._engine, self._run, self._on_record = engine, run, on_record
        self._kind: AnyKind | None = None
        self._state: Any = None
        self._seq = 0

    async def follow(self, *, insist: bool = False) -> RunResult | None:
        """Report records until the run has finished, waits for a person or was parked by one; return the result.

        Return None when no live process drives the run and there is no host, or, with `insist`, when its records say
        why no host can drive it.
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
                    return await self._engine.result(self._run)  # Nobody stays for a provider.
                explained = insist and common is not None and common.handover and bool(common.parked_reason)
                if explained or not await self._engine.hosted(row.kind, row.format):
                    return None
            with trio.move_on_after(AT_LEAST_SECONDS):
                await changed()

    async def catch_up(self) -> None:
        """Report what has been written since the last time."""
        await self._read()

    async def _read(self) -> RunState[Any] | None:
        """Report what has been written, and return the common part of the state after it."""
        if self._kind is None:
            self._kind = await self._engine.kind_of(self._run)
            self._state = self._kind.machine.initial()
        for record in await self._engine.journal.read(self._run, self._seq):
            self._state = self._kind.machine.evolve(self._state, record.event)
            self._seq = record.seq
            self._on_record(record, self._state)
        return self._kind.run_state(self._state)
