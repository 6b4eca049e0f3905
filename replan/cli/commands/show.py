"""`show`: prints one view of a run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from actors.run.result import RunResult
from replan.cli.commands.log import RecordPrinter
from replan.cli.exits import Exit
from replan.cli.hints import how_to_answer, how_to_resume
from replan.cli.options import Invocation
from replan.cli.reading import archive_named, named_or_newest, reading_run
from replan.cli.terminal.console import notice, print_json, print_row, print_text, print_tree, show
from replan.runs.linked_runs import LinkedRun
from replan.runs.loaded import Loaded
from replan.runs.shown import ShownRun, read_shown
from replan.setup.command_name import program
from replan.views.records import record_to_json
from runtime.core.errors import RunMoved, UsageProblem
from runtime.journal.port import RunRow

if TYPE_CHECKING:
    from replan.runs.reader import Reading


def show_run(invocation: Invocation, name: str | None, view: str, *, as_json: bool) -> int:
    """Print one view of a run: `result`, `tree`, `events`, or a document such as `plan`. Return the exit code.

    The name is that of a run of the home or of an archive's file; None is the newest run.
    """
    shown = reading_run(invocation, name, _read)
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
            if name is not None and archive_named(name) is not None:
                notice(f"archived: `{program()} restore {name.partition('#')[0]}` brings it back into the journal")
        case _:
            _print_document(result, loaded, view, top, as_json=as_json)
    return Exit.OK


async def _read(reader: "Reading", name: str | None) -> ShownRun:
    return await read_shown(reader, await named_or_newest(reader, name))


def _print_tree(row: RunRow, loaded: Loaded, status: str, *, as_json: bool) -> None:
    title = f"{row.run}: {row.title}"
    interrupted = status == "parked"
    tree = loaded.kind.views.tree(title, loaded.state, loaded.records, interrupted=interrupted, brief=False)
    if as_json:
        print_json({"run_id": row.run, **tree.json})
        return
    print_tree(tree.tree)
    for line in tree.lines:
        print_row(line, whole=True)


def _print_events(run: str, loaded: Loaded, *, as_json: bool) -> None:
    if as_json:
        print_json({"run_id": run, "events": [record_to_json(loaded.kind, record) for record in loaded.records]})
    else:
        RecordPrinter(loaded.kind).print(loaded.records)


def _print_result(
    result: RunResult, loaded: Loaded, top: str, linked: Sequence[LinkedRun], *, as_json: bool, full: bool
) -> None:
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
    how_to_answer(result)
    if result.status == "parked" or result.held_up:
        how_to_resume(top)
