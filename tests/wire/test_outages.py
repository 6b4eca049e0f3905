"""A provider that fails ends no run: it waits, goes on when the provider is back, and asks for nothing twice.

The server, the client and the engine are real; only the clock is moved.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

import runtime.host.host
from actors.planning.kind import CODEC
from actors.planning.prepare import RunOptions
from actors.run.calls import CallFailed, Replied
from actors.run.parking import RunResumed
from actors.run.waits import WaitRequested
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict
from replan.cli.exits import Exit, exit_of_result
from replan.runs.engine import Engine
from replan.runs.hosting import host
from replan.runs.options import DriveOptions
from replan.runs.prepare import prepare_run
from replan.setup.plugins import registry
from replan.setup.settings import UserConfig, choose_model
from runtime.core.errors import UsageProblem
from runtime.core.events import Event
from runtime.core.machine import Summary
from runtime.drive.options import Stop
from runtime.host.notices import Notice, Resting
from runtime.journal.memory import open_memory
from runtime.journal.port import RunFilter
from tests.support.answers import Answer
from tests.support.artifacts import ANALYSIS, GOOD, PROBLEM
from tests.support.openai_server import serve
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
            assert clock.wakeups < 40, "a process that waits does nothing else"
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


@pytest.mark.parametrize("hosted", [False, True])
async def test_a_run_that_is_driven_goes_on_with_another_model(hosted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in flight is finished; the run is taken over anew, and then asks the other model."""
    monkeypatch.setattr(runtime.host.host, "LOOK_SECONDS", 0.02)
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.listed = ["test-model", "another"]
    provider.slow = {"g_analysis": 0.5}
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


@pytest.mark.parametrize("status", [503, 502])
async def test_two_days_under_a_host(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host asks the provider, and takes the run up, once an hour: its wake-ups are counted, not its time."""
    monkeypatch.setattr(runtime.host.host, "LOOK_SECONDS", 0.02)
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.status, provider.down_until = status, clock.time + 48 * HOUR
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            run = await engine.admit(request(engine))
            notices = await serve_until_finished(engine, clock, run)
            assert (await engine.result(run)).succeeded
            await check_books(engine, run, provider)
            events = await events_of(engine, run)
            assert 48 <= takeovers(events) <= 48 + 25
            assert 48 <= engine.probes.count <= 48 + 25
            assert len(waits(events)) <= 48 + 25
            assert len(provider.asked) - len(provider.answered) <= 10
            assert len(notices) < 300
            resting = [notice for notice in notices if isinstance(notice, Resting) and notice.why]
            assert all(f"status {status}" in notice.why for notice in resting)
            assert len(resting) >= 48
    assert clock.time >= provider.down_until


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    with trio.fail_after(30):
        while not await condition():  # noqa: ASYNC110 - the host has no event for it
            await trio.sleep(0.01)


async def test_many_runs_of_one_provider_ask_it_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.host.host, "LOOK_SECONDS", 0.02)
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


def write(folder: Path) -> str:
    (folder / "below.yaml").write_text(CHILD)
    (folder / "above.yaml").write_text(PARENT)
    return str(folder / "above.yaml")


@pytest.mark.parametrize("hosted", [False, True])
async def test_a_child_run_waits_and_its_parent_with_it(
    hosted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime.host.host, "LOOK_SECONDS", 0.02)
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    went_down: list[float] = []

    def models(headers: Any) -> Answer:
        return Answer.fault(503) if clock.time < provider.down_until else Provider.models(provider, headers)

    def handle(body: Any, headers: Any, n: int) -> Answer:
        if "g_strategy" in headers.get("x-client-request-id", "") and not went_down:
            went_down.append(clock.time)
            provider.down_until = clock.time + 24 * HOUR
        return Provider.handle(provider, body, headers, n)

    with serve(handle, models=models) as server:
        async with home(clock, server.base_url) as engine:
            prepared = request(engine, workflow=write(tmp_path))
            if hosted:
                run = await engine.admit(prepared)
                notices = await serve_until_finished(engine, clock, run)
                assert len(notices) < 200
            else:
                run = "run-1"
                result = await engine.begin(prepared, run=run)
                assert (result.status, result.cause) == ("parked", "provider")
                assert "run run-1." in result.why
                clock.time = provider.down_until
                assert (await engine.resume(run)).succeeded
            assert (await engine.result(run)).succeeded
            events = await events_of(engine, run)
            assert takeovers(events) <= 24 + 25
            assert len(events) < 120, "no loop: a waiting child is not started again and again"
            [child] = [row.run for row in await engine.journal.runs(RunFilter()) if row.run != run]
            spent = (await engine.load(run))[0].run.ledger.spent.calls
            assert spent == len(provider.answered) == 3
            assert (await engine.load(child))[0].run.ledger.spent.calls == 2


async def test_a_budget_is_raised_twice_with_a_child_run_and_an_open_question_in_between(tmp_path: Path) -> None:
    clock = JumpingClock()
    question = {**ANALYSIS, "open_questions": ["Which users?"]}
    provider = Provider(clock, GOOD)
    first = iter([question])

    def handle(body: Any, headers: Any, n: int) -> Answer:
        name = headers.get("x-client-request-id", "").partition("/")[2]
        answer = Provider.handle(provider, body, headers, n)
        return Answer.value(next(first, ANALYSIS)) if name.startswith("g_analysis") else answer

    with serve(handle) as server:
        async with home(clock, server.base_url) as engine:
            result = await engine.begin(request(engine, workflow=write(tmp_path), max_calls=1), run="run-1")
            assert result.status == "waiting", result
            await engine.answer("run-1/q1", "new ones")
            result = await engine.resume("run-1")
            assert (result.outcome, result.reopened_by) == ("budget_exhausted", "limits")
            assert (await engine.resume("run-1")).outcome == "budget_exhausted"
            with pytest.raises(UsageProblem, match="reached already"):
                await engine.change("run-1", {"calls": 1})
            await engine.change("run-1", {"calls": 3})
            result = await engine.resume("run-1")
            assert result.outcome == "budget_exhausted", result
            await engine.change("run-1", {"calls": 9})
            result = await engine.resume("run-1")
            assert result.succeeded, result
            answered = [name for name in provider.answered if name.startswith("g_analysis")]
            assert len(answered) == 2, "the accepted analysis is not asked for again"
            ledger = (await engine.load("run-1"))[0].run.ledger
            assert (ledger.spent.calls, ledger.unknown.calls) == (len(provider.answered), 0)


async def test_a_plug_in_that_crashes_parks_the_run_and_is_asked_again_once_it_is_mended(tmp_path: Path) -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    broken = [True]

    def mine(_: Artifact, __: Context) -> Verdict:
        if broken[0]:
            raise RuntimeError("kaput")
        return Verdict(guard="mine", passed=True, score=1.0)

    workflow = tmp_path / "w.yaml"
    workflow.write_text("name: w\naction_pairs:\n  g_plan: {generator: model, guard: mine, prompt: plan_direct}\n")
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            mended = replace(engine, registry=registry({"mine": mine}))
            result = await mended.begin(request(mended, workflow=str(workflow)), run="run-1")
            assert (result.status, result.cause) == ("parked", "plugin")
            assert "kaput" in result.why
            assert exit_of_result(result) == Exit.INTERNAL
            assert (await mended.journal.row("run-1")).summary.due is None, "no host tries it again and again"
            assert (await mended.resume("run-1")).cause == "plugin"
            broken[0] = False
            assert (await mended.resume("run-1")).succeeded
            await check_books(mended, "run-1", provider)


async def test_a_plug_in_of_a_child_run_that_crashes_parks_its_parent_too(tmp_path: Path) -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    broken, judged = [True], list[str]()

    def mine(_: Artifact, __: Context) -> Verdict:
        judged.append("mine")
        if broken[0]:
            raise RuntimeError("kaput")
        return Verdict(guard="mine", passed=True, score=1.0)

    workflow = write(tmp_path)
    (tmp_path / "below.yaml").write_text(CHILD.replace("guard: strategy_valid", "guard: mine, role: strategy"))
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            mended = replace(engine, registry=registry({"mine": mine}))
            with trio.fail_after(30):
                result = await mended.begin(request(mended, workflow=workflow), run="run-1")
            assert (result.status, result.cause) == ("parked", "plugin")
            assert "run run-1." in result.why
            assert "kaput" in result.why
            assert len(judged) <= 4, "no loop: it is not started again and again"
            assert (await mended.resume("run-1")).cause == "plugin"
            broken[0] = False
            assert (await mended.resume("run-1")).succeeded
            assert len(provider.answered) == 3
