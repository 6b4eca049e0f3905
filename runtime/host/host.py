"""The host: drives the runs of one journal that nobody else drives, so many at a time. It knows nothing about planning.

A run that only waits for people or for a clock holds no task and no memory here; the journal knows when it goes on.
There is one watcher for all: it is rung by whoever posts a message, and looks by itself now and then. What it asks the
journal (`due`) costs nothing for runs that wait. Several hosts may serve one journal: claims decide who drives.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import trio

from runtime.core.clock import Clock
from runtime.core.errors import Bug, Fenced, Held, JournalDamaged, JournalError, JournalNewer, ReplanError
from runtime.core.machine import Summary
from runtime.drive.changes import Bell, News, Polling
from runtime.drive.options import Ending, Stop
from runtime.journal.kinds import Formats
from runtime.journal.port import Dead, Journal
from runtime.logs import log

Drive = Callable[[str, Stop, News, Callable[[], None]], Awaitable[Ending]]
"""Drives a run until it has finished, waits, or was parked; calls the last argument once the run is its own.

Where another host was faster and left nothing to do, it never is.
"""
Bury = Callable[[str, Exception], Awaitable[object]]
"""Records that a run was ended by a bug of its driver."""
Tell = Callable[[str, str, str], None]
"""Hears what happens: a word for it, the run (or nothing), and more about it."""

POLL_SECONDS = 0.25
"""How often the host asks whether anything was committed, where nobody rings."""
LOOK_SECONDS = 5.0
"""How often it looks whatever it has heard: for drivers that have died, and clocks that were set."""
SHORTEST_SECONDS = 0.005
"""The shortest wait for a clock: finer than that is not what a run is woken for."""
AGAIN_SECONDS = 60.0
"""How long a run that cannot be driven is left alone."""
SOON_SECONDS = 1.0
"""The same where the journal could not be read or written: that may be over soon. Doubles up to `AGAIN_SECONDS`."""


class Host:
    """One host. `dead` tells which drivers are certainly gone; `runs_max` is how many runs are driven at once.

    `kinds` are the kinds of runs, and their formats, that `drive` can drive; None for any.
    """

    def __init__(
        self,
        journal: Journal[Any],
        clock: Clock,
        *,
        drive: Drive,
        record_crash: Bury,
        dead: Dead,
        tell: Tell,
        stop: Stop,
        runs_max: int,
        kinds: Formats | None = None,
    ) -> None:
        self._journal, self._clock, self._dead = journal, clock, dead
        self._drive, self._bury, self._tell = drive, record_crash, tell
        self._stop, self._runs_max, self._kinds = stop, runs_max, kinds
        self._active: dict[str, Bell] = {}
        self._unable: dict[str, float] = {}  # Until when, in trio's time, which nobody can set.
        self._pauses: dict[str, float] = {}
        self._bell = Bell()
        self._trouble = ""

    def ring(self) -> None:
        """Say that the journal is worth a look."""
        self._bell.ring()

    async def serve(self) -> None:
        """Drive runs until a stop is wished for and every run is parked. Raises what makes the journal unreadable."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._watch)
            nursery.start_soon(self._heed_stop)
            while not self._stop.park.is_set():
                following = await self._look(nursery)
                with trio.move_on_after(self._patience(following)):
                    await self._bell()
            while self._active:
                await self._bell()
            nursery.cancel_scope.cancel()

    def _patience(self, following: float | None) -> float:
        """Return the seconds until there is something to do that nobody rings for."""
        waits = [LOOK_SECONDS, *(until - trio.current_time() for until in self._unable.values())]
        if following is not None:
            waits.append(following - self._clock.now())
        return max(SHORTEST_SECONDS, min(waits))

    async def _watch(self) -> None:
        changed = Polling(self._journal, POLL_SECONDS)
        while True:
            with suppress(JournalError):  # The look that follows meets it too, and knows what to do about it.
                await changed()
            self.ring()

    async def _heed_stop(self) -> None:
        await self._stop.park.wait()
        self.ring()

    async def _look(self, nursery: trio.Nursery) -> float | None:
        """Take up what nobody drives, as far as there is room; ring for mail; return when to look again, if known."""
        now = trio.current_time()
        self._unable = {run: until for run, until in self._unable.items() if until > now}
        room = self._runs_max - len(self._active)
        try:
            # What was taken up a moment ago is not claimed yet, and counts as nobody's.
            most = room + len(self._active) + len(self._unable)
            due = await self._journal.due(most, dead=self._dead, kinds=self._kinds)
        except (JournalDamaged, JournalNewer):
            raise
        except JournalError as error:
            if self._trouble != str(error):  # Once is enough, however often it is met.
                self._tell("trouble", "", str(error))
            self._trouble = str(error)
            return None
        self._trouble = ""
        for run in due.mail & self._active.keys():
            self._active[run].ring()
        for run in [run for run in due.runs if run not in self._active and run not in self._unable][:room]:
            if not self._stop.park.is_set():
                self._active[run] = Bell()
                nursery.start_soon(self._host, run)
        return due.next

    async def _host(self, run: str) -> None:
        taken = False

        def take() -> None:
            nonlocal taken
            taken = True
            self._tell("taken_up", run, "")

        try:
            ending = await self._drive(run, self._stop, self._active[run], take)
            self._pauses.pop(run, None)
            if taken:
                await self._tell_rest(run, ending)
        except (Held, Fenced):
            if taken:  # Else another host was faster, and tells of it.
                self._tell("left", run, "another process drives it")
        except Bug as error:
            await self._fail(run, error)
        except ReplanError as error:
            self._leave_alone(run, error)
            self._tell("not_here", run, str(error))
        except Exception as error:  # noqa: BLE001 - a bug ends its own run, and no other
            await self._fail(run, error)
        finally:
            del self._active[run]
            self.ring()

    async def _tell_rest(self, run: str, ending: Ending) -> None:
        """Tell how a run rests. Where its row cannot be read, only the telling has failed."""
        try:
            summary = (await self._journal.row(run)).summary
        except JournalError as error:
            self._tell("trouble", run, str(error))
        else:
            self._tell(*_rest(run, ending, summary))

    def _leave_alone(self, run: str, error: ReplanError) -> None:
        """Set when the run is tried again: soon at first, where the journal may have been busy or out of reach."""
        passing = isinstance(error, JournalError) and error.passing
        last = self._pauses.pop(run, SOON_SECONDS / 2)
        pause = min(2 * last, AGAIN_SECONDS) if passing else AGAIN_SECONDS
        if passing:
            self._pauses[run] = pause
        self._unable[run] = trio.current_time() + pause

    async def _fail(self, run: str, error: Exception) -> None:
        log.get_logger("host").exception("run.crashed", run_id=run)
        self._tell("failed", run, f"{type(error).__name__}: {error}")
        try:
            await self._bury(run, error)
        except ReplanError as reason:  # The lease of a driver that has died, or the journal: it will be possible.
            self._leave_alone(run, reason)
            self._tell("not_here", run, f"its end cannot be recorded: {reason}")
        except Exception as again:  # noqa: BLE001 - not even its end can be written; nobody else shall suffer
            self._unable[run] = float("inf")
            self._tell("not_here", run, f"its end cannot be recorded: {type(again).__name__}: {again}")


def _rest(run: str, ending: Ending, summary: Summary) -> tuple[str, str, str]:
    """Return what is told of a run that has come to rest."""
    if ending is Ending.PARKED:
        return "parked", run, summary.detail
    if summary.status == "finished":
        return "finished", run, summary.detail
    if summary.status == "waiting":
        return "waiting", run, summary.detail
    return "resting", run, "" if summary.next_wake is None else f"{summary.next_wake:.0f}"
