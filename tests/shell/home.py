"""A simulated home: several runs on one journal, the hosts that serve it, and the people of each run, from one seed."""

from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from unittest.mock import patch

import trio

from runtime.core.crash_points import install
from runtime.core.daily_budget import HomeBudget, day_of
from runtime.drive.offline import append_one
from runtime.drive.options import LeaseTerms
from runtime.drive.supervisor import Supervisor
from runtime.host.host import LOOK_SECONDS, Host
from runtime.journal.memory import MemoryStore, open_memory
from tests.shell.hosting import HostProcess
from tests.shell.process import Process, current
from tests.shell.world import SECONDS_MAX, TROUBLED_MAX, WallClock, World
from tests.support import deterministic

EVERY = 6
"""One seed of so many plays a home; the others play one run."""
POLL_SECONDS = 1.0
"""How often a host asks here whether anything was committed: more often would only take longer."""
SOON, LATER = POLL_SECONDS + 2.0, LOOK_SECONDS + 3.0
"""How long a run whose turn it is may lie: where the host was told of it, and where it has to look by itself.

Where a look fails or the clock is set, it is the next look that counts.
"""
FAR = 120.0


def world_of(seed, *, host=Host, **variant):
    """Return the world of a seed. `host`, `supervisor` and `machine` can be given, for variants with a bug planted."""
    return Home(seed, host=host, **variant) if seed % EVERY == EVERY - 1 else World(seed, **variant)


class Lodger(World):
    """The world of one run of a home: its own books, people and troubles; the journal and the clock are the home's."""

    thinks = 120.0

    def __init__(self, home, run, **variant):
        super().__init__(f"{home.seed}:{run}", **variant)
        self.home, self.run = home, run
        self.clock, self.store, self.budget = home.clock, home.store, home.budget
        self.troubles = replace(self.troubles, jump=0.0)
        self.books.rationed = self.budget != HomeBudget(waits=self.budget.waits)
        self.alone, self.lying, self.free = self.dice.random() < 0.3, 0, 0

    def is_dead(self, owner):
        """Whether an owner is certainly gone."""
        return self.home.is_dead(owner)

    def take_in(self):
        """Give the books what was committed, and hold the whole home to its budget."""
        super().take_in()
        self.home.tally()

    @asynccontextmanager
    async def writing(self):
        """Open the journal to write down something that nobody drives."""

        def fault(operation, moment):
            if (operation, moment) == ("append", "after"):
                self.take_in()

        async with open_memory(self.codec, self.clock, store=self.store, fault=fault) as journal:
            yield journal

    async def _write(self, after, key, body):
        posted = await super()._write(after, key, body)
        self.home.ring()
        return posted

    async def enter(self, nursery):
        """Let the run be admitted for the hosts, or begun by a person, who goes on with it when it was parked."""
        await trio.sleep(self.dice.uniform(0, 40))
        await self.outside.create(self.run, "a simulated run")
        nursery.start_soon(self.people)
        if not self.alone:
            async with self.writing() as journal:
                await append_one(self.machine, journal, self.run, LeaseTerms("the admission"), self.begin())
            self.home.ring()
            return
        while not self.books.records or self.held().summary.status == "parked":
            if self.books.parked_why or ("parked" in self.endings and not self.troubles.patient):
                return
            await self.drive(Process(self, len(self.processes), calm=len(self.processes) >= TROUBLED_MAX))
            await trio.sleep(self.dice.uniform(5, 40))

    def waits_for_a_host(self):
        """Tell whether nobody drives the run, though its time has come or a message lies there."""
        held = self.store.runs.get(self.run)
        if held is None or not held.rows or held.summary.status in ("finished", "parked"):
            return False
        now, due = self.clock.now(), held.summary.due
        return (held.owner is None or held.lease_end <= now) and (held.unread or (due is not None and due <= now))

    def settled(self):
        """Tell whether nothing more can come of the run."""
        held = self.store.runs.get(self.run)
        if held is None or not held.rows:
            return False
        if held.owner is not None and held.lease_end > self.clock.now() and held.summary.status != "finished":
            return False
        match held.summary.status:
            case "finished":
                return True
            case "parked":
                return bool(self.books.parked_why) or not self.troubles.patient
            case "waiting":
                return held.summary.next_wake is None and not held.unread and not self.troubles.willing
        return False


class Home:
    """Everything around the runs of one home."""

    codec = World.codec

    def __init__(self, seed, *, host=Host, supervisor=Supervisor, machine=None):
        self.seed, self.host = seed, host
        self.dice = Random(f"{seed}:home")
        self.clock, self.store = WallClock(), MemoryStore()
        calls, money = self.dice.choice((None, None, 2, 9, 14)), self.dice.choice((None, None, 350, 2_500))
        self.budget = HomeBudget(calls=calls, micro_usd=money, waits=self.dice.random() < 0.7)
        self.sequences = self.dice.choice((1, 1, 2))
        self.hears = self.dice.choice((0.0, 0.5, 1.0))
        self.jumps = self.dice.choice((0.0, 0.0, 0.5))
        names = [f"run-{number}" for number in range(self.dice.choice((2, 3, 4)))]
        self.by_name = {run: Lodger(self, run, supervisor=supervisor, machine=machine) for run in names}
        self.hosts, self.broken, self.over, self.set_at = [], [], False, -1e9

    @property
    def runs(self):
        """The worlds of all runs."""
        return [*self.by_name.values()]

    @property
    def records(self):
        """The records of all runs, one run after the other."""
        return [one for run in self.runs for one in run.records]

    @property
    def endings(self):
        """How each driver of each run has ended."""
        return [ending for run in self.runs for ending in run.endings]

    @property
    def fates(self):
        """What was in store for each host."""
        return [process.fate for process in self.hosts if not process.calm]

    def holds(self, condition, what):
        """Write down what does not hold."""
        if not condition:
            self.broken.append(what)

    def is_dead(self, owner):
        """Whether an owner is certainly gone."""
        processes = (process for run in self.runs for process in run.processes)
        return any(one.owner == owner and one.dead for one in (*self.hosts, *processes))

    def ring(self):
        """Ring for the hosts; a bell may be lost."""
        for process in self.hosts:
            if process.serving and self.dice.random() < self.hears:
                process.host.wake()

    def tally(self):
        """Count what the runs have asked for, day by day, against the budget of the home.

        What a reply cost more than was reserved is not in our hands, and not counted.
        """
        days = {}
        for run in self.runs:
            for name, asked in run.books.asked.items():
                charged, day = run.books.charged[name], day_of(run.books.records[asked.seq - 1].at)
                calls, money = days.get(day, (0, 0))
                days[day] = calls + charged.calls, money + min(charged.micro_usd, asked.reserve.micro_usd)
        for day, (calls, money) in days.items():
            for used, limit, what in (
                (calls, self.budget.calls, "calls"),
                (money, self.budget.micro_usd, "millionths"),
            ):
                self.holds(limit is None or used <= limit, f"{used} of {limit} {what} on day {day}")

    # The plot.

    def play(self):
        """Play all runs to their ends and check the whole; return how it was played."""
        install(lambda label: current.get().reached(label))
        try:
            with patch("runtime.host.host.POLL_SECONDS", POLL_SECONDS):
                played = deterministic.run(self._main, self.seed)
        finally:
            install(None)
        self.check()
        return played

    async def _main(self):
        async with open_memory(self.codec, self.clock, store=self.store) as outside:
            with trio.move_on_after(SECONDS_MAX) as limit:
                async with trio.open_nursery() as nursery, trio.open_nursery() as serving:
                    self._people = trio.CancelScope()
                    nursery.start_soon(self._live, outside)
                    nursery.start_soon(self._watch)
                    for _ in range(self.sequences):
                        serving.start_soon(self._serve)
                    await self._settle()
                    nursery.cancel_scope.cancel()
            self.holds(not limit.cancelled_caught, "the home hangs")
            for run in self.runs:
                await run.close()

    async def _live(self, outside):
        """Let the runs come, and their people live beside them."""
        with self._people:
            async with trio.open_nursery() as nursery:
                for run in self.runs:
                    run.outside = outside
                    nursery.start_soon(run.enter, nursery)

    async def _serve(self):
        """Start one host after the other."""
        dice, ordinal = Random(f"{self.seed}:serve"), 0
        while not self.over:
            process = HostProcess(self, len(self.hosts), calm=ordinal >= TROUBLED_MAX)
            self.hosts.append(process)
            ordinal += 1
            await process.live()
            await trio.sleep(dice.uniform(0.5, 20.0))

    async def _settle(self):
        """Wait until nothing more can come, then send the people away and stop the hosts."""
        while not all(run.settled() for run in self.runs):
            await trio.sleep(3.0)
            self._pass_time()
            if all(run.settled() for run in self.runs):
                self._people.cancel()  # So that nothing comes any more while the hosts stop.
                await trio.sleep(0.1)
        self.over = True
        for process in self.hosts:
            process.wish_to_stop()

    def _pass_time(self):
        """Set the clock: now and then for no reason, and forward where everything waits long."""
        if self.dice.random() < self.jumps / 20 and self.budget == HomeBudget(waits=self.budget.waits):
            self._set(self.dice.choice((-3_600.0, -20.0, 20.0, 3_600.0)))
        held = [one for one in self.store.runs.values() if one.summary.status not in ("finished", "parked")]
        wakes = [one.summary.next_wake for one in held if one.summary.next_wake is not None]
        idle = not any(one.unread or one.summary.due == 0.0 for one in held)
        if idle and wakes and (ahead := min(wakes) - self.clock.now()) > FAR:
            self._set(ahead - FAR / 4)

    def _set(self, seconds):
        self.clock.offset += seconds
        self.set_at = trio.current_time()
        for run in self.runs:
            run.jumped = True

    async def _watch(self):
        """See to it that no run is forgotten where a host could take it up."""
        while True:
            await trio.sleep(1.0)
            now = trio.current_time()
            for run in self.runs:
                able = [one for one in self.hosts if one.able(run.run)]
                run.lying = run.lying + 1 if able and run.waits_for_a_host() else 0
                run.free = run.free + 1 if run.lying and self.store.runs[run.run].owner is None else 0
                upset = max(self.set_at, *(one.troubled for one in able), -1e9) > now - LATER
                late = run.lying > LATER + LOOK_SECONDS if upset else run.lying > LATER or run.free > SOON
                self.holds(not late, f"{run.run} lies there while {[one.owner for one in able]} could go on")

    # The end.

    def check(self):
        """Check what holds at the end, for the home and for each run; raise all that did not."""
        broken = [*self.broken]
        for run in self.runs:
            try:
                run.check()
            except AssertionError as error:
                broken.append(f"{run.run}: {error}")
        if broken:
            raise AssertionError("; ".join(dict.fromkeys(broken)))
