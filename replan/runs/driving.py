"""Drives child runs, ends cancelled runs, and does what follows after a supervisor has driven a run."""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import trio

from actors.handlers.tools import ending_actors
from actors.run.ids import parent_of
from actors.run.kind import ChildRun
from actors.run.result import RunResult
from actors.run.state import RunState
from replan.runs.loaded import AnyKind, Loaded, start_state
from replan.runs.opening import Opener
from replan.runs.status import status_at_rest
from runtime.core.errors import Halted, Held, JournalError, KindUnknown, RunExists, RunNotFound
from runtime.core.events import text_hash
from runtime.drive.options import DETACHED, Admission, DriveOptions, Ending
from runtime.logs import log

HELD_SECONDS = 0.5
"""How long a run waits before it tries again to claim a child run that another driver holds, in seconds."""


@dataclass(frozen=True)
class Driver(Opener):
    """Drives the child runs of one journal, and does the work that follows after any run was driven."""

    async def conclude(
        self, run: str, kind: AnyKind, state: Any, ending: Ending, options: DriveOptions
    ) -> RunResult | None:
        """Return the result of a run that was driven to this state. If its end is final, its child runs are ended too.

        Return None if it was parked to open its model or a guard again, because that was changed.
        """
        run_state = kind.run_state(state)
        stopped = options.stop is not None and options.stop.requested.is_set()
        must_reopen = run_state is not None and run_state.renewing
        if ending is Ending.PARKED and must_reopen and not stopped:
            return None
        await self.cancel_children(kind, run, state)
        return self.view(run, kind, state, status_at_rest(kind, state, ending))

    async def end_cancelled(self, run: str) -> RunResult:
        """Cancel a run that nobody drives, like `finish_cancelled`; the run may be a step of another."""
        loaded = await self.read(run)
        if not loaded.started or loaded.finished:
            await self.cancel_children(loaded.kind, run, loaded.state)
            return await self.result(run)
        await self.post_cancel(run)
        common = loaded.kind.run_state(loaded.state)
        calls = () if common is None else [tool.request for tool in common.tools.values()]
        actors = ending_actors(calls, self.clock.now)
        supervisor = self.supervisor(run, loaded.kind, actors, DETACHED, snapshot=loaded.snapshot)
        ending = await supervisor.drive()
        await self.cancel_children(loaded.kind, run, supervisor.state)
        return self.view(run, loaded.kind, supervisor.state, status_at_rest(loaded.kind, supervisor.state, ending))

    async def drive_child(
        self, child: ChildRun, parent_model: tuple[Sequence[str], Any], options: DriveOptions
    ) -> Any | None:
        """Drive a child run. Try again if an earlier driver of the parent begins it in the meantime."""
        while True:
            try:
                return await self._drive_child_once(child, parent_model, options)
            except RunExists:
                continue

    async def _drive_child_once(
        self, child: ChildRun, parent_model: tuple[Sequence[str], Any], options: DriveOptions
    ) -> Any | None:
        """Resume the child run, or begin it if it does not exist.

        Raises `RunExists` if another driver begins it first.
        """
        admission = None
        try:
            loaded = await self.read(child.run)
        except RunNotFound:
            kind = self.kinds.named(child.kind)
            placement = (await self.journal.row(parent_of(child.run))).placement
            admission = Admission(child.title, kind.name, kind.format, placement)
            loaded = Loaded(kind, kind.machine.initial(), [])
        common = loaded.kind.run_state(loaded.state)
        if (
            common is not None
            and common.finished is not None
            and not _is_driven_again(common, child, at_once=options.at_once)
        ):
            return loaded.state
        if child.change and loaded.started:
            body = json.dumps(dict(child.change))
            await self.journal.post(child.run, f"change:{text_hash(body)[:16]}", body)
            loaded = replace(loaded, state=await self.with_inbox(child.run, loaded))
        first = None if loaded.started else child.first(self.clock.now())
        state = loaded.state if first is None else start_state(loaded.kind, first)
        drive = partial(
            self._drive_opened_child, child.run, loaded, state=state, options=options, first=first, admission=admission
        )
        parent_names, opened = parent_model
        name, others = loaded.kind.model(state), loaded.kind.step_models(state)
        if [name] == [*parent_names[:1]] and {*others.values()} <= {*parent_names[1:]}:
            return await drive(model=opened)
        async with self.models_of(loaded.kind, state, loaded.replies) as model:
            return await drive(model=model)

    async def _drive_opened_child(
        self,
        run: str,
        loaded: Loaded,
        *,
        state: Any,
        options: DriveOptions,
        model: Any,
        first: Any,
        admission: Admission | None,
    ) -> Any | None:
        kind = loaded.kind
        async with self.actors(kind, state, self.watch_model(model), options) as actors:
            supervisor = self.supervisor(run, kind, actors, options, snapshot=loaded.snapshot, admission=admission)
            ending = None
            while ending is None:
                try:
                    ending = await supervisor.drive(first)
                except Held:  # For a moment: by a `cancel`, or by a killed driver whose lease has not run out.
                    await trio.sleep(HELD_SECONDS)
        await self.cancel_children(kind, run, supervisor.state)
        common = kind.run_state(supervisor.state)
        if common is not None and common.parked_cause:
            raise Halted(common.parked_cause, f"run {run}: {common.parked_reason}")
        waits = common is not None and common.outage is not None and not common.parked
        return supervisor.state if ending is Ending.FINISHED or waits else None

    async def cancel_children(self, kind: AnyKind, run: str, state: Any) -> None:
        """End the withdrawn child runs of a run whose end is final.

        If the journal fails for a while, the run still counts as ended. Its next `resume` ends the other child runs.
        """
        common = kind.run_state(state)
        if common is None or common.finished is None or not (common.over and common.finished.final):
            return
        try:
            for child in kind.children(state):
                with suppress(RunNotFound, Held, KindUnknown):  # A driver that holds one finds its parent finished.
                    await self.end_cancelled(child)
        except JournalError as error:
            if not error.passing:
                raise
            log.get_logger("run").warning("children.kept", run_id=run, reason=str(error))


def _is_driven_again(common: RunState[Any], child: ChildRun, *, at_once: bool) -> bool:
    """Return whether a finished child run is driven again: it has failed, or it has a new deadline.

    Child and parent end by the same deadline, in either order.
    """
    end, ends_at = common.finished, common.ledger.ends_at
    if end is None or end.reopened_by == "resume":
        return at_once and end is not None and end.cause != "home_budget"
    is_past = common.ledger.ended_by(common.now) is not None
    return end.reopened_by == "limits" and is_past and child.change.get("deadline", ends_at) != ends_at
