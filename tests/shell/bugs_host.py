"""Planted bugs of the host, and of what it stands on. `planted.BUGS` says what each does."""

from contextlib import nullcontext
from dataclasses import replace

import trio

from runtime.core.daily_budget import HomeBudget
from runtime.drive.changes import Bell
from runtime.drive.options import Stop
from runtime.host.host import Host
from runtime.journal.memory import _MemoryJournal

DUE, SHORTFALL = _MemoryJournal.due, HomeBudget.shortfall


class RingsForNobody(Host):
    """Gives each run a bell of its own that nobody knows."""

    def __init__(self, *arguments, drive, **named):
        super().__init__(*arguments, drive=lambda run, stop, _, take: drive(run, stop, Bell(), take), **named)


class HearsNoBell(Host):
    async def _watch(self):
        await trio.sleep_forever()

    def ring(self):
        """Take no notice, but for the end."""
        if self._stop.park.is_set():
            super().ring()


class IgnoresTheNextTime(Host):
    async def _look(self, nursery):
        await super()._look(nursery)


class NeverLooksAfterAnError(Host):
    blind = False

    async def _look(self, nursery):
        if self.blind:
            return None

        def tell(word, run, detail, before=self._tell):
            self.blind = self.blind or (word, run) == ("trouble", "")
            before(word, run, detail)

        self._tell, before = tell, self._tell
        try:
            return await super()._look(nursery)
        finally:
            self._tell = before


class FallsOverAnError(Host):
    async def _look(self, nursery):
        await self._journal.due(0)
        return await super()._look(nursery)


class NeverTriesAgain(Host):
    async def _host(self, run):
        await super()._host(run)
        if run in self._unable:
            self._unable[run] = float("inf")


class KeepsItsRunsForEver(Host):
    async def _host(self, run):
        bell = self._active[run]
        await super()._host(run)
        if not self._stop.park.is_set():
            self._active[run] = bell


class TakesTooManyRuns(Host):
    async def _look(self, nursery):
        self._runs_max = len(self._active) + 1
        return await super()._look(nursery)


class StopsWithoutParking(Host):
    async def serve(self):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(super().serve)
            await self._stop.park.wait()
            nursery.cancel_scope.cancel()


class KeepsTheStopToItself(Host):
    def __init__(self, *arguments, drive, **named):
        super().__init__(*arguments, drive=lambda run, _, news, take: drive(run, Stop(), news, take), **named)


class TakesRunsUpWhileItStops(Host):
    async def serve(self):
        async with trio.open_nursery() as nursery:
            await super().serve()
            park, self._stop.park = self._stop.park, trio.Event()
            await self._look(nursery)
            self._stop.park = park


class BuriesNobody(Host):
    async def _fail(self, run, error):
        self._tell("failed", run, f"{type(error).__name__}: {error}")
        self._unable[run] = float("inf")


async def due_with_parked(journal, limit, *, dead, kinds=None):
    """Count the runs that a person has parked as due."""
    found = await DUE(journal, limit, dead=dead, kinds=kinds)
    parked = (run for run, held in journal._store.runs.items() if held.summary.status == "parked")
    return replace(found, runs=(*found.runs, *parked))


def turns_for_all(_turns, _provider):
    """Let everybody call at once."""
    return nullcontext


def calls_only(budget, day, change):
    """Let the home's money be what it may."""
    return SHORTFALL(replace(budget, micro_usd=None), day, change)
