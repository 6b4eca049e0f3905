"""Python tools: what a function gets, how its result counts, and code that changed since the run began."""

import pytest

from actors.run.tools import ToolOutcome

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
        ("return False", ToolOutcome.FAILED, "it returned False"),
        ("return 3", ToolOutcome.FAILED, "it returned int, not text, None or a bool"),
        ("raise ValueError('no\\nmore')", ToolOutcome.BROKEN, "ValueError: no"),
        ("raise ValueError('x' * 10_000)", ToolOutcome.BROKEN, f"ValueError: {'x' * 488}"),
        ("raise ConnectionResetError('gone')", ToolOutcome.TRANSIENT, "ConnectionResetError: gone"),
        ("raise TimeoutError", ToolOutcome.TRANSIENT, "TimeoutError: "),
        ("raise PermissionError('no')", ToolOutcome.PERMANENT, "PermissionError: no"),
        ("import time; time.sleep(2)", ToolOutcome.TRANSIENT, "it took longer than 0.2 s"),
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
    assert done.reason == f"the file '{bench.folder}/functions.py' is not the one that the run was started with"
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
