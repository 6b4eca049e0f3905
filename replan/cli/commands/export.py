"""`export`: writes the plan of a run in a form for other programs and people."""

import json
from pathlib import Path

import trio

from actors.run.views import Document
from replan.cli.exits import Exit
from replan.cli.home import named_or_newest, opened_to_read
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice
from replan.cli.terminal.plain import print_json, print_text
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem

_FORMS = {".json": "json", ".mmd": "mermaid", ".mermaid": "mermaid"}
"""The form that a file's name asks for."""
_DOCUMENTS = {"json": "plan"}
"""The document of a form, where it has another name."""


def export_plan(invocation: Invocation, name: str | None, form: str | None, output: str, *, as_json: bool) -> int:
    """Write the plan of a run, of the newest for None, to a file or, for `-`, to stdout. Return the exit code."""
    form = form or _FORMS.get(Path(output).suffix.lower(), "markdown")
    run, document = trio.run(_document, invocation, name, form)
    text = document.text
    if text is None:
        text = json.dumps(document.json, indent=2, ensure_ascii=False) + "\n"
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


async def _document(invocation: Invocation, name: str | None, form: str) -> tuple[str, Document]:
    async with opened_to_read(invocation) as engine:
        run = await named_or_newest(engine, name)
        loaded = await engine.read(run)
        make = loaded.kind.views.documents.get(_DOCUMENTS.get(form, form))
        if make is None:
            cause = f"a run of kind {loaded.kind.name!r} cannot be written as {form}"
            raise UsageProblem(cause, place="--format", hint=f"`{program()} show {run}` shows the run")
        return run, make(loaded.state, await engine.result(run), program())
