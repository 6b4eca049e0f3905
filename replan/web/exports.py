"""The documents of a run as files that a browser saves and a program reads."""

import json
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import Response

from replan.runs.shown import read_shown
from replan.setup.command_name import program

if TYPE_CHECKING:
    from replan.runs.reader import Reading

FORMS = {
    "json": ("plan", "application/json", "json"),
    "markdown": ("markdown", "text/markdown; charset=utf-8", "md"),
    "github-checklist": ("github-checklist", "text/markdown; charset=utf-8", "checklist.md"),
    "mermaid": ("mermaid", "text/plain; charset=utf-8", "mmd"),
}
"""The forms of a plan: the kind's document, the type of the file, and its suffix."""


async def document(reader: "Reading", run: str, form: str) -> Response:
    """Return a document of a run. Raises `HTTPException` for a form that there is not, and `UsageProblem`."""
    shown = await read_shown(reader, run)
    known = FORMS.get(form)
    make = None if known is None else shown.loaded.kind.views.documents.get(known[0])
    if known is None or make is None:
        raise HTTPException(404, f"a run of kind {shown.loaded.kind.name!r} has no such document")
    made = make(shown.loaded.state, shown.result, program())
    text = json.dumps(made.json, indent=2, ensure_ascii=False) + "\n" if made.text is None else made.text
    name = f'attachment; filename="{shown.row.run}.{known[2]}"'
    return Response(text.encode("utf-8", "replace"), media_type=known[1], headers={"content-disposition": name})
