"""A provider that fails ends no run: it waits, goes on when the provider is back, and asks for nothing twice.

The server, the client and the engine are real; only the clock is moved.
"""

import threading
from collections.abc import Callable
from functools import partial

import pytest
import trio

from actors.run.settings import SettingsChanged
from replan.cli.exits import Exit, exit_of_result
from replan.runs.engine import Engine
from replan.runs.hosting import host
from runtime.core.machine import Summary
from runtime.drive.options import Stop
from runtime.host.notices import Resting
from tests.support.artifacts import GOOD
from tests.wire.outages import (
    BUSY,
    FAULTS,
    HOUR,
    REFUSED,
    JumpingClock,
    Provider,
    check_books,
    events_of,
    home,
    little_work,
    outage,
    reason_of,
    request,
    serve_until_finished,
    takeovers,
    until,
    waits,
)

BUSY_SECONDS_MAX = 6.0
"""Seconds of the processor over two days of an outage, those of the server included; about one is measured."""
BRIEFLY_BUSY_SECONDS_MAX = 2.0
"""The same for a run that one command drives; about a third of a second is measured."""


@pytest.mark.parametrize("fault", FAULTS)
async def test_fifteen_seconds_are_waited_out(fault: int | str) -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    with outage(provider, fault, 15) as url:
        async with home(clock, url) as engine:
            with little_work(BRIEFLY_BUSY_SECONDS_MAX):
                result = await engine.begin(request(engine), run="run-1")
            assert result.succeeded, result
            await check_books(engine, "run-1", provider)
    assert clock.wakeups < 40, "a process that waits does nothing else"
    assert provider.down_until <= clock.time < 1_700_000_000.0 + 120


@pytest.mark.parametrize("fault", FAULTS)
async def test_after_the_patience_the_foreground_leaves_and_a_resume_goes_on(fault: int | str) -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    with outage(provider, fault, 900) as url:
        async with home(clock, url) as engine:
            with little_work(BRIEFLY_BUSY_SECONDS_MAX):
                result = await engine.begin(request(engine), run="run-1")
            assert (result.status, result.cause) == ("parked", "provider")
            assert exit_of_result(result) == Exit.PROVIDER
            assert reason_of(fault) in result.why
            assert 500 < clock.time - 1_700_000_000.0 < 900
            assert clock.wakeups < 40, "a process that waits does nothing else"
            assert (await engine.journal.row("run-1")).summary.next_wake == result.next_try
            clock.time = provider.down_until
            result = await engine.resume("run-1")
            assert result.succeeded, result
            await check_books(engine, "run-1", provider)
            failed = [name for name in provider.asked if name not in provider.answered]
            assert len(failed) <= (40 if fault == BUSY else 10), "a provider that is down is asked whether it is up"


@pytest.mark.parametrize("fault", FAULTS)
async def test_fifteen_minutes_are_waited_out_by_a_command_with_the_patience(fault: int | str) -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    with outage(provider, fault, 900) as url:
        async with home(clock, url) as engine:
            with little_work(BRIEFLY_BUSY_SECONDS_MAX):
                result = await engine.begin(request(engine, limits={"patience": 1800.0}), run="run-1")
            assert result.succeeded, result
            assert clock.wakeups < 60, "a process that waits does nothing else"
            await check_books(engine, "run-1", provider)
    assert provider.down_until <= clock.time < 1_700_000_000.0 + 1800


async def test_a_resume_asks_at_once_and_leaves_again_after_its_patience() -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.down_until = float("inf")
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            assert (await engine.begin(request(engine, limits={"patience": 30.0}), run="run-1")).cause == "provider"
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


@pytest.mark.parametrize("hosted", [False, True])
async def test_a_run_that_is_driven_goes_on_with_another_model(hosted: bool) -> None:
    """What is in flight is finished; the run is taken over anew, and then asks the other model."""
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.listed = ["test-model", "another"]
    provider.held = {"g_analysis": threading.Event()}
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine, trio.open_nursery() as nursery:
            run = await engine.admit(request(engine))
            if hosted:
                nursery.start_soon(serve_until_finished, engine, clock, run)
            else:
                nursery.start_soon(engine.resume, run)

            async def asked() -> bool:
                return len(provider.asked) == 2

            await until(asked)
            await engine.change(run, {"model": "another", "price": None})

            async def heard() -> bool:
                return any(isinstance(event, SettingsChanged) for event in await events_of(engine, run))

            await until(heard)
            provider.held["g_analysis"].set()

            async def finished() -> bool:
                return (await engine.journal.row(run)).summary.status == "finished"

            await until(finished)
            assert (await engine.result(run)).succeeded
            assert provider.models_asked == ["test-model"] * 2 + ["another"] * 2
            await check_books(engine, run, provider)


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


@pytest.mark.parametrize(("fault", "hours"), [(503, 48), (BUSY, 12), (502, 6), (REFUSED, 6)])
async def test_hours_and_days_under_a_host(fault: int | str, hours: int) -> None:
    """The host asks the provider, and takes the run up, once an hour: its wake-ups and its processor time are small."""
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    with outage(provider, fault, hours * HOUR) as url:
        async with home(clock, url) as engine:
            run = await engine.admit(request(engine))
            with little_work(BUSY_SECONDS_MAX):
                notices = await serve_until_finished(engine, clock, run)
            assert (await engine.result(run)).succeeded
            await check_books(engine, run, provider)
            events = await events_of(engine, run)
            assert hours <= takeovers(events) <= hours + 25
            assert hours <= engine.probes.count <= hours + 25
            assert len(waits(events)) <= hours + 25
            # A provider that lists its models while it fails is asked for the reply, too, once an hour.
            assert len(provider.asked) - len(provider.answered) <= (2 * (hours + 25) if fault == BUSY else 10)
            assert len(notices) < 300
            resting = [notice for notice in notices if isinstance(notice, Resting) and notice.why]
            assert all(reason_of(fault) in notice.why for notice in resting)
            # The host notices a rest when it looks; where it is slow, a busy provider has been asked again before.
            assert len(resting) >= (hours / 2 if fault == BUSY else hours)
    assert clock.time >= provider.down_until


def _wrong_key(provider: Provider) -> None:
    provider.key = "sk-other-000000000000"


def _right_key(provider: Provider) -> None:
    provider.key = ""


def _missing_model(provider: Provider) -> None:
    provider.listed = ["another"]


def _listed_model(provider: Provider) -> None:
    provider.listed.append("test-model")


@pytest.mark.parametrize(
    ("refuse", "accept"), [(_wrong_key, _right_key), (_missing_model, _listed_model)], ids=["key", "model"]
)
async def test_half_a_day_under_a_host_until_a_provider_takes_the_key_or_has_the_model(
    refuse: Callable[[Provider], None], accept: Callable[[Provider], None]
) -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    refuse(provider)
    clock.at(clock.time + 12 * HOUR, partial(accept, provider))
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            run = await engine.admit(request(engine))
            with little_work(BUSY_SECONDS_MAX):
                notices = await serve_until_finished(engine, clock, run)
            assert (await engine.result(run)).succeeded
            await check_books(engine, run, provider)
            assert takeovers(await events_of(engine, run)) <= 12 + 25
            assert 10 <= engine.probes.count <= 12 + 25
            assert len(provider.asked) - len(provider.answered) <= 10
            assert len(notices) < 300


async def test_many_runs_of_one_provider_ask_it_together() -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.key = "sk-other-000000000000"
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            runs = [await engine.admit(request(engine)) for _ in range(12)]
            stop = Stop(handover=True)

            async def rows() -> list[Summary]:
                return [(await engine.journal.row(run)).summary for run in runs]

            async def all_wait() -> bool:
                return all((row.next_wake or 0.0) > clock.time for row in await rows())

            async def all_finished() -> bool:
                return all(row.status == "finished" for row in await rows())

            async with trio.open_nursery() as nursery:
                nursery.start_soon(partial(host, engine, runs_max=12, stop=stop, report=lambda _: None))
                for _ in range(3):
                    await until(all_wait)
                    clock.time = max([row.next_wake or 0.0 for row in await rows()])
                await until(all_wait)
                provider.key = ""
                clock.time = max([row.next_wake or 0.0 for row in await rows()])
                await until(all_finished)
                stop.requested.set()
            assert 3 <= engine.probes.count <= 12, "one of the runs asks for all"
            assert [(await engine.result(run)).outcome for run in runs] == ["success"] * 12
