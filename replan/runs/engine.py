"""The engine: starts, resumes and cancels the runs of one journal, of all kinds."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from actors.run.kind import PreparedRun
from actors.run.near_limit import WARN_AT
from actors.run.result import RunResult
from replan.runs import inbox
from replan.runs.driving import Driver
from replan.runs.families import check_own
from replan.runs.loaded import start_state
from replan.runs.reader import goes_on, new_run_id
from runtime.core.errors import JournalError, UsageProblem
from runtime.drive.options import DETACHED, Admission, DriveOptions
from runtime.drive.run_log import admit
from runtime.journal.port import RunFilter

NEWEST, LISTED = 50, 200
"""A new run learns from at most `NEWEST` finished runs of its kind. They are chosen from the `LISTED` newest finished
runs of all kinds."""


@dataclass(frozen=True)
class Engine(Driver):
    """Starts, resumes and cancels the runs of one journal."""

    learns: bool = True
    """Whether a new run learns about its model from earlier runs of the journal; False for experiments."""

    async def admit(self, prepared: PreparedRun, *, run: str | None = None) -> str:
        """Record the start of a new run that a host will drive, and wake the hosts. Return the run's id.

        When this function returns, the start is stored. Raises `RunExists`.
        """
        name, kind = run or new_run_id(), self.kinds.named(prepared.kind)
        first = await self._first(prepared, name)
        admission = Admission(prepared.title, kind.name, kind.format, self.placement)
        await admit(kind.machine, self.journal, name, admission, first)
        self.wakeup.wake()
        return name

    async def begin(
        self, prepared: PreparedRun, options: DriveOptions = DETACHED, *, run: str | None = None
    ) -> RunResult:
        """Start a new run, and drive it until it ends, waits for a person or is stopped.

        The run is entered in the journal in the same transaction that writes its first records. Raises the errors of
        `admit`.
        """
        name, kind = run or new_run_id(), self.kinds.named(prepared.kind)
        first = await self._first(prepared, name)
        state = start_state(kind, first)
        admission = Admission(prepared.title, kind.name, kind.format, self.placement)
        async with self.open_supervisor(name, kind, state, options, used={}, admission=admission) as supervisor:
            ending = await supervisor.drive(first)
        result = await self.conclude(name, kind, supervisor.state, ending, options)
        return await self.resume(name, options) if result is None else result

    async def resume(self, run: str, options: DriveOptions = DETACHED) -> RunResult:
        """Resume a run after the last record in its journal. If the run's end is final, only return its result.

        If a person resumes a run whose end is not final, the run is reopened (docs/explanation/endings.md). A host
        never reopens a run.

        Raises `RunNotFound`, `KindUnknown`, `Held`, `JournalDamaged`. Raises `UsageProblem` for a run that never began,
        is a child run, or needs a missing plug-in.
        """
        await check_own(self, run, "resume RUN")
        loaded = await self.read(run)
        if not loaded.started:
            raise inbox.not_started(run)
        # What was posted counts already: it may name another model, or be the reason why the run goes on.
        kind, state = loaded.kind, await self.with_inbox(run, loaded)
        by_person = options.rest_after is None
        if loaded.finished and not (by_person and goes_on(kind.run_state(state))):
            await self.cancel_children(kind, run, loaded.state)
            return self.view(run, kind, loaded.state, "finished")
        options = replace(options, at_once=by_person)
        missing = kind.missing(state, self.registry)
        if missing:
            hint = "install it, or name its file with --plugins FILE.py, and resume again; nothing is lost"
            raise UsageProblem(f"this run needs the plug-in {' and '.join(missing)}", place=run, hint=hint)
        if options.on_drift is not None:
            text = kind.drift(loaded.records[0].event, state, self.resources(None, None, options))
            if text:
                options.on_drift(text)
        opening = self.open_supervisor(run, kind, state, options, used=loaded.replies, snapshot=loaded.snapshot)
        async with opening as supervisor:
            ending = await supervisor.drive()
        result = await self.conclude(run, kind, supervisor.state, ending, options)
        return await self.resume(run, options) if result is None else result

    async def _first(self, prepared: PreparedRun, run: str) -> Any:
        """Return the first event of a new run.

        The event says who starts the run, and has the servers, reminders and limits.
        """
        kind = self.kinds.named(prepared.kind)
        first = self.record_servers(kind, prepared.first(run, self.clock.now()))
        first = first.model_copy(update={"warn_at": WARN_AT})
        if self.learns and (learn := kind.learner(first)) is not None:
            first = learn(await self._newest_ends(kind.name))
        if self.asks and first.limits.at_limit is None:
            first = first.model_copy(update={"limits": first.limits.model_copy(update={"at_limit": "ask"})})
        if rules := self.config.reminder_rules:
            first = first.model_copy(update={"reminders": rules})
        return first.model_copy(update={"by": self.by}) if self.by else first

    async def _newest_ends(self, kind: str) -> list[Any]:
        """Return the last events of the newest finished runs of a kind. A run that cannot be read is left out.

        This function reads `LISTED` status rows, then one record of each finished run that has used tokens, of at most
        `NEWEST` runs.
        """
        ends = list[Any]()
        try:
            rows = await self.journal.runs(RunFilter(status="finished", tops=True, limit=LISTED))
        except JournalError:
            return []
        for row in [row for row in rows if row.kind == kind and row.tokens][:NEWEST]:
            with suppress(JournalError):
                ends += [record.event for record in await self.journal.read(row.run, row.last_seq - 1)]
        return ends

    async def finish_cancelled(self, run: str) -> RunResult:
        """Cancel a run that nobody drives: post the cancel message if it was not posted yet, and record the end.

        No model and no tool is called. Tool processes that still run after their driver was killed are ended. A
        finished run stays unchanged. Raises `Held`, `JournalDamaged`, `KindUnknown`, and the errors of `cancel`.
        """
        await check_own(self, run, "cancel RUN")
        return await self.end_cancelled(run)
