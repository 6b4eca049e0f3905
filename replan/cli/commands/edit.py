"""The command `edit`: opens the plan of a run in an editor, and posts the edited plan to the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from replan.cli.completing import require_one_run, run_argument
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.cli.plan_editor import Edit
    from replan.runs.editing import OpenPlan

_EDIT = examples(
    "replan edit k7m2x9qa",
    "replan edit --last --approve",
    "replan edit k7m2x9qa --print > rest.yaml && replan edit k7m2x9qa --file rest.yaml",
)


@click.command(epilog=_EDIT)
@run_argument()
@click.option(
    "--file", metavar="FILE", help="Take the edited plan from FILE (- for standard input) and open no editor."
)
@click.option("--print", "prints", is_flag=True, help="Print the plan, and change nothing.")
@click.option("--approve", is_flag=True, help="Also approve the steps that wait for your approval.")
@click.option("--drop-demands", is_flag=True, help="Accept that the edit drops some demands.")
@json_option
@common
@click.pass_obj
def edit(
    invocation: Invocation,
    run_id: str | None,
    *,
    last: bool,
    file: str | None,
    prints: bool,
    approve: bool,
    drop_demands: bool,
    as_json: bool,
) -> int:
    """Edit the plan of a RUN as YAML in your editor ($VISUAL or $EDITOR).

    The editor shows the plan or the best draft of a planning run, or the remaining plan of an execution. The guards
    judge the edit. A rejected edit opens again with the findings as comments. An accepted edit becomes the plan of the
    run; an execution adopts it when no step is running. Finished steps, tokens that hold and prohibitions are kept.
    """
    require_one_run("edit", run_id, last=last)
    if prints and file is not None:
        raise UsageProblem("this option cannot be used with --print", place="--file", hint="leave one of the two out")
    import trio

    from replan.cli.plan_editor import get_edit, text_of
    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import print_json, print_text

    opened = trio.run(_open, invocation, run_id)
    if prints:
        if as_json:
            print_json(opened.value)
        else:
            print_text(text_of(opened))
        return Exit.OK
    made = get_edit(invocation, opened, file, drops=drop_demands)
    if made is None:
        notice(f"the plan of run {opened.run} is unchanged")
    else:
        trio.run(_post, invocation, opened, made, opened.approvals if approve else ())
    if as_json:
        print_json({"run_id": opened.run, "result": "unchanged" if made is None else "accepted"})
    return Exit.OK


async def _open(invocation: Invocation, name: str | None) -> OpenPlan:
    from replan.cli.home import open_engine
    from replan.cli.reading import resolve_or_newest
    from replan.runs.editing import open_plan

    async with open_engine(invocation) as engine:
        return await open_plan(engine, await resolve_or_newest(engine, name))


async def _post(invocation: Invocation, opened: OpenPlan, made: Edit, approves: tuple[str, ...]) -> None:
    from replan.cli.hints import say_how_to_resume
    from replan.cli.home import open_engine
    from replan.cli.plan_editor import give
    from replan.cli.terminal.console import notice

    async with open_engine(invocation) as engine:
        await give(engine, opened, made, approves=approves)
        row = await engine.journal.row(opened.run)
        hosted = await engine.has_host(row.kind, row.format)
    later = ", and adopts it when no step is running" if opened.executes else ""
    notice(f"run {opened.run} has the edited plan{later}")
    if row.owner is None and not hosted and row.status != "finished":
        say_how_to_resume(opened.run)
