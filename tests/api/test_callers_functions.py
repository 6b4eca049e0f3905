"""Functions of the caller's program: `ask`, guards and generators, where they run, and how they are cancelled."""

import asyncio
import contextvars
import functools
import json
import threading
import time

import anyio
import pytest
import trio.lowlevel

import replan
from replan.api.handle import LEAVE_SECONDS
from tests.cli.samples import ANALYSIS, ASKING, PLAN, PROBLEM, delayed_reply
from tests.long.api.test_runs_in_loops import LOADED, only_run

WORKFLOW = "name: mine\naction_pairs:\n  g_plan: {{generator: {generator}, guard: {guard}, prompt: plan_direct}}\n"
CHECKPOINTS = {"trio": trio.lowlevel.checkpoint, "asyncio": functools.partial(asyncio.sleep, 0)}
"""Functions that only work in their own event loop."""
TENANT = contextvars.ContextVar("tenant", default="nobody")

ASKED = "The model asks about the step 'g_analysis': Which version is it?"


@pytest.fixture
def workflow(tmp_path):
    """Return a function that writes a workflow of one step."""

    def write(generator="model", guard="plan_medium"):
        path = tmp_path / "mine.yaml"
        path.write_text(WORKFLOW.format(generator=generator, guard=guard))
        return path

    return write


@pytest.fixture
def asking(scripted):
    """A model that asks a question first."""
    return scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})


def accept(*_):
    return replan.Verdict(guard="mine", passed=True, score=1.0)


@pytest.mark.parametrize("form", ["function", "coroutine", "partial"])
def test_ask_runs_in_the_callers_event_loop_with_its_context(in_loop, asking, form):
    seen = []

    def plain(question):
        seen.append((question["text"], threading.get_ident(), TENANT.get()))
        return "3.12"

    async def coroutine(question):
        await anyio.sleep(0.01)
        return plain(question)

    ask = {"function": plain, "coroutine": coroutine, "partial": functools.partial(coroutine)}[form]

    async def main():
        TENANT.set("acme")
        return await replan.asolve(PROBLEM, model=asking, workflow="option_a", home=replan.MEMORY, ask=ask)

    assert in_loop(main).succeeded
    assert seen == [(ASKED, threading.get_ident(), "acme")]


def test_an_asyncio_program_answers_with_its_own_primitives(asking):
    async def main():
        answer = asyncio.get_running_loop().create_future()

        async def ask(question):
            return await answer

        async with replan.start(PROBLEM, model=asking, workflow="option_a", home=replan.MEMORY, ask=ask) as run:
            async for record in run:
                if record.event.kind == "clarification_requested":
                    answer.set_result("3.12")
            return await run.result()

    assert asyncio.run(main()).succeeded


async def has_begun(calls):
    """Return once a function of the caller has been called, however busy the machine is."""
    with anyio.fail_after(300):
        while not calls:  # noqa: ASYNC110 - an event of anyio belongs to one event loop
            await anyio.sleep(0.01)


def test_leaving_the_block_cancels_ask(in_loop, asking, tmp_path):
    begun, ends = [], []

    async def ask(question):
        begun.append("ask")
        try:
            await anyio.sleep_forever()
        finally:
            ends.append("cancelled")

    async def main():
        async with replan.start(PROBLEM, model=asking, workflow="option_a", home=tmp_path / "home", ask=ask) as run:
            async for record in run:
                if record.event.kind == "clarification_requested":
                    await has_begun(begun)
                    break
            left = time.monotonic()
        assert time.monotonic() - left < LEAVE_SECONDS + LOADED
        return await run.result()

    result = in_loop(main)
    assert (result.status, result.question["text"], ends) == ("waiting", ASKED, ["cancelled"])


def test_a_run_goes_on_where_somebody_else_is_faster_than_ask(in_loop, asking, tmp_path):
    begun, ends, home = [], [], tmp_path / "home"

    async def ask(question):
        begun.append("ask")
        try:
            await anyio.sleep_forever()
        finally:
            ends.append(question["id"])

    async def main():
        async with replan.start(PROBLEM, model=asking, workflow="option_a", home=home, ask=ask) as run:
            async for record in run:
                if record.event.kind == "clarification_requested":
                    question = f"{run.run_id}/{record.event.question_id}"
                    await has_begun(begun)
                    assert (await replan.aanswer(question, "3.12", home=home)).result == "accepted"
            return question, await run.result()

    question, result = in_loop(main)
    assert result.succeeded
    assert ends == [question]


def test_a_run_that_is_cancelled_while_ask_waits_ends(in_loop, asking, tmp_path):
    begun, home = [], tmp_path / "home"

    async def ask(question):
        begun.append("ask")
        await anyio.sleep_forever()

    async def main():
        options = {"model": asking, "workflow": "option_a", "home": home, "ask": ask}
        async with replan.start(PROBLEM, **options) as run:
            async for record in run:
                if record.event.kind == "clarification_requested":
                    await has_begun(begun)
                    await replan.acancel(run.run_id, home=home)
            return await run.result()

    assert in_loop(main).outcome == "cancelled"


@pytest.mark.parametrize("answer", [312, ZeroDivisionError("mine")])
def test_an_error_of_ask_is_raised_by_the_result(in_loop, asking, answer):
    async def ask(question):
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def main():
        return await replan.asolve(PROBLEM, model=asking, workflow="option_a", home=replan.MEMORY, ask=ask)

    with pytest.raises((replan.UsageProblem, ZeroDivisionError), match=r"^ask: should return text or None|^mine$"):
        in_loop(main)


@pytest.mark.parametrize("guard", ["mine", "{all_of: [plan_medium, mine]}"])
def test_an_async_guard_runs_in_the_callers_event_loop(in_loop, backend, scripted, workflow, guard):
    seen = []

    async def mine(artifact, context):
        await CHECKPOINTS[backend]()
        seen.append((threading.get_ident(), TENANT.get()))
        return accept()

    async def main():
        TENANT.set("acme")
        model = scripted({"g_plan": [PLAN]})
        return await replan.asolve(
            PROBLEM, model=model, workflow=workflow(guard=guard), guards={"mine": mine}, home=replan.MEMORY
        )

    assert in_loop(main).succeeded
    assert seen == [(threading.get_ident(), "acme")]


def test_an_async_generator_function_runs_in_the_callers_event_loop(in_loop, backend, workflow):
    async def make(context):
        await CHECKPOINTS[backend]()
        seen.append(threading.get_ident())
        return json.dumps(PLAN)

    seen = []

    async def main():
        return await replan.asolve(
            PROBLEM, model="template:bug", workflow=workflow("maker"), generators={"maker": make}, home=replan.MEMORY
        )

    assert in_loop(main).succeeded
    assert seen == [threading.get_ident()]


def test_sync_plug_ins_run_in_a_worker_thread_of_an_asyncio_program(workflow):
    seen = []

    def make(context):
        seen.append((threading.current_thread(), TENANT.get()))
        time.sleep(0.3)
        return json.dumps(PLAN)

    def guard(artifact, context):
        seen.append((threading.current_thread(), TENANT.get()))
        return accept()

    async def main():
        TENANT.set("acme")
        ticks, plug_ins = 0, {"generators": {"maker": make}, "guards": {"mine": guard}}
        task = asyncio.create_task(
            replan.asolve(
                PROBLEM, model="template:bug", workflow=workflow("maker", "mine"), home=replan.MEMORY, **plug_ins
            )
        )
        while not task.done():
            ticks += 1
            await asyncio.sleep(0.01)
        return await task, ticks

    result, ticks = asyncio.run(main())
    assert result.succeeded
    assert ticks > 10, "the caller's event loop was not blocked"
    for thread, tenant in seen:
        assert thread is not threading.main_thread()
        assert thread.name != "replan-trio"
        assert tenant == "acme"


@pytest.mark.parametrize("plug_in", ["guard", "ask"])
def test_a_function_that_the_program_cancels_parks_the_run(scripted, asking, workflow, tmp_path, plug_in):
    """A server that shuts down cancels all of its tasks: that is no failure of the run."""

    async def cancelled(*_):
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    async def main():
        if plug_in == "guard":
            how = {"model": scripted({"g_plan": [PLAN]}, "other.yaml"), "workflow": workflow(guard="mine")}
            how |= {"guards": {"mine": cancelled}}
        else:
            how = {"model": asking, "workflow": "option_a", "ask": cancelled}
        return await replan.asolve(PROBLEM, home=tmp_path / "home", **how)

    result = asyncio.run(main())
    assert result.status == ("parked" if plug_in == "guard" else "waiting")


def test_the_end_of_the_event_loop_parks_runs_that_nobody_waits_for(scripted, tmp_path):
    home, model = tmp_path / "home", scripted({"g_plan": [delayed_reply(PLAN, seconds=60)]})

    async def main():
        task = asyncio.create_task(replan.asolve(PROBLEM, model=model, workflow="single", home=home))
        for _ in range(600):
            if await replan.aruns(home=home):
                break
            await asyncio.sleep(0.05)
        return task

    task = asyncio.run(main())
    assert task.cancelled()
    assert asyncio.run(only_run(home)).status == "parked"
