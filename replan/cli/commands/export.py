"""`export`: writes the plan of a run in a form for other programs and people."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from actors.run.views import Document
from replan.cli.exits import Exit
from replan.cli.options import Invocation
from replan.cli.reading import named_or_newest, reading_run
from replan.cli.terminal.console import notice
from replan.cli.terminal.plain import json_text, print_json, print_text
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.runs.reader import Reading

_FORMS = {".json": "json", ".mmd": "mermaid", ".mermaid": "mermaid"}
"""The form that a file's name asks for."""
_DOCUMENTS = {"json": "plan"}
"""The document of a form, where it has another name."""


def export_plan(invocation: Invocation, name: str | None, form: str | None, output: str, *, as_json: bool) -> int:
    """Write the plan of a run, of the newest for None, to a file or, for `-`, to stdout. Return the exit code."""
    form = form or _FORMS.get(Path(output).suffix.lower(), "markdown")
    run, document = reading_run(invocation, name, partial(_document, form=form))
    text = document.text
    if text is None:
        text = json_text(document.json) + "\n"
    fields = {"run_id": run, "format": form}
    if output != "-":
        try:
            Path(output).write_text(text, encoding="utf-8")
        except (OSError, ValueError) as error:
            cause = (getattr(error, "strerror", None) or "not a file's name").lower()
            raise UsageProblem(cause, place=output, hint="name a file that you may write, or - for stdout") from None
        if as_json:
            print_json({**fields, "file": output, "bytes": len(text.encode())})
        else:
            notice(f"the plan of run {run} is in {output}")
    elif as_json:
        print_json({**fields, "text": text})
    else:
        print_text(text)
    return Exit.OK


async def _document(reader: "Reading", name: str | None, *, form: str) -> tuple[str, Document]:
    run = await named_or_newest(reader, name)
    loaded = await reader.read(run)
    make = loaded.kind.views.documents.get(_DOCUMENTS.get(form, form))
    if make is None:
        cause = f"a run of kind {loaded.kind.name!r} cannot be written as {form}"
        raise UsageProblem(cause, place="--format", hint=f"`{program()} show {run}` shows the run")
    return run, make(loaded.state, await reader.result(run), program())
