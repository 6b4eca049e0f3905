"""Runs under trio and under asyncio: results, records, leaving a block, cancelling, and errors."""

import time

import anyio
import pytest

import replan
from replan.api.handle import LEAVE_SECONDS
from tests.cli.samples import ANALYSIS, ASKING, LOST, PLAN, PROBLEM, delayed_reply

PARK_SECONDS = LEAVE_SECONDS + 0.5
LOADED = 3.0
"""More seconds, for a machine that does other things as well."""
SLOW = {"g_plan": [delayed_reply(PLAN, seconds=60)]}


async def only_run(home):
    (row,) = await replan.aruns(home=home)
    return await replan.ashow(row.run_id, home=home)


def test_a_problem_is_solved_in_any_event_loop(in_loop):
    async def main():
        return await replan.asolve(PROBLEM, model="template:bug", home=replan.MEMORY)

    assert in_loop(main).succeeded


def test_a_problem_is_admitted_in_any_event_loop_and_driven_later(in_loop, tmp_path):
    async def main():
        run_id = await replan.aadmit("planning", PROBLEM, model="template:bug", home=tmp_path / "home")
        admitted = await replan.ashow(run_id, home=tmp_path / "home")
        return admitted, await replan.aresume(run_id, home=tmp_path / "home")

    admitted, resumed = in_loop(main)
    assert (admitted.status, admitted.calls) == ("parked", 0)
    assert resumed.succeeded


def test_a_blocking_function_in_an_event_loop_names_the_one_to_await(in_loop, backend):
    async def main():
        for name, arguments in (
            ("solve", (PROBLEM,)),
            ("resume", ("k7m2x9qa",)),
            ("tell", ("k7m2x9qa", "x")),
            ("answer", ("k7m2x9qa/q1", "x")),
            ("decline", ("k7m2x9qa/q1",)),
            ("cancel", ("k7m2x9qa",)),
            ("delete", ("k7m2x9qa",)),
            ("limits", ("k7m2x9qa",)),
            ("show", ("k7m2x9qa",)),
            ("runs", ()),
            ("admit", ("planning", "x")),
        ):
            with pytest.raises(replan.UsageProblem) as caught:
                getattr(replan, name)(*arguments)
            assert backend in caught.value.cause
            assert caught.value.hint == f"await replan.a{name}(...)"
            assert callable(getattr(replan, f"a{name}"))

    in_loop(main)


def test_records_are_delivered_as_they_are_written_to_all_listeners(in_loop, scripted):
    kinds_by_listener = [], []

    async def listen(run, kinds):
        async for record in run:
            kinds.append(record.event.kind)

    async def main():
        model = scripted({"g_plan": [delayed_reply(LOST, seconds=0.05), PLAN]})
        async with (
            replan.start(PROBLEM, model=model, workflow="single", home=replan.MEMORY) as run,
            anyio.create_task_group() as tasks,
        ):
            for kinds in kinds_by_listener:
                tasks.start_soon(listen, run, kinds)
            return await run.result()

    assert in_loop(main).succeeded
    assert kinds_by_listener[0] == kinds_by_listener[1]
    assert (kinds_by_listener[0][0], kinds_by_listener[0][-1]) == ("run_started", "run_finished")


def test_leaving_the_block_early_parks_the_run_after_replies_in_flight(in_loop, scripted, tmp_path):
    model = scripted({"g_plan": [delayed_reply(LOST, seconds=0.2), PLAN]})

    async def main():
        async with replan.start(PROBLEM, model=model, workflow="single", home=tmp_path / "home") as run:
            async for record in run:
                if record.event.kind == "generation_requested":
                    break
        return await run.result()

    result = in_loop(main)
    assert (result.status, result.calls) == ("parked", 1)
    assert result.unknown.calls == 0, "the reply came in time"


def test_leaving_the_block_parks_within_two_seconds_and_the_run_goes_on_later(in_loop, scripted, tmp_path):
    home = tmp_path / "home"

    async def main():
        async with replan.start(PROBLEM, model=scripted(SLOW), workflow="single", home=home) as run:
            async for record in run:
                if record.event.kind == "generation_requested":
                    break
            left = time.monotonic()
        assert time.monotonic() - left < PARK_SECONDS + LOADED
        assert (await run.result()).status == "parked"
        scripted({"g_plan": [PLAN]})
        return await replan.aresume(run.run_id[:6], home=home)

    result = in_loop(main)
    assert isinstance(result, replan.Result)
    assert (result.succeeded, result.unknown.calls) == (True, 1)


def test_parking_a_run_ends_its_records(in_loop, scripted, tmp_path):
    model = scripted({"g_plan": [delayed_reply(LOST, seconds=0.2), PLAN]})

    async def main():
        kinds = []
        async with replan.start(PROBLEM, model=model, workflow="single", home=tmp_path / "home") as run:
            async for record in run:
                kinds.append(record.event.kind)
                if kinds[-1] == "generation_requested":
                    run.park()
            return kinds, await run.result()

    kinds, result = in_loop(main)
    assert "run_parked" in kinds
    assert result.status == "parked"


@pytest.mark.parametrize("way", ["asolve", "start"])
def test_cancelling_leaves_a_parked_run_within_two_seconds(in_loop, scripted, tmp_path, way):
    """Also in a cancel scope of anyio, which cancels again and again: the wait for the end does not spin."""
    home, model = tmp_path / "home", scripted(SLOW)

    async def main():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancel_later, tasks.cancel_scope)
            if way == "asolve":
                await replan.asolve(PROBLEM, model=model, workflow="single", home=home)
            else:
                async with replan.start(PROBLEM, model=model, workflow="single", home=home):
                    await anyio.sleep_forever()
        seconds, busy = time.monotonic() - cancelled[0], time.process_time() - cancelled[1]
        assert seconds < PARK_SECONDS + LOADED
        assert busy < LEAVE_SECONDS / 2, "it waits, and does not poll"
        return await only_run(home)

    async def cancel_later(scope):
        with anyio.fail_after(300):
            while not [row for row in await replan.aruns(home=home) if row.records > 1]:  # noqa: ASYNC110 - nothing tells of records in the journal
                await anyio.sleep(0.05)
        await anyio.sleep(0.2)
        cancelled.extend((time.monotonic(), time.process_time()))
        scope.cancel()

    cancelled = []

    assert in_loop(main).status == "parked"


def test_two_runs_at_once_do_not_wait_for_each_other(in_loop, scripted, tmp_path):
    model, results = scripted({"g_plan": [delayed_reply(PLAN, seconds=0.5)]}), []

    async def solve():
        results.append(await replan.asolve(PROBLEM, model=model, workflow="single", home=tmp_path / "home"))

    async def main():
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(solve)

    started = time.monotonic()
    in_loop(main)
    assert [result.succeeded for result in results] == [True] * 4
    assert time.monotonic() - started < 4 * 0.5 + LOADED


def test_a_run_that_cannot_be_driven_raises_where_it_is_awaited(in_loop):
    async def main():
        async with replan.start(PROBLEM, model="replay:nosuchrun", home=replan.MEMORY) as run:
            with pytest.raises(replan.ReplanError, match="no run"):
                await run.result()

    in_loop(main)


@pytest.mark.parametrize("home", ["memory", "folder"])
def test_errors_are_raised_without_a_group(in_loop, scripted, tmp_path, home):
    where = replan.MEMORY if home == "memory" else tmp_path / "home"

    async def unknown_run():
        await replan.asolve(PROBLEM, model="replay:nosuchrun", home=where)

    async def failing_block():
        async with replan.start(PROBLEM, model=scripted({"g_plan": [PLAN]}), workflow="single", home=where):
            raise ZeroDivisionError

    with pytest.raises(replan.ReplanError, match="no run"):
        in_loop(unknown_run)
    with pytest.raises(ZeroDivisionError):
        in_loop(failing_block)


def test_a_home_that_cannot_be_opened_is_an_error_on_entering_the_block(in_loop, tmp_path):
    (tmp_path / "home").write_text("not a folder")

    async def main():
        with pytest.raises(replan.UsageProblem):
            async with replan.start(PROBLEM, model="template:bug", home=tmp_path / "home"):
                pytest.fail("the block is not entered")

    in_loop(main)


@pytest.mark.parametrize("errors", [[ZeroDivisionError()], [ZeroDivisionError(), ValueError()]])
def test_an_exception_group_of_the_block_is_raised_unchanged(in_loop, scripted, errors):
    group = ExceptionGroup("its own", errors)

    async def main():
        async with replan.start(PROBLEM, model=scripted({"g_plan": [PLAN]}), workflow="single", home=replan.MEMORY):
            raise group

    with pytest.raises(ExceptionGroup) as raised:
        in_loop(main)
    assert (raised.value.message, raised.value.exceptions) == (group.message, group.exceptions)


def test_a_run_is_listed_shown_continued_and_cancelled(in_loop, scripted, tmp_path):
    home = tmp_path / "home"
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})

    async def main():
        waiting = await replan.asolve(PROBLEM, model=model, workflow="option_a", home=home)
        await replan.atell(waiting.run_id, "It is urgent.", home=home)
        (row,) = await replan.aruns(status="waiting", home=home)
        assert (row.run_id, row.question, row.title) == (waiting.run_id, waiting.question["id"], "Login fails")
        assert row.created <= row.waiting_since <= row.updated
        assert row.to_dict()["run_id"] == row.run_id
        assert await replan.aruns(status="finished", home=home) == ()
        assert await replan.aruns(waiting_longer_than=3600, home=home) == ()
        assert (await replan.ashow(row.run_id, home=home)).messages[0].text == "It is urgent."
        assert (await replan.aanswer(row.question, "3.12", home=home)).result == "accepted"
        async with replan.drive(row.run_id, home=home) as run:
            kinds = [record.event.kind async for record in run]
            assert (kinds[0], kinds[-1]) == ("run_resumed", "run_finished")
            assert (await run.result()).outcome == "success"
        with pytest.raises(replan.UsageProblem, match="has finished already"):
            await replan.acancel(row.run_id, home=home)
        again = await replan.asolve("Fix it.", model="template:bug", workflow="search", home=home)
        with pytest.raises(replan.UsageProblem, match="has not ended"):
            await replan.adelete(again.run_id, home=home)
        results = await replan.acancel(again.run_id, home=home), await replan.aresume(waiting.run_id, home=home)
        await replan.adelete(again.run_id[:6], home=home)
        assert [row.run_id for row in await replan.aruns(home=home)] == [waiting.run_id]
        with pytest.raises(replan.RunNotFound):
            await replan.ashow(again.run_id, home=home)
        return results

    cancelled, finished = in_loop(main)
    assert (cancelled.status, cancelled.outcome) == ("finished", "cancelled")
    assert finished.succeeded


def test_an_unknown_run_is_named_and_no_home_is_made(in_loop, tmp_path):
    async def main():
        for function in (replan.ashow, replan.acancel, replan.aresume, replan.adelete, replan.alimits):
            with pytest.raises(replan.RunNotFound, match="zzzzzzzz"):
                await function("zzzzzzzz", home=tmp_path / "home")
        assert await replan.aruns(home=tmp_path / "home") == ()

    in_loop(main)
    assert not (tmp_path / "home").exists()


def test_an_unknown_status_is_refused():
    with pytest.raises(replan.UsageProblem) as caught:
        replan.runs(status="sleeping")
    assert (caught.value.place, caught.value.hint) == ("status", "use one of running, waiting, parked, finished, moved")


def test_a_message_can_be_posted_as_soon_as_a_run_is_started(in_loop, scripted, tmp_path):
    home = tmp_path / "home"

    async def main():
        async with replan.start(PROBLEM, workflow="single", model=scripted(SLOW), home=home) as run:
            await replan.atell(run.run_id, "it is urgent", home=home)
            assert (await only_run(home)).run_id == run.run_id

    in_loop(main)
