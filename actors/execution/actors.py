"""The actors of an execution: the tools, the model that writes files, the planner, the plan's guard and the clock."""

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio

from actors.execution.config import ExecutionConfig
from actors.execution.machine import PLANNER, PROVER
from actors.execution.replan_rules import plan_guard
from actors.handlers.handlers import complete, judge, wait
from actors.handlers.tools import tool_actor
from actors.planning.children import ChildGenerator
from actors.run.kind import Resources
from actors.run.machine import MODEL
from actors.run.waits import CLOCK
from actors.tools.agent_calls import clear_worktrees
from actors.tools.built_in import open_tools
from actors.tools.workspace import open_workspace
from runtime.drive.actor import Actor

FILES_SIDE_BY_SIDE = 16
"""The largest number of files that the model of one run writes at a time."""
WAITS_MAX = 1024
"""The largest number of waits that an execution has open at a time. The deadline, each back-off, and the expiry of each
question are one wait each."""
GUARD_SECONDS = 300.0
"""The time limit, in seconds, of a guard that proves a plan in a thread. The plan guards also limit their own work."""


@asynccontextmanager
async def open_actors(
    run: str, config: ExecutionConfig, resources: Resources, at_work: Collection[str] = ()
) -> AsyncIterator[list[Actor[Any, Any]]]:
    """Lock the workspace of an execution, and yield the actors of the execution.

    Raises `UsageProblem` if another run works in the workspace.

    `at_work` lists the nodes of the attempts that have not ended. The worktrees of these attempts are kept.
    """
    with open_workspace(config.workspace, resources.home, run) as workspace:
        await trio.to_thread.run_sync(clear_worktrees, workspace, at_work)
        tools = open_tools(config.tools, workspace, resources.environment)
        yield [*_actors_for(config, resources), *(tool_actor(tool, resources.clock.now) for tool in tools)]


def _actors_for(config: ExecutionConfig, resources: Resources) -> list[Actor[Any, Any]]:
    clock = resources.clock
    proof = partial(judge, plan_guard(config), clock, resources.threads, GUARD_SECONDS)
    return [
        Actor(CLOCK, partial(wait, clock, resources.probe), concurrency=WAITS_MAX),
        Actor(MODEL, partial(complete, resources.model, clock, resources.slot), concurrency=FILES_SIDE_BY_SIDE),
        Actor(PLANNER, ChildGenerator(resources.drive_child, clock).generate, concurrency=1),
        Actor(PROVER, proof, concurrency=1),
    ]
