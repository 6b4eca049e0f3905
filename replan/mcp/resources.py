"""The server's resources: what clients may choose, the runs, and of each run its result, its plan and its search."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from mcp_types import Resource, ResourceTemplate

from replan.mcp.calls import Desk
from replan.runs.orders import offer_fields
from replan.runs.shown import read_shown
from replan.service.read_operations import FIELDS, run_page, tree_of
from replan.setup.command_name import program
from replan.views.rows import row_to_json
from runtime.core.errors import UsageProblem

ROWS_MAX = 50
"""Runs that are listed, the newest first."""
RUNS = "replan://runs"
"""The address of the list of runs."""
QUERY_LENGTH_MAX = 1000
"""Characters of the conditions of a list."""
PAGE_DIGITS_MAX = 6
"""Digits of the number of a page."""
JSON = "application/json"

_OF_RUN = re.compile(r"replan://runs/([^/?#]{1,64})/(result|plan|tree)")

RESOURCES = (
    Resource(
        name="offer",
        uri="replan://offer",
        title="What may be chosen",
        description="The names of workflows, policies, models, profiles, documents and tool sets, and the ceilings of "
        "limits.",
        mime_type=JSON,
    ),
    Resource(
        name="runs",
        uri=RUNS,
        title="Runs",
        description=f"The newest {ROWS_MAX} runs with their status.",
        mime_type=JSON,
    ),
)
TEMPLATES = (
    ResourceTemplate(
        name="some_runs",
        uri_template=f"{RUNS}{{?{','.join((*FIELDS, 'page'))}}}",
        title="Some runs",
        description=f"The runs that meet all conditions, {ROWS_MAX} a page: their status, a text in id, title or kind "
        "(`q`), their kind and their least cost in dollars.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="result",
        uri_template="replan://runs/{id}/result",
        title="Result of a run",
        description="The result of a run.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="plan",
        uri_template="replan://runs/{id}/plan",
        title="Plan of a run",
        description="The proved plan of a planning run, or the plan that an execution follows.",
        mime_type=JSON,
    ),
    ResourceTemplate(
        name="tree",
        uri_template="replan://runs/{id}/tree",
        title="Search of a run",
        description="The attempts of a run, with the verdict on each and each step back.",
        mime_type=JSON,
    ),
)


async def read_resource(desk: Desk, uri: str) -> Any:
    """Return a resource as plain data. Raises `UsageProblem` for an unknown one, and the errors of `Reading.read`."""
    if uri == "replan://offer":
        return offer_of(desk)
    if uri == RUNS or uri.startswith(f"{RUNS}?"):
        return await _runs(desk, uri.removeprefix(RUNS).lstrip("?"))
    found = _OF_RUN.fullmatch(uri)
    if found is None:
        raise UsageProblem(f"there is no resource {uri[:100]!r}", hint="replan://offer, or replan://runs/ID/plan")
    shown = await read_shown(desk.reader, found[1])
    match found[2]:
        case "result":
            return shown.result_json
        case "tree":
            return tree_of(shown)
        case _:
            loaded = shown.loaded
            made = loaded.kind.views.documents.get("plan")
            if made is None:
                raise UsageProblem(f"a run of kind {loaded.kind.name!r} has no plan", place=shown.row.run)
            return made(loaded.state, shown.result, program()).json


async def _runs(desk: Desk, query: str) -> Mapping[str, Any]:
    fields = dict(parse_qsl(query[:QUERY_LENGTH_MAX]))
    if unknown := sorted(set(fields) - {*FIELDS, "page"}):
        raise UsageProblem("there is no such condition", place=unknown[0][:100], hint=", ".join((*FIELDS, "page")))
    page = fields.pop("page", "0")
    if not (page.isascii() and page.isdigit() and len(page) <= PAGE_DIGITS_MAX):
        raise UsageProblem("this is not the number of a page", place="page", hint="0 for the first")
    rows, total = await run_page(desk.reader, fields, number=int(page), rows_max=ROWS_MAX)
    return {"runs": [row_to_json(row, word) for row, word in rows], "more": total > (int(page) + 1) * ROWS_MAX}


def offer_of(desk: Desk) -> Mapping[str, Any]:
    """Return the names that clients may use, and their ceilings."""
    return offer_fields(desk.offer, allow_execute=desk.allow_execute)
