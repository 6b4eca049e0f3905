"""The commands that continue, end or copy a run: `resume`, `cancel`, `undo` and `fork`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replan.cli.completing import require_one_run, run_argument
from replan.cli.exits import Exit
from replan.cli.options import Invocation, LongCommand, common, examples, json_option
from replan.cli.run_options import (
    detach_option,
    driving_options,
    limit_options,
    name_options,
    parse_assignments,
    set_option,
)
from replan.setup.installation import program
from runtime.core.errors import Held, UsageProblem

if TYPE_CHECKING:
    from replan.runs.changes import Changes
    from replan.runs.engine import Engine
    from replan.runs.forks import ForkRequest


_RESUME = examples(
    "replan resume --last",
    "replan resume k7m2x9qa --no-input --json",
    "replan resume k7m2x9qa --max-calls 60 --deadline 2h",
    "replan resume k7m2x9qa -m gpt-5-mini",
)


@click.command(
    cls=LongCommand,
    brief=("last model max_calls max_tokens max_cost deadline strict full no_input quiet json"),
    epilog=_RESUME,
    short_help="Continue a run, with other limits or another model.",
)
@run_argument(last="Resume the newest run.")
@click.option("-m", "--model", help="Use this model from now on.")
@limit_options
@click.option("--strict", is_flag=True, help="From now on, reject plans that do not cover every demand of the text.")
@driving_options
@click.pass_obj
def resume(
    invocation: Invocation, /, run_id: str | None, *, last: bool, model: str | None, strict: bool, **limits: Any
) -> int:
    """Continue a RUN after its last record. RUN is an id, or at least its first six characters.

    No answered call is repeated. A run that has used up its budget continues only with larger limits; a run that has
    failed needs no option. If the run waits for its provider, the provider is asked at once. If the run cannot
    continue, its result is printed.

    A limit applies to the whole run, including what the run has used. A new deadline counts from now.
    """
    require_one_run("resume", run_id, last=last)
    import trio

    from actors.run.limits import check_limits, split_limits
    from replan.runs.changes import Changes
    from replan.setup.installation import tune

    with name_options():
        changes = Changes(check_limits(split_limits(limits)), model, strict)
    tune()
    return trio.run(_resume, invocation, run_id, changes)


async def _resume(invocation: Invocation, prefix: str | None, changes: Changes) -> int:
    from replan.cli.drive import drive_further
    from replan.cli.home import open_engine
    from replan.cli.reading import newest_to_resume, resolve_named
    from replan.runs.changes import post_changes
    from runtime.journal.head import check_here

    async with open_engine(invocation, drives=True) as engine:
        if prefix is None:
            run = await newest_to_resume(engine, raised=changes.raises_limits)
        else:
            run = await resolve_named(engine, prefix)
        if changes:
            with name_options():
                await post_changes(engine, run, changes)
        row, kind = await engine.journal.row(run), await engine.kind_of(run)
        check_here(run, row.owner)
        if row.status == "finished":
            await _print_if_finished(engine, run)
        return await drive_further(engine, run, invocation, kind=kind, title=row.title)


async def _print_if_finished(engine: Engine, run: str) -> None:
    from actors.run.advice import reopening_advice
    from replan.cli.terminal.console import notice
    from replan.runs.reader import goes_on

    if goes_on((await engine.kind_of(run)).run_state(await engine.state_with_inbox(run))):
        return
    result = await engine.result(run)
    notice(f"run {run} has finished: {result.outcome}. {reopening_advice(result, program())}")


@click.command(epilog=examples("replan cancel k7m2x9qa", "replan cancel --last", "replan cancel k7m2x9qa --undo"))
@run_argument()
@click.option("--undo", is_flag=True, help="First undo what the execution did.")
@json_option
@common
@click.pass_obj
def cancel(invocation: Invocation, run_id: str | None, *, last: bool, undo: bool, as_json: bool) -> int:
    """Cancel a RUN for good. Its findings are kept. To continue later, park the run instead (Ctrl-C)."""
    require_one_run("cancel", run_id, last=last)
    import trio

    return trio.run(_cancel, invocation, run_id, undo, as_json)


async def _cancel(invocation: Invocation, name: str | None, undo: bool, as_json: bool) -> int:
    from replan.cli.home import open_engine
    from replan.cli.reading import resolve_or_newest
    from replan.cli.terminal.console import notice, print_json
    from replan.runs import changes

    async with open_engine(invocation) as engine:
        run = await resolve_or_newest(engine, name)
        if undo:
            return await _undo_driven(engine, run, as_json)
        finished = await changes.cancel_run(engine, run)
    waits = f"ends when the process that drives it reads the message; `{program()} show {run}` shows the end"
    notice(f"run {run} {'is cancelled' if finished else waits}")
    if as_json:
        print_json({"run_id": run, "cancelled": finished})
    return Exit.OK


async def _undo_driven(engine: Engine, run: str, as_json: bool) -> int:
    from replan.cli.terminal.console import notice, print_json

    row = await engine.journal.row(run)
    if row.status == "finished":
        hint = f"`{program()} undo {run}` undoes what it did"
        raise UsageProblem(f"run {run} has finished already ({row.detail})", place="RUN", hint=hint)
    await engine.undo(run)
    by = "the process that drives it" if row.owner is not None else f"`{program()} resume {run}` or a host"
    notice(f"run {run}: {by} undoes the work of the run, and ends the run; `{program()} show {run}` shows the progress")
    if as_json:
        print_json({"run_id": run, "cancelled": False})
    return Exit.OK


@click.command(epilog=examples("replan undo k7m2x9qa", "replan undo --last --json"))
@run_argument()
@driving_options
@click.pass_obj
def undo(invocation: Invocation, /, run_id: str | None, *, last: bool) -> int:
    """Undo what an execution did, the last call first, and end it as undone (exit 10).

    The execution may have ended. If another process drives it, use `cancel RUN --undo` instead. The plan says how each
    step is undone. If an undo fails, or nobody knows what a call did, you are asked.
    """
    require_one_run("undo", run_id, last=last)
    import trio

    return trio.run(_undo, invocation, run_id)


async def _undo(invocation: Invocation, name: str | None) -> int:
    from replan.cli.drive import drive_further
    from replan.cli.home import open_engine
    from replan.cli.reading import resolve_or_newest
    from replan.cli.terminal.console import notice
    from runtime.journal.head import check_here

    async with open_engine(invocation, drives=True) as engine:
        run = await resolve_or_newest(engine, name)
        row, kind = await engine.journal.row(run), await engine.kind_of(run)
        check_here(run, row.owner)
        if row.owner is not None:
            notice(f"`{program()} cancel {run} --undo` makes the process that drives the run undo its work")
            raise Held(run, row.owner, engine.clock.now())
        await engine.undo(run)
        return await drive_further(engine, run, invocation, kind=kind, title=row.title)


_FORK = examples(
    "replan fork k7m2x9qa --at g_strategy/v1.a1 -m gpt-5-mini",
    "replan fork k7m2x9qa --at before:g_plan/v1.a1 -w search",
    "replan fork k7m2x9qa --at 14 --policy belief --max-calls 20",
    "replan fork --last --at 1 --max-calls 60 --json",
    "replan fork k7m2x9qa --at 12 --set core.region=Spain",
)


@click.command(
    cls=LongCommand,
    brief=("last at workflow policy given workspace max_calls max_cost deadline detach no_input quiet json"),
    epilog=_FORK,
    short_help="Start a new run from the middle of another run.",
)
@run_argument(last="The newest run.")
@click.option(
    "--at",
    metavar="NODE|SEQ",
    default="",
    help="Fork after this record or attempt; default: before the run's end; before:NODE repeats the attempt NODE.",
)
@click.option("-w", "--workflow", help="Use this workflow in the fork; it must have the same steps.")
@click.option("--policy", help="Use this policy in the fork, a shipped one or a file.")
@click.option("-m", "--model", help="Use this model in the fork.")
@set_option
@click.option(
    "--workspace",
    metavar="DIR",
    help="The folder to make for a fork of an execution; default: beside the run's workspace.",
)
@limit_options
@detach_option
@driving_options
@click.pass_obj
def fork(
    invocation: Invocation,
    /,
    run_id: str | None,
    *,
    last: bool,
    at: str,
    workflow: str | None,
    policy: str | None,
    model: str | None,
    given: tuple[str, ...],
    workspace: str | None,
    detach: bool,
    **limits: Any,
) -> int:
    """Start a new run that begins with the first records of a RUN, and drive it.

    The RUN is only read: it may be driven, wait, be parked or have ended. The fork has the same limits, and a budget of
    its own. Earlier replies and verdicts are reused. Open calls are made again, and open questions are asked again.
    What tools have done is not undone. The fork asks before it repeats a call that is not repeatable. If the kind of
    run takes values, --set gives values for the fork. For an execution, a folder is made with the files of a snapshot.
    It is a git worktree, or a copy if the workspace is not a repository and has not changed since the snapshot.
    """
    require_one_run("fork", run_id, last=last)
    import trio

    from actors.run.limits import check_limits, split_limits
    from replan.runs.changes import Changes
    from replan.runs.forks import ForkRequest
    from replan.setup.installation import tune

    with name_options():
        changes = Changes(check_limits(split_limits(limits)), model)
    tune()
    folder = None if workspace is None else Path(workspace)
    wanted = ForkRequest(at.strip(), workflow, policy, changes, parse_assignments(given), folder)
    return trio.run(_fork, invocation, run_id, wanted, detach)


async def _fork(invocation: Invocation, prefix: str | None, wanted: ForkRequest, detach: bool) -> int:
    from replan.cli.drive import drive_further, print_result
    from replan.cli.hints import say_how_to_follow
    from replan.cli.home import open_engine
    from replan.cli.reading import resolve_or_newest
    from replan.cli.starting import require_host
    from replan.cli.terminal.console import ignore_closed_stdout, notice, print_text
    from replan.runs.executing import EXECUTION
    from replan.runs.forks import fork_run
    from replan.runs.reader import new_run_id

    async with open_engine(invocation, drives=not detach) as engine:
        origin = await resolve_or_newest(engine, prefix)
        kind = await engine.kind_of(origin)
        if detach:
            await require_host(engine, kind.name)
        with name_options(at="--at", policy="--policy", workspace="--workspace"):
            run = await fork_run(engine, origin, wanted, name=new_run_id())
        state, _ = await engine.load(run)
        notice(f"run {run} is forked from run {origin} after its record {state.run.fork.seq}")
        if kind.name == EXECUTION:
            notice(f"the fork's tools work in {state.config.workspace}; what run {origin} did elsewhere is not undone")
        if detach:
            invocation.run = run
            if invocation.json:
                print_result(kind, await engine.result(run), as_json=True)
            else:
                with ignore_closed_stdout():
                    print_text(f"{run}\n")
            say_how_to_follow(run)
            return Exit.OK

        title = (await engine.journal.row(run)).title
        return await drive_further(engine, run, invocation, kind=kind, title=title, compare=False)
