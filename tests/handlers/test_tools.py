"""The actor of a tool: nothing is done before it is recorded, and everything has ended when it is reported."""

import os
import sys

import anyio
import pytest
import trio

from actors.handlers.tools import command_tool, function_tool, tool_actor
from actors.run.tools import Begun, ToolCheckRequested, ToolOutcome, ToolRequested
from runtime.core.machine import Work
from runtime.drive.actor import Envelope
from runtime.process.identity import end_of_group, identity

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def envelope_of(*, seconds=20.0, arguments="{}", recorded=True, repeatable=False, **more):
    request = ToolRequested(node="n", tool="t", arguments=arguments, repeatable=repeatable, timeout_seconds=seconds)
    reports = []

    async def record(message):
        await trio.lowlevel.checkpoint()
        reports.append(message)
        return recorded

    work = Work(request.request_id, "tool:t", request)
    return Envelope(work, request, record=record, **more), reports


def python(folder, code):
    return command_tool("t", lambda arguments: [sys.executable, "-c", code], folder=folder, environment=ENVIRONMENT)


async def call(tool, envelope):
    return await tool_actor(tool, lambda: 5.0).answer(envelope, lambda: 5.0)


async def test_a_program_runs_once_it_is_recorded_by_the_name_of_its_process(tmp_path):
    envelope, reports = envelope_of()
    done = await call(python(tmp_path, "import os; print(os.getpid())"), envelope)
    [begun] = reports
    assert isinstance(begun, Begun)
    assert begun.process.split("/")[-2] == done.output.strip()
    assert (done.outcome, done.request_id) == (ToolOutcome.SUCCEEDED, "tool:n")
    assert end_of_group(begun.process) is True


@pytest.mark.parametrize("repeatable", [True, False])
async def test_the_start_of_a_function_is_recorded_unless_it_may_be_called_twice(repeatable):
    envelope, reports = envelope_of(repeatable=repeatable)
    done = await call(function_tool("t", lambda _: "text"), envelope)
    assert done.output == "text"
    assert len(reports) == (not repeatable)


@pytest.mark.parametrize("why", ["not recorded", "parked", "withdrawn"])
async def test_a_call_that_is_not_recorded_does_nothing(tmp_path, why):
    envelope, reports = envelope_of(recorded=False)
    envelope.parked, envelope.withdrawn = why == "parked", why == "withdrawn"
    assert await call(python(tmp_path, "open('done', 'w')"), envelope) is None
    assert len(reports) == (why == "not recorded")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "outcome", "reason"),
    [
        ("print('no'); raise SystemExit(3)", ToolOutcome.FAILED, "exit code 3"),
        ("import os; os.kill(os.getpid(), 9)", ToolOutcome.FAILED, "ended by signal 9"),
        ("import time; time.sleep(60)", ToolOutcome.TRANSIENT, "the call took longer than 0.5 s"),
    ],
)
async def test_how_a_program_ends_is_the_outcome_of_its_call(tmp_path, code, outcome, reason):
    envelope, _ = envelope_of(seconds=0.5 if "sleep" in code else 20.0)
    done = await call(python(tmp_path, code), envelope)
    assert (done.outcome, done.reason) == (outcome, reason)


async def test_a_missing_program_is_a_permanent_failure(tmp_path):
    envelope, _ = envelope_of()
    tool = command_tool("t", lambda arguments: ["no-such-program"], folder=tmp_path, environment=ENVIRONMENT)
    done = await call(tool, envelope)
    assert done.outcome is ToolOutcome.PERMANENT
    assert "No such file" in done.reason


async def asynchronous(arguments):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep, 0)
    return f"async {arguments['x']}"


def synchronous(arguments):
    return f"sync {arguments['x']}"


@pytest.mark.parametrize(("function", "output"), [(asynchronous, "async 7"), (synchronous, "sync 7")])
async def test_a_function_gets_the_arguments_and_its_text_is_the_output(function, output):
    envelope, _ = envelope_of(arguments='{"x": 7}')
    done = await call(function_tool("t", function), envelope)
    assert (done.outcome, done.output, done.reason) == (ToolOutcome.SUCCEEDED, output, "")


async def test_an_exception_of_a_function_is_a_failed_call():
    envelope, reports = envelope_of()
    done = await call(function_tool("t", lambda arguments: arguments["missing"]), envelope)
    assert (done.outcome, done.reason) == (ToolOutcome.FAILED, "KeyError: 'missing'")
    assert reports[0].process == ""


async def test_a_check_says_whether_the_process_is_certainly_gone():
    host, namespace, pid, birth = identity().rsplit("/", 3)
    boot, _, ticks = birth.partition(".")
    for process, certain in ((f"{host}/{namespace}/{pid}/{boot}.{int(ticks) - 1}", True), ("elsewhere/1/2/b.3", False)):
        request = ToolCheckRequested(call="tool:n", process=process)
        work = Work(request.request_id, "tool:t", request, repeatable=True)
        checked = await call(function_tool("t", synchronous), Envelope(work, request))
        assert (checked.request_id, checked.certain) == ("check:tool:n", certain)
