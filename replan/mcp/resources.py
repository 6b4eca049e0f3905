"""The server's resources: what clients may choose, the runs, and of each run its result, its plan and its search."""

import re
from collections.abc import Mapping
from typing import Any

from mcp_types import Resource, ResourceTemplate

from replan.mcp.calls import Desk
from replan.runs.orders import offered
from replan.runs.reader import RowQuery
from replan.runs.shown import read_shown
from replan.service.read_operations import tree_of
from replan.setup.command_name import program
from replan.views.rows import row_to_json
from runtime.core.errors import UsageProblem
from runtime.journal.port import RunFilter

ROWS_MAX = 50
"""Runs that are listed, the newest first."""
JSON = "application/json"

_OF_RUN = re.compile(r"replan://runs/([^/?#]{1,64})/(result|plan|tree)")

RESOURCES = (
    Resource(
        name="offer",
        uri="replan://offer",
        title="What may be chosen",
        description="The names of workflows, models, profiles, documents and tool sets, and the ceilings of limits.",
        mime_type=JSON,
    ),
    Resource(
        name="runs",
        uri="replan://runs",
        title="Runs",
        description=f"The newest {ROWS_MAX} runs with their status.",
        mime_type=JSON,
    ),
)
TEMPLATES = (
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
    """Return a resource as plain data. Raises `UsageProblem` for an unknown one, and as `Reading.read` does."""
    if uri == "replan://offer":
        return offer_of(desk)
    if uri == "replan://runs":
        rows, total = await desk.reader.row_page(RunFilter(limit=ROWS_MAX), RowQuery())
        return {"runs": [row_to_json(row, word) for row, word in rows], "more": total > ROWS_MAX}
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


def offer_of(desk: Desk) -> Mapping[str, Any]:
    """Return the names that clients may use, and their ceilings."""
    return offered(desk.offer, allow_execute=desk.allow_execute)
