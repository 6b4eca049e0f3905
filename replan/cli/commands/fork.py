"""`fork`: starts a new run with the first records of another one, under other rules from there on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replan.cli.options import Invocation, examples
from replan.cli.run_options import (
    detach_option,
    driving_options,
    given_values,
    limit_options,
    naming_options,
    require_one_run,
    run_argument,
    set_option,
)

if TYPE_CHECKING:
    from actors.run.result import RunResult
    from replan.runs.forks import ForkRequest
    from replan.runs.session import RunSession
    from runtime.drive.options import Stop

_FORK = examples(
    "replan fork k7m2x9qa --at g_strategy/v1.a1 -m gpt-5-mini",
    "replan fork k7m2x9qa --at before:g_plan/v1.a1 -w search",
    "replan fork k7m2x9qa --at 14 --policy belief --max-calls 20",
    "replan fork --last --at 1 --max-calls 60 --json",
    "replan fork k7m2x9qa --at 12 --set core.region=Spain",
)


@click.command(epilog=_FORK, short_help="Start a new run from the middle of another one.")
@run_argument(last="The newest run.")
@click.option(
    "--at",
    metavar="NODE|SEQ",
    default="",
    help="After this attempt's verdict, or this record; before:NODE makes the attempt again. Default: before the end.",
)
@click.option("-w", "--workflow", help="Another workflow from there on, with the same steps.")
@click.option("--policy", help="Another policy from there on, a shipped one or a file.")
@click.option("-m", "--model", help="Another model from there on.")
@set_option
@click.option("--workspace", metavar="DIR", help="For an execution: the folder to make. Default: beside the run's own.")
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

    The RUN is only read: it may be driven, wait, be parked or have ended. The fork has the limits of the RUN, and
    spends nothing of its budget. Replies and verdicts up to the place are not asked for again; calls that were open
    are, and open questions are asked anew. What tools have done is not undone: the fork asks before it makes a call
    that is not repeatable, and that the RUN has made after the place. For an acquisition, --set gives values that hold
    from there on. For an execution, a folder is made with the files that a snapshot shows: a git worktree, or a copy
    where the workspace is no repository and has not changed since.
    """
    require_one_run("fork", run_id, last=last)
    import trio

    from actors.run.limits import checked_limits, split_limits
    from replan.runs.changes import Changes
    from replan.runs.forks import ForkRequest
    from replan.setup.gc_tuning import tune

    with naming_options():
        changes = Changes(checked_limits(split_limits(limits)), model)
    tune()
    folder = None if workspace is None else Path(workspace)
    wanted = ForkRequest(at.strip(), workflow, policy, changes, given_values(given), folder)
    return trio.run(_fork, invocation, run_id, wanted, detach)


async def _fork(invocation: Invocation, prefix: str | None, wanted: ForkRequest, detach: bool) -> int:
    from replan.cli.drive import drive_to_rest, print_result, show_result
    from replan.cli.exits import Exit
    from replan.cli.hints import say_how_to_follow
    from replan.cli.home import opened
    from replan.cli.reading import named_or_newest
    from replan.cli.starting import require_host
    from replan.cli.terminal.console import ignoring_closed_stdout, notice, print_text
    from replan.runs.forks import fork_run
    from replan.runs.run_ids import new_run_id
    from replan.runs.workspaces import EXECUTION

    async with opened(invocation, drives=not detach) as engine:
        origin = await named_or_newest(engine, prefix)
        kind = await engine.kind_of(origin)
        if detach:
            await require_host(engine, kind.name)
        with naming_options(at="--at", policy="--policy", workspace="--workspace"):
            run = await fork_run(engine, origin, wanted, name=new_run_id())
        state, _ = await engine.load(run)
        notice(f"run {run} is forked from run {origin} after its record {state.run.fork.seq}")
        if kind.name == EXECUTION:
            notice(f"its tools work in {state.config.workspace}; what the other run did elsewhere is not undone")
        if detach:
            invocation.run = run
            if invocation.json:
                print_result(kind, await engine.result(run), as_json=True)
            else:
                with ignoring_closed_stdout():
                    print_text(f"{run}\n")
            say_how_to_follow(run)
            return Exit.OK

        async def start(session: RunSession, stop: Stop) -> RunResult:
            return await session.drive(stop)

        title = (await engine.journal.row(run)).title
        result, signals = await drive_to_rest(engine, run, start, invocation, kind=kind, title=title)
        return await show_result(engine, kind, result, signals, invocation)
