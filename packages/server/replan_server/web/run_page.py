"""The page of one run: its questions, plan, checklist, budget and search, and the forms for actions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from actors.config.model_spec import describe_model
from actors.demands.table import counts_text
from actors.run.limits import LIMITS, LimitSpec, spec_of
from actors.run.open_question import decode_questions
from actors.run.result import charges_text
from actors.run.views import AskedFor
from actors.run.waits import Started
from actors.run.words import in_words
from actors.values.lines import Line, reword_line, reword_tree
from replan.runs.editing import may_edit
from replan.runs.families import ShownRun, read_shown
from replan.runs.kind_interface import installed_interfaces, texts_to_keep
from replan.runs.reader import goes_on, status_of
from replan.setup.installation import program
from replan.views.errors import line_of_error
from replan_server.service.access import Principal
from replan_server.service.run_data import (
    RowPage,
    budget_bars,
    demand_rows,
    messages_to_run,
    row_page,
    starter,
    tree_page,
    with_form,
)
from replan_server.web.record_pages import FORMS, row_number, tabs_of
from replan_server.web.rendering import PageInParts
from replan_server.web.requests import page, problem, status_of_error
from replan_server.web.runs_page import shown_row
from replan_server.web.site import RunParts, Site
from replan_server.web.start_page import form_of
from replan_server.web.streams import cursor_at
from replan_server.web.timeline import Timeline, TimelineBar, at_time, seconds_text
from runtime.core.errors import ReplanError
from runtime.core.ledger import Limit, Limits
from runtime.models.watched import LiveReply

ROWS_MAX = 200
"""The largest number of rows of one list, such as the steps or the model calls, that the page of a run shows."""
STEPS_OPEN = 30
"""The largest number of steps in a plan that the page shows expanded. A plan with more steps is shown collapsed."""
SAID_MAX = 200
"""The largest number of messages and answers that the page of a run shows. If there are more, the newest are shown."""
LISTS: Mapping[str, tuple[str, ...]] = {
    "plan": ("steps", "lines"),
    "graph": (),
    "timeline": ("times", "outputs"),
    "search": ("tree", "calls"),
}
"""The lists of each tab that are split into pages. The address of a page contains the tab, and the number of a list's
first row."""


async def show_run(site: Site, request: Request, who: Principal) -> Response:
    """Return the page of a run.

    For a long run that is not in memory, first send the part of the page that needs only the run's row in the journal.
    """
    row = await site.engine.journal.row(request.path_params["run"])
    tab = request.query_params.get("tab", "plan")  # What is wrong is refused before anything is sent.
    if tab not in LISTS:
        raise HTTPException(422, f"tab: must be one of {', '.join(LISTS)}")
    for name in chain.from_iterable(LISTS.values()):
        row_number(request, name)
    if request.headers.get("hx-request") or not site.reader.takes_long(row):
        return await _whole(site, request, who)
    hosted = await site.reader.has_host(row.kind, row.format)
    values = {"run": shown_row(row, status_of(row, hosted=hosted)), "here": "runs", "live": f"/live?run={row.run}"}
    notice = request.query_params.get("done", "")
    beginning = page(site, who, "run_beginning.html", {**values, "notice": notice, "all_read": not row.unread})

    async def whole() -> Response:
        try:
            return await _whole(site, request, who)
        except ReplanError as error:
            return problem(site, who, status_of_error(error), line_of_error(error))

    return PageInParts(beginning, whole)


async def _whole(site: Site, request: Request, who: Principal) -> Response:
    run = request.path_params["run"]
    shown = await read_shown(site.reader, run)
    loaded, common = shown.loaded, shown.common
    views = loaded.kind.views
    parts = await site.parts.parts(shown)
    tab = request.query_params.get("tab", "plan")
    asks = b"" if shown.moved_to is not None else loaded.kind.machine.summary(shown.with_inbox).asks
    questions = decode_questions(asks)
    # A checklist has all that the lines have. Beside a question, only the results so far are shown.
    lines = () if parts.checklist is not None else shown.result.so_far() if questions else parts.lines
    next_step = next((item for item in parts.lines if item.plain.startswith("Next: ")), None)
    lines = [item for item in lines if item is not next_step]
    over = shown.status == "finished"
    begun = parts.flow is not None
    has_plan = begun and "plan" in views.documents
    executes = parts.checklist is not None and parts.checklist.executed
    values = {
        "run": shown_row(shown.row, shown.status),
        "tab": tab,
        "tabs": tabs_of(views),
        "result": shown.result,
        "next_step": None if next_step is None else reword_line(next_step, in_words),
        "kind": loaded.kind.name,
        "top": shown.top,
        "made_from": loaded.kind.made_from(loaded.state),
        "fork": shown.result.fork,
        "linked": shown.linked,
        "executable": site.allow_execute and who.may("control") and has_plan and not executes,
        "moved_to": shown.moved_to,
        "undriven": _undriven_status(shown, hosts=site.hosts),
        "program": program(),
        "questions": [with_form(question) for question in questions],
        "under_way": _under_way(site, shown, parts),
        "bars": [] if common is None else budget_bars(common, price_known=shown.result.cost_usd is not None),
        "ends_at": None if common is None else common.ledger.ends_at,
        "limit_rows": [] if common is None else _limit_rows(common.ledger.limits),
        "checklist": parts.checklist,
        "executes": executes,
        "folded": parts.checklist is not None and len(parts.checklist.items) > STEPS_OPEN,
        "flow_title": views.flow_title,
        "drawing": parts.drawing,
        "timeline": _timeline(shown, parts, site.now()),
        "tree_title": views.tree_title,
        "belief": parts.tree.belief,
        "tree_lines": [reword_line(line, in_words) for line in parts.tree.lines[:ROWS_MAX]],
        "result_title": "Steps" if has_plan else "Result" if over else "Found so far",
        "demands": None if parts.demands is None else demand_rows(parts.demands),
        "demand_counts": "" if parts.demands is None else counts_text(parts.demands),
        "unread": () if parts.demands is None else parts.demands.unread,
        "forms": _forms(shown, begun=begun),
        "made": [(kept.word, kept.outline(text)) for kept, text in texts_to_keep(shown.result)],
        "sources": views.sources(shown.result)[:ROWS_MAX] if begun else (),
        "may_be_strict": common is not None and not common.never_strict,
        "again": _start_again_address(run, form_of(loaded), executes=site.allow_execute),
        "here": "runs",
        "live": f"/live?run={run}",
        "cursor": cursor_at(shown.row),
        "notice": request.query_params.get("done", ""),
        "all_read": not shown.row.unread,
    }
    own = _tab_part(request, tab, parts, lines)
    return page(site, who, "run.html", values | _action_flags(site, shown) | _request_part(shown) | own)


def _tab_part(request: Request, tab: str, parts: RunParts, lines: Sequence[Line]) -> dict[str, Any]:
    rows: dict[str, Sequence[Any]] = {
        "steps": () if parts.checklist is None else parts.checklist.items,
        "lines": lines,
        "calls": parts.calls,
        "times": () if parts.timeline is None else parts.timeline.rows,
        "outputs": parts.outputs,
    }
    paged = _page_rows(request, tab, {name: rows[name] for name in LISTS[tab] if name in rows})
    if tab == "plan":
        paged["lines"] = replace(paged["lines"], shown=[reword_line(item, in_words) for item in paged["lines"].shown])
    elif tab == "search":
        tree = tree_page(parts.tree.tree, row_number(request, "tree"), ROWS_MAX)
        paged |= {
            "tree": replace(tree, shown=reword_tree(tree.shown, in_words)),
            "tree_pages": _pages(request.path_params["run"], "search", "tree", tree),
        }
        paged["calls"] = replace(paged["calls"], shown=[(node, in_words(node)) for node in paged["calls"].shown])
    return paged


def _action_flags(site: Site, shown: ShownRun) -> dict[str, bool]:
    """Return the template values that say which actions the page offers. It offers no action for a moved run."""
    here = shown.moved_to is None
    common = shown.common
    over = shown.status == "finished"
    final = common is not None and common.finished is not None and common.finished.final
    goes_further = shown.status == "parked" or (over and goes_on(common))
    return {
        "takes_messages": here and not final,
        "limits_reopen": here and shown.result.reopened_by == "limits",
        "can_resume": here and site.hosts and goes_further,
        "may_edit": here and may_edit(shown.with_inbox, executes=site.allow_execute),
        "may_undo": here and site.allow_execute and not shown.loaded.kind.undo_problem(shown.with_inbox),
        "may_cancel": here and not over,
    }


def _forms(shown: ShownRun, *, begun: bool) -> list[str]:
    """Return the formats in which a run can be saved. A run without a plan can be saved at most as a draft."""
    offered = {name: shown.result.has_draft if name == "draft" else begun for name in FORMS}
    documents = shown.loaded.kind.views.documents
    return [name for name, form in FORMS.items() if offered[name] and form[0] in documents]


def _request_part(shown: ShownRun) -> dict[str, Any]:
    """Return the values of the page's first part: model, cost, task, limits, messages, and who started the run."""
    loaded = shown.loaded
    common = shown.common
    asked = loaded.kind.views.asked(loaded.state) if loaded.started else AskedFor()
    model = loaded.kind.model(loaded.state) if loaded.started else None
    header = [("model", describe_model(model))] if model else []
    header += asked.facts[:1]
    facts = [*asked.facts[1:]]
    started = loaded.records[0].event if loaded.records else None
    if isinstance(started, Started) and started.by:
        facts.append(("started by", starter(started.by)))
    if common is not None:
        facts.append(("limits", _limits_text(common.ledger.limits)))
    if shown.status == "finished":
        header.append(("took", seconds_text(max(0.0, shown.row.updated - shown.row.created))))
    messages = [] if common is None else messages_to_run(loaded.kind.run_state(loaded.state) or common, common)
    charges = charges_text(shown.result) if shown.result.calls else ""
    return {
        "asked": asked.text,
        "asked_facts": facts,
        "header_facts": header,
        "charges": charges,
        "messages": messages[-SAID_MAX:],
    }


def _timeline(shown: ShownRun, parts: RunParts, now: float) -> Timeline | None:
    """Return the timeline of a run; None if it has none. If the run is not at its end, the timeline ends at `now`."""
    if parts.timeline is None or shown.status not in ("running", "waiting"):
        return parts.timeline
    return at_time(parts.timeline, max(now, shown.row.updated))


def _under_way(site: Site, shown: ShownRun, parts: RunParts) -> list[tuple[TimelineBar, LiveReply | None]]:
    """Return the open calls of a driven run. Each call has its reply so far if this process makes the call."""
    if (
        parts.timeline is None
        or shown.status not in ("running", "waiting")
        or _undriven_status(shown, hosts=site.hosts)
    ):
        return []
    replies = site.engine.replies.of(shown.row.run)
    bars = (row.bar for row in parts.timeline.rows)
    return [(bar, replies.get(bar.name)) for bar in bars if bar.end is None and bar.kind in ("call", "tool")]


def _page_rows(request: Request, tab: str, rows: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return one page of each list in `rows`, by the name of the list.

    For a list `steps`, the key `steps_pages` has the addresses of the previous and the next page.
    """
    values: dict[str, Any] = {}
    for name, all_rows in rows.items():
        shown_rows = row_page(all_rows, row_number(request, name) or 0, ROWS_MAX)
        values |= {name: shown_rows, f"{name}_pages": _pages(request.path_params["run"], tab, name, shown_rows)}
    return values


def _limit_rows(limits: Limits) -> list[tuple[str, LimitSpec, str]]:
    rows = []
    for name, spec in LIMITS.items():
        present = getattr(limits, spec.key, None)
        if spec.unit == "switch" or (spec.unit == "chance" and present is None):
            continue
        none = "no limit" if spec.ceiling else "no change"
        rows.append((name, spec, none if present is None or spec.key == "deadline" else spec.typed(present)))
    return rows


def _limits_text(limits: Limits) -> str:
    """Return the limits of a run that are set, in words, without the deadline."""
    shown = (limit for limit in Limit if limit is not Limit.DEADLINE)
    return ", ".join(spec_of(limit).text(most) for limit in shown if (most := limit.of(limits)))


def _start_again_address(run: str, kind: str, *, executes: bool) -> str:
    """Return the address of the form that starts another run like `run`; empty if pages cannot start this kind."""
    forms = {"planning": "/new"} | {interface.kind: f"/new/{interface.kind}" for interface in installed_interfaces()}
    forms |= {"execution": "/new/execution"} if executes else {}
    return f"{forms[kind]}?like={run}" if kind in forms else ""


def _undriven_status(shown: ShownRun, *, hosts: bool) -> str:
    """Return `parked` or `idle` for an unfinished run that no process drives; empty for any other run."""
    if shown.status in ("finished", "moved") or shown.driven or (hosts and shown.status != "parked"):
        return ""
    return "parked" if shown.status == "parked" else "idle"


def _pages(run: str, tab: str, name: str, page: RowPage[Any]) -> tuple[str, str]:
    """Return the addresses of the previous and the next page of a list; empty for a page that does not exist."""
    address = f"/runs/{run}?tab={tab}&{name}="
    before = f"{address}{max(0, page.begin - ROWS_MAX)}" if page.begin else ""
    return before, f"{address}{page.end}" if page.end < page.total else ""
