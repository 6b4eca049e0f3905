"""Every text field of every event that some history has, each with a hostile text in it, as runs that pages can show.

The fields are read from the events themselves: a new event or field is covered once a history has it.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from pydantic import ValidationError

from actors.execution.kind import EXECUTION
from actors.planning.kind import PLANNING
from actors.run.result import RunView
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from tests.histories import test_execution_histories, test_histories
from tests.histories.interpreter import Interpreter
from tests.histories.test_histories import rewritten

EVIL = (
    "<img src=x data-evil onerror='window.evil=1'>\"'><script data-evil>window.evil=1</script>{{7*7}}\u202e\x1b]0;x\x07"
)
"""A text that does harm wherever it is taken for markup, for a template or for a control sequence."""
MARKUP = "".join(character for character in EVIL if character.isprintable())
"""The same for the sentence of a question, which takes no control characters."""
PER_RUN_MAX = 400
"""Fields that are filled in one run."""

Path = tuple[str, ...]
Field = tuple[str, str, Path]
"""A text field: the kind of run, the kind of event, and the keys that lead to it; `*` stands for each item."""


@dataclass(frozen=True)
class Story:
    """What a history has recorded."""

    name: str
    """The name of its file."""
    kind: Any
    """The kind of its run."""
    events: tuple[Any, ...]
    """Its events."""


@cache
def stories() -> tuple[Story, ...]:
    """Return all histories of all kinds that have pages of their own."""
    sources = [
        (PLANNING, test_histories.HISTORIES, Interpreter, lambda made: made.world.events),
        (EXECUTION, test_execution_histories.HISTORIES, test_execution_histories.ExecutionInterpreter, _staged),
    ]
    if find_spec("replan_acquire"):  # The package of acquisitions need not be installed.
        from packages.acquire.tests.histories.test_acquisition_histories import HISTORIES, AcquisitionInterpreter
        from replan_acquire.acquisition.kind import ACQUISITION

        sources.append((ACQUISITION, HISTORIES, AcquisitionInterpreter, _staged))
    found = []
    for kind, paths, make, events in sources:
        for path in paths:
            interpreter = make()
            rewritten(path.read_text(encoding="utf-8"), interpreter)
            found.append(Story(path.stem, kind, tuple(events(interpreter))))
    return tuple(found)


def _staged(interpreter):
    return interpreter.stage.events


def leaves(value: Any, path: Path = (), *, inner: bool = True) -> Iterator[tuple[Path, str]]:
    """Yield the texts in plain data; with `inner`, also those in JSON that is itself a text."""
    match value:
        case dict():
            for key, item in value.items():
                yield from leaves(item, (*path, key), inner=inner)
        case list():
            for item in value:
                yield from leaves(item, (*path, "*"), inner=inner)
        case str():
            yield path, value
            if inner and (within := _json(value)) is not None:
                yield from leaves(within, (*path, "json"), inner=False)


def _json(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def poisoned(value: Any, path: Path) -> Any:
    """Return plain data with the hostile text added to each text at a path."""
    if not path:
        # Before the last character: a question must still end in "?", and what follows an answer in a full stop.
        if not isinstance(value, str):
            return value
        return f"{value[:-1]} {MARKUP if value.endswith('?') else EVIL}{value[-1:]}"
    key, *rest = path
    match value:
        case dict() if key in value:
            return {**value, key: poisoned(value[key], tuple(rest))}
        case list() if key == "*":
            return [poisoned(item, tuple(rest)) for item in value]
        case str() if key == "json" and (within := _json(value)) is not None:
            return json.dumps(poisoned(within, tuple(rest)))
        case _:
            return value


def fields_of(story: Story) -> dict[Field, None]:
    """Return the text fields of a story, in order. What a run was configured with is the operator's, not a client's."""
    found: dict[Field, None] = {}
    for number, event in enumerate(story.events):
        for path, _ in leaves(event.model_dump(mode="json"), inner=number > 0):
            if path != ("kind",):
                found[story.kind.name, event.kind, path] = None
    return found


def with_poison(story: Story, fields: list[Field], *, prompts: bool = False) -> tuple[Any, ...] | None:
    """Return a story's events with some fields filled; None where a field takes no free text, or names something."""
    events = []
    for event in story.events:
        wanted = [path for _, kind, path in fields if kind == event.kind]
        if not wanted:
            events.append(event)
            continue
        data = event.model_dump(mode="json")
        for path in wanted:
            data = poisoned(data, path)
        try:
            events.append(type(event).model_validate_json(json.dumps(data)))
        except ValidationError:
            return None
    try:
        look(story.kind, events, prompts=prompts)
    except (KeyError, ValueError, IndexError, StopIteration, AssertionError):
        return None  # The field names something that another one must name too, such as a request.
    return tuple(events)


def look(kind: Any, events: list[Any], *, prompts: bool) -> None:
    """Make the views of a run, as a page does; with `prompts` also those of each attempt. Raises what they raise."""
    state = kind.machine.initial()
    for event in events:
        state = kind.machine.evolve(state, event)
    result = kind.views.result(RunView("evil", "parked", state, state))
    kind.views.flow(state, result)
    kind.views.checklist(result)
    kind.views.lines(result, "replan", full=True)
    if prompts and kind.views.prompt is not None:
        records = [Record("evil", number + 1, 0.0, 1, event, "") for number, event in enumerate(events)]
        for node in {event.node for event in events if getattr(event, "node", None)}:
            with suppress(UsageProblem):
                kind.views.prompt(records, node, None)


@cache
def chosen() -> tuple[list[tuple[Story, list[Field], tuple[Any, ...]]], set[Field], set[Field]]:
    """Return stories, each with its filled fields and its events then; all filled fields; those without free text."""
    done: set[Field] = set()
    closed: set[Field] = set()
    found = []
    for story in stories():
        new = [field for field in fields_of(story) if field not in done]
        free = []
        for field in new:
            if with_poison(story, [field]) is None:
                closed.add(field)
            elif len(free) < PER_RUN_MAX and with_poison(story, [*free, field]) is not None:
                free.append(field)
        events = with_poison(story, free, prompts=True) if free else None
        if free and events is None:
            named = [field for field in free if with_poison(story, [field], prompts=True) is None]
            closed |= set(named)
            free = [field for field in free if field not in named]
            events = with_poison(story, free, prompts=True) if free else None
        if events is not None:
            found.append((story, free, events))
            done |= set(free)
    return found, done, closed - done
