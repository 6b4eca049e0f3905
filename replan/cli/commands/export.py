"""`export`: writes the plan of a run in a form for other programs and people."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option
from replan.cli.run_options import require_one_run, run_argument
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from actors.run.views import RunDocument
    from replan.runs.reader import RunReader


_EXPORT = examples(
    "replan export --last -o plan.md",
    "replan export k7m2x9qa --format github-checklist | gh issue create -t 'The plan' -F -",
    "replan export --last --format mermaid -o plan.mmd",
    "replan export --last -o plan.json && replan check plan.json",
)


@click.command(epilog=_EXPORT, short_help="Write the plan of a run to a file.")
@run_argument()
@click.option(
    "--format",
    "form",
    type=click.Choice(["markdown", "json", "github-checklist", "mermaid", "csv", "xlsx", "yaml"]),
    help="What to write; default: by the name of the file, else markdown.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="Where to write it; default: standard output.")
@json_option
@common
@click.pass_obj
def export(
    invocation: Invocation, run_id: str | None, *, last: bool, form: str | None, output: str, as_json: bool
) -> int:
    """Write the proved plan of a RUN, or the report of an acquisition, in a form for others. A file is replaced."""
    require_one_run("export", run_id, last=last)
    from replan.cli.reading import reading_run
    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import json_text, print_json, print_text

    form = form or _FORMS.get(Path(output).suffix.lower(), "markdown")
    run, what, document = reading_run(invocation, run_id, partial(_document, form=form))
    content = document.content
    if content is None:
        text = json_text(document.json) + "\n" if document.text is None else document.text
        content = text.encode()
    fields = {"run_id": run, "format": form}
    if output != "-":
        try:
            Path(output).write_bytes(content)
        except (OSError, ValueError) as error:
            cause = (getattr(error, "strerror", None) or "not a file's name").lower()
            raise UsageProblem(cause, place=output, hint="name a file that you may write, or - for stdout") from None
        if as_json:
            print_json({**fields, "file": output, "bytes": len(content)})
        else:
            notice(f"the {what} of run {run} is in {output}")
    elif document.content is not None:
        raise UsageProblem(f"{form} is no text", place="-o", hint=f"name a file, such as -o report.{form}")
    elif as_json:
        print_json({**fields, "text": content.decode()})
    else:
        print_text(content.decode())
    return Exit.OK


_FORMS = {f".{form}": form for form in ("csv", "xlsx", "json", "yaml", "mermaid")} | {".yml": "yaml", ".mmd": "mermaid"}
"""The form that a file's name asks for."""

_DOCUMENTS = {"json": "plan"}
"""The document of a form, where it has another name."""


async def _document(reader: RunReader, name: str | None, *, form: str) -> tuple[str, str, RunDocument]:
    from replan.cli.reading import named_or_newest

    run = await named_or_newest(reader, name)
    loaded = await reader.read(run)
    make = loaded.kind.views.documents.get(_DOCUMENTS.get(form, form))
    if make is None:
        cause = f"a run of kind {loaded.kind.name!r} cannot be written as {form}"
        raise UsageProblem(cause, place="--format", hint=f"`{program()} show {run}` shows the run")
    what = "result" if form == "yaml" else "plan" if "plan" in loaded.kind.views.documents else "report"
    return run, what, make(loaded.state, await reader.result(run), program())
