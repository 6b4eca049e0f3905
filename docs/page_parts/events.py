"""The lists of all events: what several have in common once, then those of every run, then those of each kind."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import get_args

from actors.execution.events import EVENTS as EXECUTION
from actors.planning.events import EVENTS as PLANNING
from actors.run.agent import AGENT_EVENTS
from actors.run.calls import CallReissued, CallRequested, Replied
from actors.run.ending import RunFinished
from actors.run.evolve import RunEvent
from actors.run.tools import ToolEvent
from actors.run.waits import Started, TimedEvent
from replan.setup.config_schemas import field_docs
from replan_acquire.acquisition.events import EVENTS as ACQUISITION
from runtime.core.events import Event

SHARED: Mapping[type[Event], str] = {
    TimedEvent: "timed",
    Started: "start",
    CallRequested: "call",
    CallReissued: "reissue",
    Replied: "reply",
}
"""The classes whose fields several events have, each with the word that stands for these fields."""
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


def shared_fields() -> str:
    """Return the words that stand for fields of several events, each with these fields."""
    return "\n".join(f"- *{word}*{_shared(owner)}: {_names(owner, _own(owner))}" for owner, word in SHARED.items())


def meanings() -> str:
    """Return every event with the meaning of each of its fields, as JSON, by the part of the program that has it."""
    parts: dict[str, dict[str, dict[str, object]]] = {}
    for title, members in GROUPS.items():
        for event in members:
            fields = {name: _line(text) for name, text in field_docs(event).items() if name in event.model_fields}
            shown = {"means": _first_sentence(event), "fields": fields}
            parts.setdefault(title, {})[str(event.model_fields["kind"].default)] = shown
    return json.dumps(parts, indent=1, ensure_ascii=False) + "\n"


def events() -> str:
    """Return every event once: its kind, the words of its shared fields, its meaning and its own fields."""
    listed: dict[str, set[str]] = {}
    return "\n\n".join(f"## {title}\n\n" + "\n".join(_group(members, listed)) for title, members in GROUPS.items())


def _group(members: Sequence[type[Event]], listed: dict[str, set[str]]) -> Iterator[str]:
    for event in members:
        kind = str(event.model_fields["kind"].default)
        own = [name for name in _own(event) if name not in listed.get(kind, ())]
        fields = f" {_names(event, own)}" if own else ""
        if kind not in listed:
            yield f"- `{kind}`{_shared(event)}: {_first_sentence(event)}{fields}"
        elif own:
            yield f"- `{kind}` has in addition:{fields}"
        elif not _belongs_to_every_run(event):
            yield f"- `{kind}`: as above."
        listed.setdefault(kind, set()).update(event.model_fields)


def _belongs_to_every_run(event: type[Event]) -> bool:
    return event in GROUPS["Every run"] or event in GROUPS["Tools"] or issubclass(event, RunFinished)


def _shared(event: type[Event]) -> str:
    """Return the words of the shared fields that a class adds to, in brackets."""
    above = [owner for owner in SHARED if owner is not event and issubclass(event, owner)]
    nearest = [owner for owner in above if not any(issubclass(other, owner) for other in above if other is not owner)]
    return f" ({', '.join(f'*{SHARED[owner]}*' for owner in nearest)})" if nearest else ""


def _own(event: type[Event]) -> list[str]:
    """Return the names of the fields that no class of shared fields above has."""
    inherited = {
        name for owner in SHARED if owner is not event and issubclass(event, owner) for name in owner.model_fields
    }
    return [name for name in event.model_fields if name != "kind" and name not in inherited]


def _names(event: type[Event], names: Sequence[str]) -> str:
    """Return the names of fields; those of long texts, which are stored once for each content, are marked."""
    return ", ".join(f"`{name}` (text)" if name in event.texts else f"`{name}`" for name in names) + "."


def _first_sentence(event: type[Event]) -> str:
    first, _, rest = _line(event.__doc__ or "").partition(". ")
    return f"{first}." if rest else first


def _line(text: str) -> str:
    return " ".join(text.split())


PARTS: Mapping[str, Callable[[], str]] = {"events": events, "shared-fields": shared_fields}
"""The parts of the page by name."""
DOCUMENTS: Mapping[str, Callable[[], str]] = {FILE: meanings}
