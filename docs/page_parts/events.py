"""The list of all events: those of every run, then those of each kind; the fields of each are in a JSON file."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

from actors.execution.events import EVENTS as EXECUTION
from actors.planning.events import EVENTS as PLANNING
from actors.run.agent import AGENT_EVENTS
from actors.run.ending import RunFinished
from actors.run.evolve import RunEvent
from actors.run.tools import ToolEvent
from page_parts.markdown import code, table
from replan.setup.config_schemas import field_docs
from replan_acquire.acquisition.events import EVENTS as ACQUISITION
from runtime.core.events import Event

GROUPS: Mapping[str, Sequence[type[Event]]] = {
    "Every run": (*get_args(RunEvent), RunFinished),
    "Tools": get_args(ToolEvent),
    "Planning": PLANNING,
    "Execution": EXECUTION,
    "Acquisition": ACQUISITION,
    "Small agents": AGENT_EVENTS,
}


FILE = "reference/events.json"
"""The file with the meaning of every field, in the documentation's folder."""


def meanings() -> str:
    """Return every event with the meaning of each of its fields, as JSON, by the part of the program that has it."""
    parts: dict[str, dict[str, dict[str, object]]] = {}
    for title, members in GROUPS.items():
        for event in members:
            fields = {name: _line(text) for name, text in field_docs(event).items() if name in event.model_fields}
            texts = {"texts": sorted(event.texts)} if event.texts else {}
            shown = {"means": _first_sentence(event), "fields": fields, **texts}
            parts.setdefault(title, {})[str(event.model_fields["kind"].default)] = shown
    return json.dumps(parts, indent=1, ensure_ascii=False) + "\n"


def events() -> str:
    """Return the kind of every event once, under the first part of the program that has it."""
    listed: set[str] = set()
    rows = []
    for title, members in GROUPS.items():
        kinds = [str(event.model_fields["kind"].default) for event in members]
        rows.append((title, code(kind for kind in kinds if kind not in listed)))
        listed.update(kinds)
    return table(("Part", "Events"), rows)


def _first_sentence(event: type[Event]) -> str:
    first, _, rest = _line(event.__doc__ or "").partition(". ")
    return f"{first}." if rest else first


def _line(text: str) -> str:
    return " ".join(text.split())


PARTS: Mapping[str, Callable[[], str]] = {"events": events}
"""The part of the page by its name."""
DOCUMENTS: Mapping[str, Callable[[], str]] = {FILE: meanings}
