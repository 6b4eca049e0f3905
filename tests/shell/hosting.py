"""One simulated host process: the runtime's host, the runs in its hands, and what may go wrong with all of them."""

from contextlib import contextmanager
from functools import partial
from random import Random

import trio

from runtime.core.errors import Fenced, Held, JournalError
from runtime.core.messages import Crashed
from runtime.drive.offline import append_one
from runtime.drive.options import Ending, LeaseTerms, Stop
from runtime.drive.supervisor import GRACE_SECONDS
from runtime.host.host import LOOK_SECONDS, RETRY_SECONDS_MAX
from runtime.host.notices import Failed, NotDrivable
from runtime.journal.memory import open_memory
from runtime.journal.port import nobody
from runtime.models.limiter import CallLimiter
from tests.shell.process import Died, Process

REST_SECONDS = 5.0
"""A run that waits this long for a clock, or longer, is kept by the journal alone."""
FATES = ("dies", "stops", "hurries", "freezes", None)
"""What becomes of a host that is not calm; one without a fate serves on."""
TROUBLE = 0.02
"""How often the host's own look into the journal fails."""


class Gate:
    """A journal through which nothing comes while the host process is frozen; `trouble` may raise before a look."""

    def __init__(self, journal, host, trouble=lambda _: None):
        self._journal, self._host, self._trouble = journal, host, trouble

    def __getattr__(self, name):
        operation = getattr(self._journal, name)
        return operation if name == "now" else partial(self._pass, name, operation)

    async def _pass(self, name, operation, *arguments, **named):
        await self._host.awake()
        if name not in ("announce", "depart"):
            self._trouble(name)
        return await operation(*arguments, **named)


class Hosted(Process):
    """One run in the hands of a host: from the host's taking it up to its leaving it."""

    def __init__(self, world, host, stop, changed, take):
        super().__init__(world, len(world.processes), calm=host.calm)
        self.host, self.owner, self.stop, self.dead = host, host.owner, stop, host.dead
        self.asked_to_stop, self.asked_twice, self.frozen = host.asked_to_stop, host.asked_twice, host.freezes > 0
        self.patience = LOOK_SECONDS + host.freezes
        self.more = {"changed": changed, "rest_after": REST_SECONDS}
        self.slot = host.limiter.for_run("toy")
        self.take, self.error, self.calls = take, None, 0

    def die(self):
        """Kill the host, and so all that it drives."""
        self.host.die()

    async def awake(self):
        """Return when the host is not frozen."""
        await self.host.awake()

    def on_record(self, record, state):
        """Remember what the driver knows; the first record that it writes says that the run is its own."""
        if not self.acks:
            self.take()
        super().on_record(record, state)

    def over(self, journal):
        """Return the journal as this process has it."""
        return Gate(super().over(journal), self.host)

    @contextmanager
    def calling(self):
        """Count the calls in flight, of this run and of its host."""
        self.calls, self.host.calls = self.calls + 1, self.host.calls + 1
        within = self.calls <= self.host.per_run and self.host.calls <= self.host.each
        self.world.books.holds(within, f"{self.owner} has {self.host.calls} calls in flight, {self.calls} of one run")
        try:
            yield
        finally:
            self.calls, self.host.calls = self.calls - 1, self.host.calls - 1

    async def live(self):
        """Drive the run; return how it ended, or raise what stood in the way."""
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
    """From its start to its stop, or to its death. A calm one serves until the home stops it."""

    def __init__(self, home, number, *, calm):
        self.home, self.calm, self.owner = home, calm, f"host-{number}"
        self.dice = Random(f"{home.seed}:host:{number}")
        self.stop, self.scope = Stop(handover=True), trio.CancelScope()
        self.runs_max = self.dice.choice((1, 2, 10))
        self.each, self.per_run = self.dice.choice(((1, 1), (2, 1), (64, 16)))
        self.limiter = CallLimiter(self.each, per_run=self.per_run)
        self.knows = home.is_dead if self.dice.random() < 0.5 else nobody
        self.fate = None if calm else self.dice.choice(FATES)
        self.freezes = self.dice.choice((3.0, 40.0)) if self.fate == "freezes" else 0.0
        self.driving, self.drives, self.failed = {}, [], {}
        self.dead, self.serving, self.calls, self.thaws, self.troubled = False, False, 0, 0.0, -1e9
        self.asked_to_stop, self.asked_twice = None, None

    def able(self, run):
        """Tell whether the host should take up a run now."""
        now = trio.current_time()
        awake = self.serving and not self.dead and self.asked_to_stop is None and self.thaws <= now
        room = run not in self.driving and len(self.driving) < self.runs_max
        return awake and room and self.failed.get(run, -1e9) + RETRY_SECONDS_MAX + 1 < now

    async def awake(self):
        """Return when the process is not frozen."""
        while (left := self.thaws - trio.current_time()) > 0:  # noqa: ASYNC110 - it may be frozen again
            await trio.sleep(left)

    def die(self):
        """Kill the process: what it does from now on reaches nobody."""
        self.dead = True
        for process in self.drives:
            process.dead = True
        self.scope.cancel()

    async def live(self):
        """Serve the home until a stop or death."""
        home = self.home
        async with open_memory(home.codec, home.clock, store=home.store, budget=home.budget) as journal:
            self.host = home.host(
                Gate(journal, self, self._trouble),
                owner=self.owner,
                drive=self._drive,
                record_crash=self._bury,
                dead=self.knows,
                report=self._report,
                stop=self.stop,
                runs_max=self.runs_max,
            )
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._press)
                self.serving = True
                try:
                    with self.scope:
                        await self.host.serve()
                except* Died:
                    assert self.dead
                self.serving = False
                nursery.cancel_scope.cancel()
        if not self.dead:
            self._left()

    async def _press(self):
        if self.fate is None:
            return
        await trio.sleep(self.dice.choice((0.0, self.dice.uniform(0, 10), self.dice.uniform(0, 60))))
        if self.fate == "dies":
            self.die()
            return
        if self.fate == "freezes":
            self.thaws = trio.current_time() + self.freezes
            await trio.sleep(self.freezes + self.dice.uniform(10, 60))
        self.wish_to_stop()
        if self.fate == "hurries":
            await trio.sleep(self.dice.uniform(0, 6))
            self.asked_twice = trio.current_time()
            for process in self.driving.values():
                process.asked_twice = self.asked_twice
            self.stop.forced.set()

    def wish_to_stop(self):
        """Ask the host to stop in good order."""
        if self.asked_to_stop is None:
            self.asked_to_stop = trio.current_time()
            for process in self.driving.values():
                process.asked_to_stop = self.asked_to_stop
            self.stop.requested.set()

    def _trouble(self, name):
        if not self.calm and self.dice.random() < TROUBLE:
            self.troubled = trio.current_time()
            raise JournalError(f"the journal cannot be reached ({name})")

    def _report(self, notice):
        if isinstance(notice, NotDrivable):
            self.failed[notice.run] = trio.current_time()
        if isinstance(notice, Failed) and "a planned bug" not in notice.error:
            self.home.holds(False, f"{notice.run} was ended by a bug: {notice.error}")

    async def _drive(self, run, stop, changed, take):
        home, world = self.home, self.home.by_name[run]
        home.holds(run not in self.driving, f"{self.owner} drives {run} twice")
        home.holds(len(self.driving) < self.runs_max, f"{self.owner} drives more than {self.runs_max} runs")
        late = self.asked_to_stop is not None and trio.current_time() > self.asked_to_stop
        home.holds(not late, f"{self.owner} takes {run} up after the wish to stop")
        home.holds(world.held().summary.status != "parked", f"{self.owner} takes {run} up, which a person has parked")
        process = Hosted(world, self, stop, changed, take)
        world.processes.append(process)
        self.drives.append(process)
        self.driving[run] = process
        try:
            if not self.calm and self.dice.random() < world.troubles.bug:
                process.ended = trio.current_time()
                raise ZeroDivisionError("a planned bug")
            return await process.live()
        finally:
            self.driving.pop(run, None)

    async def _bury(self, run, error):
        world = self.home.by_name[run]
        async with world.writing() as journal:
            crashed = Crashed("", self.home.clock.now(), str(error))
            await append_one(world.machine, journal, run, LeaseTerms(f"the grave digger of {self.owner}"), crashed)

    def _left(self):
        """Check what a host that has stopped leaves behind."""
        holds = self.home.holds
        holds(self.asked_to_stop is not None, f"{self.owner} left without being asked to")
        holds(not self.driving, f"{self.owner} left while it drove {[*self.driving]}")
        cut = [process.world.run for process in self.drives if process.ended is None]
        holds(not cut, f"{self.owner} cut {cut} short")
        kept = [run for run, held in self.home.store.runs.items() if held.owner == self.owner]
        holds(not kept, f"{self.owner} left, but keeps {kept}")
        if self.asked_to_stop is not None:
            over = trio.current_time() - self.asked_to_stop
            patience = max((process.patience for process in self.drives), default=LOOK_SECONDS)
            holds(over <= GRACE_SECONDS + 2 * patience, f"{self.owner} took {over:.1f} s to stop")
