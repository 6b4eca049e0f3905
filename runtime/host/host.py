"""The host: drives those runs of one journal that no other process drives. It drives a limited number at the same time.

A run that only waits for people or for a time needs no task and no memory in the host. The journal stores when it
continues. One task of the host watches the journal for all runs. This task polls, and every process that posts a
message wakes it. Its query, `Journal.due`, takes no longer if more runs wait. Several hosts may serve one journal: the
host that claims a run drives it.

A worker is a host on which an engine places runs. A job of the engine contains only a run's id. If a worker has no job
but could drive another run, it makes a sweep: the engine searches for due runs without a job.
"""

import secrets
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import Any

import trio

from runtime.core.errors import (
    Bug,
    Fenced,
    Held,
    JournalDamaged,
    JournalError,
    JournalNewer,
    KindUnknown,
    ReplanError,
)
from runtime.core.machine import Summary
from runtime.drive.options import ChangeSignal, Ending, Polling, Stop, WakeSignal
from runtime.host.notices import (
    Failed,
    Finished,
    Left,
    NotDrivable,
    Notice,
    OutsideTrouble,
    Parked,
    Ready,
    Report,
    Resting,
    TakenUp,
    Waiting,
)
from runtime.host.wakeup import Dispatcher, Job
from runtime.journal.port import Dead, Formats, Journal
from runtime.logs import log

SWEEP_SECONDS = 0.5
"""A sweep makes jobs for due runs. This is the shortest and usual time between two sweeps, in seconds. A host finds the
runs of a dead driver after about this time.
"""


class Placing:
    """The jobs of one worker."""

    def __init__(self, dispatcher: Dispatcher, dead: Dead, kinds: Formats | None) -> None:
        """Store the engine, the function that recognises dead owners of leases, and the kinds that this host drives."""
        self._dispatcher, self._dead, self._kinds = dispatcher, dead, kinds
        self._held: dict[str, Job] = {}
        self._ended: list[Job] = []
        self._swept = -SWEEP_SECONDS

    async def next(self, room: int, skip: Collection[str]) -> Job | None:
        """Return the next job, or None.

        A sweep makes at most `room` jobs, and none for the runs in `skip`. Raises `JournalError`.
        """
        await self.finish_ended()
        while True:
            job = await self._dispatcher.fetch()
            if job is not None:
                return job
            if self.seconds_until_sweep() > 0:
                return None
            self._swept = trio.current_time()
            if not await self._dispatcher.sweep(room, dead=self._dead, kinds=self._kinds, skip=skip):
                return None

    def hold(self, job: Job) -> None:
        """Keep a job until `end` is called for its run. An earlier job of the same run is ended at once."""
        self.end(job.run)
        self._held[job.run] = job

    def end(self, run: str) -> None:
        """End the job of a run, if the run has one. Call this when the run has been claimed or needs no driver."""
        job = self._held.pop(run, None)
        if job is not None:
            self._ended.append(job)

    async def finish_ended(self) -> None:
        """Delete the jobs that have ended. Raises `JournalError`."""
        while self._ended:
            job = self._ended.pop()  # Before the call, during which another job may end.
            try:
                await self._dispatcher.finish(job)
            except JournalError:
                self._ended.append(job)
                raise

    async def beat(self) -> None:
        """Tell the engine that this worker still runs. Raises `JournalError`."""
        await self._dispatcher.beat()

    def seconds_until_sweep(self) -> float:
        """Return the seconds until the next sweep."""
        return self._swept + SWEEP_SECONDS - trio.current_time()


Drive = Callable[[str, Stop, ChangeSignal, Callable[[], None]], Awaitable[Ending]]
"""A function that drives a run until the run has finished, waits, or was parked. It calls its last argument once this
host has claimed the run. It does not call the last argument if another host finished the run in the meantime.
"""
RecordCrash = Callable[[str, Exception], Awaitable[object]]

POLL_SECONDS = 0.25
"""The seconds between two checks of the host for new commits in the journal. After a wake-up, the host checks at
once."""
LOOK_SECONDS = 5.0
"""The longest time between two queries for due runs, in seconds. So a host notices a dead driver or a changed clock
after about this time."""
SHORTEST_SECONDS = 0.005
"""The shortest time, in seconds, that a host waits until a run is due. No run needs to be woken more exactly."""
PRESENCE_SECONDS = 30.0
"""How many seconds a host counts as present after it has announced itself. The host announces itself three times in
this period."""
RETRY_SECONDS_MAX = 60.0
"""The longest pause, in seconds, before a host tries again to drive a run that it could not drive."""
RETRY_SECONDS_FIRST = 1.0
"""The pause, in seconds, after the first temporary error of the journal. Each further pause is twice as long as the
pause before, up to `RETRY_SECONDS_MAX`."""


class Host:
    """Drives the due runs of one journal in this process, up to `runs_max` at once."""

    def __init__(
        self,
        journal: Journal[Any],
        *,
        owner: str,
        drive: Drive,
        record_crash: RecordCrash,
        dead: Dead,
        report: Report,
        stop: Stop,
        runs_max: int,
        kinds: Formats | None = None,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        """Store the arguments.

        Args:
            journal: the journal to serve.
            owner: the name of this process, as in leases.
            drive: drives one run.
            record_crash: records that a bug of the driver ended a run.
            dead: tells which owners of leases are certainly gone.
            report: called with each notice.
            stop: the request to stop.
            runs_max: how many runs are driven at once.
            kinds: the kinds of runs, and their formats, that `drive` can drive; None for any.
            dispatcher: the engine that places runs on this host; None lets the host itself look for due runs.
        """
        self._journal, self._owner, self._dead = journal, owner, dead
        self._drive, self._record_crash, self._report = drive, record_crash, report
        self._stop, self._runs_max, self._kinds = stop, runs_max, kinds
        self._id = secrets.token_hex(8)
        self._active: dict[str, WakeSignal] = {}
        self._not_before: dict[str, float] = {}  # In trio's time, which cannot be set.
        self._pauses: dict[str, float] = {}
        self._signal = WakeSignal()
        self._trouble: dict[str, str] = {}
        self._placing = None if dispatcher is None else Placing(dispatcher, dead, kinds)

    def wake(self) -> None:
        """Make the host check the journal now."""
        self._signal.wake()

    async def serve(self) -> None:
        """Drive runs until a stop is requested and every run is parked. Raises `JournalDamaged`, `JournalNewer`."""
        await self._announce()
        try:
            self._report(Ready())
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._stay_present)
                nursery.start_soon(self._poll)
                nursery.start_soon(self._wake_at_stop)
                while not self._stop.requested.is_set():
                    next_time = await self._drive_due_runs(nursery)
                    with trio.move_on_after(self._seconds_until(next_time)):
                        await self._signal()
                while self._active:
                    await self._signal()
                await self._finish_jobs()
                nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True), suppress(JournalError):  # Otherwise its presence ends by itself.
                await self._journal.depart(self._id)

    def _seconds_until(self, next_time: float | None) -> float:
        longest = LOOK_SECONDS if self._placing is None else self._placing.seconds_until_sweep()
        waits = [longest, *(time - trio.current_time() for time in self._not_before.values())]
        if next_time is not None:
            waits.append(next_time - self._journal.now())
        return max(SHORTEST_SECONDS, min(waits))

    async def _stay_present(self) -> None:
        while True:
            await trio.sleep(PRESENCE_SECONDS / 3)
            await self._announce()
            if self._placing is not None:
                await self._beat(self._placing)

    async def _announce(self) -> None:
        try:
            await self._journal.announce(self._id, self._owner, PRESENCE_SECONDS, self._kinds)
        except (JournalDamaged, JournalNewer):
            raise
        except JournalError as error:
            self._report_trouble("presence", error)
        else:
            self._trouble.pop("presence", None)

    async def _beat(self, placing: Placing) -> None:
        try:
            await placing.beat()
        except JournalError as error:
            self._report_trouble("placing", error)

    async def _finish_jobs(self) -> None:
        """Delete the jobs that have ended. If a job cannot be deleted, another worker deletes it later."""
        if self._placing is not None:
            with suppress(JournalError):
                await self._placing.finish_ended()

    async def _poll(self) -> None:
        changed = Polling(self._journal, POLL_SECONDS)
        while True:
            with suppress(JournalError):  # `due`, which is asked next, raises it too, and that is handled.
                await changed()
            self.wake()

    async def _wake_at_stop(self) -> None:
        await self._stop.requested.wait()
        self.wake()

    async def _drive_due_runs(self, nursery: trio.Nursery) -> float | None:
        """Start to drive due runs without a driver, up to the limit, and wake this host's runs with unread messages.

        Return the time at which the next run is due, by the journal's clock; None if no time is known.
        """
        now = trio.current_time()
        self._not_before = {run: time for run, time in self._not_before.items() if time > now}
        room = self._runs_max - len(self._active)
        try:
            # Runs that were taken up a moment ago are not claimed yet, and still count as due.
            most = room + len(self._active) + len(self._not_before) if self._drives_due_runs() else 0
            due = await self._journal.due(most, dead=self._dead, kinds=self._kinds)
        except (JournalDamaged, JournalNewer):
            raise
        except JournalError as error:
            self._report_trouble("look", error)
            return None
        self._trouble.pop("look", None)
        for run in due.unread & self._active.keys():
            self._active[run].wake()
        await self._drive_placed_runs(nursery, room)
        if self._drives_due_runs():
            room = self._runs_max - len(self._active)
            for run in [run for run in due.runs if run not in self._active and run not in self._not_before][:room]:
                self._start_hosting(nursery, run)
        return due.next

    def _drives_due_runs(self) -> bool:
        """Return whether this host itself looks for due runs, because no engine places runs on it, or it fails."""
        return self._placing is None or "placing" in self._trouble

    async def _drive_placed_runs(self, nursery: trio.Nursery, room: int) -> None:
        placing = self._placing
        if placing is None:
            return
        try:
            await placing.finish_ended()
            while room > 0 and not self._stop.requested.is_set():
                job = await placing.next(room, [*self._active, *self._not_before])
                if job is None:
                    break
                placing.hold(job)
                if job.run in self._active or job.run in self._not_before:
                    placing.end(job.run)
                else:
                    self._start_hosting(nursery, job.run)
                    room -= 1
        except JournalError as error:
            self._report_trouble("placing", error)
        else:
            self._trouble.pop("placing", None)

    def _start_hosting(self, nursery: trio.Nursery, run: str) -> None:
        if not self._stop.requested.is_set():
            self._active[run] = WakeSignal()
            nursery.start_soon(self._host, run)

    def _report_trouble(self, source: str, error: JournalError) -> None:
        """Report an error of the journal, but not again while the error lasts."""
        if self._trouble.get(source) != str(error):
            self._report(OutsideTrouble("", str(error)))
        self._trouble[source] = str(error)

    async def _host(self, run: str) -> None:
        is_driving = False

        def take() -> None:
            nonlocal is_driving
            is_driving = True
            self._end_job(run)
            self._report(TakenUp(run))

        try:
            ending = await self._drive(run, self._stop, self._active[run], take)
            self._pauses.pop(run, None)
            if is_driving:
                await self._report_rest(run, ending)
        except (Held, Fenced):
            if is_driving:  # Otherwise another host was faster, and reports the run.
                self._report(Left(run))
        except KindUnknown as error:  # The run is for another host, which the engine does not know.
            self._schedule_retry(run, error)
        except Bug as error:
            await self._fail(run, error)
        except ReplanError as error:
            self._schedule_retry(run, error)
            self._report(NotDrivable(run, str(error)))
        except Exception as error:  # noqa: BLE001 - a bug ends its own run, and no other
            await self._fail(run, error)
        finally:
            del self._active[run]
            self._end_job(run)
            self.wake()

    def _end_job(self, run: str) -> None:
        if self._placing is not None:
            self._placing.end(run)
            self.wake()

    async def _report_rest(self, run: str, ending: Ending) -> None:
        """Report why this host has stopped driving a run."""
        try:
            summary = (await self._journal.row(run)).summary
        except JournalError as error:
            self._report(OutsideTrouble(run, str(error)))
        else:
            self._report(_idle_notice(run, ending, summary))

    def _schedule_retry(self, run: str, error: ReplanError) -> None:
        """Set the time at which this host tries to drive a run again.

        After a temporary error of the journal, the first pause is short.
        """
        passing = isinstance(error, JournalError) and error.passing
        last = self._pauses.pop(run, RETRY_SECONDS_FIRST / 2)
        pause = min(2 * last, RETRY_SECONDS_MAX) if passing else RETRY_SECONDS_MAX
        if passing:
            self._pauses[run] = pause
        self._not_before[run] = trio.current_time() + pause

    async def _fail(self, run: str, error: Exception) -> None:
        log.get_logger("host").exception("run.crashed", run_id=run)
        self._report(Failed(run, f"{type(error).__name__}: {error}"))
        try:
            await self._record_crash(run, error)
        except ReplanError as reason:  # A dead driver's lease, or the journal: it will pass.
            self._schedule_retry(run, reason)
            self._report(NotDrivable(run, f"the end of the run cannot be recorded: {reason}"))
        except Exception as second:  # noqa: BLE001 - not even its end can be recorded; no other run shall suffer
            self._not_before[run] = float("inf")
            self._report(NotDrivable(run, f"the end of the run cannot be recorded: {type(second).__name__}: {second}"))


def _idle_notice(run: str, ending: Ending, summary: Summary) -> Notice:
    if ending is Ending.PARKED and summary.next_wake is None:
        return Parked(run, summary.detail)
    match summary.status:
        case "finished":
            return Finished(run, summary.detail)
        case "waiting":
            return Waiting(run, summary.detail)
        case _:
            return Resting(run, summary.next_wake, summary.detail)
