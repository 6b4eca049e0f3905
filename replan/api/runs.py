"""Starts, resumes, forks and undoes runs from Python, in one call or in a block that follows the run."""

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
"""A function that gets a model's name and returns the `RunOrder` for this model. The function reads the files that the
order needs, and may raise `UsageProblem`."""


@asynccontextmanager
async def drive_run(run: str, how: Driving, *, new: PreparedRun | None = None) -> AsyncIterator[Run[Any]]:
    """Drive a run for the length of a block, from trio or asyncio. `new` is the prepared input of a new run."""
    if running_loop() == "asyncio":
        from replan.api.asyncio_run import drive_in_asyncio  # noqa: PLC0415 - a trio program needs no thread

        opened: AbstractAsyncContextManager[Run[Any]] = drive_in_asyncio(run, how, new)
    else:
        opened = drive_in_trio(TrioRun(run, new), how)
    async with opened as handle:
        yield handle


async def run_beside_loop(work: Callable[[], T]) -> T:
    """Call `work`, which reads files, and return its value.

    Under asyncio, `work` runs in a thread, so that the event loop is not blocked.
    """
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

    The run is in the journal when the block is entered, so messages can be posted to it. Leaving the block early parks
    the run within two seconds. Open replies get at most 1.5 of these seconds.

    Instead of a problem, `goal` names tokens that must hold at the end, and `holds` names tokens that hold at the
    beginning. Both are lists, or texts with commas. Such a plan is found without a model. It consists of the steps that
    the generators of the file `tools` declare (None: `tools.yaml` in the home). If a problem is given with `tools`, the
    plan may use only the names in that file.

    `workflow` is a shipped name or a file. `model` has the values of `--model` (None: `REPLAN_MODEL`, else the model of
    config.yaml). A limit of None means the workflow's limit, or else no limit. `active_time` limits the time during
    which a model or a guard works. Waiting for people does not count. `timeout` limits each call, and
    `output_tokens_max` each reply. A length of time is a number of seconds, or a text such as `15m`. A provider that
    stays down for `patience` (None: ten minutes) parks the run, with the cause `provider`. With a belief policy,
    `stop_below` is the least chance of success per call that a move must have. `keep_trying` sets `stop_below` to 0.
    Then the run continues even if its model repeats itself. With `strict`, a plan that does not cover every demand of
    the problem is rejected. `attach` names text files, and `repo` names a repository's folder. The prompts contain the
    text files, a list of the folder's files, and the files that the problem names. `guards` and `generators` map names
    in the workflow to functions, in addition to the installed plug-ins. `home` is a folder, None for `$REPLAN_HOME`, or
    `MEMORY`. `ask` is a function that answers questions. If there is no `ask`, or it returns None or an empty text, a
    run that needs an answer ends with the status `waiting`. `tenant` names who pays for the run. `priority` is a number
    from -100 to 100; a busy host drives higher numbers first.

    In an asyncio program, `ask` and async plug-ins run in the caller's event loop. Other plug-ins run in a worker
    thread.

    Raises `UsageProblem` with the keyword as its `place`, when the block is entered and before anything is written.
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
    """Plan a problem and return the result, in trio or in asyncio. The keywords are the same as for `start`.

    A missing plan is not an error: `result.succeeded` says whether there is a plan. Cancelling the call parks the run.
    It can be resumed if it has a home. Raises `UsageProblem` for bad input.
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
    """Resume a stored run, and yield it while it is driven.

    `run` is the run's id, or at least its first six characters. Pass the plug-ins again: they are not stored. The
    limits and the model replace the limits and the model of the run. A run that ended because its budget was spent
    continues with a larger budget. With `strict`, plans that do not cover every demand of the text are rejected from
    now on. Iterating yields only records that are written from now on. If the run's end is final, the run is yielded
    too, and its result is available at once.

    Entering the block raises `RunNotFound`, and `UsageProblem` for a keyword. `result()` raises `Held` if another
    process drives the run, `JournalDamaged`, and `UsageProblem` if the run lacks a plug-in or is a step of another run.
    """
    how, limits = read_keywords(home, options)
    return _drive(run, Changes(limits, how.model, strict), how)


@copy_parameters(drive)
async def aresume(run: str, **options: Any) -> RunResult:
    """Resume a run from its last record, and return its result, in trio or in asyncio.

    The keywords and errors are the same as for `drive`. No answered call is repeated. The result of a planning run is a
    `Result`.
    """
    async with drive(run, **options) as driven_run:
        return await driven_run.result()


resume = blocking_form(aresume)


@name_keywords
async def aundo(run: str, *, home: Home = None, **functions: Unpack[FunctionKeywords]) -> RunResult:
    """Undo the tool calls of an execution, the last call first, and return its result. The execution may have ended.

    The outcome is `undone` if all calls are undone. `ask` is called if an undo fails, or if nobody knows whether a call
    did its work. The keywords are the same as for `drive`. Raises the errors of `aresume`. Raises `UsageProblem` for a
    run of another kind, and for a run that is undone or has nothing to undo.
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
    """Record a new run that begins with the first records of a stored run, and return its id. `resume` drives the fork.

    `at` is the number of the last shared record, or the id of an attempt whose verdict both runs share. `before:NODE`
    shares the records before the attempt NODE was requested. The default is the last record before the end. The fork
    uses `workflow`, `policy` and `model` for its new records. Its limits are new, by default the limits of the run. The
    original run is only read. If runs of this kind take values, `given` maps paths of fields to values for the fork.
    `workspace` is the folder to create for the tools of an execution's fork; None creates one beside the original
    workspace. Raises `RunNotFound`. Raises `UsageProblem` for a record that the run does not have, a change that is not
    valid, and a run that cannot be forked.
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
    """Read attached files and a repository, and return the attachments.

    Raises the errors of `replan.runs.attaching.attach`.
    """
    if isinstance(files, str | Path):
        raise UsageProblem(
            "should be a list of files, not a single file", place="attach", hint=f"attach=[{str(files)!r}]"
        )
    if not files and folder is None:
        return ()
    from replan.runs.attaching import attach  # noqa: PLC0415 - few runs have attachments

    return attach(
        [os.fspath(file) for file in files], None if folder is None else os.fspath(folder), problem
    ).attachments


def read_goal_keywords(
    problem: str, goal: str | Sequence[str], holds: str | Sequence[str], others: Mapping[str, object]
) -> TokenGoal | None:
    """Return the goal that the keywords state; None if they state no goal.

    `others` are keywords that cannot be used with a goal. Raises `UsageProblem` if a goal is combined with one of them
    or with a problem, and for `holds` without a goal.
    """
    if not goal:
        if holds:
            raise UsageProblem(
                "this argument has an effect only with a goal", place="holds", hint="pass `goal`, or leave `holds` out"
            )
        return None
    if problem:
        raise UsageProblem("both a problem and a goal are given", place="goal", hint="leave one of the two out")
    for name, value in others.items():
        if value:
            raise UsageProblem("this argument cannot be used with a goal", place=name, hint="leave it out")
    return read_goal(goal, holds)


def planning_order(
    problem: str,
    goal: TokenGoal | None,
    options: RunOptions,
    attachments: Callable[[], tuple[Attachment, ...]],
    load: ToolLoader | None,
) -> OrderReader:
    """Return a function that reads the order for a problem or a goal.

    `load` loads the tools; if it is None, there are no tools. With tools, the plan of a problem may use only names that
    they implement. A goal has its own default workflow and model.
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
    """Call `read` to read the order for a model, and prepare the run of the order.

    Raises the errors of `read` and of `prepare`.
    """
    return prepare(read(model), **resources)
