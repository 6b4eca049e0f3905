"""A world for one simulated run of the whole shell: clock, processes, people, journal and provider, from one seed."""

import json
from dataclasses import dataclass
from random import Random

import trio

from actors.planning.events import EVENTS
from actors.planning.machine import PlanningMachine
from actors.planning.messages import Begin
from actors.values.answers import YES_NO
from runtime.core.crash_points import install
from runtime.core.daily_budget import HomeBudget
from runtime.core.events import Codec
from runtime.core.ledger import Amount
from runtime.drive.supervisor import Supervisor
from runtime.journal.chain import decode
from runtime.journal.memory import MemoryStore, open_memory
from tests.shell import scenery
from tests.shell.books import Books
from tests.shell.process import Process, current
from tests.support import deterministic

TROUBLED_MAX = 5
"""Processes that things go wrong with; those that come after live in a calm world, so that a run can end."""
PROCESSES_MAX = 60
SECONDS_MAX = 10 * 86_400.0
"""Virtual seconds after which a run is taken to hang: far more than any user here thinks."""
ON_ITS_OWN = ("finished", "waiting", "parked")


class WallClock:
    """The wall clock of all processes. It can be set; whoever sleeps on it looks at it again within `STEP` seconds."""

    STEP = 30.0

    def __init__(self):
        self.offset = scenery.START

    def now(self):
        return self.offset + trio.current_time()

    async def sleep_until(self, when):
        while (left := when - self.now()) > 0:  # noqa: ASYNC110 - nobody tells when the wall clock is set
            await trio.sleep(min(left, self.STEP))


@dataclass(frozen=True)
class Post:
    """A message that the inbox has accepted, and when (trio's time)."""

    inbox: int
    at: float
    kind: str
    body: str


class World:
    """Everything around one run. `supervisor` and `machine` can be given, for variants that have a bug planted."""

    codec, run, budget, fates = Codec(EVENTS), "run", HomeBudget(), ()
    thinks = 4_000.0
    """The most seconds that the user takes over an answer."""

    def __init__(self, seed, *, supervisor=Supervisor, machine=None):
        self.seed, self.supervisor, self.machine = seed, supervisor, machine or PlanningMachine()
        self.dice = Random(seed)
        self.config, self.limits = scenery.configuration(self.dice), scenery.limits(self.dice)
        self.weather, self.troubles = scenery.weather(self.dice), scenery.troubles(self.dice)
        self.clock, self.store, self.books = WallClock(), MemoryStore(), Books()
        self.processes, self.endings, self.posts = [], [], []
        self.acknowledged = {}
        self.cancelled = self.jumped = False

    @property
    def runs(self):
        """The worlds of all runs: this one."""
        return [self]

    # What processes use.

    def held(self):
        """Return the run as the store holds it."""
        return self.store.runs[self.run]

    def take_in(self):
        """Give the books what was committed since they last looked."""
        held, books = self.held(), self.books
        rows = held.rows[len(books.records) :]
        books.committed(decode(self.codec, self.run, rows, self.store.texts.get), held.summary, held.epoch)

    def is_dead(self, owner):
        """Whether an owner is certainly gone."""
        return any(process.owner == owner and process.dead for process in self.processes)

    def begin(self):
        """Return the message that starts the run."""
        return Begin(self.clock.now(), self.run, "the problem", self.config.model_dump_json(), self.limits)

    async def guard(self, artifact, context):
        """Judge an artifact by the seed and its id, so that a second judgement says the same; often after a while."""
        dice = Random(f"{self.seed}:judge:{artifact.node}")
        await trio.sleep(dice.choice((0.0, 0.0, 0.2, 3.0)))
        if dice.random() < self.troubles.bug / 2:
            raise ValueError("a bug in a guard")
        return scenery.verdict(dice, self.weather)

    # The plot.

    def play(self):
        """Play the run to its end and check the whole; return how it was played."""
        install(lambda label: current.get().reached(label))
        try:
            played = deterministic.run(self._main, self.seed)
        finally:
            install(None)
        self.check()
        return played

    async def _main(self):
        async with open_memory(self.codec, self.clock, store=self.store) as self.outside:
            await self.outside.create(self.run, "a simulated run")
            with trio.move_on_after(SECONDS_MAX) as limit:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self.people)
                    async with trio.open_nursery() as hosts:
                        for _ in range(self.troubles.hosts):
                            hosts.start_soon(self._host)
                    nursery.cancel_scope.cancel()
            self.books.holds(not limit.cancelled_caught, "the run hangs")
            await self.close()

    async def people(self):
        """Let people answer, and do whatever else comes to their minds."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._user)
            nursery.start_soon(self._disturb)

    async def close(self):
        """Read once more what was written, and hold the mail to it."""
        self.books.mail(await self.outside.inbox(self.run))
        self.records = await self.outside.read(self.run)

    async def _host(self):
        """Drive the run in one process after the other, as a person or a service would, until there is no use in it."""
        while self.books.finished is None:
            drove = sum(process.epoch > 0 for process in self.processes)
            if drove >= PROCESSES_MAX:
                self.books.holds(False, f"no end after {drove} processes: {self.endings}")
                return
            process = Process(self, len(self.processes), calm=drove >= TROUBLED_MAX)
            how = await self.drive(process)
            if how == "waiting" and not await self._worth_waking():
                return
            if how == "parked" and not self.troubles.patient:
                return
            if how != "waiting":
                await trio.sleep(process.dice.uniform(0.5, 30.0))

    async def drive(self, process):
        """Let a process live, with what presses it; return how it ended."""
        self.processes.append(process)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._press, process)
            how = await process.live()
            nursery.cancel_scope.cancel()
        self.endings.append(how)
        return how

    async def _worth_waking(self):
        """Wait until the inbox has something new or a wait ends; say whether anything can still come."""
        while True:
            held = self.held()
            if "parked" in self.endings and not self.troubles.patient:
                return False
            if held.summary.status == "finished" or len(held.posted) > max(self.books.consumed, default=0):
                return True
            wake = held.summary.next_wake
            if wake is not None and wake <= self.clock.now():
                return True
            if wake is None and not self.troubles.willing:
                return False
            await trio.sleep(7.0)

    async def _press(self, process):
        """Stop the process, or kill it, some time."""
        dice, troubles = process.dice, self.troubles
        if process.calm:
            return
        if dice.random() < troubles.kill:
            await trio.sleep(dice.choice((0.0, dice.uniform(0, 10), dice.uniform(0, 60))))
            if dice.random() < 0.3:
                process.let_go()
            else:
                process.die()
        elif dice.random() < troubles.stop:
            await trio.sleep(dice.choice((0.0, dice.uniform(0, 10), dice.uniform(0, 60))))
            process.asked_to_stop = trio.current_time()
            process.stop.requested.set()
            if dice.random() < 0.4:
                await trio.sleep(dice.uniform(0, 6))
                process.asked_twice = trio.current_time()
                process.stop.forced.set()

    async def _disturb(self):
        """Set the clock, cancel the run, write odd messages."""
        dice, troubles = Random(f"{self.seed}:disturb"), self.troubles
        async with trio.open_nursery() as nursery:
            if dice.random() < troubles.jump:
                nursery.start_soon(self._jump, dice.uniform(0, 80), dice.choice((-3_600.0, -20.0, 20.0, 3_600.0)))
            if dice.random() < troubles.cancel:
                nursery.start_soon(self._cancel, dice.choice((dice.uniform(0, 20), dice.uniform(0, 200))))
            if dice.random() < troubles.tell:
                nursery.start_soon(self._tell, Random(f"{self.seed}:tell"), dice.randint(1, 4))
            if dice.random() < troubles.odd_mail:
                odd = dice.choice(("", "[]", '{"kind": "answer", "question": "q9", "answer": "x"}', "[" * 100_000))
                nursery.start_soon(self._write, dice.uniform(0, 60), "odd", odd)

    async def _jump(self, after, seconds):
        await trio.sleep(after)
        self.clock.offset += seconds
        self.jumped = True

    async def _cancel(self, after):
        await trio.sleep(after)
        if self.books.finished is None:
            self.cancelled = True
            await self._write(0.0, "cancel", json.dumps({"kind": "cancel"}))

    async def _write(self, after, key, body):
        await trio.sleep(after)
        posted = await self.outside.post(self.run, key, body)
        if posted.result == "accepted":
            self.posts.append(Post(posted.inbox, trio.current_time(), key, body))
        return posted

    async def _user(self):
        """Answer what is asked, if willing; sometimes twice, sometimes in two ways."""
        dice, seen = Random(f"{self.seed}:user"), set()
        while True:
            await trio.sleep(dice.uniform(2, 20))
            for question in sorted(self.books.unanswered - seen):
                seen.add(question)
                if not self.troubles.willing or (dice.random() < 0.1 and question in self.books.questions):
                    seen.discard(question)
                    continue
                await trio.sleep(dice.choice((0.0, 1.0, dice.uniform(0, self.thinks))))
                for text in dice.choice(
                    (("first",), ("first", "first"), ("first", "second"), ("no",), ("no", "first"))
                ):
                    await self._write(0.0, f"answer:{question}", json.dumps(self._reply(dice, question, text)))

    def _reply(self, dice, question, text):
        """Return what the user says to a question: an answer that fits it, or that there will be none."""
        asked = self.books.every[question]
        if text == "no":
            return {"kind": "decline", "question": question}
        words = f"{text} {question}"
        if asked.review:
            words = "approve" if dice.random() < self.weather.passes else f"reject: {words}"
        elif asked.answer_schema == YES_NO:
            words = "yes" if text == "first" else "no"
        return {"kind": "answer", "question": question, "answer": words}

    async def _tell(self, dice, count):
        """Say something of the user's own accord, now and then."""
        for number in range(count):
            await trio.sleep(dice.uniform(0, 60))
            body = {"kind": dice.choice(("note", "requirement")), "text": f"message {number}"}
            await self._write(0.0, f"tell:{number}", json.dumps(body))

    # The end.

    def check(self):
        """Check what holds at the end; raise all that did not."""
        books, ending = self.books, self.endings[-1] if self.endings else "nothing"
        held = self.held()
        books.holds([record.hash for record in self.records] == [record.hash for record in books.records], "rewritten")
        for seq, record in self.acknowledged.items():
            kept = seq <= len(self.records) and self.records[seq - 1].hash == record.hash
            books.holds(kept, f"record {seq} was acknowledged, and is lost")
        ended = held.summary.status in ON_ITS_OWN or ending in ON_ITS_OWN  # It may rest though its driver has died.
        books.holds(ended, f"neither ended, waiting nor parked: {self.endings}")
        if self.troubles.willing and self.troubles.patient and not books.parked_why:
            books.holds(
                books.finished is not None, f"everybody did what they should, but it did not end: {self.endings}"
            )
        if self.limits.deadline is not None and not self.jumped:
            patience = max((process.patience for process in self.processes), default=0.0)
            late = [record for record in books.records if record.at > self.limits.deadline + patience]
            asked = [
                record.seq
                for record in late
                if record.event.kind in ("generation_requested", "classification_requested")
            ]
            books.holds(not asked, f"asked for after the deadline: {asked}")
        left = {name for name, asked in books.asked.items() if asked.state in ("answered", "failed")}
        # A request that timed out was sent; one that is answered was sent, whatever the provider said. One for which
        # there was no turn before a stop was not, and costs nothing.
        left = {name for name in left if books.charged[name] != Amount()}
        books.holds(left <= set(books.sent), "answered, but never sent")
        books.holds(books.consumed == sorted(books.consumed), "messages are taken out of order")
        books.holds(set(books.consumed) == held.consumed, "the inbox and the records differ")
        if self.cancelled and not books.parked_why and (self.troubles.patient or ending != "parked"):
            books.holds(books.finished is not None, "the cancel is lost")
        for post in self.posts:
            kept = held.posted[post.inbox - 1].body == post.body
            books.holds(kept, f"message {post.inbox} ({post.kind}) was accepted, and is another now")
        self._taken_in_time()
        if books.broken:
            raise AssertionError("; ".join(dict.fromkeys(books.broken)))

    def _taken_in_time(self):
        """A message that lay in the inbox while a process was driving was taken soon, unless the run ended first."""
        for post in self.posts:
            if post.inbox in self.books.consumed:
                continue
            for process in self.processes:
                if process.ended is None or process.dead or process.frozen or not process.acks:
                    continue
                due = max(post.at, min(process.acks.values())) + process.patience
                last = max(process.acks.values())
                over = self.books.finished is not None and len(self.books.records) in process.acks
                until = last if over else process.ended
                self.books.holds(until <= due, f"message {post.inbox} ({post.kind}) is left lying by {process.owner}")
