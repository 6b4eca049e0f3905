"""A provider that fails ends no run: it waits, goes on when the provider is back, and asks for nothing twice.

The server, the client and the engine are real; only the clock is moved.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from actors.planning.kind import CODEC
from actors.planning.prepare import RunOptions
from actors.run.calls import CallFailed, Replied
from actors.run.parking import RunResumed
from actors.run.waits import WaitRequested
from replan.runs.engine import Engine
from replan.runs.options import DriveOptions
from replan.runs.prepare import prepare_run
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig, choose_model
from runtime.core.events import Event
from runtime.journal.memory import open_memory
from tests.support.artifacts import GOOD, PROBLEM
from tests.wire.outages import JumpingClock, Provider, free_port

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


@pytest.mark.parametrize("status", [503, 502])
async def test_fifteen_seconds_are_waited_out(status: int) -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.status, provider.down_until = status, clock.time + 15
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            result = await engine.begin(request(engine), run="run-1")
            assert result.succeeded, result
            await check_books(engine, "run-1", provider)
    assert clock.time - 1_700_000_000.0 < 120


async def test_a_server_that_is_not_there_for_fifteen_seconds_is_waited_for() -> None:
    clock = JumpingClock()
    provider, port = Provider(clock, GOOD), free_port()
    async with home(clock, f"http://127.0.0.1:{port}/v1") as engine:
        await engine.journal.create("run-1", "x")
        starting: list[Any] = []

        def start_server(record: Any, _: Any) -> None:
            if not starting and clock.time > 1_700_000_000.0 + 15:
                starting.append(provider.serving(port))
                starting[0].__enter__()

        try:
            result = await engine.begin(request(engine), DriveOptions(on_record=start_server), run="run-1")
        finally:
            for server in starting:
                server.__exit__(None, None, None)
        assert result.succeeded, result
        await check_books(engine, "run-1", provider)


@pytest.mark.parametrize("status", [503, 502])
async def test_after_the_patience_the_foreground_leaves_and_a_resume_goes_on(status: int) -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.status, provider.down_until = status, clock.time + 900
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            result = await engine.begin(request(engine), run="run-1")
            assert (result.status, result.cause) == ("parked", "provider")
            assert f"status {status}" in result.why
            assert 500 < clock.time - 1_700_000_000.0 < 900
            assert (await engine.journal.row("run-1")).summary.next_wake == result.next_try
            clock.time = provider.down_until
            result = await engine.resume("run-1")
            assert result.succeeded, result
            await check_books(engine, "run-1", provider)
            assert len([name for name in provider.asked if name not in provider.answered]) <= 10


async def test_a_resume_asks_at_once_and_leaves_again_after_its_patience() -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.down_until = float("inf")
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            assert (await engine.begin(request(engine, patience_seconds=30.0), run="run-1")).cause == "provider"
            asked, began = len(provider.asked), clock.time
            assert (await engine.resume("run-1")).cause == "provider"
            assert clock.time - began < 60
            assert len(provider.asked) == asked, "no call is made before the provider says that it is up"
            provider.down_until = 0.0
            assert (await engine.resume("run-1")).succeeded
            await check_books(engine, "run-1", provider)


async def test_a_wrong_key_and_then_the_right_one() -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.key = "sk-right-000000000000"
    with provider.serving() as server:
        async with home(clock, server.base_url, "sk-wrong-000000000000") as engine:
            result = await engine.begin(request(engine), run="run-1")
            assert (result.status, result.cause, result.fault.kind) == ("parked", "provider", "auth")
            assert clock.time - 1_700_000_000.0 < 5, "nobody stays for a key"
            assert (await engine.resume("run-1")).cause == "provider"
            right = Engine(
                engine.journal,
                registry=engine.registry,
                clock=clock,
                environment={**engine.environment, "OPENAI_API_KEY": provider.key},
            )
            assert (await right.resume("run-1")).succeeded
            await check_books(right, "run-1", provider)


async def test_a_model_that_is_missing_and_then_there() -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.listed = ["another"]
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            assert (await engine.begin(request(engine), run="run-1")).fault.kind == "not_found"
            asked = len(provider.asked)
            assert "does not list" in (await engine.resume("run-1")).why
            assert len(provider.asked) == asked
            provider.listed.append("test-model")
            assert (await engine.resume("run-1")).succeeded
            await check_books(engine, "run-1", provider)


async def test_a_missing_model_is_replaced_by_another() -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.listed = ["another"]
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            assert (await engine.begin(request(engine), run="run-1")).status == "parked"
            await engine.change("run-1", {"model": "another", "price": None})
            assert (await engine.resume("run-1")).succeeded
            await check_books(engine, "run-1", provider)


async def test_a_rejected_request_parks_and_is_asked_again_when_it_is_resumed() -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.status, provider.down_until = 400, float("inf")
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            result = await engine.begin(request(engine), run="run-1")
            assert (result.status, result.cause) == ("parked", "provider")
            assert (await engine.journal.row("run-1")).summary.due is None, "only a person can change what is asked"
            provider.down_until = 0.0
            assert (await engine.resume("run-1")).succeeded
            await check_books(engine, "run-1", provider)


def waits(events: list[Event]) -> list[WaitRequested]:
    return [event for event in events if isinstance(event, WaitRequested) and event.for_provider]


def takeovers(events: list[Event]) -> int:
    return sum(isinstance(event, RunResumed) for event in events)
