"""Executions as a contestant: whole runs through the supervisor, the tools' actors and a SQLite journal.

A step calls a Python function of this process, which returns a text immediately, and then its check, which is the same
function: two calls of tools, as every step of a plan has a guard. The plan is a chain, so steps run one after the
other. It is proved before the clock starts, as `replan execute` does before a run begins.
"""

import sys
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import trio

from actors.execution.actors import open_actors
from actors.execution.kind import CODEC
from actors.execution.machine import ExecutionMachine
from actors.execution.prepare import ExecutionInput, prepare_execution
from actors.run.kind import Resources, Setup
from actors.tools.specs import PythonSpec
from actors.tools.uses import ToolSet, ToolUse
from benchmarks.worker import serve
from replan.setup.installation import data_root, tune
from replan.setup.plugins import registry
from runtime.core.clock import SystemClock
from runtime.drive.options import Admission, Ending, LeaseTerms
from runtime.drive.supervisor import Supervisor
from runtime.journal.sqlite.journal import open_sqlite

TEXT = "x" * 400
"""What the function returns: as long as the text of a planning step."""


async def work(_workspace):
    """The function of a step."""
    await trio.lowlevel.checkpoint()
    return TEXT


def spec(name):
    """Return a tool that calls `work`."""
    module = "benchmarks.worker_execution"
    return PythonSpec(
        name=name, function="work", module=module, file="", sha256="", parameters={}, output_bytes=100_000
    )


def use(name):
    """Return a call of a tool."""
    return ToolUse(tool=name, arguments="{}", repeatable=True, risky=False, timeout_seconds=60.0)


def chain(steps):
    """Return a plan whose steps run one after the other."""
    return {
        "plan_id": "chain",
        "initial_state": ["t0"],
        "goal_state": [f"t{steps}"],
        "total_retry_budget": steps,
        "steps": [
            {
                "step_id": f"s{number:04}",
                "name": f"step {number}",
                "generator": "work",
                "guard": "syntax",
                "retry_budget": 1,
                "dependencies": [f"s{number - 1:04}"] if number else [],
                "preconditions": [f"t{number}"],
                "effects": [f"t{number + 1}"],
            }
            for number in range(steps)
        ],
    }


def prepared(steps, workspace):
    """Return an execution that may begin."""
    tools = ToolSet(
        source="",
        sha256="",
        tools={name: spec(name) for name in ("work", "check")},
        generators={"work": use("work")},
        guards={"syntax": use("check")},
    )
    request = ExecutionInput(
        plan=chain(steps),
        tools=tools,
        workspace=workspace,
        approval="none",
        level="plan_minimal",
        assurance="none",
        r_max=steps,
        snapshots=False,
    )
    return prepare_execution(request, Setup("", None, registry({}, {}), data_root(), {}, 0.0))


async def execute(scratch, steps):
    """Return the seconds of one execution, from its creation to its last record."""
    home, workspace, clock = Path(scratch) / "home", Path(scratch) / "workspace", SystemClock()
    home.mkdir()
    workspace.mkdir()
    path, execution = home / "journal.sqlite3", prepared(steps, workspace)
    async with open_sqlite(path, CODEC, clock) as journal:
        before = time.perf_counter()
        resources = Resources(None, clock, home=home)
        async with open_actors("run-000000", execution.config, resources) as actors:
            supervisor = Supervisor(
                "run-000000",
                machine=ExecutionMachine(),
                journal=journal,
                actors=actors,
                lease=LeaseTerms(owner="benchmark"),
                admission=Admission("benchmark"),
            )
            ending = await supervisor.drive(execution.first("run-000000", clock.now()))
        after = time.perf_counter()
        assert ending is Ending.FINISHED
        assert str(supervisor.state.run.finished.outcome) == "success", supervisor.state.run.finished
    return {"seconds": after - before, "steps": steps, "bytes": path.stat().st_size}


if __name__ == "__main__":
    tune()
    serve({"execute": lambda **keys: trio.run(partial(execute, **keys))})
