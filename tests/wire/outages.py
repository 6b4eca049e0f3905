"""A provider that is down for a time, and a clock that nobody has to wait for."""

import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import trio
import trio.testing

from actors.planning.kind import CODEC
from actors.planning.prepare import PlanningInput, RunOptions
from actors.run.calls import CallFailed, Replied
from actors.run.parking import RunResumed
from actors.run.waits import WaitRequested
from replan.runs.engine import Engine
from replan.runs.hosting import host
from replan.runs.prepare import RunOrder, prepare
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig
from runtime.core.clock import Clock, SystemClock
from runtime.core.events import Event
from runtime.drive.options import Stop
from runtime.host.notices import Notice
from runtime.journal.memory import open_memory
from runtime.journal.port import RunFilter
from runtime.models.port import Fault
from runtime.models.provider_state import Askable, CallLimiter, CallSlot, Probes
from tests.support.answers import Answer
from tests.support.artifacts import PROBLEM
from tests.support.openai_server import OpenAIServer
from tests.support.receiver import free_port

SETTLED_SECONDS = 0.002
"""How long all other tasks have to be blocked before the clock moves; less than any task here sleeps between polls."""


class JumpingClock(SystemClock):
    """A clock that stands still while anybody works, and moves to the next time that somebody waits for."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._time = start
        self._alarms: list[tuple[float, Callable[[], Any]]] = []
        self.wakeups = 0
        self._sleepers: list[float] = []
        self.busy: int = 0
        self.calls_in_flight = 0
        self.moves_during_calls = False

    @property
    def time(self) -> float:
        return self._time

    @time.setter
    def time(self, time: float) -> None:
        self._time = time
        for alarm in [each for each in self._alarms if each[0] <= time]:
            self._alarms.remove(alarm)
            alarm[1]()

    def at(self, when: float, action: Callable[[], Any]) -> None:
        """Have something done as soon as the clock shows a time."""
        self._alarms.append((when, action))

    def now(self) -> float:
        """Return the time; every look takes a microsecond, so that the order of events shows."""
        self.time += 1e-6
        return self.time

    async def sleep_until(self, when: float) -> None:
        """Return once the time has come; whoever waits for the earliest time moves the clock, if nobody works."""
        self._sleepers.append(when)
        try:
            while self.time < when:
                seen = self.time
                await trio.testing.wait_all_tasks_blocked(SETTLED_SECONDS)
                if not self._works() and min(self._sleepers) == when and self.time - seen < 1.0:
                    self.time = when
        finally:
            self._sleepers.remove(when)
        self.wakeups += 1

    def _works(self) -> bool:
        return bool(self.busy) or (self.calls_in_flight > 0 and not self.moves_during_calls)

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Stand still for the length of a block: a request is on its way, however long this machine takes for it."""
        self.calls_in_flight += 1
        try:
            yield
        finally:
            self.calls_in_flight -= 1


class _Limiter(CallLimiter):
    """A limiter that tells a clock of the calls in flight."""

    def __init__(self, clock: JumpingClock) -> None:
        super().__init__()
        self._clock = clock

    def for_run(self, provider: str, *others: Any) -> CallSlot:
        slot = super().for_run(provider, *others)

        @asynccontextmanager
        async def counted(model: str = "", /) -> AsyncIterator[None]:
            async with slot(model), self._clock.call():
                yield

        return counted


class _Probes(Probes):
    """Probes that tell a clock of the requests in flight."""

    def __init__(self, jumping: JumpingClock) -> None:
        super().__init__()
        self._clock = jumping

    async def ask(
        self, provider: str, model: Askable, fault: Fault | None, *, fresh: float, clock: Clock
    ) -> Fault | None:
        async with self._clock.call():
            return await super().ask(provider, model, fault, fresh=fresh, clock=clock)


CHARGED_MAYBE = (500,)
"""The answers after which a provider on this machine may have counted the call."""


class Provider:
    """A scripted provider: it answers completions and `GET /models` while it is up, and fails both while it is down."""

    def __init__(self, clock: JumpingClock, answers: Mapping[str, Any]) -> None:
        self.clock, self._answers = clock, answers
        self.down_until = 0.0
        self.status = 503
        self.key = ""
        self.listed = ["test-model"]
        self.asked: list[str] = []
        self.models_asked: list[str] = []
        self.answered: list[str] = []
        self.maybe_charged: list[str] = []
        self.lists_while_down = False
        self.slow: dict[str, float] = {}
        self.held: dict[str, threading.Event] = {}
        self._lock = threading.Lock()

    def handle(self, body: dict[str, Any], headers: Mapping[str, str], _n: int) -> Answer:
        name = headers.get("x-client-request-id", "").partition("/")[2]
        with self._lock:
            self.asked.append(name)
            self.models_asked.append(body.get("model", ""))
            fault = self._fault(headers, body.get("model", ""))
            if fault is not None:
                self.maybe_charged += [name] * (fault.status in CHARGED_MAYBE)
                return fault
            self.answered.append(name)
        step = name.partition("/")[0]
        if step in self.held:
            self.held[step].wait(60)
        return Answer.value(self._answers[step]).slowly(self.slow.get(step, 0.0))

    def models(self, headers: Mapping[str, str]) -> Answer:
        fault = None if self.lists_while_down else self._fault(headers, "")
        return fault or Answer.json({"object": "list", "data": [{"id": name} for name in self.listed]})

    def _fault(self, headers: Mapping[str, str], model: str) -> Answer | None:
        if self.clock.time < self.down_until:
            return Answer.fault(self.status)
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            return Answer.fault(401, "wrong key", code="invalid_api_key")
        if model and model not in self.listed:
            return Answer.fault(404, f"no model {model}", code="model_not_found")
        return None

    @contextmanager
    def serving(self, port: int = 0) -> Any:
        server = OpenAIServer(self.handle, models=self.models, port=port)
        server.start()
        try:
            yield server
        finally:
            server.stop()


REFUSED = "refused"
"""The fault of a provider that nobody can connect to."""
BUSY = "busy"
"""The fault of a provider that lists its models, and answers 503 to all that is asked of them."""
FAULTS = (503, 502, REFUSED, BUSY)
"""What a provider that is down does: it answers with a status, its list of models too, or refuses connections."""


@contextmanager
def outage(provider: Provider, fault: int | str, seconds: float) -> Iterator[str]:
    """Serve a provider that is down for so long, and yield its address."""
    clock = provider.clock
    provider.down_until = clock.time + seconds
    with ExitStack() as stack:
        if fault != REFUSED:
            provider.lists_while_down = fault == BUSY
            provider.status = fault if isinstance(fault, int) else 503
            yield stack.enter_context(provider.serving()).base_url
        else:
            port = free_port()
            clock.at(provider.down_until, lambda: stack.enter_context(provider.serving(port)))
            yield f"http://127.0.0.1:{port}/v1"


def reason_of(fault: int | str) -> str:
    """Return the words of a run's reason that name a fault."""
    return {BUSY: "status 503", REFUSED: "refused"}.get(fault, f"status {fault}")


@contextmanager
def little_work(seconds: float) -> Iterator[None]:
    """Check that a block uses at most so much of the processor, the server and the test included."""
    before = time.process_time()
    yield
    used = time.process_time() - before
    assert used < seconds, f"{used:.2f} s of the processor: somebody does not wait, but asks again and again"


HOUR = 3600.0


@asynccontextmanager
async def home(clock: JumpingClock, url: str, key: str = "sk-right-000000000000") -> AsyncIterator[Engine]:
    environment = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": key}
    async with open_memory(CODEC, clock) as journal:
        yield Engine(
            journal,
            registry=registry(),
            clock=clock,
            environment=environment,
            limiter=_Limiter(clock),
            probes=_Probes(clock),
        )


def request(engine: Engine, model: str = "test-model", **options: Any) -> Any:
    return prepare(
        RunOrder(PlanningInput(PROBLEM, RunOptions(**options)), model),
        config=UserConfig(),
        registry=engine.registry,
        environment=engine.environment,
        now=engine.clock.now(),
    ).request


async def events_of(engine: Engine, run: str) -> list[Event]:
    return [record.event for record in await engine.journal.read(run)]


async def check_books(engine: Engine, run: str, provider: Provider) -> None:
    """What was accepted was asked for once; the books of a run and its child runs say what the provider has answered.

    What it may have charged without an answer is at most what the books call unknown.
    """
    replies, charged = list[str](), 0
    for row in await engine.journal.runs(RunFilter()):
        if row.run != run and not row.run.startswith(f"{run}."):
            continue
        events = await events_of(engine, row.run)
        own = [event for event in events if isinstance(event, Replied) and not event.node.startswith("g_below")]
        assert len(own) == len({event.node for event in own}), "an answered call was asked for again"
        replies += [f"{row.run}/{event.request_id}" for event in own]
        charged += sum(isinstance(event, CallFailed) and not event.refunded for event in events)
    assert len(replies) == len(set(replies))
    assert sorted(name.partition("/")[2] for name in replies) == sorted(provider.answered)
    ledger = (await engine.load(run))[0].run.ledger
    assert ledger.spent.calls == len(replies), "a parent counts the calls of its child runs"
    assert len(provider.maybe_charged) <= ledger.unknown.calls <= charged


def waits(events: list[Event]) -> list[WaitRequested]:
    return [event for event in events if isinstance(event, WaitRequested) and event.for_provider]


def takeovers(events: list[Event]) -> int:
    return sum(isinstance(event, RunResumed) for event in events)


CHILD = """
name: below
action_pairs:
  g_strategy: {generator: model, guard: strategy_valid, rmax: 1}
  g_plan: {generator: model, guard: plan_medium, requires: [g_strategy], rmax: 1}
"""
PARENT = """
name: above
max_total_calls: 9
action_pairs:
  g_analysis: {generator: model, guard: analysis_valid}
  g_below: {generator: "workflow:./below.yaml", role: plan, guard: plan_medium, requires: [g_analysis], rmax: 2}
"""


async def serve_until_finished(engine: Engine, clock: JumpingClock, run: str) -> list[Notice]:
    """Host a run, and move the clock to each time that it waits for, until it has finished; return the notices."""
    stop, notices = Stop(handover=True), list[Notice]()

    async def move_the_clock() -> None:
        while (row := await engine.journal.row(run)).summary.status != "finished":
            if row.owner is None and (row.summary.next_wake or 0.0) > clock.time:
                clock.time = row.summary.next_wake or 0.0
            await trio.sleep(0.01)
        stop.requested.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(move_the_clock)
        with trio.fail_after(300):
            await host(engine, runs_max=4, stop=stop, report=notices.append)
    return notices


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    with trio.fail_after(300):
        while not await condition():  # noqa: ASYNC110 - the host has no event for it
            await trio.sleep(0.01)


def write(folder: Path) -> str:
    (folder / "below.yaml").write_text(CHILD)
    (folder / "above.yaml").write_text(PARENT)
    return str(folder / "above.yaml")
