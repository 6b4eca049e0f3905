"""A simulated home: several runs on one journal, the hosts that serve it, and the people of each run, from one seed."""

from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from unittest.mock import patch

import trio

from runtime.core.daily_budget import HomeBudget, day_of
from runtime.core.hooks import set_crash_hook
from runtime.drive.run_log import admit
from runtime.drive.supervisor import Supervisor
from runtime.host.host import LOOK_SECONDS, Host
from runtime.journal.memory import MemoryStore, open_memory
from tests.long.shell.driver_process import ADMISSION, Process, reach
from tests.long.shell.host_process import HostProcess
from tests.long.shell.world import FAULTY_MAX, SECONDS_MAX, WallClock, World
from tests.support import deterministic

EVERY = 6
"""One of so many seeds simulates a home with hosts; the others simulate one run."""
POLL_SECONDS = 1.0
"""The polling interval of hosts here, in seconds. A shorter one only makes the simulation slower."""
SOON, LATER = POLL_SECONDS + 2.0, LOOK_SECONDS + 3.0
"""How long a due run may stay without a driver, in seconds: if the host is woken, and if it has to poll.

After a failed poll or a clock change the next poll counts.
"""
FAR = 120.0


def world_of(seed, *, host=Host, **variant):
    """Return the world of a seed. `host`, `supervisor` and `machine` replace the originals to plant a bug."""
    return HomeWorld(seed, host=host, **variant) if seed % EVERY == EVERY - 1 else World(seed, **variant)


class RunInHome(World):
    """The world of one run of a home: its own oracle, user and faults; the home's journal and clock."""

    answer_seconds = 120.0

    def __init__(self, home, run, **variant):
        super().__init__(f"{home.seed}:{run}", **variant)
        self.home, self.run = home, run
        self.clock, self.store, self.budget = home.clock, home.store, home.budget
        self.fault_rates = replace(self.fault_rates, jump=0.0)
        self.oracle.home_limited = self.budget != HomeBudget(waits=self.budget.waits)
        self.started_by_user, self.idle_seconds, self.unowned_seconds = self.rng.random() < 0.3, 0, 0

    def is_dead(self, owner):
        return self.home.is_dead(owner)

    def read_commits(self):
        """Pass new commits to the oracle, and check the home's budget."""
        super().read_commits()
        self.home.check_budget()

    @asynccontextmanager
    async def open_journal(self):
        """Open the journal for an append without a driver."""

        def fault(operation, moment):
            if operation in ("create", "append") and moment == "after":
                self.read_commits()

        async with open_memory(self.codec, self.clock, store=self.store, fault=fault) as journal:
            yield journal

    async def _post(self, after, key, body):
        posted = await super()._post(after, key, body)
        self.home.wake_hosts()
        return posted

    async def enter(self, nursery):
        """Admit the run for the hosts, or start it as a person does, who also resumes it after parking."""
        await trio.sleep(self.rng.uniform(0, 40))
        nursery.start_soon(self.people)
        if not self.started_by_user:
            async with self.open_journal() as journal:
                await admit(self.machine, journal, self.run, ADMISSION, self.begin())
            self.home.wake_hosts()
            return
        while not self.oracle.records or self.held().head.summary.status == "parked":
            if self.oracle.parked_why or ("parked" in self.endings and not self.fault_rates.patient):
                return
            await self.drive(Process(self, len(self.processes), calm=len(self.processes) >= FAULTY_MAX))
            await trio.sleep(self.rng.uniform(5, 40))

    def can_be_taken_up(self):
        """Return whether the run is due or has an unread message, and no live lease."""
        held = self.store.runs.get(self.run)
        if held is None or not held.rows or held.head.summary.status in ("finished", "parked"):
            return False
        now, head = self.clock.now(), held.head
        due = head.summary.due
        return (head.owner is None or head.end <= now) and (head.unread or (due is not None and due <= now))

    def at_rest(self):
        held = self.store.runs.get(self.run)
        if held is None or not held.rows:
            return False
        if held.head.owner is not None and held.head.end > self.clock.now() and held.head.summary.status != "finished":
            return False
        match held.head.summary.status:
            case "finished":
                return True
            case "parked":
                return bool(self.oracle.parked_why) or not self.fault_rates.patient
            case "waiting":
                return held.head.summary.next_wake is None and not held.head.unread and not self.fault_rates.willing
        return False


class HomeWorld:
    """The world of one home: its runs, hosts, users, clock and journal."""

    codec = World.codec

    def __init__(self, seed, *, host=Host, supervisor=Supervisor, machine=None):
        self.seed, self.host = seed, host
        self.rng = Random(f"{seed}:home")
        self.clock, self.store = WallClock(), MemoryStore()
        calls, money = self.rng.choice((None, None, 2, 9, 14)), self.rng.choice((None, None, 350, 2_500))
        self.budget = HomeBudget(calls=calls, micro_usd=money, waits=self.rng.random() < 0.7)
        self.sequences = self.rng.choice((1, 1, 2))
        self.wake_probability = self.rng.choice((0.0, 0.5, 1.0))
        self.jumps = self.rng.choice((0.0, 0.0, 0.5))
        names = [f"run-{number}" for number in range(self.rng.choice((2, 3, 4)))]
        self.by_name = {run: RunInHome(self, run, supervisor=supervisor, machine=machine) for run in names}
        self.hosts, self.violations, self.over, self.clock_set_at = [], [], False, -1e9

    @property
    def runs(self):
        return [*self.by_name.values()]

    @property
    def records(self):
        """The records of all runs, one run after the other."""
        return [record for run in self.runs for record in run.records]

    @property
    def endings(self):
        return [ending for run in self.runs for ending in run.endings]

    @property
    def fates(self):
        """The planned fault of each host, or None."""
        return [process.fate for process in self.hosts if not process.calm]

    def expect(self, condition, violation):
        if not condition:
            self.violations.append(violation)

    def is_dead(self, owner):
        processes = (process for run in self.runs for process in run.processes)
        return any(process.owner == owner and process.dead for process in (*self.hosts, *processes))

    def wake_hosts(self):
        """Wake the hosts; a wake-up may be lost."""
        for process in self.hosts:
            if process.serving and self.rng.random() < self.wake_probability:
                process.host.wake()

    def check_budget(self):
        """Check the requests of all runs, day by day, against the home's budget.

        The part of a reply's cost above its reservation cannot be prevented, and is not counted.
        """
        days = {}
        for run in self.runs:
            for name, entry in run.oracle.requests.items():
                charged, day = run.oracle.charged[name], day_of(run.oracle.records[entry.seq - 1].at)
                calls, money = days.get(day, (0, 0))
                days[day] = calls + charged.calls, money + min(charged.micro_usd, entry.reserve.micro_usd)
        for day, (calls, money) in days.items():
            for used, limit, unit in (
                (calls, self.budget.calls, "calls"),
                (money, self.budget.micro_usd, "millionths"),
            ):
                self.expect(limit is None or used <= limit, f"{used} of {limit} {unit} on day {day}")

    # The simulation.

    def play(self):
        """Simulate all runs and check the invariants; return the trace of the simulation."""
        set_crash_hook(reach)
        try:
            with patch("runtime.host.host.POLL_SECONDS", POLL_SECONDS):
                simulation = deterministic.run(self._main, self.seed)
        finally:
            set_crash_hook(None)
        self.check()
        return simulation

    async def _main(self):
        async with open_memory(self.codec, self.clock, store=self.store) as outside:
            with trio.move_on_after(SECONDS_MAX) as limit:
                async with trio.open_nursery() as nursery, trio.open_nursery() as serving:
                    self._people = trio.CancelScope()
                    nursery.start_soon(self._live, outside)
                    nursery.start_soon(self._check_takeover)
                    for _ in range(self.sequences):
                        serving.start_soon(self._serve)
                    await self._wait_for_rest()
                    nursery.cancel_scope.cancel()
            self.expect(not limit.cancelled_caught, "the home hangs")
            for run in self.runs:
                await run.close()

    async def _live(self, outside):
        with self._people:
            async with trio.open_nursery() as nursery:
                for run in self.runs:
                    run.outside = outside
                    nursery.start_soon(run.enter, nursery)

    async def _serve(self):
        """Run one host after the other."""
        rng, ordinal = Random(f"{self.seed}:serve"), 0
        while not self.over:
            process = HostProcess(self, len(self.hosts), calm=ordinal >= FAULTY_MAX)
            self.hosts.append(process)
            ordinal += 1
            await process.live()
            await trio.sleep(rng.uniform(0.5, 20.0))

    async def _wait_for_rest(self):
        while not all(run.at_rest() for run in self.runs):
            await trio.sleep(3.0)
            self._pass_time()
            if all(run.at_rest() for run in self.runs):
                self._people.cancel()  # No message may arrive while the hosts stop.
                await trio.sleep(0.1)
        self.over = True
        for process in self.hosts:
            process.request_stop()

    def _pass_time(self):
        """Set the clock: sometimes at random, and forward when all runs wait for a long time."""
        if self.rng.random() < self.jumps / 20 and self.budget == HomeBudget(waits=self.budget.waits):
            self._set(self.rng.choice((-3_600.0, -20.0, 20.0, 3_600.0)))
        heads = [held.head for held in self.store.runs.values()]
        open_runs = [head for head in heads if head.summary.status not in ("finished", "parked")]
        wakes = [head.summary.next_wake for head in open_runs if head.summary.next_wake is not None]
        idle = not any(head.unread or head.summary.due == 0.0 for head in open_runs)
        if idle and wakes and (ahead := min(wakes) - self.clock.now()) > FAR:
            self._set(ahead - FAR / 4)

    def _set(self, seconds):
        self.clock.offset += seconds
        self.clock_set_at = trio.current_time()
        for run in self.runs:
            run.jumped = True

    async def _check_takeover(self):
        while True:
            await trio.sleep(1.0)
            now = trio.current_time()
            for run in self.runs:
                able = [process for process in self.hosts if process.able(run.run)]
                run.idle_seconds = run.idle_seconds + 1 if able and run.can_be_taken_up() else 0
                run.unowned_seconds = (
                    run.unowned_seconds + 1 if run.idle_seconds and self.store.runs[run.run].head.owner is None else 0
                )
                disturbed = max(self.clock_set_at, *(process.failed_at for process in able), -1e9) > now - LATER
                late = (
                    run.idle_seconds > LATER + LOOK_SECONDS
                    if disturbed
                    else run.idle_seconds > LATER or run.unowned_seconds > SOON
                )
                self.expect(
                    not late, f"{run.run} has no driver while {[process.owner for process in able]} could drive it"
                )

    # Checks at the end.

    def check(self):
        """Check the invariants of the home and of each run; raise all violations in one error."""
        violations = [*self.violations]
        for run in self.runs:
            try:
                run.check()
            except AssertionError as error:
                violations.append(f"{run.run}: {error}")
        if violations:
            raise AssertionError("; ".join(dict.fromkeys(violations)))
