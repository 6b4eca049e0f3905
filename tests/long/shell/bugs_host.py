"""Planted bugs of the host: variants of it, and replacements of functions that it uses. See `planted_bugs.BUGS`."""

from contextlib import nullcontext
from dataclasses import replace

import trio

from runtime.core.daily_budget import HomeBudget
from runtime.drive.options import Stop, WakeSignal
from runtime.host.host import Host
from runtime.host.notices import Failed, OutsideTrouble
from runtime.journal.memory import _MemoryJournal

DUE, SHORTFALL = _MemoryJournal.due, HomeBudget.shortfall


class WakesNoRun(Host):
    """Gives each run a wake signal that nothing sets."""

    def __init__(self, *arguments, drive, **named):
        super().__init__(*arguments, drive=lambda run, stop, _, take: drive(run, stop, WakeSignal(), take), **named)


class IsNotWoken(Host):
    async def _poll(self):
        await trio.sleep_forever()

    def wake(self):
        if self._stop.requested.is_set():
            super().wake()


class IgnoresTheNextTime(Host):
    async def _drive_due_runs(self, nursery):
        await super()._drive_due_runs(nursery)


class NeverLooksAfterAnError(Host):
    blind = False

    async def _drive_due_runs(self, nursery):
        if self.blind:
            return None

        def report(notice, before=self._report):
            self.blind = self.blind or (isinstance(notice, OutsideTrouble) and not notice.run)
            before(notice)

        self._report, before = report, self._report
        try:
            return await super()._drive_due_runs(nursery)
        finally:
            self._report = before


class EndsAtAJournalError(Host):
    async def _drive_due_runs(self, nursery):
        await self._journal.due(0)
        return await super()._drive_due_runs(nursery)


class NeverTriesAgain(Host):
    async def _host(self, run):
        await super()._host(run)
        if run in self._not_before:
            self._not_before[run] = float("inf")


class NeverDropsEndedRuns(Host):
    async def _host(self, run):
        signal = self._active[run]
        await super()._host(run)
        if not self._stop.requested.is_set():
            self._active[run] = signal


class DrivesTooManyRuns(Host):
    async def _drive_due_runs(self, nursery):
        self._runs_max = len(self._active) + 1
        return await super()._drive_due_runs(nursery)


class StopsWithoutParking(Host):
    async def serve(self):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(super().serve)
            await self._stop.requested.wait()
            nursery.cancel_scope.cancel()


class KeepsTheStopFromItsRuns(Host):
    def __init__(self, *arguments, drive, **named):
        super().__init__(*arguments, drive=lambda run, _, changed, take: drive(run, Stop(), changed, take), **named)


class TakesRunsUpWhileItStops(Host):
    async def serve(self):
        async with trio.open_nursery() as nursery:
            await super().serve()
            before, self._stop.requested = self._stop.requested, trio.Event()
            await self._drive_due_runs(nursery)
            self._stop.requested = before


class RecordsNoCrash(Host):
    async def _fail(self, run, error):
        self._report(Failed(run, f"{type(error).__name__}: {error}"))
        self._not_before[run] = float("inf")


async def due_with_parked(journal, limit, *, dead, kinds=None):
    due = await DUE(journal, limit, dead=dead, kinds=kinds)
    parked = (run for run, held in journal._store.runs.items() if held.head.summary.status == "parked")
    return due._replace(runs=(*due.runs, *parked))


def slots_for_all(_limiter, _provider):
    """Give every run a slot without a limit."""
    return nullcontext


def calls_only(budget, day, change):
    return SHORTFALL(replace(budget, micro_usd=None), day, change)
