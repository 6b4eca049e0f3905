"""One simulated process that drives a run: a supervisor with its actors, a model, and their faults."""

from contextlib import nullcontext
from contextvars import ContextVar
from functools import partial
from random import Random
from typing import ClassVar

import trio

from actors.config.step_guards import BUILT_IN
from actors.handlers.generators import Registry
from actors.planning.children import actors_for
from actors.run.ids import call_of
from actors.run.kind import Resources
from runtime.core.errors import Fenced, Held, HomeBudgetSpent, JournalError, StorageFull
from runtime.core.hooks import LABELS
from runtime.core.ledger import Amount
from runtime.core.machine import fold
from runtime.drive.options import Admission, DriveOptions, LeaseTerms, Stop
from runtime.journal.memory import open_memory
from runtime.models.port import Fault
from tests.long.simulation import scenery as pure

ACTIVE_ERROR = 1e-3
"""The largest sum of rounding errors of an active time, in seconds."""
GRACE_SECONDS = 10.0
"""How long a stop waits for replies in flight."""
current: ContextVar["Process | None"] = ContextVar("process", default=None)


def reach(label):
    process = current.get()
    if process is not None:
        process.reached(label)


ADMISSION = Admission("a simulated run")


class ProcessKilled(BaseException):
    """The simulated process is killed. A `BaseException`, so that no actor reports it as a bug."""


class SlowJournal:
    """A journal whose operations take up to `seconds` before the commit, and up to `seconds` after it.

    `on_refusal` is called with each append that the home's budget refuses: the driver appends less at once, and so
    waits for the journal again.
    """

    def __init__(self, journal, rng, seconds, on_refusal):
        self._journal, self._rng, self._seconds, self._on_refusal = journal, rng, seconds, on_refusal

    def __getattr__(self, name):
        operation = getattr(self._journal, name)
        return operation if name in ("version", "now") else partial(self._slowly, operation)

    async def _slowly(self, operation, *arguments, **named):
        await trio.sleep(self._rng.random() * self._seconds)
        try:
            result = await operation(*arguments, **named)
        except HomeBudgetSpent:
            self._on_refusal()
            raise
        with trio.CancelScope(shield=True):
            await trio.sleep(self._rng.random() * self._seconds)
        return result


class Provider:
    """The model: its replies, faults and delays depend on the seed and the request's id. It reports sent requests."""

    name = "toy"

    def __init__(self, world, process):
        self._world, self._process = world, process

    async def complete(self, request):
        world, name = self._world, request.request_id
        await trio.lowlevel.checkpoint_if_cancelled()  # Nothing has been sent yet.
        if self._process.dead:
            await trio.sleep_forever()
        world.oracle.request_sent(self._process, name, request.material)
        rng = Random(f"{world.seed}:{name}")
        if rng.random() < world.fault_rates.bug:
            raise ValueError("a bug in a generator")
        with self._process.calling():
            await self._process.awake()
            await trio.sleep(rng.choice((0.0, 0.1, 1.0, 1.0, 5.0, 12.0, 1e6 if rng.random() < 0.2 else 30.0)))
        world.oracle.call_ended(self._process, name, trio.current_time())
        make = pure.cause if call_of(name).endswith("/c") else pure.reply
        reply = make(rng, world.reply_rates, len(world.oracle.requests))
        world.oracle.returned[name] = (self._process, None if isinstance(reply, Fault) else reply)
        return reply

    async def aclose(self):
        """Close nothing."""


class Process:
    """A driver process from its claim to its release or death. `acks`: when each record was acknowledged to it.

    `more`: further drive options. `slot`: the limiter of its calls. `frozen`: it was suspended once.
    `unsure`: it does not know whether it has admitted the run, and leaves the lease, which ends by itself.
    """

    frozen, unsure = False, False
    more: ClassVar = {"at_once": True}
    slot = staticmethod(nullcontext)

    def __init__(self, world, number, *, calm):
        self.world, self.number, self.calm = world, number, calm
        self.rng = Random(f"{world.seed}:process:{number}")
        self.owner = f"process-{number} of {world.run}"
        self.stop, self.scope = Stop(grace=GRACE_SECONDS), trio.CancelScope()
        self.dead, self.epoch, self.acked, self.acks = False, 0, 0, {}
        self.stop_requested_at, self.stop_forced_at, self.began, self.ended = None, None, trio.current_time(), None
        self.cancelled_before = False
        self.commits, self.refused_since_stop, self.patience = 0, 0, 0.0
        fault_rates = world.fault_rates
        self.fault = None if calm or self.rng.random() >= fault_rates.journal else self._fault_plan()
        self.point = None if calm or self.rng.random() >= fault_rates.point else self._point_plan()

    def _fault_plan(self):
        how = self.rng.choice(("die before", "die after", "full", "unreachable", "unacknowledged", "taken over"))
        return self.rng.randint(1, 25), how

    def _point_plan(self):
        label = self.rng.choice(LABELS)
        return [label, 1 if label in ("claim.after", "finish.after") else self.rng.randint(1, 8)]

    def die(self):
        self.dead = True
        self.scope.cancel()

    def cancel(self):
        """Cancel the driver, as a program that embeds it may; the process lives on."""
        self.scope.cancel()

    def calling(self):
        """Return a context for the time in which a call is in flight."""
        return nullcontext()

    async def awake(self):
        """Wait until the process is not frozen."""

    def reached(self, label):
        """Kill the process at its planned crash point."""
        if self.point is not None and label == self.point[0]:
            self.point[1] -= 1
            if self.point[1] == 0:
                self.die()
                raise ProcessKilled

    def journal_fault(self, operation, moment):
        """Pass commits to the oracle, and fail where planned."""
        world = self.world
        if moment == "before":
            if self.dead:
                raise ProcessKilled
            self.commits += 1
        elif operation in ("claim", "create"):
            self.epoch = world.held().head.epoch
            # A run without a record cannot be cancelled; the message is read after its start.
            self.cancelled_before = world.cancelled and bool(world.oracle.records)
        if (operation, moment) in (("append", "after"), ("create", "after")):
            world.read_commits()
            world.oracle.expect(world.oracle.records, "a run is in the journal without a record")
        if self.fault is None or self.commits != self.fault[0]:
            return
        match moment, self.fault[1]:
            case ("before", "die before") | ("after", "die after"):
                self.die()
                raise ProcessKilled
            case "before", "full" if operation in ("append", "create"):
                raise StorageFull("memory")
            case "before", "unreachable" if operation in ("append", "create"):
                raise JournalError("the journal cannot be reached")
            case "after", "unacknowledged" if operation in ("append", "renew", "create"):
                self.unsure = operation == "create"
                raise JournalError("the connection to the journal broke")
            case "before", "taken over" if operation == "append":
                held = world.held()
                end = world.clock.now() + 5.0
                held.head = held.head._replace(owner="another process", epoch=held.head.epoch + 1, end=end)

    def on_record(self, record, state):
        self.world.oracle.expect(
            not self.acks or record.seq == self.acked + 1, f"record {record.seq} is reported out of order"
        )
        self.acked = record.seq
        self.acks[record.seq] = trio.current_time()
        self.world.acknowledged[record.seq] = record

    async def live(self):
        """Drive the run; return an `Ending`, or the name of what prevented one."""
        how = await self._driven(self._drive)
        self._released(how)
        return how

    async def _driven(self, drive):
        """Call `drive` with a supervisor; return its result, after a comparison with the oracle."""
        world = self.world
        current.set(self)
        store, budget = world.store, world.budget
        async with open_memory(
            world.codec, world.clock, store=store, fault=self.journal_fault, budget=budget
        ) as journal:
            ttl, poll = self.rng.choice((9.0, 30.0)), self.rng.choice((0.25, 2.0))
            self.patience += poll + 6.0 + 16 * world.fault_rates.slow
            registry = Registry(guards={**BUILT_IN, "toy": lambda _: world.guard})
            provider = Provider(world, self)
            driver = world.supervisor(
                world.run,
                machine=world.machine,
                journal=self.over(journal),
                actors=actors_for(
                    world.config, Resources(provider, world.clock, registry, threads=False, slot=self.slot)
                ),
                lease=LeaseTerms(
                    self.owner, ttl, poll, dead=world.is_dead if self.rng.random() < 0.5 else lambda _: False
                ),
                options=DriveOptions(self.stop, self.on_record, **self.more),
                admission=None if world.run in store.runs else ADMISSION,
            )
            how = await drive(driver)
        self.ended = trio.current_time()
        if how in ("finished", "waiting", "parked"):
            self._left(driver, how)
        return how

    def over(self, journal):
        slow = self.world.fault_rates.slow
        return SlowJournal(journal, self.rng, slow, self._note_refusal) if slow else journal

    def _note_refusal(self):
        """Count the appends that the home's budget has refused since the stop was requested."""
        self.refused_since_stop += self.stop_requested_at is not None

    def _released(self, how):
        if how not in ("died", "held") and not self.unsure:
            head = self.world.held().head
            self.world.oracle.expect(head.owner is None or head.epoch != self.epoch, f"{how}, but the lease is kept")

    async def _drive(self, driver):
        how = "cancelled"
        with self.scope:
            try:
                how = str(await driver.drive(self.world.begin()))
            except ProcessKilled:
                assert self.dead
            except Held:
                how = "held"
            except Fenced:
                how = "fenced"
                taken = self.world.held().head.epoch > self.epoch
                self.world.oracle.expect(taken, f"{self.owner} is fenced, but nobody has taken the run")
            except JournalError:
                how = "broken"
        return "died" if self.dead else how

    def _left(self, driver, how):
        """Compare the driver's state at its end with the oracle."""
        oracle = self.world.oracle
        oracle.driver_left(self, how)
        known = fold(self.world.machine, (record.event for record in oracle.records[: driver._log.seq]))
        oracle.expect(known == driver.state, "the fold of the journal differs from the driver's state")
        if driver._log.seq == len(oracle.records):
            active = driver.state.run.ledger.active
            exact = abs(active - oracle.active) < ACTIVE_ERROR or self.world.commits_take_time
            oracle.expect(exact, f"the ledger has {active} active seconds, the commits {oracle.active}")
            charged = sum(oracle.charged.values(), Amount())
            oracle.expect(
                driver.state.run.ledger.committed == charged,
                f"the ledger counts {driver.state.run.ledger.committed}, not {charged}",
            )
        if self.stop_requested_at is not None:
            elapsed = self.ended - max(self.began, self.stop_requested_at)
            # Besides the grace period, each incoming reply and the parking take an append.
            bound = GRACE_SECONDS + self.patience
            oracle.expect(elapsed <= bound, f"a stop took {elapsed:.1f} s")
        if self.stop_forced_at is not None:
            elapsed = self.ended - max(self.began, self.stop_forced_at)
            oracle.expect(elapsed <= self.patience - 5.0, f"a forced stop took {elapsed:.1f} s")
