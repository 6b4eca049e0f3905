"""`show`: prints one view of a run."""

import trio

from actors.run.result import RunResult
from replan.cli.commands.log import RecordPrinter
from replan.cli.exits import Exit
from replan.cli.hints import how_to_answer, how_to_resume
from replan.cli.home import named_or_newest, opened_to_read
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, out, print_json, print_text, rich_text, rich_tree, show
from replan.runs.children import top_of
from replan.runs.loaded import Loaded
from replan.runs.status import status_of
from replan.setup.command_name import program
from replan.views.records import record_to_json
from runtime.core.errors import UsageProblem
from runtime.journal.port import RunRow


def show_run(invocation: Invocation, name: str | None, view: str, *, as_json: bool) -> int:
    """Print one view of a run, of the newest for None: `result`, `tree`, `events`, or a document such as `plan`.

    Return the exit code.
    """
    return trio.run(_show_run, invocation, name, view, as_json)


async def _show_run(invocation: Invocation, name: str | None, view: str, as_json: bool) -> int:
    async with opened_to_read(invocation) as engine:
        run = await named_or_newest(engine, name)
        loaded, row = await engine.read_with_row(run)
        with_inbox, top = await engine.with_inbox(run, loaded), await top_of(engine, run)
        common = loaded.kind.run_state(with_inbox)
        status = status_of(row, hosted=await engine.hosted(row.kind, row.format), with_inbox=common)
        result = engine.view(run, loaded.kind, loaded.state, status, with_inbox)
    invocation.run = run
    match view:
        case "tree":
            _print_tree(row, loaded, status, as_json=as_json)
        case "events":
            _print_events(run, loaded, as_json=as_json)
        case "result":
            _print_result(result, loaded, top, as_json=as_json, full=invocation.full)
        case _:
            _print_document(result, loaded, view, top, as_json=as_json)
    return Exit.OK


def _print_tree(row: RunRow, loaded: Loaded, status: str, *, as_json: bool) -> None:
    title = f"{row.run}: {row.title}"
    interrupted = status == "parked"
    tree = loaded.kind.views.tree(title, loaded.state, loaded.records, interrupted=interrupted, brief=False)
    if as_json:
        print_json({"run_id": row.run, **tree.json})
        return
    out().print(rich_tree(tree.tree))
    for line in tree.lines:
        out().print(rich_text(line), soft_wrap=True)


def _print_events(run: str, loaded: Loaded, *, as_json: bool) -> None:
    if as_json:
        print_json({"run_id": run, "events": [record_to_json(loaded.kind, record) for record in loaded.records]})
    else:
        RecordPrinter(loaded.kind).print(loaded.records)


def _print_result(result: RunResult, loaded: Loaded, top: str, *, as_json: bool, full: bool) -> None:
    if as_json:
        print_json(result.to_json())
    else:
        show(loaded.kind.views.lines(result, program(), full=full))
        _hint_next(result, top)
    for remark in result.remarks():
        notice(remark)


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
