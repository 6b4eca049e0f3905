"""One simulated process that drives the run: a supervisor with its actors, a model, and what may go wrong with them."""

from contextlib import nullcontext
from contextvars import ContextVar
from functools import partial
from random import Random
from typing import ClassVar

import trio

from actors.guards.built_in import BUILT_IN
from actors.handlers.registry import Registry
from actors.planning.actors import actors_for
from actors.run.ids import call_of
from actors.run.kind import Resources
from runtime.core.crash_points import LABELS
from runtime.core.errors import Fenced, Held, JournalError, StorageFull
from runtime.core.ledger import Amount
from runtime.core.machine import fold
from runtime.drive.options import LeaseTerms, Stop
from runtime.drive.supervisor import GRACE_SECONDS
from runtime.journal.memory import open_memory
from runtime.models.port import Fault
from tests.simulation import scenery as pure

current: ContextVar["Process"] = ContextVar("process")
"""Whose task this is: labelled crash points are one hook for the whole program."""


class Died(BaseException):
    """The process is killed here: no actor may take it for a bug, and nothing that follows may be written."""


class SlowJournal:
    """A journal whose operations take up to `seconds` before their commit, and again until their caller hears of it."""

    def __init__(self, journal, dice, seconds):
        self._journal, self._dice, self._seconds = journal, dice, seconds

    def __getattr__(self, name):
        operation = getattr(self._journal, name)
        return operation if name in ("version", "now") else partial(self._slowly, operation)

    async def _slowly(self, operation, *arguments, **named):
        await trio.sleep(self._dice.random() * self._seconds)
        result = await operation(*arguments, **named)
        with trio.CancelScope(shield=True):
            await trio.sleep(self._dice.random() * self._seconds)
        return result


class Provider:
    """The model: good, bad, slow, faulty or hanging, by the seed and the request's id. It sees what really goes out."""

    name = "toy"

    def __init__(self, world, process):
        self._world, self._process = world, process

    async def complete(self, request):
        world, name = self._world, request.request_id
        await trio.lowlevel.checkpoint_if_cancelled()  # Nothing has gone out before this.
        if self._process.dead:
            await trio.sleep_forever()
        world.books.sending(self._process, name, request.material)
        dice = Random(f"{world.seed}:{name}")
        if dice.random() < world.troubles.bug:
            raise ValueError("a bug in a generator")
        with self._process.calling():
            await self._process.awake()
            await trio.sleep(dice.choice((0.0, 0.1, 1.0, 1.0, 5.0, 12.0, 1e6 if dice.random() < 0.2 else 30.0)))
        world.books.went_on(self._process, name, trio.current_time())
        says = pure.cause if call_of(name).endswith("/c") else pure.reply
        made = says(dice, world.weather, len(world.books.asked))
        world.books.returned[name] = (self._process, None if isinstance(made, Fault) else made)
        return made

    async def aclose(self):
        """Nothing is open."""


class Process:
    """From claim to release, or to death. `acks` are the places of the records that it knows to be written, by time.

    `more` is what its supervisor gets besides, `slot` when a call may be sent; `frozen` says that it has stood still.
    """

    frozen = False
    more: ClassVar = {}
    slot = staticmethod(nullcontext)

    def __init__(self, world, number, *, calm):
        self.world, self.number, self.calm = world, number, calm
        self.dice = Random(f"{world.seed}:process:{number}")
        self.owner = f"process-{number} of {world.run}"
        self.stop, self.scope = Stop(), trio.CancelScope()
        self.dead, self.epoch, self.acked, self.acks = False, 0, 0, {}
        self.asked_to_stop, self.asked_twice, self.began, self.ended = None, None, trio.current_time(), None
        self.cancelled_before = False
        self.commits, self.patience = 0, 0.0
        troubles = world.troubles
        self.fault = None if calm or self.dice.random() >= troubles.journal else self._fault_plan()
        self.point = None if calm or self.dice.random() >= troubles.point else self._point_plan()

    def _fault_plan(self):
        how = self.dice.choice(("die before", "die after", "full", "gone", "unheard", "taken"))
        return self.dice.randint(1, 25), how

    def _point_plan(self):
        label = self.dice.choice(LABELS)
        return [label, 1 if label in ("claim.after", "finish.after") else self.dice.randint(1, 8)]

    def die(self):
        """Kill the process: what it does from now on reaches nobody."""
        self.dead = True
        self.scope.cancel()

    def let_go(self):
        """Cancel the driver from outside, as a program that has imported it may do; the process lives on."""
        self.scope.cancel()

    def calling(self):
        """Return a context for the time in which a call is in flight."""
        return nullcontext()

    async def awake(self):
        """Return when the process is not frozen."""

    def reached(self, label):
        """Die at a labelled point."""
        if self.point is not None and label == self.point[0]:
            self.point[1] -= 1
            if self.point[1] == 0:
                self.die()
                raise Died

    def journal_fault(self, operation, moment):
        """Keep the books of what was committed; fail where planned."""
        world = self.world
        if moment == "before":
            if self.dead:
                raise Died
            self.commits += 1
        elif operation == "claim":
            self.epoch = world.held().epoch
            # A run that has not begun cannot be cancelled; what ends it is read when it has.
            self.cancelled_before = world.cancelled and bool(world.books.records)
        elif operation == "append":
            world.take_in()
        if self.fault is None or self.commits != self.fault[0]:
            return
        match moment, self.fault[1]:
            case ("before", "die before") | ("after", "die after"):
                self.die()
                raise Died
            case "before", "full" if operation == "append":
                raise StorageFull("memory")
            case "before", "gone" if operation == "append":
                raise JournalError("the journal cannot be reached")
            case "after", "unheard" if operation in ("append", "renew"):
                raise JournalError("the connection to the journal broke")
            case "before", "taken" if operation == "append":
                held = world.held()
                held.owner, held.epoch = "a stranger", held.epoch + 1
                held.lease_end = world.clock.now() + 5.0

    def on_record(self, record, state):
        """Remember what the driver knows."""
        self.world.books.holds(
            not self.acks or record.seq == self.acked + 1, f"record {record.seq} is told out of turn"
        )
        self.acked = record.seq
        self.acks[record.seq] = trio.current_time()
        self.world.acknowledged[record.seq] = record

    async def live(self):
        """Drive the run; return how it ended: an `Ending`, or what stood in the way."""
        how = await self._driven(self._drive)
        self._released(how)
        return how

    async def _driven(self, drive):
        """Hand a driver to `drive`; return what that says, once it is compared with the books."""
        world = self.world
        current.set(self)
        store, budget = world.store, world.budget
        async with open_memory(
            world.codec, world.clock, store=store, fault=self.journal_fault, budget=budget
        ) as journal:
            ttl, poll = self.dice.choice((9.0, 30.0)), self.dice.choice((0.25, 2.0))
            self.patience += poll + 6.0 + 16 * world.troubles.slow
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
                    self.owner, ttl, poll, dead=world.is_dead if self.dice.random() < 0.5 else lambda _: False
                ),
                stop=self.stop,
                on_record=self.on_record,
                **self.more,
            )
            how = await drive(driver)
        self.ended = trio.current_time()
        if how in ("finished", "waiting", "parked"):
            self._left(driver, how)
        return how

    def over(self, journal):
        """Return the journal as this process has it."""
        slow = self.world.troubles.slow
        return SlowJournal(journal, self.dice, slow) if slow else journal

    def _released(self, how):
        if how not in ("died", "held"):
            held = self.world.held()
            self.world.books.holds(held.owner is None or held.epoch != self.epoch, f"{how}, but the lease is kept")

    async def _drive(self, driver):
        how = "let go"
        with self.scope:
            try:
                how = str(await driver.drive(self.world.begin()))
            except Died:
                assert self.dead
            except Held:
                how = "held"
            except Fenced:
                how = "fenced"
            except JournalError:
                how = "broken"
        return "died" if self.dead else how

    def _left(self, driver, how):
        """Compare with the books what the driver believes at its end."""
        books = self.world.books
        books.left(self, how)
        known = fold(self.world.machine, (record.event for record in books.records[: driver._log.seq]))
        books.holds(known == driver.state, "the journal gives another state than the driver's")
        if driver._log.seq == len(books.records):
            owed = sum(books.charged.values(), Amount())
            books.holds(
                driver.state.run.ledger.committed == owed,
                f"the ledger counts {driver.state.run.ledger.committed}, not {owed}",
            )
        if self.asked_to_stop is not None:
            over = self.ended - max(self.began, self.asked_to_stop)
            # Besides the grace, each reply that comes in and the parking itself is an append.
            bound = GRACE_SECONDS + self.patience
            books.holds(over <= bound, f"a stop took {over:.1f} s")
        if self.asked_twice is not None:
            over = self.ended - max(self.began, self.asked_twice)
            books.holds(over <= self.patience - 5.0, f"a second stop took {over:.1f} s")
