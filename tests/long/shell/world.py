"""A world for one simulated run of the whole shell: clock, processes, people, journal and provider, from one seed."""

import json
from dataclasses import dataclass
from random import Random

import trio

from actors.planning.events import EVENTS
from actors.planning.machine import PlanningMachine
from actors.values.answers import YES_NO
from runtime.core.daily_budget import HomeBudget
from runtime.core.events import Codec
from runtime.core.hooks import set_crash_hook
from runtime.core.ledger import Amount
from runtime.drive.supervisor import Supervisor
from runtime.journal.chain import decode
from runtime.journal.head import new_head
from runtime.journal.memory import HeldRun, MemoryStore, open_memory
from runtime.journal.port import FIRST_FORMAT, FIRST_KIND
from tests.long.shell import parameters
from tests.long.shell.driver_process import Process, reach
from tests.long.shell.oracle import Oracle
from tests.support import deterministic
from tests.support.planning_start import planning_start

FAULTY_MAX = 5
"""The number of processes with faults; later ones have none, so that a run can end."""
PROCESSES_MAX = 60
SECONDS_MAX = 10 * 86_400.0
"""Virtual seconds after which a run counts as hanging: far more than a user here takes for an answer."""
REGULAR_ENDINGS = ("finished", "waiting", "parked")


class WallClock:
    """The wall clock of all processes. It can be set; sleepers read it again at least every `STEP` seconds."""

    STEP = 30.0

    def __init__(self):
        self.offset = parameters.START

    def now(self):
        return self.offset + trio.current_time()

    async def sleep_until(self, when):
        while (left := when - self.now()) > 0:  # noqa: ASYNC110 - a clock change sends no event
            await trio.sleep(min(left, self.STEP))


@dataclass(frozen=True)
class PostedMessage:
    """A message that the inbox accepted, and the time (trio's)."""

    inbox: int
    at: float
    kind: str
    body: str


class World:
    """The world of one run. `supervisor` and `machine` replace the originals to plant a bug."""

    codec, run, budget, fates = Codec(EVENTS), "run", HomeBudget(), ()
    answer_seconds = 4_000.0
    """The longest time that the user takes for an answer, in seconds."""

    def __init__(self, seed, *, supervisor=Supervisor, machine=None):
        self.seed, self.supervisor, self.machine = seed, supervisor, machine or PlanningMachine()
        self.rng = Random(seed)
        self.config, self.limits = parameters.configuration(self.rng), parameters.limits(self.rng)
        self.reply_rates, self.fault_rates = parameters.reply_rates(self.rng), parameters.fault_rates(self.rng)
        self.clock, self.store, self.oracle = WallClock(), MemoryStore(), Oracle()
        self.processes, self.endings, self.posts = [], [], []
        self.acknowledged = {}
        self.cancelled = self.jumped = False

    @property
    def runs(self):
        """The worlds of all runs: this one."""
        return [self]

    @property
    def commits_take_time(self):
        """Whether commits may take virtual time here, so that active time is not known to the microsecond."""
        full = any(process.fault is not None and process.fault[1] == "full" for process in self.processes)
        return self.fault_rates.slow > 0.0 or full or any(process.frozen for process in self.processes)

    # Used by processes.

    def held(self):
        return self.store.runs.get(self.run) or HeldRun(new_head(self.run, "", FIRST_KIND, FIRST_FORMAT))

    def read_commits(self):
        held, oracle = self.held(), self.oracle
        rows = held.rows[len(oracle.records) :]
        oracle.committed(decode(self.codec, self.run, rows, self.store.texts.get), held.head.summary, held.head.epoch)

    def is_dead(self, owner):
        return any(process.owner == owner and process.dead for process in self.processes)

    def begin(self):
        reminders = parameters.reminders(Random(f"{self.seed}:reminders"))
        return planning_start(self.clock.now(), self.config, run=self.run, limits=self.limits, reminders=reminders)

    async def guard(self, artifact, context):
        rng = Random(f"{self.seed}:judge:{artifact.node}")
        await trio.sleep(rng.choice((0.0, 0.0, 0.2, 3.0)))
        parked = any(getattr(record.event, "cause", "") == "plugin" for record in self.oracle.records)
        if rng.random() < self.fault_rates.bug / 2 and not parked:  # Its user has mended it since.
            raise ValueError("a bug in a guard")
        return parameters.verdict(rng, self.reply_rates)

    # The simulation.

    def play(self):
        set_crash_hook(reach)
        try:
            simulation = deterministic.run(self._main, self.seed)
        finally:
            set_crash_hook(None)
        self.check()
        return simulation

    async def _main(self):
        async with open_memory(self.codec, self.clock, store=self.store) as self.outside:
            with trio.move_on_after(SECONDS_MAX) as limit:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self.people)
                    async with trio.open_nursery() as hosts:
                        for _ in range(self.fault_rates.hosts):
                            hosts.start_soon(self._host)
                    nursery.cancel_scope.cancel()
            self.oracle.expect(not limit.cancelled_caught, "the run hangs")
            await self.close()

    async def people(self):
        while self.run not in self.store.runs:  # noqa: ASYNC110 - the store sends no event
            await trio.sleep(0.5)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._user)
            nursery.start_soon(self._disturb)

    async def close(self):
        self.oracle.check_messages(await self.outside.inbox(self.run))
        self.records = await self.outside.read(self.run)

    async def _host(self):
        """Drive the run in one process after the other, as a person or a service would, while it can make progress."""
        while self.oracle.finished is None:
            drove = sum(process.epoch > 0 for process in self.processes)
            if drove >= PROCESSES_MAX:
                self.oracle.expect(False, f"no end after {drove} processes: {self.endings}")
                return
            process = Process(self, len(self.processes), calm=drove >= FAULTY_MAX)
            how = await self.drive(process)
            if how == "waiting" and not await self._can_go_on():
                return
            if how == "parked" and not self.fault_rates.patient:
                return
            if how != "waiting":
                await trio.sleep(process.rng.uniform(0.5, 30.0))

    async def drive(self, process):
        """Run a process with its planned stop or kill; return how it ended."""
        self.processes.append(process)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._stop_or_kill, process)
            how = await process.live()
            nursery.cancel_scope.cancel()
        self.endings.append(how)
        return how

    async def _can_go_on(self):
        """Wait until the inbox has a new message or a wait ends; return whether the run can make progress."""
        while True:
            held = self.held()
            if "parked" in self.endings and not self.fault_rates.patient:
                return False
            if held.head.summary.status == "finished" or len(held.posted) > max(self.oracle.consumed, default=0):
                return True
            wake = held.head.summary.next_wake
            if wake is not None and wake <= self.clock.now():
                return True
            if wake is None and not self.fault_rates.willing:
                return False
            await trio.sleep(7.0)

    async def _stop_or_kill(self, process):
        rng, fault_rates = process.rng, self.fault_rates
        if process.calm:
            return
        if rng.random() < fault_rates.kill:
            await trio.sleep(rng.choice((0.0, rng.uniform(0, 10), rng.uniform(0, 60))))
            if rng.random() < 0.3:
                process.cancel()
            else:
                process.die()
        elif rng.random() < fault_rates.stop:
            await trio.sleep(rng.choice((0.0, rng.uniform(0, 10), rng.uniform(0, 60))))
            process.stop_requested_at = trio.current_time()
            process.stop.requested.set()
            if rng.random() < 0.4:
                await trio.sleep(rng.uniform(0, 6))
                process.stop_forced_at = trio.current_time()
                process.stop.forced.set()

    async def _disturb(self):
        """Set the clock, cancel the run, change its limits, post messages, some of them malformed."""
        rng, fault_rates = Random(f"{self.seed}:disturb"), self.fault_rates
        async with trio.open_nursery() as nursery:
            if rng.random() < fault_rates.jump:
                nursery.start_soon(self._jump, rng.uniform(0, 80), rng.choice((-3_600.0, -20.0, 20.0, 3_600.0)))
            if rng.random() < fault_rates.cancel:
                nursery.start_soon(self._cancel, rng.choice((rng.uniform(0, 20), rng.uniform(0, 200))))
            if rng.random() < fault_rates.tell:
                nursery.start_soon(self._tell, Random(f"{self.seed}:tell"), rng.randint(1, 4))
            if rng.random() < fault_rates.malformed:
                body = rng.choice(("", "[]", '{"kind": "answer", "question": "q9", "answer": "x"}', "[" * 100_000))
                nursery.start_soon(self._post, rng.uniform(0, 60), "malformed", body)
            if fault_rates.tell:
                nursery.start_soon(self._change, Random(f"{self.seed}:change"))

    async def _jump(self, after, seconds):
        await trio.sleep(after)
        self.clock.offset += seconds
        self.jumped = True

    async def _cancel(self, after):
        await trio.sleep(after)
        if self.oracle.finished is None:
            self.cancelled = True
            await self._post(0.0, "cancel", json.dumps({"kind": "cancel"}))

    async def _post(self, after, key, body):
        await trio.sleep(after)
        posted = await self.outside.post(self.run, key, body)
        if posted.result == "accepted":
            self.posts.append(PostedMessage(posted.inbox, trio.current_time(), key, body))
        return posted

    async def _user(self):
        """Answer open questions, if willing; sometimes twice, sometimes with two different answers."""
        rng, seen = Random(f"{self.seed}:user"), set()
        while True:
            await trio.sleep(rng.uniform(2, 20))
            for question in sorted(self.oracle.unanswered - seen):
                seen.add(question)
                if not self.fault_rates.willing or (rng.random() < 0.1 and question in self.oracle.questions):
                    seen.discard(question)
                    continue
                await trio.sleep(rng.choice((0.0, 1.0, rng.uniform(0, self.answer_seconds))))
                for text in rng.choice((("first",), ("first", "first"), ("first", "second"), ("no",), ("no", "first"))):
                    await self._post(0.0, f"answer:{question}", json.dumps(self._reply(rng, question, text)))

    def _reply(self, rng, question, text):
        """Return the message for a question: a fitting answer, or a decline."""
        request = self.oracle.all_questions[question]
        if text == "no":
            return {"kind": "decline", "question": question}
        answer = f"{text} {question}"
        if request.review:
            answer = "approve" if rng.random() < self.reply_rates.passes else f"reject: {answer}"
        elif request.answer_schema == YES_NO:
            answer = "yes" if text == "first" else "no"
        return {"kind": "answer", "question": question, "answer": answer}

    async def _tell(self, rng, count):
        """Post notes and requirements at random times."""
        for number in range(count):
            await trio.sleep(rng.uniform(0, 60))
            body = {"kind": rng.choice(("note", "requirement")), "text": f"message {number}"}
            await self._post(0.0, f"tell:{number}", json.dumps(body))

    async def _change(self, rng):
        """Set limits of the run, or of its calls, to other values; they may be reached already."""
        changes = ({"calls": 6}, {"calls": 80}, {"tokens": 9_000}, {"micro_usd": 9_000}, {"timeout_seconds": 20.0})
        for number in range(rng.randint(0, 2)):
            body = {"kind": "change", **rng.choice(changes)}
            await self._post(rng.uniform(0, 60), f"change:{number}", json.dumps(body))

    # Checks at the end.

    def check(self):
        oracle, ending = self.oracle, self.endings[-1] if self.endings else "nothing"
        held = self.held()
        oracle.expect(
            [record.hash for record in self.records] == [record.hash for record in oracle.records], "rewritten"
        )
        for seq, record in self.acknowledged.items():
            kept = seq <= len(self.records) and self.records[seq - 1].hash == record.hash
            oracle.expect(kept, f"record {seq} was acknowledged, and is lost")
        ended = (
            held.head.summary.status in REGULAR_ENDINGS or ending in REGULAR_ENDINGS
        )  # The run may be at rest although its last driver died.
        oracle.expect(ended, f"neither ended, waiting nor parked: {self.endings}")
        if self.fault_rates.willing and self.fault_rates.patient and not oracle.parked_why:
            oracle.expect(
                oracle.finished is not None, f"user and drivers cooperated, but the run did not end: {self.endings}"
            )
        if self.limits.deadline is not None and not self.jumped:
            patience = max((process.patience for process in self.processes), default=0.0)
            late = [record for record in oracle.records if record.at > self.limits.deadline + patience]
            requests = [
                record.seq
                for record in late
                if record.event.kind in ("generation_requested", "classification_requested")
            ]
            oracle.expect(not requests, f"requests after the deadline: {requests}")
        closed = {name for name, entry in oracle.requests.items() if entry.state in ("answered", "failed")}
        # A request that was answered or timed out was sent. One without a slot at a stop was not, and costs nothing.
        closed = {name for name in closed if oracle.charged[name] != Amount()}
        oracle.expect(closed <= set(oracle.sent), "answered, but never sent")
        oracle.expect(oracle.consumed == sorted(oracle.consumed), "messages are consumed out of order")
        oracle.expect(set(oracle.consumed) == held.consumed, "the inbox and the records differ")
        if self.cancelled and not oracle.parked_why and (self.fault_rates.patient or ending != "parked"):
            oracle.expect(oracle.finished is not None, "the cancel message is lost")
        for post in self.posts:
            kept = held.posted[post.inbox - 1].body == post.body
            oracle.expect(kept, f"message {post.inbox} ({post.kind}) was accepted, and has changed")
        self._check_message_delays()
        if oracle.violations:
            raise AssertionError("; ".join(dict.fromkeys(oracle.violations)))

    def _check_message_delays(self):
        """Check that a message is consumed soon while a process drives the run, unless the run ended first."""
        for post in self.posts:
            if post.inbox in self.oracle.consumed:
                continue
            for process in self.processes:
                if process.ended is None or process.dead or process.frozen or not process.acks:
                    continue
                due = max(post.at, min(process.acks.values())) + process.patience
                last = max(process.acks.values())
                ended_here = self.oracle.finished is not None and len(self.oracle.records) in process.acks
                until = last if ended_here else process.ended
                self.oracle.expect(until <= due, f"message {post.inbox} ({post.kind}) is not read by {process.owner}")
