"""Python tools: what a function gets, how its result counts, and code that changed since the run began."""

import pytest
import trio

from actors.run.tools import ToolOutcome
from actors.tools.workspace import open_workspace

ASYNC = """
import anyio
async def f(workspace, *, file, jobs=1):
    await anyio.sleep(0)
    return f"{workspace.name} {file.relative_to(workspace)} {jobs}"
"""
SYNC = ASYNC.replace("async def", "def").replace("    await anyio.sleep(0)\n", "")
PARAMETERS = "parameters: {file: {type: path}, jobs: {type: integer, minimum: 1, maximum: 9}}"


@pytest.mark.parametrize("code", [ASYNC, SYNC])
async def test_a_function_gets_the_workspace_and_its_arguments(bench, code):
    done = await bench.call(bench.function(code, PARAMETERS), file="a/b", jobs=3)
    assert (done.outcome, done.output) == (ToolOutcome.SUCCEEDED, "workspace a/b 3")


@pytest.mark.parametrize(
    ("body", "outcome", "reason"),
    [
        ("return None", ToolOutcome.SUCCEEDED, ""),
        ("return True", ToolOutcome.SUCCEEDED, ""),
        ("return False", ToolOutcome.FAILED, "the function returned False"),
        ("return 3", ToolOutcome.FAILED, "the function returned int, but only text, None and bool are allowed"),
        ("raise ValueError('no\\nmore')", ToolOutcome.BROKEN, "ValueError: no"),
        ("raise ValueError('x' * 10_000)", ToolOutcome.BROKEN, f"ValueError: {'x' * 488}"),
        ("raise ConnectionResetError('gone')", ToolOutcome.TRANSIENT, "ConnectionResetError: gone"),
        ("raise TimeoutError", ToolOutcome.TRANSIENT, "TimeoutError: "),
        ("raise PermissionError('no')", ToolOutcome.PERMANENT, "PermissionError: no"),
        ("import time; time.sleep(2)", ToolOutcome.TRANSIENT, "the call took longer than 0.2 s"),
    ],
)
async def test_how_a_function_ends_is_the_outcome(bench, body, outcome, reason):
    toolset = bench.function(f"def f(workspace):\n    {body}\n")
    done = await bench.call(toolset, seconds=0.2 if "sleep" in body else 20.0)
    assert (done.outcome, done.reason) == (outcome, reason)


async def test_a_long_result_is_cut(bench):
    toolset = bench.function("def f(workspace):\n    return 'é' * 1000 + '\\ud800'\n", "output_bytes: 100")
    done = await bench.call(toolset)
    assert len(done.output.encode()) <= 100
    assert done.output.endswith(" more bytes]\n")


async def test_code_that_changed_since_the_run_began_is_not_run(bench):
    toolset = bench.function("def f(workspace):\n    return 'first'  # changed\n")
    (bench.folder / "functions.py").write_text("def f(workspace): (workspace / 'made').touch()\n")
    done = await bench.call(toolset)
    assert done.outcome is ToolOutcome.PERMANENT
    assert done.reason == f"the file '{bench.folder}/functions.py' has changed since the run started"
    assert list(bench.workspace.iterdir()) == []


@pytest.mark.parametrize(
    "code", ["raise OSError('no')\ndef f(w): ...", "import no_such_module\ndef f(w): ...", "def f(w): ...\nf = 3"]
)
async def test_code_that_cannot_be_loaded_is_a_permanent_failure(bench, code):
    assert (await bench.call(bench.function(code))).outcome is ToolOutcome.PERMANENT


async def test_an_installed_module_is_imported_when_it_is_called(bench):
    toolset = bench.pin("tools: {t: {python: 'os.path:exists'}}")
    done = await bench.call(toolset)
    assert done.outcome is ToolOutcome.SUCCEEDED


SLOW = """
import threading, time
{before}
def f(workspace):
    return threading.current_thread().name
"""


async def test_a_slow_import_neither_stops_the_event_loop_nor_outlasts_the_limit(bench):
    """The function was not called then, and the next call finds the file imported."""
    toolset = bench.function(SLOW.format(before="time.sleep(3)"))
    turns = 0

    async def turn():
        nonlocal turns
        while True:
            turns += 1
            await trio.sleep(0.01)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(turn)
        done = await bench.call(toolset, seconds=0.5)
        nursery.cancel_scope.cancel()
    assert (done.outcome, done.not_made) == (ToolOutcome.TRANSIENT, True)
    assert done.reason == "the call was not made: the call took longer than 0.5 s"
    assert turns > 5
    assert (await bench.call(toolset)).outcome is ToolOutcome.SUCCEEDED


async def test_a_function_that_takes_too_long_was_called(bench):
    toolset = bench.function("import time\ndef f(workspace):\n    time.sleep(3)\n")
    done = await bench.call(toolset, seconds=0.5)
    assert (done.outcome, done.not_made) == (ToolOutcome.TRANSIENT, False)


async def test_calls_at_a_time_import_their_file_once(bench):
    """No call sees a file of which only the first lines were run."""
    code = "import pathlib\nwith (pathlib.Path(__file__).parent / 'runs').open('a') as file: file.write('x')"
    toolset = bench.function(SLOW.format(before=f"{code}\ntime.sleep(0.5)"))
    ended = []

    async def call(workspace):
        ended.append((await bench.call_in(workspace, toolset)).outcome)

    with open_workspace(bench.workspace, bench.home, "r") as workspace:
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(call, workspace)
    assert ended == [ToolOutcome.SUCCEEDED] * 3
    assert (bench.folder / "runs").read_text() == "x"
