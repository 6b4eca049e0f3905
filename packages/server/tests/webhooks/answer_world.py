"""A simulated home whose server is killed again and again while its people answer, or do not: all from one seed.

Everything runs in this process on a virtual clock: the host, the senders of messages, the pages behind links, and the
journal in memory, the only part that outlives a kill. Receivers of messages are down at times; what people do with them
is in `answer_people.py`.
"""

import json
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from unittest.mock import patch

import httpx2
import trio

from actors.handlers.agents import AgentTask, PreparedAgent, agent_kind
from actors.handlers.generators import Registry
from actors.run.agent import AgentSettings, Ask, End
from actors.run.questions import (
    OUTCOME_SCHEMA,
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
)
from actors.values.answers import TEXT, choice
from packages.server.tests.webhooks.answer_people import APPROVERS, PAGE, PEOPLE, TEXTS, Cut, People
from packages.server.tests.webhooks.conftest import secret
from replan.runs.engine import Engine
from replan.runs.hosting import host
from replan.setup.kinds import Kinds
from replan_server.service.live import Hub
from replan_server.service.store import Store
from replan_server.settings import ServerSettings
from replan_server.web.app import make_app
from replan_server.web.health import Health
from replan_server.web.site import Site
from runtime.core.clock import TrioClock
from runtime.core.ledger import Limits
from runtime.drive.options import Stop
from runtime.journal.memory import MemoryStore, open_memory
from tests.support import deterministic

HORIZON = 1_500.0
"""The virtual seconds in which servers are killed and people act."""
CALM = 400.0
"""The virtual seconds after that, with a server that is not killed and channels that are up."""
STEPS_MAX = 2_000_000
START = 1_700_000_000.0
"""When the virtual clock begins, in UTC seconds since 1970."""
HOOKS = ("ops", "boss", "log", "room")
"""Channels: of ana and bob, of bob and cy, of nobody, and of ana and cy."""
QUESTIONS = ("ordinary", "approval", "colour")
TASKS = (*QUESTIONS, *(f"{question} and more" for question in QUESTIONS))
CLOSING = (ClarificationAnswered, ClarificationDeclined, ClarificationExpired)

current: ContextVar["Life | None"] = ContextVar("life", default=None)
"""The server that the current task belongs to."""


class ProcessKilled(BaseException):
    """The simulated server is killed. A `BaseException`, so that nobody reports it as a bug."""


class Asker:
    """An agent that asks a question; once that is closed, it ends, or asks another one, which nobody answers."""

    def start(self, task):
        return {"task": task, "open": True}

    def apply(self, data, step, event):
        return {**data, "open": False} if step in QUESTIONS and isinstance(event, CLOSING) else data

    def decide(self, state):
        subject, _, more = state.data["task"].partition(" ")
        if not state.data["open"]:
            return [Ask("later", "Is there anything else?")] if more else [End(why="the question is closed")]
        schema = {"approval": OUTCOME_SCHEMA, "colour": choice(list(TEXTS)), "ordinary": TEXT}[subject]
        return [Ask(subject, "What is the answer?", schema)]


KIND = agent_kind("asker", Asker())


@dataclass
class Delivery:
    """A message that a channel received."""

    hook: str
    id: str
    data: dict
    at: float
    acknowledged: bool


@dataclass
class Life:
    """One server from its start to its end."""

    world: "AnswerWorld"
    name: str
    calm: bool
    began: float = field(default_factory=trio.current_time)
    ended_at: float = float("inf")
    dead: bool = False
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    ended: trio.Event = field(default_factory=trio.Event)
    stop: Stop = field(default_factory=lambda: Stop(handover=True))
    nursery: trio.Nursery | None = None
    client: httpx2.AsyncClient | None = None

    def die(self):
        """Kill the server: nothing that it does afterwards has an effect."""
        self.dead = True
        self.scope.cancel()

    def fault(self, operation, moment):
        """Let nothing of a killed server reach the journal; sometimes kill it just before or after a commit."""
        if not self.dead and not self.calm and self.world.dice.random() < self.world.commit_kills:
            self.die()
        if self.dead and (moment == "before" or operation in ("append", "post", "move_cursor")):
            raise ProcessKilled

    async def live(self):
        """Serve until a kill or a stop."""
        world = self.world
        current.set(self)
        with self.scope:
            try:
                async with open_memory(world.kinds.codecs, world.clock, store=world.store, fault=self.fault) as journal:
                    await self._serve(journal)
            except* ProcessKilled:
                assert self.dead
        self.nursery, self.ended_at = None, trio.current_time()
        self.ended.set()

    async def _serve(self, journal):
        world, engine = self.world, self.world.engine_over(journal)
        site = Site(
            engine=engine, reader=engine, offer=None, store=Store(world.folder), hub=Hub(journal), now=world.clock.now,
            port=8430, name="server.localhost", answering=world.config.answering,
        )  # fmt: skip
        transport = httpx2.ASGITransport(app=make_app(site, Health(journal, self.stop.requested.is_set)))
        async with trio.open_nursery() as self.nursery:
            self.client = world.client_class(transport=transport, base_url=PAGE, headers={"origin": PAGE})
            await host(engine, runs_max=10, stop=self.stop, report=lambda _: None)

    async def answer(self, method, path, form=None, **more):
        """Answer a request. Raises `Cut`."""
        answered, got = trio.Event(), []
        if self.nursery is None or self.dead:
            raise Cut

        async def handle():
            current.set(self)
            got.append(await self.client.request(method, path, data=form, **more))
            await trio.sleep(self.world.dice.choice((0.0, 0.0, 0.5)))
            answered.set()

        async def watch():
            await self.ended.wait()
            nursery.cancel_scope.cancel()

        self.nursery.start_soon(handle)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            await answered.wait()
            nursery.cancel_scope.cancel()
        if not answered.is_set():
            raise Cut
        return got[0]


class AnswerWorld:
    """One home with up to three runs."""

    def __init__(self, seed):
        self.seed, self.dice = seed, Random(f"answers:{seed}")
        dice = self.dice
        self.store, self.lives, self.deliveries, self.sent = MemoryStore(), [], [], []
        self.people = People(self)
        self.life, self.over, self.kinds = None, False, Kinds([KIND])
        self.commit_kills = dice.choice((0.0, 0.002, 0.02))
        self.knows_deaths = dice.random() < 0.7
        self.patience = dice.choice((0.1, 0.3, 0.6))
        self.channel_failures = dice.choice((0.0, 0.2, 0.5))
        self.tasks = [dice.choice(TASKS) for _ in range(dice.randint(1, 3))]
        self.expires = dice.choice((None, None, 300.0, 900.0))
        self.deadline = dice.choice((None, None, None, 1_000.0))
        hook = {"secrets": [secret(1)], "page": PAGE, "events": ["waiting"]}
        hooks = {name: {"url": f"http://127.0.0.1:1/{name}", **hook} for name in HOOKS}
        self.config = ServerSettings.model_validate(
            {
                "webhooks": hooks,
                "people": PEOPLE,
                "answer_links": {"secrets": [secret(2)]},
                "reminders": [self._rule("approvals", APPROVERS), self._rule("ordinary", tuple(PEOPLE))],
            }
        )

    def _rule(self, questions, people):
        dice, people = self.dice, list(people)
        dice.shuffle(people)
        first = dice.randint(0, len(people))
        span = dice.choice((80, 1_300))  # Steps of a short one come due while nobody serves.
        begin = 20 if span > 1_000 else dice.randint(20, 1_000)
        times = sorted(dice.sample(range(begin, begin + span), dice.randint(1, 4)))
        left, steps = people[first:], []
        for time in times:
            asks = [left.pop()] if first and left and dice.random() < 0.6 else []
            steps.append({"after": float(time), "ask": asks})
        return {"questions": questions, "ask": people[:first], "steps": steps}

    # What the servers share.

    def engine_over(self, journal):
        """Return an engine over a journal, as a server opens it."""
        return Engine(
            journal=journal, registry=Registry(), clock=self.clock, environment={}, kinds=self.kinds, threads=False,
            config=self.config,
        )  # fmt: skip

    def is_dead(self, owner):
        """Tell whether the server that is this owner is known to be dead."""
        return self.knows_deaths and any(life.name == owner and life.ended.is_set() for life in self.lives)

    def receive(self, request):
        """Receive a message at a channel, or fail."""
        hook, body = request.url.path.rpartition("/")[2], json.loads(request.content)
        chance = self.dice.random()
        if not self.over and chance < self.channel_failures / 2:
            return httpx2.Response(503)
        acknowledged = self.over or chance >= self.channel_failures
        name, data = request.headers["webhook-id"], body["data"]
        message = Delivery(hook, name, data, trio.current_time(), acknowledged)
        known = any(message.id == other.id and hook == other.hook for other in self.deliveries)
        self.deliveries.append(message)
        if not known:
            self.people.nursery.start_soon(self.people.read, message)
        return httpx2.Response(204 if acknowledged else 500)

    # The simulation.

    def play(self):
        self.client_class = httpx2.AsyncClient
        channels = httpx2.MockTransport(self.receive)

        def identity():
            life = current.get()
            return life.name if life is not None else "outside"

        changes = {
            "replan.runs.hosting.identity": identity,
            "replan_server.held_cursor.identity": identity,
            "replan.runs.driving.identity": identity,
            "replan.runs.hosting.is_dead": self.is_dead,
            "replan_server.held_cursor.is_dead": self.is_dead,
            "replan.runs.driving.is_dead": self.is_dead,
            "runtime.host.host.POLL_SECONDS": 5.0,
            "replan_server.webhooks.sender.LOOK_SECONDS": 5.0,
            "httpx2.AsyncClient": partial(httpx2.AsyncClient, transport=channels),
            "tests.support.deterministic.STEPS_MAX": STEPS_MAX,
        }
        with ExitStack() as stack:
            self.folder = Path(stack.enter_context(TemporaryDirectory()))
            for name, value in changes.items():
                stack.enter_context(patch(name, value))
            return deterministic.run(self._main, self.seed)

    async def _main(self):
        self.clock = TrioClock(START)
        async with open_memory(self.kinds.codecs, self.clock, store=self.store) as journal:
            self.outside = self.engine_over(journal)
            async with trio.open_nursery() as servers:
                servers.start_soon(self._serve)
                with trio.move_on_after(HORIZON):
                    async with trio.open_nursery() as self.people.nursery:
                        self.runs = [await self._begin(task) for task in self.tasks]
                        for run in self.runs:
                            self.people.nursery.start_soon(self.people.disturb, run)
                        await trio.sleep_forever()
                self.over = True
                async with trio.open_nursery() as self.people.nursery:
                    await trio.sleep(CALM)
                    self.people.nursery.cancel_scope.cancel()
                servers.cancel_scope.cancel()
            self.records = {run: await journal.read(run) for run in self.runs}
            self.states = {run: await self.outside.common_with_inbox(run) for run in self.runs}

    async def _begin(self, task):
        deadline = None if self.deadline is None else self.clock.now() + self.deadline
        settings = AgentSettings(question_expires_seconds=self.expires)
        prepared = PreparedAgent("asker", AgentTask(task, Limits(deadline=deadline)), settings)
        return await self.outside.admit(prepared)

    async def _serve(self):
        """Run one server after the other, each until it is killed or stopped."""
        dice = Random(f"lives:{self.seed}")
        while True:
            self.life = Life(self, f"server-{len(self.lives)}", calm=self.over)
            self.lives.append(self.life)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._end, self.life, dice)
                await self.life.live()
                nursery.cancel_scope.cancel()
            await trio.sleep(dice.uniform(0.5, 300.0 if dice.random() < 0.2 else 40.0))

    async def _end(self, life, dice):
        """Kill or stop a server after a time, except the last one."""
        await trio.sleep(min(dice.expovariate(1 / 250.0), max(0.0, HORIZON + 1.0 - trio.current_time())))
        if life.calm:
            return
        if dice.random() < 0.8:
            life.die()
        else:
            life.stop.requested.set()

    def is_approval(self, run):
        """Tell whether a run asks for an approval."""
        return self.task_of(run).startswith("approval")

    def task_of(self, run):
        """Return what a run was begun with."""
        return self.tasks[self.runs.index(run)]
