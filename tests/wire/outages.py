"""A provider that is down for a time, and a clock that nobody has to wait for."""

import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import trio

from actors.planning.kind import CODEC
from actors.planning.prepare import RunOptions
from actors.run.calls import CallFailed, Replied
from actors.run.parking import RunResumed
from actors.run.waits import WaitRequested
from replan.runs.engine import Engine
from replan.runs.hosting import host
from replan.runs.prepare import prepare_run
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig, choose_model
from runtime.core.clock import SystemClock
from runtime.core.events import Event
from runtime.drive.options import Stop
from runtime.host.notices import Notice
from runtime.journal.memory import open_memory
from tests.support.answers import Answer
from tests.support.artifacts import PROBLEM
from tests.support.openai_server import OpenAIServer

SETTLED_SECONDS = 0.05
"""How long everything else has to be quiet before the clock moves."""


class JumpingClock(SystemClock):
    """A clock that stands still while anybody works, and moves to the next time that somebody waits for."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._time = start
        self._alarms: list[tuple[float, Callable[[], Any]]] = []
        self.wakeups = 0
        self._sleepers: list[float] = []
        self.busy: int = 0

    @property
    def time(self) -> float:
        """The time."""
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
                await trio.sleep(SETTLED_SECONDS)
                if not self.busy and min(self._sleepers) == when and self.time - seen < 1.0:
                    self.time = when
        finally:
            self._sleepers.remove(when)
        self.wakeups += 1


class Provider:
    """A scripted provider: `answer` gives replies while it is up; `fault` decides what it gives instead at a time."""

    def __init__(self, clock: JumpingClock, answers: Mapping[str, Any]) -> None:
        self.clock, self._answers = clock, answers
        self.down_until = 0.0
        self.status = 503
        self.key = ""
        self.listed = ["test-model"]
        self.asked: list[str] = []
        self.models_asked: list[str] = []
        self.answered: list[str] = []
        self.slow: dict[str, float] = {}
        self._lock = threading.Lock()

    def handle(self, body: dict[str, Any], headers: Mapping[str, str], _n: int) -> Answer:
        """Answer one completion."""
        name = headers.get("x-client-request-id", "").partition("/")[2]
        with self._lock:
            self.asked.append(name)
            self.models_asked.append(body.get("model", ""))
            fault = self._fault(headers, body.get("model", ""))
            if fault is not None:
                return fault
            self.answered.append(name)
        step = name.partition("/")[0]
        return Answer.value(self._answers[step]).slowly(self.slow.get(step, 0.0))

    def models(self, headers: Mapping[str, str]) -> Answer:
        """Answer `GET /models`."""
        fault = self._fault(headers, "")
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
        """Serve for the length of a block."""
        server = OpenAIServer(self.handle, models=self.models, port=port)
        server.start()
        try:
            yield server
        finally:
            server.stop()


REFUSED = "refused"
"""The fault of a provider that nobody can connect to."""
FAULTS = (503, 502, REFUSED)
"""What a provider that is down does: it answers with a status, or refuses connections."""


@contextmanager
def outage(provider: Provider, fault: int | str, seconds: float) -> Iterator[str]:
    """Serve a provider that is down for so long, and yield its address."""
    clock = provider.clock
    provider.down_until = clock.time + seconds
    with ExitStack() as stack:
        if isinstance(fault, int):
            provider.status = fault
            yield stack.enter_context(provider.serving()).base_url
        else:
            port = _free_port()
            clock.at(provider.down_until, lambda: stack.enter_context(provider.serving(port)))
            yield f"http://127.0.0.1:{port}/v1"


def reason_of(fault: int | str) -> str:
    """Return the words of a run's reason that name a fault."""
    return f"status {fault}" if isinstance(fault, int) else "refused"


def _free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


HOUR = 3600.0


@asynccontextmanager
async def home(clock: JumpingClock, url: str, key: str = "sk-right-000000000000") -> AsyncIterator[Engine]:
    """Yield an engine over a journal in memory."""
    environment = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": key}
    async with open_memory(CODEC, clock) as journal:
        yield Engine(journal, registry=registry(), clock=clock, environment=environment)


def request(engine: Engine, model: str = "test-model", **options: Any) -> Any:
    """Return a run that may begin."""
    return prepare_run(
        PROBLEM,
        RunOptions(**options),
        choose_model(model, engine.environment, UserConfig()),
        config=UserConfig(),
        registry=engine.registry,
        root=engine.root,
        environment=engine.environment,
        now=engine.clock.now(),
    )


async def events_of(engine: Engine, run: str) -> list[Event]:
    return [record.event for record in await engine.journal.read(run)]


async def check_books(engine: Engine, run: str, provider: Provider) -> None:
    """What was accepted was asked for once, and the books say what the provider has answered."""
    events = await events_of(engine, run)
    replies = [event.request_id for event in events if isinstance(event, Replied)]
    assert sorted(replies) == sorted(provider.answered)
    nodes = [event.node for event in events if isinstance(event, Replied)]
    assert len(nodes) == len(set(nodes)), "an answered call was asked for again"
    ledger = (await engine.load(run))[0].run.ledger
    assert ledger.spent.calls == len(replies)
    charged = sum(isinstance(event, CallFailed) and not event.refunded for event in events)
    assert ledger.unknown.calls <= charged


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
        with trio.fail_after(60):
            await host(engine, runs_max=4, stop=stop, report=notices.append)
    return notices


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    with trio.fail_after(30):
        while not await condition():  # noqa: ASYNC110 - the host has no event for it
            await trio.sleep(0.01)


def write(folder: Path) -> str:
    (folder / "below.yaml").write_text(CHILD)
    (folder / "above.yaml").write_text(PARENT)
    return str(folder / "above.yaml")
