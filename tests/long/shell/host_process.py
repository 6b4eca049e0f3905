"""One simulated host process: the runtime's host, the runs that it drives, and their faults."""

from contextlib import contextmanager
from functools import partial
from random import Random

import trio

from runtime.core.errors import Fenced, Held, JournalError
from runtime.core.messages import Crashed
from runtime.drive.options import Ending, LeaseTerms, Stop
from runtime.drive.run_log import append_one
from runtime.host.host import LOOK_SECONDS, RETRY_SECONDS_MAX
from runtime.host.notices import Failed, NotDrivable
from runtime.journal.memory import open_memory
from runtime.journal.port import nobody
from runtime.models.provider_state import CallLimiter
from tests.long.shell.driver_process import GRACE_SECONDS, Process, ProcessKilled

REST_SECONDS = 5.0
"""A run whose next wake time is this far away, or farther, is released until then."""
FATES = ("dies", "stops", "is forced to stop", "freezes", None)
"""The planned fault of a host that is not calm; None: it serves on."""
FAILURE_RATE = 0.02
"""The probability that an operation of the host on the journal fails."""


class FreezableJournal:
    """A journal whose operations block while the host process is frozen; `fault` may raise before an operation."""

    def __init__(self, journal, host, fault=lambda _: None):
        self._journal, self._host, self._fault = journal, host, fault

    def __getattr__(self, name):
        operation = getattr(self._journal, name)
        return operation if name == "now" else partial(self._pass, name, operation)

    async def _pass(self, name, operation, *arguments, **named):
        await self._host.awake()
        if name not in ("announce", "depart"):
            self._fault(name)
        return await operation(*arguments, **named)


class HostedRun(Process):
    """One run that a host drives, from the claim to the release."""

    def __init__(self, world, host, stop, changed, take):
        super().__init__(world, len(world.processes), calm=host.calm)
        self.host, self.owner, self.stop, self.dead = host, host.owner, stop, host.dead
        self.stop_requested_at, self.stop_forced_at, self.frozen = (
            host.stop_requested_at,
            host.stop_forced_at,
            host.freezes > 0,
        )
        self.patience = LOOK_SECONDS + host.freezes
        self.more = {"changed": changed, "rest_after": REST_SECONDS}
        self.slot = host.limiter.for_run("toy")
        self.take, self.error, self.calls = take, None, 0

    def die(self):
        """Kill the host with all runs that it drives."""
        self.host.die()

    async def awake(self):
        """Return when the host is not frozen."""
        await self.host.awake()

    def on_record(self, record, state):
        """Note an acknowledged record; the first one shows that the host has taken the run up."""
        if not self.acks:
            self.take()
        super().on_record(record, state)

    def over(self, journal):
        """Return the journal as this process sees it."""
        return FreezableJournal(super().over(journal), self.host)

    @contextmanager
    def calling(self):
        """Count the calls in flight, of this run and of its host."""
        self.calls, self.host.calls = self.calls + 1, self.host.calls + 1
        within = self.calls <= self.host.per_run and self.host.calls <= self.host.each
        self.world.oracle.expect(within, f"{self.owner} has {self.host.calls} calls in flight, {self.calls} of one run")
        try:
            yield
        finally:
            self.calls, self.host.calls = self.calls - 1, self.host.calls - 1

    async def live(self):
        how = await self._driven(self._drive)
        self.world.endings.append(how)
        self._released(how)
        if self.error is not None:
            raise self.error
        return Ending(how)

    async def _drive(self, driver):
        try:
            return str(await driver.drive())
        except (Held, Fenced, JournalError) as error:
            self.error = error
            return {Held: "held", Fenced: "fenced"}.get(type(error), "broken")


class HostProcess:
    """A host process from its start to its stop or death. A calm one serves until the home stops it."""

    def __init__(self, home, number, *, calm):
        self.home, self.calm, self.owner = home, calm, f"host-{number}"
        self.rng = Random(f"{home.seed}:host:{number}")
        self.stop, self.scope = Stop(handover=True, grace=GRACE_SECONDS), trio.CancelScope()
        self.runs_max = self.rng.choice((1, 2, 10))
        self.each, self.per_run = self.rng.choice(((1, 1), (2, 1), (64, 16)))
        self.limiter = CallLimiter(self.each, per_run=self.per_run)
        self.is_dead = home.is_dead if self.rng.random() < 0.5 else nobody
        self.fate = None if calm else self.rng.choice(FATES)
        self.freezes = self.rng.choice((3.0, 40.0)) if self.fate == "freezes" else 0.0
        self.driving, self.drives, self.failed = {}, [], {}
        self.dead, self.serving, self.calls, self.thaws, self.failed_at = False, False, 0, 0.0, -1e9
        self.stop_requested_at, self.stop_forced_at = None, None

    def able(self, run):
        now = trio.current_time()
        awake = self.serving and not self.dead and self.stop_requested_at is None and self.thaws <= now
        room = run not in self.driving and len(self.driving) < self.runs_max
        return awake and room and self.failed.get(run, -1e9) + RETRY_SECONDS_MAX + 1 < now

    async def awake(self):
        while (left := self.thaws - trio.current_time()) > 0:  # noqa: ASYNC110 - it may be frozen again
            await trio.sleep(left)

    def die(self):
        self.dead = True
        for process in self.drives:
            process.dead = True
        self.scope.cancel()

    async def live(self):
        """Serve the home until the process stops or dies."""
        home = self.home
        async with open_memory(home.codec, home.clock, store=home.store, budget=home.budget) as journal:
            self.host = home.host(
                FreezableJournal(journal, self, self._journal_fault),
                owner=self.owner,
                drive=self._drive,
                record_crash=self._record_crash,
                dead=self.is_dead,
                report=self._report,
                stop=self.stop,
                runs_max=self.runs_max,
            )
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._stop_or_kill)
                self.serving = True
                try:
                    with self.scope:
                        await self.host.serve()
                except* ProcessKilled:
                    assert self.dead
                self.serving = False
                nursery.cancel_scope.cancel()
        if not self.dead:
            self._left()

    async def _stop_or_kill(self):
        if self.fate is None:
            return
        await trio.sleep(self.rng.choice((0.0, self.rng.uniform(0, 10), self.rng.uniform(0, 60))))
        if self.fate == "dies":
            self.die()
            return
        if self.fate == "freezes":
            self.thaws = trio.current_time() + self.freezes
            await trio.sleep(self.freezes + self.rng.uniform(10, 60))
        self.request_stop()
        if self.fate == "is forced to stop":
            await trio.sleep(self.rng.uniform(0, 6))
            self.stop_forced_at = trio.current_time()
            for process in self.driving.values():
                process.stop_forced_at = self.stop_forced_at
            self.stop.forced.set()

    def request_stop(self):
        if self.stop_requested_at is None:
            self.stop_requested_at = trio.current_time()
            for process in self.driving.values():
                process.stop_requested_at = self.stop_requested_at
            self.stop.requested.set()

    def _journal_fault(self, name):
        if not self.calm and self.rng.random() < FAILURE_RATE:
            self.failed_at = trio.current_time()
            raise JournalError(f"the journal cannot be reached ({name})")

    def _report(self, notice):
        if isinstance(notice, NotDrivable):
            self.failed[notice.run] = trio.current_time()
        if isinstance(notice, Failed) and "a planned bug" not in notice.error:
            self.home.expect(False, f"{notice.run} was ended by a bug: {notice.error}")

    async def _drive(self, run, stop, changed, take):
        home, world = self.home, self.home.by_name[run]
        home.expect(run not in self.driving, f"{self.owner} drives {run} twice")
        home.expect(len(self.driving) < self.runs_max, f"{self.owner} drives more than {self.runs_max} runs")
        late = self.stop_requested_at is not None and trio.current_time() > self.stop_requested_at
        home.expect(not late, f"{self.owner} takes {run} up after the stop was requested")
        home.expect(world.held().head.summary.status != "parked", f"{self.owner} takes up {run}, which is parked")
        process = HostedRun(world, self, stop, changed, take)
        world.processes.append(process)
        self.drives.append(process)
        self.driving[run] = process
        try:
            if not self.calm and self.rng.random() < world.fault_rates.bug:
                process.ended = trio.current_time()
                raise ZeroDivisionError("a planned bug")
            return await process.live()
        finally:
            self.driving.pop(run, None)

    async def _record_crash(self, run, error):
        world = self.home.by_name[run]
        async with world.open_journal() as journal:
            crashed = Crashed("", self.home.clock.now(), str(error))
            await append_one(world.machine, journal, run, LeaseTerms(f"the crash recorder of {self.owner}"), crashed)

    def _left(self):
        """Check the state that a stopped host leaves."""
        expect = self.home.expect
        expect(self.stop_requested_at is not None, f"{self.owner} stopped without a request")
        expect(not self.driving, f"{self.owner} stopped while it drove {[*self.driving]}")
        cut = [process.world.run for process in self.drives if process.ended is None]
        expect(not cut, f"{self.owner} left the drivers of {cut} unfinished")
        kept = [run for run, held in self.home.store.runs.items() if held.head.owner == self.owner]
        expect(not kept, f"{self.owner} stopped, but still owns {kept}")
        if self.stop_requested_at is not None:
            elapsed = trio.current_time() - self.stop_requested_at
            patience = max((process.patience for process in self.drives), default=LOOK_SECONDS)
            expect(elapsed <= GRACE_SECONDS + 2 * patience, f"{self.owner} took {elapsed:.1f} s to stop")
