"""The parts of the page about the HTTP API, its OpenAPI document, and the keys of results."""

import json
from typing import Any, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from actors.execution.result import ExecutionJson
from actors.planning.result import PlanningJson
from actors.run.open_question import OpenQuestion
from actors.run.result import ResultJson
from page_parts.markdown import table
from replan_acquire.acquisition.result import AcquisitionJson
from replan_server.web.api_routes import addressed_operations, openapi_text

FILE = "reference/openapi.json"
"""The published document, in the documentation's folder."""
RESULTS = "reference/results.json"
"""The file with the keys of results."""


def operations() -> str:
    """Return the table of operations."""
    rows = ((f"`{at.method} {at.path}`", f"`{each.scope}`", each.summary) for each, at in addressed_operations())
    return table(("Operation", "Scope", "What it does"), rows)


def _keys(keys: Any) -> str:
    """Return the keys of a list of keys, those that may be missing with `?`; of keys with keys of their own, theirs."""
    rows = []
    for name, hint in get_type_hints(keys).items():
        shown = f'"{name}"{"?" if name in keys.__optional_keys__ else ""}'
        inner = next((part for part in (hint, *get_args(hint)) if is_typeddict(part)), None)
        if inner is not None and inner is not OpenQuestion:
            shown += f": [{{{_keys(inner)}}}]" if get_origin(hint) is list else f": {{{_keys(inner)}}}"
        rows.append(shown)
    return ", ".join(rows)


def results() -> str:
    """Return the keys of each kind of result, as JSON."""
    kinds = {"planning": (ResultJson, PlanningJson), "execution": (ExecutionJson,), "acquisition": (AcquisitionJson,)}
    return json.dumps({kind: f"{{{', '.join(map(_keys, keys))}}}" for kind, keys in kinds.items()}, indent=1) + "\n"


PARTS = {"http-operations": operations}
"""The part of the page by its name."""
DOCUMENTS = {FILE: openapi_text, RESULTS: results}
