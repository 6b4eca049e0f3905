"""Whole asyncio programs: their start, their end, and what is left of their runs."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import replan
from tests.cli.samples import PLAN, PROBLEM, delayed_reply

ROOT = Path(__file__).resolve().parents[3]
START = """
import asyncio, os, signal, sys, time
import replan
problem, model, home = sys.argv[1:]
signal.signal(signal.SIGINT, signal.default_int_handler)  # A process in the background is started to ignore it.

async def solve():
    return await replan.asolve(problem, model=model, workflow="single", home=home)

async def begun(status="running"):
    while not any(row.status == status and row.records > 1 for row in await replan.aruns(home=home)):
        await asyncio.sleep(0.05)
"""
PROGRAMS = {
    "a loop that is closed with its tasks": """
loop = asyncio.new_event_loop()
task = loop.create_task(solve())
loop.run_until_complete(begun())
loop.close()
time.sleep(0.5)
sys.stderr = open(os.devnull, "w")  # asyncio reports the task.
""",
    "a program that exits": """
async def main():
    task = asyncio.create_task(solve())
    await begun()
    sys.exit(0)
asyncio.run(main())
""",
    "a loop that is stopped": """
async def main():
    asyncio.ensure_future(solve())
    await begun()
    asyncio.get_running_loop().stop()
loop = asyncio.new_event_loop()
task = loop.create_task(main())
loop.run_forever()
sys.stderr = open(os.devnull, "w")
""",
    "an interrupted program": """
import signal
async def main():
    task = asyncio.create_task(solve())
    await begun()
    asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
    await task
try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
""",
}


def run_program(code, *arguments, within=30.0):
    """Run a program in a process of its own; return its stdout. It ends in time, and by itself."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", START + code, *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - started < within
    return done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_runs_of_a_program_that_ends_can_be_resumed(scripted, tmp_path, name):
    home, model = tmp_path / "home", scripted({"g_plan": [delayed_reply(PLAN, seconds=60)]})
    run_program(PROGRAMS[name], PROBLEM, model, home)
    (row,) = replan.runs(home=home)
    assert row.status == "parked"
    scripted({"g_plan": [PLAN]})
    assert replan.resume(row.run_id, home=home).succeeded


def test_a_forked_child_has_a_trio_thread_of_its_own(scripted, tmp_path):
    code = """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python warns about forks beside threads.
print("parent", asyncio.run(solve()).outcome, flush=True)
child = os.fork()
if child == 0:
    print("child", asyncio.run(solve()).outcome, flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    printed = run_program(code, PROBLEM, scripted({"g_plan": [PLAN]}), tmp_path / "home")
    assert printed.split() == ["parent", "success", "child", "success"]


def test_two_event_loops_after_each_other_use_one_thread(scripted, tmp_path):
    code = """
import threading
for _ in range(2):
    asyncio.run(solve())
print([thread.name for thread in threading.enumerate()].count("replan-trio"))
"""
    assert run_program(code, PROBLEM, scripted({"g_plan": [PLAN]}), tmp_path / "home").strip() == "1"


def test_the_names_of_the_api_do_not_load_asyncio():
    code = """
import sys, replan
print([getattr(replan, name) for name in ("solve", "start", "tell", "admit", "show")] and "asyncio" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
