"""Planning runs from Python: started or resumed in one call, or in a block that follows the run."""

import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, Unpack

from actors.planning.prepare import PlanningInput, RunOptions
from actors.planning.result import Result
from actors.run.kind import PreparedRun
from actors.run.limits import RunLimits
from actors.run.result import RunResult
from actors.values.given import Attachment
from replan.api.handle import Run, TrioRun, drive_in_trio
from replan.api.loops import blocking_form, copy_parameters, name_keywords, run_in_any_loop, running_loop
from replan.api.options import (
    DriveKeywords,
    Driving,
    FunctionKeywords,
    Home,
    Memory,
    StartKeywords,
    check_types,
    read_keywords,
    run_at_home,
)
from replan.runs.changes import Changes, post_changes
from replan.runs.engine import Engine
from replan.runs.executing import ToolLoader, plan_with_tools
from replan.runs.forks import ForkRequest, fork_run
from replan.runs.home import open_home
from replan.runs.prepare import Prepared, RunOrder, prepare
from replan.runs.reader import new_run_id, resolve_run
from replan.runs.token_goals import (
    TokenGoal,
    read_goal,
    tools_to_plan_with,
)
from runtime.core.errors import UsageProblem

T = TypeVar("T")
OrderReader = Callable[[str | None], RunOrder]
"""Reads what an order needs, such as attached files, and returns the order for a model. Raises `UsageProblem`."""


@asynccontextmanager
async def drive_run(run: str, how: Driving, *, new: PreparedRun | None = None) -> AsyncIterator[Run[Any]]:
    """Drive a run for the length of a block, in the caller's kind of loop. `new` is what a new run starts with."""
    if running_loop() == "asyncio":
        from replan.api.asyncio_run import drive_in_asyncio  # noqa: PLC0415 - a trio program needs no thread

        opened: AbstractAsyncContextManager[Run[Any]] = drive_in_asyncio(run, how, new)
    else:
        opened = drive_in_trio(TrioRun(run, new), how)
    async with opened as handle:
        yield handle


async def run_beside_loop(work: Callable[[], T]) -> T:
    """Do work that reads files. An asyncio program does it in a thread, because its event loop has other tasks."""
    if running_loop() != "asyncio":
        return work()
    import asyncio  # noqa: PLC0415 - a trio program does not need it

    return await asyncio.to_thread(work)


@name_keywords
def start(
    problem: str = "",
    *,
    goal: str | Sequence[str] = (),
    holds: str | Sequence[str] = (),
    tools: Path | str | None = None,
    workflow: str | Path = "search",
    search: str | None = None,
    strict: bool = False,
    attach: Sequence[Path | str] = (),
    repo: Path | str | None = None,
    home: Path | str | Memory | None = None,
    **options: Unpack[StartKeywords],
) -> AbstractAsyncContextManager[Run[Result]]:
    """Start a run, and yield it while it is driven: `async with replan.start(problem) as run`, in trio or in asyncio.

    The run is in the journal when the block is entered, so that messages can be posted to it. Leaving the block early
    parks it within two seconds, of which replies in flight get at most 1.5.

    In place of a problem, `goal` names tokens that must hold at the end, and `holds` those that hold at the beginning.
    They are lists, or texts with commas. The plan is then searched for, without a model, from the steps that
    generators of the file `tools` declare (None: `tools.yaml` in the home). With a problem, its plan may name only what
    `tools` has.

    `workflow` is a shipped name or a file; `model` has the values of `--model` (None: `REPLAN_MODEL`, else that of
    config.yaml). A limit of None means the workflow's limit, or else no limit. `active_time` limits how long models and
    guards work; waiting for people does not count. `timeout` limits each call, `output_tokens_max` each reply. A length
    of time is a number of seconds, or a text such as `15m`. A provider that stays down for `patience` (None: ten
    minutes) parks the run, with the cause `provider`. `stop_below` is the least chance of success per call of a move of
    a belief policy. `keep_trying` sets it to 0: then the run goes on even if its model repeats itself. With
    `strict`, a plan that leaves a demand of the problem in no step is rejected. `attach` names text files and `repo` a
    repository's folder; the model is shown them as by `--attach` and `--repo`. `guards` and `generators` are functions
    by the name that the workflow uses, in addition to the installed ones. `home` is a folder, None for `$REPLAN_HOME`,
    or `MEMORY`. `ask` answers questions; without it, or when it returns None or an empty text, a run that needs an
    answer ends with the status `waiting`. `tenant` names whom the run is accounted to, and `priority`, from -100 to
    100, how urgent it is.

    In an asyncio program, `ask` and async plug-ins run in the caller's event loop, other plug-ins in a worker thread.

    Raises `UsageProblem`, whose place is the keyword, on entering the block and before anything is written.
    """
    check_types(workflow=workflow, tools=tools)
    how, limits = read_keywords(home, options)
    named = read_goal_keywords(problem, goal, holds, {"attach": attach, "repo": repo, "strict": strict})
    planning = RunOptions(workflow=os.fspath(workflow), search=search, limits=limits, strict=strict)
    attachments = partial(read_attachments, attach, repo, problem)
    path, load = None if tools is None else os.fspath(tools), None
    if named is not None or path is not None:
        load = partial(tools_to_plan_with, path, how.environment)
    return _start(planning_order(problem, named, planning, attachments, load), how)


@copy_parameters(start)
async def asolve(problem: str = "", **options: Any) -> Result:
    """Plan a problem and return the result, in trio or in asyncio; the keywords are those of `start`.

    A missing plan is not an error: `result.succeeded` tells whether there is one. Cancelling the call parks the
    run, which can be resumed if it has a home. Raises `UsageProblem` for bad input.
    """
    async with start(problem, **options) as run:
        return await run.result()


solve = blocking_form(asolve)


@name_keywords
def drive(
    run: str,
    *,
    strict: bool = False,
    home: Home = None,
    **options: Unpack[DriveKeywords],
) -> AbstractAsyncContextManager[Run[RunResult]]:
    """Resume a run of a home, and yield it while it is driven.

    `run` is its id, or at least six characters of it. Pass the plug-ins again, since they are not stored. The limits
    and the model replace those of the run, as in `limits`. A run that has ended because its budget was spent goes on
    with a larger one. With `strict`, plans that leave a demand of the text in no step are rejected from now on. Only
    records that are written from now on are yielded. A run whose end is final is yielded too; its result is available
    at once.

    Entering the block raises `RunNotFound`, and `UsageProblem` for a keyword. `result()` raises `Held` if another
    process drives the run, `JournalDamaged`, and `UsageProblem` for a run that lacks a plug-in or is a step of another.
    """
    how, limits = read_keywords(home, options)
    return _drive(run, Changes(limits, how.model, strict), how)


@copy_parameters(drive)
async def aresume(run: str, **options: Any) -> RunResult:
    """Resume a run from its last record, and return its result, in trio or in asyncio.

    The keywords and errors are those of `drive`. No answered call is repeated. The result of a planning run
    is a `Result`.
    """
    async with drive(run, **options) as driven_run:
        return await driven_run.result()


resume = blocking_form(aresume)


@name_keywords
async def aundo(run: str, *, home: Home = None, **functions: Unpack[FunctionKeywords]) -> RunResult:
    """Undo the calls of an execution, the last one first, and return its result. The execution may have ended.

    Its outcome is `undone` if nothing is left to undo. `ask` is asked if an undo fails, or if nobody knows what a call
    did. The keywords are those of `drive`. Raises `UsageProblem` for a run of another kind, with nothing to undo, or
    that is undone already, and the errors of `aresume`.
    """

    async def post(engine: Engine) -> None:
        await engine.undo(await resolve_run(engine.journal, run))

    await run_at_home(home, post)
    return await aresume(run, home=home, **functions)


undo = blocking_form(aundo)


@name_keywords
async def afork(
    run: str,
    *,
    at: str | int = "",
    workflow: str | Path | None = None,
    policy: str | Path | None = None,
    model: str | None = None,
    given: Mapping[str, str] | None = None,
    workspace: str | Path | None = None,
    home: Home = None,
    **limits: Unpack[RunLimits],
) -> str:
    """Record a new run that begins with the first records of a run of a home, and return its id; `resume` drives it.

    `at` is the number of the last record that the two share, or an attempt, whose verdict they share. `before:NODE` is
    the place before an attempt was asked for. Empty is the last place before the end. `workflow`, `policy` and `model`
    hold from there on; the limits are the fork's own, and default to those of the run. The run is only read. Where runs
    take values, `given` are values that hold from there on, as texts by the path of the field. `workspace` is the
    folder to make for the tools of a fork of an execution; None is one beside the run's own. Raises `RunNotFound`.
    Raises `UsageProblem` for a place outside of the run, a change that is not valid, and a run that cannot be forked.
    """
    check_types(model=model)
    names = [None if item is None else os.fspath(item) for item in (workflow, policy)]
    folder = None if workspace is None else Path(workspace)
    wanted = ForkRequest(str(at), names[0], names[1], Changes(limits, model), given or {}, folder)

    async def record(engine: Engine) -> str:
        return await fork_run(engine, await resolve_run(engine.journal, run), wanted, engine.environment)

    return await run_at_home(home, record)


fork = blocking_form(afork)


@asynccontextmanager
async def _start(read: OrderReader, how: Driving) -> AsyncIterator[Run[Result]]:
    prepared = await run_beside_loop(partial(how.prepare, partial(prepare_order, read)))
    async with drive_run(new_run_id(), how, new=prepared.request) as run:
        yield run


@asynccontextmanager
async def _drive(run: str, changes: Changes, how: Driving) -> AsyncIterator[Run[RunResult]]:
    async def named() -> str:
        async with open_home(environment=how.environment, make=False) as engine:
            name = await resolve_run(engine.journal, run)
            if changes:
                await post_changes(engine, name, changes, how.environment)
            return name

    async with drive_run(await run_in_any_loop(named), how) as resumed:
        yield resumed


def read_attachments(files: Sequence[Path | str], folder: Path | str | None, problem: str) -> tuple[Attachment, ...]:
    """Return the texts of attached files, and those of a repository. Raises the `UsageProblem` errors of `attach`."""
    if isinstance(files, str | Path):
        raise UsageProblem("should be a list of files, not one", place="attach", hint=f"attach=[{str(files)!r}]")
    if not files and folder is None:
        return ()
    from replan.runs.attaching import attach  # noqa: PLC0415 - few runs have attachments

    return attach(
        [os.fspath(file) for file in files], None if folder is None else os.fspath(folder), problem
    ).attachments


def read_goal_keywords(
    problem: str, goal: str | Sequence[str], holds: str | Sequence[str], others: Mapping[str, object]
) -> TokenGoal | None:
    """Return the goal that the keywords state, or None if they state a problem.

    `others` are keywords that cannot be used with a goal. Raises `UsageProblem` if one of them is given, if a problem
    is given too, and for `holds` without a goal.
    """
    if not goal:
        if holds:
            raise UsageProblem("there is no goal", place="holds", hint="pass `goal`, or leave it out")
        return None
    if problem:
        raise UsageProblem("both a problem and a goal are given", place="goal", hint="leave one of the two out")
    for name, value in others.items():
        if value:
            raise UsageProblem("a plan for a goal is made only from tools", place=name, hint="leave it out")
    return read_goal(goal, holds)


def planning_order(
    problem: str,
    goal: TokenGoal | None,
    options: RunOptions,
    attachments: Callable[[], tuple[Attachment, ...]],
    load: ToolLoader | None,
) -> OrderReader:
    """Return a function that reads the order for a problem or a goal. With tools, the plan may name only these.

    `load` loads the tools; None uses none. A goal has its own workflow and model, if none is named.
    """

    def read(model: str | None) -> RunOrder:
        adapt = None if load is None else partial(plan_with_tools, load, goal)
        if goal is None:
            return RunOrder(PlanningInput(problem, options, attachments(), adapt), model)
        workflow = goal.workflow if options.workflow == RunOptions().workflow else options.workflow
        task = PlanningInput(goal.problem, replace(options, workflow=workflow), adapt=adapt)
        return RunOrder(task, model or goal.model)

    return read


def prepare_order(read: OrderReader, *, model: str | None, **resources: Any) -> Prepared[Any]:
    """Read an order for a model, and prepare its run. Raises the `UsageProblem` errors of both."""
    return prepare(read(model), **resources)
