"""Child runs, budgets and plug-ins: what stops a run, and how it goes on, against a real server."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from actors.run.kind import ChildRun
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict
from replan.cli.exits import Exit, exit_of_result
from replan.setup.plugins import registry
from runtime.core.errors import UsageProblem
from runtime.drive.options import DriveOptions
from runtime.journal.port import RunFilter
from tests.support.answers import Answer
from tests.support.artifacts import ANALYSIS, GOOD
from tests.support.openai_server import serve
from tests.wire.outages import (
    CHILD,
    HOUR,
    JumpingClock,
    Provider,
    check_books,
    events_of,
    home,
    little_work,
    request,
    serve_until_finished,
    takeovers,
    write,
)

BUSY_SECONDS_MAX = 6.0
"""Seconds of the processor over a day of an outage, those of the server included; about one is measured."""


@pytest.mark.parametrize("hosted", [False, True])
async def test_a_child_run_waits_and_its_parent_with_it(hosted: bool, tmp_path: Path) -> None:
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
                with little_work(BUSY_SECONDS_MAX):
                    notices = await serve_until_finished(engine, clock, run)
                assert len(notices) < 200
            else:
                run = "run-1"
                with little_work(BUSY_SECONDS_MAX):
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
            await check_books(engine, run, provider)
            assert len(provider.answered) == 3
            assert (await engine.load(child))[0].run.ledger.spent.calls == 2


def answer_analyses(provider: Provider, *first: object) -> Callable[[Any, Any, int], Answer]:
    left = iter(first)

    def handle(body: Any, headers: Any, n: int) -> Answer:
        name = headers.get("x-client-request-id", "").partition("/")[2]
        answer = Provider.handle(provider, body, headers, n)
        return Answer.value(next(left, ANALYSIS)) if name.startswith("g_analysis") else answer

    return handle


async def test_a_budget_is_raised_twice_with_a_child_run_and_an_open_question_in_between(tmp_path: Path) -> None:
    clock = JumpingClock()
    question = {**ANALYSIS, "open_questions": ["Which users?"]}
    provider = Provider(clock, GOOD)
    with serve(answer_analyses(provider, question)) as server:
        async with home(clock, server.base_url) as engine:
            result = await engine.begin(request(engine, workflow=write(tmp_path), limits={"max_calls": 1}), run="run-1")
            assert result.status == "waiting", result
            await engine.answer("run-1/q1", "new ones", via="cli")
            result = await engine.resume("run-1")
            assert (result.outcome, result.reopened_by) == ("budget_exhausted", "limits")
            assert (await engine.resume("run-1")).outcome == "budget_exhausted"
            with pytest.raises(UsageProblem, match="has already used"):
                await engine.change("run-1", {"calls": 1})
            await engine.change("run-1", {"calls": 3})
            result = await engine.resume("run-1")
            assert result.outcome == "budget_exhausted", result
            await engine.change("run-1", {"calls": 9})
            result = await engine.resume("run-1")
            assert result.succeeded, result
            answered = [name for name in provider.answered if name.startswith("g_analysis")]
            assert len(answered) == 2, "the accepted analysis is not asked for again"
            await check_books(engine, "run-1", provider)
            assert (await engine.load("run-1"))[0].run.ledger.unknown.calls == 0


async def test_a_question_opens_after_the_first_raise_and_a_child_run_begins_after_the_second(tmp_path: Path) -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    question = {**ANALYSIS, "open_questions": ["Which users?"]}
    with serve(answer_analyses(provider, {"problem_type": 1}, question)) as server:
        async with home(clock, server.base_url) as engine:
            result = await engine.begin(request(engine, workflow=write(tmp_path), limits={"max_calls": 1}), run="run-1")
            assert result.outcome == "budget_exhausted", result
            await engine.change("run-1", {"calls": 2})
            result = await engine.resume("run-1")
            assert (result.status, result.open_questions) == ("waiting", ("run-1/q1",)), result
            await engine.answer("run-1/q1", "new ones", via="cli")
            assert (await engine.resume("run-1")).outcome == "budget_exhausted"
            await engine.change("run-1", {"calls": 9})
            result = await engine.resume("run-1")
            assert result.succeeded, result
            await check_books(engine, "run-1", provider)
            assert len([name for name in provider.answered if name.startswith("g_analysis")]) == 3
            assert (await engine.load("run-1"))[0].run.ledger.unknown.calls == 0


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
            with trio.fail_after(300):
                result = await mended.begin(request(mended, workflow=workflow), run="run-1")
            assert (result.status, result.cause) == ("parked", "plugin")
            assert "run run-1." in result.why
            assert "kaput" in result.why
            assert len(judged) <= 4, "no loop: it is not started again and again"
            assert (await mended.resume("run-1")).cause == "plugin"
            broken[0] = False
            assert (await mended.resume("run-1")).succeeded
            assert len(provider.answered) == 3


@pytest.mark.parametrize("child_ended", [False, True])
async def test_a_deadline_that_has_passed_is_set_anew_also_for_a_child_run(child_ended: bool, tmp_path: Path) -> None:
    clock = JumpingClock()
    provider = Provider(clock, GOOD)
    provider.slow = {"g_strategy": 0.5}
    clock.moves_during_calls = True  # To the deadline, while nobody else works.
    with provider.serving() as server:
        async with home(clock, server.base_url) as engine:
            clock.busy, workflow = 1, write(tmp_path)
            # The child's call in flight at the deadline is charged: it needs more calls than a run without a fault.
            (tmp_path / "below.yaml").write_text(CHILD.replace("rmax: 1", "rmax: 2"))
            prepared = request(engine, workflow=workflow, limits={"deadline": 100.0})

            def on_record(record: Any, _: Any) -> None:
                clock.busy = int(getattr(record.event, "step", "") != "g_below")

            result = await engine.begin(prepared, DriveOptions(on_record=on_record), run="run-1")
            assert (result.outcome, result.why) == ("budget_exhausted", "the deadline has passed")
            clock.busy, provider.slow = 1, {}
            if child_ended:  # As it may by itself: both runs end at the same moment, in either order.
                [row] = [row for row in await engine.journal.runs(RunFilter()) if row.run != "run-1"]
                child_run = ChildRun(row.run, row.kind, row.title, lambda _: None)
                ended = await engine.drive_child(child_run, (None, None), DriveOptions())
                assert ended is not None
                assert ended.run.finished is not None
            await engine.change("run-1", {"deadline": clock.time + 1000.0})
            result = await engine.resume("run-1")
            assert result.succeeded, result
            [child] = [row.run for row in await engine.journal.runs(RunFilter()) if row.run != "run-1"]
            assert (await engine.load(child))[0].run.ledger.limits.deadline > clock.time
            assert [name for name in provider.answered if name.startswith("g_analysis")] == ["g_analysis/v1.a1"]
            below, above = [(await engine.load(name))[0].run.ledger for name in (child, "run-1")]
            assert above.committed.calls == 1 + below.committed.calls
            assert below.unknown.calls <= 1, "the call in flight at the deadline, whether or not it was answered"
            assert 1 + below.spent.calls <= len(provider.answered) <= 1 + below.committed.calls
