"""Executes a plan from Python, in one call or in an `async with` block.

`do` plans a problem and executes the plan in one call.
"""

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from actors.execution.result import ExecutionResult
from actors.planning.prepare import RunOptions
from actors.planning.result import Result
from actors.plans.plan import Plan, plan_to_json
from actors.plans.plan_text import ProvedPlan
from actors.tools.uses import ToolSet
from actors.tools.workspace import check_workspace
from replan.api.handle import Run
from replan.api.loops import blocking_form, copy_parameters, name_keywords, run_in_any_loop
from replan.api.options import MEMORY, Driving, Home, Memory, StartKeywords, check_types, read_keywords
from replan.api.runs import (
    drive_run,
    planning_order,
    prepare_order,
    read_attachments,
    read_goal_keywords,
    run_beside_loop,
)
from replan.runs.executing import (
    Approval,
    ExecutionOptions,
    PlanToExecute,
    ensure_unused,
    plan_of_run,
    prepare_to_execute,
    read_plan_file,
    tools_of,
)
from replan.runs.home import open_home
from replan.runs.reader import new_run_id, resolve_run
from replan.setup.home_folder import locate_home
from runtime.core.errors import UsageProblem

AnyPlan = str | Path | Mapping[str, Any] | Plan | Result
"""A plan: the id of the planning run that made it, a file, a JSON object, a typed plan, or the result of a run."""


@dataclass(frozen=True, slots=True)
class Done:
    """The results of `do`: of planning a problem, and of executing the plan."""

    planning: Result
    execution: ExecutionResult | None = None
    """The result of the execution; None if nothing was executed."""

    @property
    def succeeded(self) -> bool:
        """Whether the plan was executed and all its goals are achieved."""
        return self.execution is not None and self.execution.succeeded


@name_keywords
def start_execution(
    plan: AnyPlan,
    *,
    tools: Path | str | None = None,
    workspace: Path | str = ".",
    approve: Approval = "risky",
    level: str | None = None,
    r_max: int | None = None,
    workflow: str | Path | None = None,
    home: Path | str | Memory | None = None,
    **options: Unpack[StartKeywords],
) -> AbstractAsyncContextManager[Run[ExecutionResult]]:
    """Start the execution of a plan, and yield the run while it is driven.

    `plan` is the id of a planning run of the home, a file (`Path`), a JSON object, a typed plan, or a `Result`. The
    plan is proved again before anything runs, at `level` (None: the level of its planning run, else `expansive`).
    `tools` is the tools file (None: `tools.yaml` in the home). `workspace` is the folder that the tools work in.
    `approve` says which tool calls need a person's approval: `each`, `risky` or `none`. If the plan does not say what
    follows a failure, `workflow` makes a new plan (None: the planning run's workflow, else `search`). The limits,
    `tenant` and `priority` are the same as for `start`. The limits include new plans. `ask` answers the questions of
    the execution.

    Raises `UsageProblem` with the keyword or the file as its `place`, when the block is entered and before anything is
    written.
    """
    check_types(tools=tools, workspace=workspace)
    if workflow is not None:
        check_types(workflow=workflow)
    how, limits = read_keywords(home, options)
    execution = ExecutionOptions(
        tools=None if tools is None else os.fspath(tools),
        workspace=os.fspath(workspace),
        approval=approve,
        level=level,
        r_max=r_max,
        workflow=None if workflow is None else os.fspath(workflow),
        limits=limits,
    )
    return _start(plan, execution, how)


@copy_parameters(start_execution)
async def aexecute(plan: AnyPlan, **options: Any) -> ExecutionResult:
    """Execute a plan and return the result, in trio or in asyncio. The keywords are the same as for `start_execution`.

    A missed goal is not an error: `result.succeeded` says whether all goals were achieved. Cancelling the call parks
    the run. Raises `UsageProblem` for bad input, for a plan that is not proved, and for names that no tool implements.
    """
    async with start_execution(plan, **options) as run:
        return await run.result()


execute = blocking_form(aexecute)


@name_keywords
async def ado(
    problem: str = "",
    *,
    goal: str | Sequence[str] = (),
    holds: str | Sequence[str] = (),
    tools: Path | str | None = None,
    workspace: Path | str = ".",
    approve: Approval = "risky",
    workflow: str | Path = "search",
    search: str | None = None,
    strict: bool = False,
    attach: Sequence[Path | str] = (),
    repo: Path | str | None = None,
    home: Home = None,
    **options: Unpack[StartKeywords],
) -> Done:
    """Plan a problem with only the names of a tools file, and execute the plan, in trio or in asyncio.

    Planning and execution are two runs. The keywords are those of `start` (with `goal` and `holds`) and of
    `start_execution`. Limits hold for each run. Nothing is executed if no plan was found, or if planning waits for a
    person. Raises the errors of both functions.
    """
    check_types(workflow=workflow, tools=tools, workspace=workspace)
    how, limits = read_keywords(home, options)
    named = read_goal_keywords(problem, goal, holds, {"attach": attach, "repo": repo, "strict": strict})
    planning = RunOptions(workflow=os.fspath(workflow), search=search, limits=limits, strict=strict)
    path = None if tools is None else os.fspath(tools)
    executing = ExecutionOptions(tools=path, workspace=os.fspath(workspace), approval=approve, limits=limits)
    attachments = partial(read_attachments, attach, repo, problem)
    found = await run_beside_loop(partial(_load_tools, executing, how))
    read = planning_order(problem, named, planning, attachments, lambda: (found, ()))
    prepared = await run_beside_loop(partial(how.prepare, partial(prepare_order, read)))
    await _ensure_unused(executing, how)
    async with drive_run(new_run_id(), how, new=prepared.request) as run:
        result: Result = await run.result()
    if result.plan is None:
        return Done(result)
    async with _start(result.run_id, executing, how) as execution:
        return Done(result, await execution.result())


do = blocking_form(ado)


@asynccontextmanager
async def _start(plan: AnyPlan, options: ExecutionOptions, how: Driving) -> AsyncIterator[Run[ExecutionResult]]:
    source = await _source(plan, how)
    prepared = await run_beside_loop(partial(how.prepare, partial(prepare_to_execute, source, options)))
    await _ensure_unused(options, how)
    async with drive_run(new_run_id(), how, new=prepared.request) as run:
        yield run


async def _source(plan: AnyPlan, how: Driving) -> PlanToExecute:
    given: object = plan  # whatever a caller passes
    match given:
        case Path():
            return await run_beside_loop(partial(read_plan_file, os.fspath(given)))
        case str() if how.home is MEMORY:
            raise UsageProblem(
                "a run's id cannot be used with a home in memory", place="plan", hint="pass a result or a plan"
            )
        case str():
            return await _of_run(given, how)
        case Result():
            return _of_result(given)
        case ProvedPlan():
            return PlanToExecute(given.to_dict(), "plan")
        case Plan():
            return PlanToExecute(plan_to_json(given), "plan")
        case Mapping():
            return PlanToExecute(json.loads(json.dumps(given)), "plan")
        case _:
            hint = "pass a run's id, a Path, a plan or a result"
            raise UsageProblem(f"should be a plan, not {type(given).__name__}", place="plan", hint=hint)


async def _of_run(name: str, how: Driving) -> PlanToExecute:
    async def read() -> PlanToExecute:
        async with open_home(environment=how.environment, make=False) as engine:
            return await plan_of_run(engine, await resolve_run(engine.journal, name))

    return await run_in_any_loop(read)


def _of_result(result: Result) -> PlanToExecute:
    if not isinstance(result.plan_json, Mapping):
        raise UsageProblem(f"the result of run {result.run_id} has no proved plan", place="plan")
    level = result.proof.level or "expansive"
    return PlanToExecute(result.plan_json, "plan", level=level, plan_of=result.run_id)


def _load_tools(options: ExecutionOptions, how: Driving) -> ToolSet:
    home = locate_home(how.environment)
    workspace = check_workspace(options.workspace, home.folder)
    tools, _ = tools_of(options.tools, home, workspace, how.environment)
    if not (tools.generators or tools.steps):
        hint = "name a tools file that has the key `generators`"
        raise UsageProblem("there are no tools, so no step can be executed", place="tools", hint=hint)
    return tools


async def _ensure_unused(options: ExecutionOptions, how: Driving) -> None:
    """Raise `UsageProblem` if another execution uses the workspace.

    If the home is in memory, do nothing, because it has no other execution.
    """
    if how.home is MEMORY:
        return
    home = locate_home(how.environment).folder
    folder = check_workspace(options.workspace, home)

    async def look() -> None:
        async with open_home(environment=how.environment, make=False) as engine:
            await ensure_unused(engine, folder, home)

    await run_in_any_loop(look)
