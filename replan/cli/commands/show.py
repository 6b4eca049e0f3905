"""The commands that show runs: `runs`, `show`, `log` and `export`."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replan.cli.completing import require_one_run, run_argument
from replan.cli.exits import Exit
from replan.cli.options import Duration, Invocation, common, examples, full_option, json_option
from replan.setup.installation import program
from runtime.core.errors import RunMoved, UsageProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from actors.run.result import RunResult
    from actors.run.views import RunDocument, SentPrompt
    from replan.runs.families import LinkedRun, ShownRun
    from replan.runs.loaded import AnyKind, Loaded
    from replan.runs.reader import RunReader
    from runtime.core.events import Record
    from runtime.journal.port import RunRow


@click.command(
    epilog=examples(
        "replan runs --limit 20", "replan runs --waiting --older-than 1h", "replan runs --json | jq -r '.runs[].run_id'"
    )
)
@click.option("--waiting", is_flag=True, help="List only runs that wait for an answer.")
@click.option(
    "--older-than",
    type=Duration(),
    metavar="TIME",
    help="With --waiting, list only runs that have waited longer than TIME.",
)
@click.option("--limit", type=click.IntRange(1, 1_000_000), metavar="N", help="The largest number of runs to list.")
@click.option(
    "--page", type=click.IntRange(1, 1_000_000), metavar="N", help="With --limit, the page to list; the first is 1."
)
@json_option
@common
@click.pass_obj
def runs(
    invocation: Invocation,
    *,
    waiting: bool,
    older_than: float | None,
    limit: int | None,
    page: int | None,
    as_json: bool,
) -> int:
    """List the runs, the newest first."""
    if older_than is not None and not waiting:
        raise UsageProblem("this option has an effect only with --waiting", place="--older-than", hint="add --waiting")
    if page is not None and limit is None:
        raise UsageProblem("this option has an effect only with --limit", place="--page", hint="add --limit N")
    from actors.values.lines import line
    from replan.cli.reading import read_home
    from replan.cli.terminal.console import print_json, print_row, print_table
    from replan.runs.reader import ALL, RowQuery
    from replan.views.rows import row_lines, row_to_json
    from runtime.journal.port import RunFilter

    before = None if older_than is None else time.time() - older_than
    most, begin = limit or ALL.limit, ((page or 1) - 1) * (limit or 0)
    which = RunFilter(status="waiting" if waiting else None, waiting_since_before=before, limit=most, begin=begin)
    # A page of waiting runs is a page of those that still wait after all unread answers.
    rows, _ = read_home(invocation, lambda reader: reader.row_page(which, RowQuery()))
    if as_json:
        print_json({"runs": [row_to_json(row, status) for row, status in rows]})
        return Exit.OK
    now = time.time()
    if rows:
        print_table(row_lines(rows, now))
    else:
        empty = (
            "no more runs"
            if begin
            else "no run waits for an answer"
            if waiting
            else f"no runs yet: `{program()} run PROBLEM` starts one"
        )
        print_row(line(empty, "dim"))
    return Exit.OK


_SHOW = examples(
    "replan show --last                 the result of the newest run",
    "replan show k7m2x9qa --tree        why the search made each move",
    "replan show k7m2x9qa --prompt g_plan/v1.a1",
    "replan show k7m2x9qa --mermaid     the plan as a drawing",
    "replan show k7m2x9qa --json | jq .path",
)


@click.command(epilog=_SHOW)
@run_argument()
@click.option("--tree", is_flag=True, help="Show every attempt, and why the search went back.")
@click.option("--plan", is_flag=True, help="Show only the proved plan.")
@click.option("--mermaid", is_flag=True, help="Print the proved plan as Mermaid text.")
@click.option("--prompt", metavar="NODE", help="Show the prompt of an attempt, such as g_plan/v1.a1.")
@click.option("--events", is_flag=True, help="Show every record.")
@full_option
@json_option
@common
@click.pass_context
def show(
    ctx: click.Context, /, run_id: str | None, *, last: bool, prompt: str | None, as_json: bool, **views: bool
) -> int:
    """Show the result of a RUN. RUN is an id, or at least its first six characters."""
    require_one_run("show", run_id, last=last)
    chosen_views = [name for name in ("tree", "plan", "mermaid", "events") if views[name]]
    if prompt is not None:
        chosen_views.append("prompt")
    if len(chosen_views) > 1:
        places = " and ".join(f"--{name}" for name in chosen_views)
        raise UsageProblem("only one view can be shown", place=places, hint="keep one of the options")
    view = chosen_views[0] if chosen_views else "result"
    if as_json and view == "mermaid":
        raise UsageProblem("this option cannot be used with --json", place="--mermaid", hint="leave one of the two out")
    invocation = ctx.find_object(Invocation)
    assert invocation is not None
    if prompt is not None:
        return _show_prompt(invocation, run_id, prompt, as_json=as_json)
    from replan.cli.reading import read_home
    from replan.cli.terminal.console import notice

    shown = read_home(invocation, partial(_read_shown, name=run_id))
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
        case _:
            _print_document(result, loaded, view, top, as_json=as_json)
    return Exit.OK


async def _read_shown(reader: RunReader, name: str | None) -> ShownRun:
    from replan.cli.reading import resolve_or_newest
    from replan.runs.families import read_shown

    return await read_shown(reader, await resolve_or_newest(reader, name))


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
    from replan.cli.terminal.console import print_json
    from replan.views.rows import record_to_json

    if as_json:
        print_json({"run_id": run, "events": [record_to_json(loaded.kind, record) for record in loaded.records]})
    else:
        RecordPrinter(loaded.kind).print(loaded.records)


def _print_result(
    result: RunResult, loaded: Loaded, top: str, linked: Sequence[LinkedRun], *, as_json: bool, full: bool
) -> None:
    from replan.cli.terminal.console import notice, print_json, show

    if as_json:
        executions = [{"run_id": item.run, "status": item.status, "outcome": item.outcome or None} for item in linked]
        print_json(result.to_json() | ({"executions": executions} if executions else {}))
    else:
        show(loaded.kind.views.lines(result, program(), full=full))
        _hint_next(result, top)
    for remark in result.remarks():
        notice(remark)
    for item in linked:
        came_to = item.outcome or item.status
        notice(f"its plan is executed by run {item.run} ({came_to}): {program()} show {item.run}")


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
    """Print on stderr how to answer or resume a run that no process drives. `top` is the id of the run to resume."""
    from replan.cli.hints import say_how_to_answer, say_how_to_resume

    say_how_to_answer(result)
    if result.status == "parked" or result.held_up:
        say_how_to_resume(top)


_LOG = examples(
    "replan log k7m2x9qa",
    "replan log --last --follow",
    "replan log --last --json | jq -r .kind",
)


@click.command(epilog=_LOG)
@run_argument()
@click.option("-f", "--follow", is_flag=True, help="Print new records until the run ends, waits or is parked.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@common
@click.pass_obj
def log(invocation: Invocation, run_id: str | None, *, last: bool, follow: bool, as_json: bool) -> int:
    """Print the records of a RUN, one line each."""
    require_one_run("log", run_id, last=last)
    from replan.cli.reading import read_home

    if follow:
        import trio

        return trio.run(_follow, invocation, run_id, as_json)
    kind, records = read_home(invocation, partial(_read_records, name=run_id))
    RecordPrinter(kind, as_json=as_json).print(records)
    return Exit.OK


FOLLOW_SECONDS = 0.25
"""The seconds between two reads of the journal by `log --follow`."""


async def _read_records(reader: RunReader, name: str | None) -> tuple[AnyKind, list[Record[Any]]]:
    from replan.cli.reading import resolve_or_newest

    run = await resolve_or_newest(reader, name)
    return await reader.kind_of(run), await reader.journal.read(run)


async def _follow(invocation: Invocation, name: str | None, as_json: bool) -> int:
    import trio

    from replan.cli.home import open_for_reading
    from replan.cli.reading import resolve_or_newest

    async with open_for_reading(invocation) as engine:
        run = await resolve_or_newest(engine, name)
        printer = RecordPrinter(await engine.kind_of(run), as_json=as_json)
        printer.print(await engine.journal.read(run))
        while await _is_running(engine, run):
            await trio.sleep(FOLLOW_SECONDS)
            printer.print(await engine.journal.read(run, printer.last_seq))
        printer.print(await engine.journal.read(run, printer.last_seq))
    return Exit.OK


async def _is_running(reader: RunReader, run: str) -> bool:
    from replan.runs.reader import status_of

    row = await reader.journal.row(run)
    return status_of(row, hosted=await reader.has_host(row.kind, row.format)) == "running"


class RecordPrinter:
    """Prints the records of one run, beginning with the first."""

    def __init__(self, kind: AnyKind, *, as_json: bool = False) -> None:
        self._kind, self._json = kind, as_json
        self._state: Any = kind.machine.initial()
        self.last_seq = 0

    def print(self, records: Iterable[Record[Any]]) -> None:
        """Print the next records."""
        from replan.cli.terminal.console import print_json, print_row
        from replan.views.rows import record_line, record_to_json

        for record in records:
            self.last_seq = record.seq
            if self._json:
                print_json(record_to_json(self._kind, record), indent=None)
            else:
                self._state = self._kind.machine.evolve(self._state, record.event)
                # `str` changes nothing: the ids stay in the text and are not replaced by words.
                print_row(record_line(self._kind, record, self._state, worded=str))


_EXPORT = examples(
    "replan export --last -o plan.md",
    "replan export k7m2x9qa --format github-checklist | gh issue create -t 'The plan' -F -",
    "replan export --last --format mermaid -o plan.mmd",
    "replan export --last -o plan.json && replan check plan.json",
    "replan export --last --draft -o draft.json",
)


@click.command(epilog=_EXPORT, short_help="Write the plan of a run to a file.")
@run_argument()
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json", "github-checklist", "mermaid", "csv", "xlsx", "yaml"]),
    help="The format; default: from the suffix of FILE, else markdown.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="The file to write; default: standard output.")
@click.option(
    "--draft",
    is_flag=True,
    help="Write the best rejected plan of a run, or an execution's remaining plan. It is not proved.",
)
@json_option
@common
@click.pass_obj
def export(
    invocation: Invocation, run_id: str | None, *, last: bool, form: str | None, output: str, draft: bool, as_json: bool
) -> int:
    """Write the proved plan of a RUN, or the report of a run of another kind. An existing file is replaced.

    A draft is written as JSON, which `check` reads.
    """
    require_one_run("export", run_id, last=last)
    if draft and form not in (None, "json"):
        raise UsageProblem("a draft can only be written as JSON", place=f"--format {form}", hint="leave --format out")
    from replan.cli.reading import read_home
    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import json_text, print_json, print_text

    form = "json" if draft else form or _FORMS.get(Path(output).suffix.lower(), "markdown")
    view = "draft" if draft else _DOCUMENTS.get(form, form)
    run, what, document = read_home(invocation, partial(_document, name=run_id, form=form, view=view))
    content = document.content
    if content is None:
        text = json_text(document.json) + "\n" if document.text is None else document.text
        content = text.encode()
    fields = {"run_id": run, "format": form}
    if output != "-":
        try:
            Path(output).write_bytes(content)
        except (OSError, ValueError) as error:
            cause = (getattr(error, "strerror", None) or "no file can have this name").lower()
            raise UsageProblem(cause, place=output, hint="name a file that you may write, or - for stdout") from None
        if as_json:
            print_json({**fields, "file": output, "bytes": len(content)})
        else:
            notice(f"the {what} of run {run} is in {output}")
    elif document.content is not None:
        raise UsageProblem(
            f"the format {form} is not text, so it cannot be printed",
            place="-o",
            hint=f"name a file, such as -o report.{form}",
        )
    elif as_json:
        print_json({**fields, "text": content.decode()})
    else:
        print_text(content.decode())
    return Exit.OK


_FORMS = {f".{form}": form for form in ("csv", "xlsx", "json", "yaml", "mermaid")} | {".yml": "yaml", ".mmd": "mermaid"}
"""A mapping from the suffix of an output file to the format of the export."""

_DOCUMENTS = {"json": "plan"}
"""A mapping from a format to the name of its document. It contains only the formats whose document has another name
than the format."""


async def _document(reader: RunReader, name: str | None, *, form: str, view: str) -> tuple[str, str, RunDocument]:
    from replan.cli.reading import resolve_or_newest

    run = await resolve_or_newest(reader, name)
    loaded = await reader.read(run)
    documents = loaded.kind.views.documents
    make = documents.get(view)
    if make is None:
        cause, place = f"cannot be written as {form}", "--format"
        if view == "draft":
            cause, place = "has no draft", "--draft"
        cause = f"a run of kind {loaded.kind.name!r} {cause}"
        raise UsageProblem(cause, place=place, hint=f"`{program()} show {run}` shows the run")
    named = {"draft": "draft", "yaml": "result"}
    what = named.get(view) or ("plan" if "plan" in documents else "report")
    return run, what, make(loaded.state, await reader.result(run), program())


def _show_prompt(invocation: Invocation, wanted: str | None, node: str, *, as_json: bool) -> int:
    """Print the messages that one call of a run sent to the model, and return the exit code.

    If `wanted` is None, use the newest run.

    The exit code is 1 if the hash of the messages differs from the stored hash, for example because this release
    renders prompts differently.
    """
    from replan.cli.reading import read_home
    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import print_json, print_text
    from runtime.logs.terminal_text import clean

    run, sent = read_home(invocation, partial(_read_prompt, name=wanted, node=node))
    if as_json:
        messages = [{"role": role, "content": text} for role, text in sent.messages]
        shown = {"request_id": sent.request_id, "prompt_hash": sent.prompt_hash, "verified": sent.verified}
        print_json({"run_id": run, **shown, "messages": messages, "cut": list(sent.cut)})
    else:
        for role, text in sent.messages:
            print_text(f"=== {role} ===\n{clean(text).rstrip()}\n")
    if sent.cut:
        notice(f"these parts were cut to their size limits: {', '.join(sent.cut)}")
    if not sent.verified:
        notice(f"these are not the exact messages of {sent.request_id}: their hash is not {sent.prompt_hash}")
        return Exit.INTERNAL
    return Exit.OK


async def _read_prompt(reader: RunReader, name: str | None, *, node: str) -> tuple[str, SentPrompt]:
    from replan.cli.reading import resolve_or_newest

    run = await resolve_or_newest(reader, name)
    loaded = await reader.read(run)
    make = loaded.kind.views.prompt
    if make is None:
        raise UsageProblem(f"a run of kind {loaded.kind.name!r} has no prompts to show", place="--prompt")
    return run, make(loaded.records, node)
