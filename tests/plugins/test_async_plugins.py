"""Async guards and generators, written against anyio: what they may do, what cancels them, how their errors appear.

The runs are real: the public API, worker threads and the system's clock.
"""

import json
import re
import threading

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest

import replan
from tests.cli.samples import PLAN, PROBLEM, RECON, write_script

GUARDED = """
name: mine
guard_timeout_seconds: {seconds}
action_pairs:
  g_plan: {{generator: model, guard: mine, role: plan, prompt: plan_direct}}
"""
GENERATED = """
name: mine
model_timeout_seconds: {seconds}
action_pairs:
  g_recon: {{generator: mine, guard: recon_valid, deterministic: {free}}}
  g_plan: {{generator: model, guard: plan_medium, requires: [g_recon], prompt: plan_direct}}
"""


class Log:
    def __init__(self):
        self.events = []
        self.started = anyio.Event()

    async def work(self, seconds=30.0):
        """Work in a task group; report whether it ended or was cancelled, also in the child task."""

        async def child():
            try:
                await anyio.sleep(seconds)
                self.events.append("done")
            except anyio.get_cancelled_exc_class():
                self.events.append("cancelled")
                raise

        self.started.set()
        async with anyio.create_task_group() as group:
            group.start_soon(child)


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def workflow(tmp_path):
    def write(text, **values):
        path = tmp_path / "mine.yaml"
        path.write_text(text.format(**values))
        return str(path)

    return write


@pytest.fixture
def guarded(tmp_path, workflow):
    """Return the options of a run of one plan, judged by this guard."""

    def options(guard, seconds=30, **more):
        path = workflow(GUARDED, seconds=seconds)
        model = write_script(tmp_path, {"g_plan": [PLAN, PLAN]})
        return {"workflow": path, "model": model, "guards": {"mine": guard}, "home": replan.MEMORY} | more

    return options


@pytest.fixture
def generated(tmp_path, workflow):
    """Return the options of a run whose facts come from this generator."""

    def options(generator, seconds=30, *, free=True, **more):
        path = workflow(GENERATED, seconds=seconds, free=str(free).lower())
        model = write_script(tmp_path, {"g_plan": [PLAN, PLAN]})
        return {"workflow": path, "model": model, "generators": {"mine": generator}, "home": replan.MEMORY} | more

    return options


def accept():
    return replan.Verdict(guard="mine", passed=True, score=1.0)


def test_an_async_guard_may_use_task_groups_time_limits_and_threads(guarded, log):
    async def guard(artifact, context):
        with anyio.fail_after(300):
            await log.work(0.01)
        with anyio.move_on_after(0.01) as limit:
            await anyio.sleep_forever()
        assert limit.cancelled_caught
        return await anyio.to_thread.run_sync(accept)

    assert replan.solve(PROBLEM, **guarded(guard)).succeeded
    assert log.events == ["done"]


def test_a_worker_thread_may_call_back_into_the_event_loop(guarded):
    async def guard(artifact, context):
        async def verdict():
            await anyio.lowlevel.checkpoint()
            return accept()

        return await anyio.to_thread.run_sync(anyio.from_thread.run, verdict)

    assert replan.solve(PROBLEM, **guarded(guard)).succeeded


@pytest.mark.parametrize("sync", [True, False])
def test_sync_and_async_generators_are_equal(generated, log, sync):
    async def generator(context):
        await log.work(0.01)
        return await anyio.to_thread.run_sync(json.dumps, RECON)

    plain = generated(lambda context: json.dumps(RECON))
    result = replan.solve(PROBLEM, **(plain if sync else generated(generator)))
    assert result.succeeded
    assert result.path[0].value == RECON


def test_a_guard_is_cancelled_at_its_time_limit_and_the_message_says_so(guarded, log):
    async def guard(artifact, context):
        await log.work()
        return accept()

    result = replan.solve(PROBLEM, **guarded(guard, seconds=0.05))
    assert result.cause == "plugin"
    assert "guard mine: no verdict within 0.05 s (guard_timeout_seconds)" in result.why
    assert set(log.events) == {"cancelled"}


def test_a_guard_in_a_thread_that_is_abandoned_does_not_hold_up_its_time_limit(guarded):

    release = threading.Event()

    async def guard(artifact, context):
        await anyio.to_thread.run_sync(release.wait, abandon_on_cancel=True)
        return accept()

    try:
        result = replan.solve(PROBLEM, **guarded(guard, seconds=0.05))
        assert not release.is_set()
    finally:
        release.set()
    assert "no verdict within" in result.why


def test_a_generator_is_cancelled_at_its_time_limit_and_asked_again(generated, log):
    """A time limit is a transport fault, as a model's would be: there is another try after a back-off of one second."""

    async def generator(context):
        if not log.events:
            await log.work()
        return json.dumps(RECON)

    assert replan.solve(PROBLEM, **generated(generator, seconds=0.05)).succeeded
    assert log.events == ["cancelled"]


async def test_a_withdrawn_generator_is_cancelled(generated, log, tmp_path):
    """A new requirement makes a replan, which withdraws the work in flight; the generator then starts anew."""
    contexts = []

    async def generator(context):
        contexts.append(context)
        if len(contexts) == 1:
            await log.work()
        return json.dumps(RECON)

    home = tmp_path / "home"
    with anyio.fail_after(300):
        async with replan.start(PROBLEM, **generated(generator, home=home)) as run:
            await log.started.wait()
            await replan.atell(run.run_id, "Also log the cause.", kind="requirement", home=home)
            result = await run.result()
    assert result.succeeded
    assert log.events == ["cancelled"]
    assert contexts[1].requirements == ("Also log the cause.",)


async def test_a_withdrawn_guard_is_cancelled(guarded, log, tmp_path):
    calls = []

    async def guard(artifact, context):
        calls.append(artifact.node)
        if len(calls) == 1:
            await log.work()
        return accept()

    home = tmp_path / "home"
    with anyio.fail_after(300):
        async with replan.start(PROBLEM, **guarded(guard, home=home)) as run:
            await log.started.wait()
            await replan.atell(run.run_id, "Also log the cause.", kind="requirement", home=home)
            result = await run.result()
    assert result.succeeded
    assert log.events == ["cancelled"]


async def test_parking_cancels_a_guard_at_once(guarded, log):
    """A verdict costs nothing: it is asked for again when the run is resumed."""

    async def guard(artifact, context):
        await log.work()
        return accept()

    with anyio.fail_after(300):
        async with replan.start(PROBLEM, **guarded(guard)) as run:
            await log.started.wait()
            run.park()
            assert (await run.result()).status == "parked"
    assert log.events == ["cancelled"]


async def test_parking_waits_for_a_generator_in_flight(generated, log):
    async def generator(context):
        await log.work(0.3)
        return json.dumps(RECON)

    async with replan.start(PROBLEM, **generated(generator)) as run:
        await log.started.wait()
        run.park()
        result = await run.result()
    assert (result.status, log.events) == ("parked", ["done"])


async def test_a_second_stop_cancels_a_generator(generated, log):
    async def generator(context):
        await log.work()
        return json.dumps(RECON)

    with anyio.fail_after(300):
        async with replan.start(PROBLEM, **generated(generator)) as run:
            await log.started.wait()
            run.park()
            run.stop.forced.set()
            assert (await run.result()).status == "parked"
    assert log.events == ["cancelled"]


async def boom(text="kaput", seconds=0.0):
    await anyio.sleep(seconds)
    raise RuntimeError(text)


async def in_a_group(*functions):
    async with anyio.create_task_group() as group:
        for function in functions:
            group.start_soon(function)


async def nested():
    await in_a_group(boom)


async def with_a_sibling_that_is_cancelled():
    await in_a_group(boom, anyio.sleep_forever)


async def refused():
    raise replan.UsageProblem("no such folder", place="root")


@pytest.mark.parametrize(
    ("functions", "cause"),
    [
        ([boom], "RuntimeError: kaput"),
        ([nested], "RuntimeError: kaput"),
        ([with_a_sibling_that_is_cancelled], "RuntimeError: kaput"),
        ([boom, refused], "UsageProblem: root: no such folder"),
    ],
)
def test_an_exception_group_is_reported_with_the_plug_in_and_the_root_cause(guarded, generated, functions, cause):
    async def guard(artifact, context):
        await in_a_group(*functions)

    async def generator(context):
        await in_a_group(*functions)

    line = r" \(test_async_plugins\.py:\d+\)"
    result = replan.solve(PROBLEM, **guarded(guard))
    assert result.status == "parked"
    assert re.fullmatch(f"guard:g_plan: PlugInFailed: guard mine: {cause}{line}", result.why)
    result = replan.solve(PROBLEM, **generated(generator))
    assert result.status == "parked"
    assert re.fullmatch(f"step:g_recon: PlugInFailed: generator mine: {cause}{line}", result.why)


def test_an_error_while_a_plug_in_is_cancelled_is_reported(guarded):
    """Beside it in the group is the cancellation, which hides nothing."""

    async def fails_in_cleanup():
        try:
            await anyio.sleep_forever()
        finally:
            raise RuntimeError("cleanup")

    async def guard(artifact, context):
        await in_a_group(fails_in_cleanup, anyio.sleep_forever)

    assert "guard mine: RuntimeError: cleanup" in replan.solve(PROBLEM, **guarded(guard, seconds=0.05)).why


def test_a_time_limit_of_the_plug_in_s_own_is_its_error(guarded):
    async def guard(artifact, context):
        with anyio.fail_after(0.01):
            await anyio.sleep_forever()

    assert "guard mine: TimeoutError" in replan.solve(PROBLEM, **guarded(guard)).why


def test_an_interrupt_inside_a_task_group_is_not_taken_for_an_error_of_the_plug_in():
    from actors.config.step_guards import attribute_errors

    for error in (KeyboardInterrupt(), BaseExceptionGroup("", [ValueError(), KeyboardInterrupt()])):
        with pytest.raises(type(error)) as caught, attribute_errors("guard mine"):
            raise error
        assert caught.value is error
