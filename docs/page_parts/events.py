"""The lists of all events: what several have in common once, then those of every run, then those of each kind."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import get_args

from actors.acquisition.events import EVENTS as ACQUISITION
from actors.execution.events import EVENTS as EXECUTION
from actors.files.field_docs import field_docs
from actors.planning.events import EVENTS as PLANNING
from actors.run.agent import AGENT_EVENTS
from actors.run.calls import CallReissued, CallRequested, Replied
from actors.run.ending import RunFinished
from actors.run.evolve import RunEvent
from actors.run.tools import ToolEvent
from actors.run.waits import Started, TimedEvent
from page_parts.markdown import code
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


def shared_fields() -> str:
    """Return the fields that several events have: by the word that stands for them, and those of one meaning."""
    classes = [f"- *{word}*{_shared(owner)}: {_fields(owner, _own(owner))}" for owner, word in SHARED.items()]
    single = [f"- `{name}`: {meaning}" for name, meaning in _repeated()]
    return "\n".join((*classes, *single))


@cache
def _repeated() -> list[tuple[str, str]]:
    """Return the fields that several events have with the same meaning, outside of the shared classes."""
    seen: dict[tuple[str, str], set[str]] = {}
    for event in (each for members in GROUPS.values() for each in members):
        described = field_docs(event)
        for name in _own(event):
            seen.setdefault((name, _line(described[name])), set()).add(str(event.model_fields["kind"].default))
    counted = sorted(((len(kinds), field) for field, kinds in seen.items() if len(kinds) > 1), reverse=True)
    common = {name: (name, meaning) for _, (name, meaning) in reversed(counted)}
    return sorted(common.values())


def events() -> str:
    """Return every event once: its kind, the words of its shared fields, its meaning and its own fields."""
    listed: dict[str, set[str]] = {}
    return "\n\n".join(f"## {title}\n\n" + "\n".join(_group(members, listed)) for title, members in GROUPS.items())


def _group(members: Sequence[type[Event]], listed: dict[str, set[str]]) -> Iterator[str]:
    for event in members:
        kind = str(event.model_fields["kind"].default)
        own = [name for name in _own(event) if name not in listed.get(kind, ())]
        fields = _described(event, own)
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


def _described(event: type[Event], names: Sequence[str]) -> str:
    """Return the fields of an event: the names of those that are described above, then the others, each on a line."""
    described = field_docs(event)
    above = [name for name in names if (name, _line(described[name])) in _repeated()]
    rest = [name for name in names if name not in above]
    return (f" Has {code(above)}." if above else "") + (f" {_fields(event, rest)}" if rest else "")


def _fields(event: type[Event], names: Sequence[str]) -> str:
    described = field_docs(event)
    return " ".join(f"`{name}`{' (text)' if name in event.texts else ''}: {_line(described[name])}" for name in names)


def _first_sentence(event: type[Event]) -> str:
    first, _, rest = _line(event.__doc__ or "").partition(". ")
    return f"{first}." if rest else first


def _line(text: str) -> str:
    return " ".join(text.split())


PARTS: Mapping[str, Callable[[], str]] = {"events": events, "shared-fields": shared_fields}
"""The parts of the page by name."""
