"""What every view shows of some histories, at their end, in the middle and before they began (`views/*.txt`).

`pytest tests/histories --rewrite-histories` writes the files anew, for a review of the difference.
"""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest

from actors.execution.kind import EXECUTION
from actors.execution.result import ExecutionJson
from actors.planning.kind import PLANNING
from actors.planning.result import PlanningJson
from actors.run.calls import Replied
from actors.run.result import ResultJson, RunView
from actors.run.views import calls_of
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.core.machine import fold
from tests.histories.interpreter import Interpreter
from tests.histories.test_execution_histories import ExecutionInterpreter
from tests.histories.test_histories import rewritten

FOLDER = Path(__file__).parent
SHOWN = {
    "executions/approval": (EXECUTION, ExecutionInterpreter, ExecutionJson),
    "executions/model_writes": (EXECUTION, ExecutionInterpreter, ExecutionJson),
    "executions/partial_replan": (EXECUTION, ExecutionInterpreter, ExecutionJson),
    "executions/requirement": (EXECUTION, ExecutionInterpreter, ExecutionJson),
    "executions/tool_rows": (EXECUTION, ExecutionInterpreter, ExecutionJson),
    "belief_shipped": (PLANNING, Interpreter, PlanningJson),
    "beam": (PLANNING, Interpreter, PlanningJson),
    "questions": (PLANNING, Interpreter, PlanningJson),
    "parking": (PLANNING, Interpreter, PlanningJson),
}


def plain(value):
    return json.dumps(_data(value), sort_keys=True, ensure_ascii=False)


def _data(value):
    """Return a value as plain data; named tuples and dataclasses become objects with their fields."""
    match value:
        case dict():
            return {key: _data(item) for key, item in value.items()}
        case tuple() if hasattr(value, "_asdict"):
            return _data(value._asdict())
        case list() | tuple():
            return [_data(item) for item in value]
        case frozenset() | set():
            return sorted(value)
        case _ if is_dataclass(value):
            return {item.name: _data(getattr(value, item.name)) for item in fields(value)}
        case None | bool() | int() | float():
            return value
        case _:
            return str(value)


def tree_lines(tree, indent=""):
    yield indent + tree.line.plain
    for child in tree.children:
        yield from tree_lines(child, indent + "  ")


def document(view, *arguments):
    try:
        made = view(*arguments)
    except UsageProblem as problem:
        return [str(problem)]
    return [line.plain for line in made.lines] or (made.text or "").splitlines()


def prompt(view, records, request):
    """Return what is known of the messages of a call, or why there are none."""
    try:
        sent = view(records, request)
    except UsageProblem as problem:
        return str(problem)
    assert sent.verified, request
    return f"{sent.request_id}: {[role for role, _ in sent.messages]}, cut {sent.cut}"


def state_lines(kind, records, keys):
    """Yield what the views show after some records."""
    views, state = kind.views, fold(kind.machine, [record.event for record in records])
    over = kind.run_state(state) is not None and state.run.over
    result = views.result(RunView("run", "finished" if over else "running", state, state))
    yield f"== after {len(records)} events"
    shown = result.to_json()
    assert shown.keys() <= keys, "every key is in the list that the API and the documentation are made from"
    yield from (f"{key}: {plain(value)}" for key, value in shown.items())
    for full in (True, False):
        yield f"-- {'full' if full else 'brief'}"
        yield from (line.plain for line in views.lines(result, "replan", full=full))
        yield "-- tree"
        yield from tree_lines(views.tree("title", state, records, interrupted=full, brief=not full).tree)
    yield f"-- flow {plain(views.flow(state, result))}"
    yield f"-- checklist {plain(views.checklist(result))}"
    for name, view in views.documents.items() if records else ():
        yield f"-- {name}"
        yield from document(view, state, result, "replan")
    yield f"-- model {kind.model(state)}, title {kind.title(state)}, children {plain(kind.children(state))}"
    if kind.run_state(state) is not None:
        yield views.progress(state, state.run.now).plain


def event_lines(kind, events):
    """Yield what the views show of each event."""
    views, state = kind.views, kind.machine.initial()
    for event in events:
        state = kind.machine.evolve(state, event)
        if kind.name == "planning" and kind.run_state(state) is not None:
            live = {name for name, node in state.nodes.items() if node.status in ("pending", "accepted")}
            assert state.live == live, "the state's list of live attempts follows from its nodes"
            assert live <= state.in_use <= state.nodes.keys()
        yield f"* {views.record_text(event, state)}"
        news = views.news_text(event, state)
        if news != views.record_text(event, state):
            yield f"  news {news}"
        yield f"  about {plain(kind.log_fields(event, state))} {plain(sorted(views.record_fields(event)))}"
        if isinstance(event, Replied):
            yield f"  asked for {kind.purpose(event)}"


def view_lines(path, kind, interpreter, keys):
    rewritten(path.read_text(encoding="utf-8"), interpreter)
    events = interpreter.events
    records = [Record("run", number, 0.0, 1, event, "") for number, event in enumerate(events, 1)]
    yield from event_lines(kind, events)
    for count in (len(records) // 2, len(records)):
        yield from state_lines(kind, records[:count], keys)
    for _, call in calls_of(records):
        yield f"prompt {prompt(kind.views.prompt, records, call.request_id)}"


@pytest.mark.parametrize("name", SHOWN)
def test_every_view_of_a_history_shows_what_is_written(name, request):
    check_views(FOLDER, name, SHOWN[name], request)


def check_views(folder, name, shown, request):
    """Compare what the views show of a history in a folder with the file of its views, or write that file.

    `shown` is its kind, its interpreter and the `TypedDict` of the keys of the kind's results.
    """
    kind, interpreter, keys = shown
    keys = {*get_type_hints(ResultJson), *get_type_hints(keys)}
    path = folder / "views" / f"{name.replace('/', '_')}.txt"
    current = "\n".join(view_lines(folder / f"{name}.txt", kind, interpreter(), keys)) + "\n"
    if request.config.getoption("--rewrite-histories", default=False):
        path.write_text(current, encoding="utf-8")
    else:
        assert current == path.read_text(encoding="utf-8")
