"""`show`: prints one view of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, full_option, json_option
from replan.cli.run_options import require_one_run, run_argument
from replan.setup.command_name import program
from runtime.core.errors import RunMoved, UsageProblem

if TYPE_CHECKING:
    from actors.run.result import RunResult
    from replan.runs.families import LinkedRun
    from replan.runs.loaded import Loaded
    from replan.runs.reader import RunReader
    from replan.runs.shown import ShownRun
    from runtime.journal.port import RunRow


_SHOW = examples(
    "replan show --last                 the result of the newest run",
    "replan show k7m2x9qa --tree        why the search went where it went",
    "replan show k7m2x9qa --prompt g_plan/v1.a1",
    "replan show k7m2x9qa --mermaid     the plan as a drawing",
    "replan show k7m2x9qa --json | jq .path",
)


@click.command(epilog=_SHOW)
@run_argument()
@click.option("--tree", is_flag=True, help="Every attempt, and the reason of every step back.")
@click.option("--plan", is_flag=True, help="The proved plan alone.")
@click.option("--mermaid", is_flag=True, help="The proved plan as Mermaid text.")
@click.option("--prompt", metavar="NODE", help="The messages that an attempt got, such as g_plan/v1.a1.")
@click.option("--events", is_flag=True, help="Every record.")
@full_option
@json_option
@common
@click.pass_context
def show(
    ctx: click.Context, /, run_id: str | None, *, last: bool, prompt: str | None, as_json: bool, **views: bool
) -> int:
    """Show the result of a RUN; RUN is its id, or at least six characters of it."""
    require_one_run("show", run_id, last=last)
    chosen_views = [name for name in ("tree", "plan", "mermaid", "events") if views[name]]
    if prompt is not None:
        chosen_views.append("prompt")
    if len(chosen_views) > 1:
        places = " and ".join(f"--{name}" for name in chosen_views)
        raise UsageProblem("these are different views of a run", place=places, hint="ask for one of them")
    view = chosen_views[0] if chosen_views else "result"
    if as_json and view == "mermaid":
        raise UsageProblem("Mermaid text is no JSON", place="--mermaid", hint="leave one of the two out")
    invocation = ctx.find_object(Invocation)
    assert invocation is not None
    if prompt is not None:
        from replan.cli.prompt_view import show_prompt

        return show_prompt(invocation, run_id, prompt, as_json=as_json)
    from replan.cli.reading import archive_named, reading_run
    from replan.cli.terminal.console import notice

    shown = reading_run(invocation, run_id, _read)
    row, loaded, status, result, top = shown.row, shown.loaded, shown.status, shown.result, shown.top
    run = row.run
    invocation.run = run
    if shown.moved_to is not None:
        notice(str(RunMoved(run, shown.moved_to)))
    match view:
        case "tree":
            _print_tree(row, loaded, status, as_json=as_json)
        case "events":
            _print_events(run, loaded, as_json=as_json)
        case "result":
            _print_result(result, loaded, top, shown.linked, as_json=as_json, full=invocation.full)
            if run_id is not None and archive_named(run_id) is not None:
                notice(f"archived: `{program()} restore {run_id.partition('#')[0]}` brings it back into the journal")
        case _:
            _print_document(result, loaded, view, top, as_json=as_json)
    return Exit.OK


async def _read(reader: RunReader, name: str | None) -> ShownRun:
    from replan.cli.reading import named_or_newest
    from replan.runs.shown import read_shown

    return await read_shown(reader, await named_or_newest(reader, name))


def _print_tree(row: RunRow, loaded: Loaded, status: str, *, as_json: bool) -> None:
    from replan.cli.terminal.console import print_json, print_row, print_tree

    title = f"{row.run}: {row.title}"
    interrupted = status == "parked"
    tree = loaded.kind.views.tree(title, loaded.state, loaded.records, interrupted=interrupted, brief=False)
    if as_json:
        print_json({"run_id": row.run, **tree.to_json()})
        return
    print_tree(tree.tree)
    for line in tree.lines:
        print_row(line, whole=True)


def _print_events(run: str, loaded: Loaded, *, as_json: bool) -> None:
    from replan.cli.commands.log import RecordPrinter
    from replan.cli.terminal.console import print_json
    from replan.views.records import record_to_json

    if as_json:
        print_json({"run_id": run, "events": [record_to_json(loaded.kind, record) for record in loaded.records]})
    else:
        RecordPrinter(loaded.kind).print(loaded.records)


def _print_result(
    result: RunResult, loaded: Loaded, top: str, linked: Sequence[LinkedRun], *, as_json: bool, full: bool
) -> None:
    from replan.cli.terminal.console import notice, print_json, show

    if as_json:
        executions = [{"run_id": each.run, "status": each.status, "outcome": each.outcome or None} for each in linked]
        print_json(result.to_json() | ({"executions": executions} if executions else {}))
    else:
        show(loaded.kind.views.lines(result, program(), full=full))
        _hint_next(result, top)
    for remark in result.remarks():
        notice(remark)
    for each in linked:
        came_to = each.outcome or each.status
        notice(f"its plan is executed by run {each.run} ({came_to}): {program()} show {each.run}")


def _print_document(result: RunResult, loaded: Loaded, view: str, top: str, *, as_json: bool) -> None:
    from replan.cli.terminal.console import print_json, print_text, show

    make = loaded.kind.views.documents.get(view)
    if make is None:
        cause = f"a run of kind {loaded.kind.name!r} has no such view"
        raise UsageProblem(cause, place=f"--{view}", hint=f"`{program()} show {result.run_id}` shows the run")
    document = make(loaded.state, result, program())
    if document.text is not None:
        print_text(document.text)
    elif as_json:
        print_json(document.json)
    else:
        show(document.lines)
        _hint_next(result, top)


def _hint_next(result: RunResult, top: str) -> None:
    """Say on stderr how an unfinished run that nobody drives goes on: with `top`, which it is or is a step of."""
    from replan.cli.hints import say_how_to_answer, say_how_to_resume

    say_how_to_answer(result)
    if result.status == "parked" or result.held_up:
        say_how_to_resume(top)
