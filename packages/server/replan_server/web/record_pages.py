"""The pages about parts of a run: its records, its attempts, its documents, and passages of its sources."""

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import trio
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from actors.run.ids import node_of, step_of
from actors.run.views import Views, calls_of
from actors.run.words import in_words
from actors.values.format import stamp
from replan.runs.executing import EXECUTION
from replan.runs.families import read_shown
from replan.runs.reader import status_of
from replan.setup.installation import program
from replan.setup.settings import DEFAULT
from replan.views.errors import line_of_error
from replan.views.rows import record_words
from replan_server.service.access import Principal
from replan_server.service.cached_reader import MARK
from replan_server.web.replies import annotate, last_replies, replies, side_by_side, tool_outputs
from replan_server.web.requests import page
from replan_server.web.runs_page import shown_row
from replan_server.web.site import Site
from replan_server.web.streams import cursor_at
from replan_server.web.timeline import seconds_text
from runtime.core.errors import JournalDamaged, KindUnknown, RunNotFound, UsageProblem

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
    "draft": ("draft", "application/json", "draft.json"),
}
"""The formats in which a run can be downloaded, by name. Each format has the name of the run's document, its media
type, and the suffix of the file."""


async def document(reader: "RunReader", run: str, form: str) -> Response:
    """Return a document of a run. `form` is a name in `FORMS`.

    Raises `HTTPException` for an unknown format, and if the run has no document in the format.
    """
    shown = await read_shown(reader, run)
    known = FORMS.get(form)
    make = None if known is None else shown.loaded.kind.views.documents.get(known[0])
    if known is None or make is None:
        raise HTTPException(404, f"a run of kind {shown.loaded.kind.name!r} has no such document")
    try:
        exported = make(shown.loaded.state, shown.result, program())
    except UsageProblem as problem:
        raise HTTPException(404, problem.cause) from None
    content = exported.content
    if content is None:
        text = (
            json.dumps(exported.json, indent=2, ensure_ascii=False) + "\n" if exported.text is None else exported.text
        )
        content = text.encode("utf-8", "replace")
    name = f'attachment; filename="{shown.row.run}.{known[2]}"'
    return Response(content, media_type=known[1], headers={"content-disposition": name})


async def show_passage(site: Site, request: Request, who: Principal) -> Response:
    """Return the page with the passage of a source that states a value in the run's result."""
    run, path = request.path_params["run"], request.path_params["path"]
    shown = await read_shown(site.reader, run)
    passage = shown.loaded.kind.views.passage(shown.loaded.records, shown.result, path)
    if passage is None:
        raise HTTPException(404, "no document states this value of the run")
    values = {"run": run, "title": shown.row.title, "path": path, "passage": passage, "here": "runs"}
    return page(site, who, "passage.html", values)


async def show_records(site: Site, request: Request, who: Principal) -> Response:
    """Return a page of a run's records. The query field `after` has the number of the record before the page."""
    run = request.path_params["run"]
    after = row_number(request, "after") or 0
    row = await site.engine.journal.row(run)
    loaded, found = await site.reader.page(run, after, MARK)
    address = f"/runs/{run}/records?after="
    values = {
        "run": run,
        "title": row.title,
        "tabs": tabs_of(loaded.kind.views),
        "total": loaded.seq,
        "shown": shown_row(row, status_of(row, hosted=await site.reader.has_host(row.kind, row.format))),
        "rows": [
            (
                record.seq,
                stamp(record.at),
                seconds_text(record.at - row.created),
                record_words(loaded.kind, record, state),
            )
            for record, state in found
        ],
        "before": f"{address}{max(0, after - MARK)}" if after else "",
        "after": f"{address}{after + MARK}" if after + MARK < loaded.seq else "",
        "last": f"{address}{max(0, loaded.seq - 1) // MARK * MARK}",
        "here": "runs",
        "live": f"/live?run={run}",
        "cursor": cursor_at(row),
    }
    return page(site, who, "records.html", values)


def tabs_of(views: Views[Any, Any]) -> list[tuple[str, str]]:
    """Return the tabs of a run's page: the name of each tab in addresses, and its title."""
    tabs = [("plan", "Plan" if "plan" in views.documents else "Result")]
    tabs += [("graph", "Graph")] if views.flow_title != Views.flow_title else []  # A kind names its graph.
    return [*tabs, ("timeline", "Timeline"), ("search", views.tree_title), ("records", "Records")]


def row_number(request: Request, name: str) -> int | None:
    """Return the whole number in a field of the query; None if the field is missing.

    Raises `HTTPException` for a text that is not a number.
    """
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise HTTPException(422, f"{name}: must be a whole number of at most 12 digits")
    return int(text)


async def export(site: Site, request: Request, who: Principal) -> Response:
    """Return a document of a run as a download."""
    del who
    run, form = request.path_params["run"], request.path_params["form"]
    return await document(site.reader, run, form)


SAME = "unchanged"
"""The label of the choice with which a fork keeps its original run's model, workflow or policy."""
OTHERS_MAX = 200
"""The largest number of attempts of each run that the page offers for a comparison. If a run has more attempts, the
page offers the last ones."""


async def show_attempt(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of one attempt: the prompt that was sent, the replies, and the output of tools."""
    run, node = request.path_params["run"], request.path_params["node"]
    loaded, near = await site.reader.read_marked(run)
    sent = None
    trouble = ""
    try:
        if loaded.kind.views.prompt is not None:
            sent = loaded.kind.views.prompt(loaded.records, node, near)
    except UsageProblem as error:
        trouble = line_of_error(error)
    attempt_replies = replies(loaded.records, node)
    findings = [item for of, some in map(loaded.kind.views.findings, _events(loaded)) if of == node for item in some]
    for reply in attempt_replies:
        reply["words"] = in_words(reply["request_id"])
        reply["lines"] = annotate(reply["content"], findings if reply is attempt_replies[-1] else ())
    outputs = [output for output in tool_outputs(loaded.records) if output.node == node]
    if sent is None and not attempt_replies and not outputs:
        raise HTTPException(404, trouble or "a run of this kind has no prompts to show")
    live = site.engine.replies.of(run).items()
    values = {
        "run": run,
        "title": (await site.engine.journal.row(run)).title,
        "node": node,
        "words": in_words(node),
        "sent": sent,
        "sent_words": "" if sent is None else in_words(sent.request_id),
        "trouble": trouble,
        "replies": attempt_replies,
        "live_replies": [(in_words(name), reply) for name, reply in live if node_of(name) == node],
        "outputs": outputs,
        "here": "runs",
    }
    compared = await _compare(site, loaded, node, request.query_params.get("beside", ""))
    return page(site, who, "attempt.html", values | compared | _fork_form(site, loaded))


def _events(loaded: "Loaded") -> Iterator[Any]:
    return (record.event for record in loaded.records)


def _fork_form(site: Site, loaded: "Loaded") -> dict[str, Any]:
    """Return the template values of the form that forks the run. Each choice of a field has a value and a label.

    The form has no fields for an execution if this server must not execute plans.
    """
    offer = site.offer
    fields = list[tuple[str, str, Sequence[tuple[str, str]]]]()
    if loaded.kind.takes_other_rules:
        for name, label, choices in (("workflow", "Workflow", offer.workflows), ("policy", "Policy", offer.policies)):
            fields.append((name, label, [("", SAME), *((choice, choice) for choice in choices)]))
    if loaded.kind.name != EXECUTION or site.allow_execute:
        models = [(model, SAME if model == DEFAULT else model) for model in offer.models]
        fields.append(("model", "Model", models))
    return {"fork_fields": fields, "takes_values": loaded.kind.takes_values, "key": secrets.token_urlsafe()}


@dataclass(frozen=True, slots=True)
class OtherAttempt:
    """An attempt that can be shown beside another attempt."""

    loaded: "Loaded"
    run: str
    node: str
    key: str
    """The attempt's name in the address of a comparison: its node. If the attempt belongs to another run, that run's id
    precedes the node.
    """
    words: str


async def _compare(site: Site, loaded: "Loaded", node: str, beside: str) -> dict[str, Any]:
    """Return the attempts that can be compared with the attempt `node`. If `beside` is set, compare the two attempts.

    Raises `HTTPException` if `beside` is not the key of such an attempt.
    """
    others = {other.key: other for other in await _others(site, loaded, node)}
    chosen = others.get(beside)
    if beside and chosen is None:
        raise HTTPException(404, "this step has no such attempt")
    pairs = []
    if chosen is not None:
        pairs = await trio.to_thread.run_sync(side_by_side, _text(loaded, node), _text(chosen.loaded, chosen.node))
    return {"others": [*others.values()], "beside": chosen, "pairs": pairs}


async def _others(site: Site, loaded: "Loaded", node: str) -> list[OtherAttempt]:
    """Return the other attempts of the step of `node`. For a forked run, add the original run's later attempts."""
    step = step_of(node)
    run = loaded.records[0].run
    nodes = [call.node for _, call in calls_of(loaded.records) if call.step == step]
    own = dict.fromkeys([*nodes, *_ended_attempts(loaded, step)])
    others = [OtherAttempt(loaded, run, item, item, in_words(item)) for item in own if item != node][-OTHERS_MAX:]
    common = loaded.kind.run_state(loaded.state)
    if common is None or common.fork is None:
        return others
    fork = common.fork
    try:
        origin = await site.reader.read(fork.origin)
    except (JournalDamaged, KindUnknown, RunNotFound, UsageProblem):
        return others  # The other run may be deleted or damaged. The fork does not need it.
    later = [attempt for attempt, seq in _ended_attempts(origin, step).items() if seq > fork.seq][-OTHERS_MAX:]
    named = [(item, f"{fork.origin}:{item}", f"{in_words(item)}, of run {fork.origin}") for item in later]
    return [*(OtherAttempt(origin, fork.origin, *item) for item in named), *others]


def _ended_attempts(loaded: "Loaded", step: str) -> dict[str, int]:
    """Return the attempts of a step that have a reply or an output of a tool.

    The keys are nodes. A value is the number of the last record with a reply or an output.
    """
    ended = last_replies(loaded.records) | {output.node: output.seq for output in tool_outputs(loaded.records)}
    return {node: seq for node, seq in ended.items() if step_of(node) == step}


def _text(loaded: "Loaded", node: str) -> str:
    """Return the last reply of an attempt, or its last tool output if it has no reply; empty if it has neither."""
    contents = [reply["content"] for reply in replies(loaded.records, node) if not reply["fault"]]
    outputs = [output.output for output in tool_outputs(loaded.records) if output.node == node]
    return (contents[-1] if contents else "") or (outputs[-1] if outputs else "")
