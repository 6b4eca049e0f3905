"""The pages below a run: the prompt and replies of an attempt, the records, the documents."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import trio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from actors.run.ids import node_of, step_of
from actors.run.rebuilt_prompt import calls_of
from actors.run.words import in_words
from replan.runs.cached import MARK
from replan.runs.shown import read_shown
from replan.runs.workspaces import EXECUTION
from replan.service.access import Principal
from replan.setup.command_name import program
from replan.views.annotated_json import annotated, side_by_side
from replan.views.errors import line_of_error
from replan.views.records import record_line, replies, tool_outputs
from replan.web.requests import page
from replan.web.site import Site
from replan.web.streams import cursor_at
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.runs.loaded import Loaded
    from replan.runs.reader import RunReader

FORMS = {
    "json": ("plan", "application/json", "json"),
    "markdown": ("markdown", "text/markdown; charset=utf-8", "md"),
    "github-checklist": ("github-checklist", "text/markdown; charset=utf-8", "checklist.md"),
    "csv": ("csv", "text/csv; charset=utf-8", "csv"),
    "xlsx": ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    "mermaid": ("mermaid", "text/plain; charset=utf-8", "mmd"),
}
"""The formats in which a plan or report can be downloaded: the document's name, its media type, and the file suffix."""


async def document(reader: "RunReader", run: str, form: str) -> Response:
    """Return a document of a run. Raises `HTTPException` for a format that is unknown, or that the run has not."""
    shown = await read_shown(reader, run)
    known = FORMS.get(form)
    make = None if known is None else shown.loaded.kind.views.documents.get(known[0])
    if known is None or make is None:
        raise HTTPException(404, f"a run of kind {shown.loaded.kind.name!r} has no such document")
    try:
        made = make(shown.loaded.state, shown.result, program())
    except UsageProblem as problem:
        raise HTTPException(404, problem.cause) from None
    content = made.content
    if content is None:
        text = json.dumps(made.json, indent=2, ensure_ascii=False) + "\n" if made.text is None else made.text
        content = text.encode("utf-8", "replace")
    name = f'attachment; filename="{shown.row.run}.{known[2]}"'
    return Response(content, media_type=known[1], headers={"content-disposition": name})


async def show_attempt(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of one attempt: the prompt that was sent, the replies, and the output of tools."""
    run, node = request.path_params["run"], request.path_params["node"]
    loaded, near = await site.reader.marked(run)
    sent, trouble = None, ""
    try:
        if loaded.kind.views.prompt is not None:
            sent = loaded.kind.views.prompt(loaded.records, node, near)
    except UsageProblem as error:
        trouble = line_of_error(error)
    found = replies(loaded.records, node)
    findings = [each for of, some in map(loaded.kind.views.findings, _events(loaded)) if of == node for each in some]
    for reply in found:
        reply["words"] = in_words(reply["request_id"])
        reply["lines"] = annotated(reply["content"], findings if reply is found[-1] else ())
    outputs = [each for each in tool_outputs(loaded.records) if each.node == node]
    if sent is None and not found and not outputs:
        raise HTTPException(404, trouble or "a run of this kind shows no prompts")
    title = (await site.engine.journal.row(run)).title
    nodes = dict.fromkeys(call.node for _, call in calls_of(loaded.records) if call.step == step_of(node))
    others = [other for other in nodes if other != node]
    beside = request.query_params.get("beside", "")
    if beside and beside not in others:
        raise HTTPException(404, "no such attempt of this step")
    second = _content(replies(loaded.records, beside))
    pairs = await trio.to_thread.run_sync(side_by_side, _content(found), second) if beside else []
    values = {"run": run, "title": title, "node": node, "sent": sent, "trouble": trouble, "replies": found}
    live = site.engine.replies.of(run).items()
    values["live_replies"] = [(in_words(name), reply) for name, reply in live if node_of(name) == node]
    values |= {"words": in_words(node), "beside_words": in_words(beside)}
    values["sent_words"] = "" if sent is None else in_words(sent.request_id)
    compared = {
        "outputs": outputs,
        "others": [(other, in_words(other)) for other in others[-200:]],
        "beside": beside,
        "pairs": pairs,
        "models": [*site.offer.models] if site.allow_execute or loaded.kind.name != EXECUTION else [],
        "key": secrets.token_urlsafe(),
    }
    return page(site, who, "attempt.html", {**values, **compared, "here": "runs"})


def _events(loaded: "Loaded") -> Iterator[Any]:
    return (record.event for record in loaded.records)


def _content(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the last reply of an attempt; empty where there is none."""
    return next((reply["content"] for reply in reversed(found) if not reply["fault"]), "")


async def show_passage(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of the passage that states a value of a run."""
    run, path = request.path_params["run"], request.path_params["path"]
    shown = await read_shown(site.reader, run)
    passage = shown.loaded.kind.views.passage(shown.loaded.records, shown.result, path)
    if passage is None:
        raise HTTPException(404, "no document states such a value of this run")
    values = {"run": run, "title": shown.row.title, "path": path, "passage": passage, "here": "runs"}
    return page(site, who, "passage.html", values)


async def show_records(site: Site, request: Request, who: Principal) -> Response:
    """Return a page of the records of a run, from the one after `after`."""
    run = request.path_params["run"]
    after = row_number(request, "after") or 0
    row = await site.engine.journal.row(run)
    loaded, found = await site.reader.page(run, after, MARK)
    address = f"/runs/{run}/records?after="
    values = {
        "run": run,
        "title": row.title,
        "total": loaded.seq,
        "rows": [(record.seq, record_line(loaded.kind, record, state)) for record, state in found],
        "before": f"{address}{max(0, after - MARK)}" if after else "",
        "after": f"{address}{after + MARK}" if after + MARK < loaded.seq else "",
        "last": f"{address}{max(0, loaded.seq - 1) // MARK * MARK}",
        "here": "runs",
        "live": f"/live?run={run}",
        "cursor": cursor_at(row),
    }
    return page(site, who, "records.html", values)


def row_number(request: Request, name: str) -> int | None:
    """Return the number of rows after which a page begins; None where none is named.

    Raises `HTTPException` for what is no number.
    """
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise HTTPException(422, f"{name}: should be a whole number from 0, of at most 12 digits")
    return int(text)


async def export(site: Site, request: Request, who: Principal) -> Response:
    """Return a document of a run as a file to be saved."""
    del who
    run, form = request.path_params["run"], request.path_params["form"]
    return await document(site.reader, run, form)
