"""The places at which an execution can be forked: those at which a snapshot shows how its workspace was. Pure.

Between two calls of tools that may change files nothing changes them. So a snapshot that was taken in between, from its
request to its end, shows the workspace at each record in between. A person who does a step may change files too.
"""

from collections.abc import Iterable

from pydantic import ValidationError

from actors.execution.events import ExecutionEvent
from actors.execution.ids import parse_node
from actors.execution.state import AttemptPhase, State
from actors.run.fork_event import ForkWorkspace
from actors.run.questions import ClarificationRequested
from actors.run.tools import ToolFinished, ToolOutcome, ToolReissued, ToolRequested
from actors.tools.snapshot_texts import WORKSPACE_SNAPSHOT, read_snapshot
from actors.tools.uses import WORKSPACE_READ

_LOOKING = (WORKSPACE_SNAPSHOT, WORKSPACE_READ)
"""The built-in tools that change nothing."""


def fork_workspace(history: Iterable[tuple[ExecutionEvent, State]]) -> ForkWorkspace | None:
    """Return the workspace of an execution, from its events, each with the state after it."""
    folder, stretch, places = "", 0, list[int]()
    asked, shown = dict[str, int](), dict[int, str]()
    for event, state in history:
        folder = state.config.workspace
        if _may_change_files(state):
            stretch += 1
        match event:
            case ToolRequested(tool=tool) if tool == WORKSPACE_SNAPSHOT:
                asked[event.request_id] = stretch
            case ToolReissued(again=again) if again.tool == WORKSPACE_SNAPSHOT:
                asked[again.request_id] = stretch
            case ToolFinished() if asked.pop(event.request_id, None) == stretch:
                taken = _snapshot_id(event)
                if taken and not _may_change_files(state):
                    shown.setdefault(stretch, taken)
            case _:
                pass
        places.append(-1 if _may_change_files(state) else stretch)
    return ForkWorkspace(folder, [shown.get(item, "") for item in places])


def _may_change_files(state: State) -> bool:
    """Tell whether a tool is at work that may change files, or a person does a step."""
    tools = any(tool.request.tool not in _LOOKING for tool in state.run.tools.values())
    return tools or any(_by_hand(question.request) for question in state.run.questions.values() if question.open)


def _by_hand(event: ClarificationRequested) -> bool:
    """Tell whether a question asks a person to do a step."""
    node = parse_node(event.node)
    return node is not None and node.phase == AttemptPhase.ACT


def _snapshot_id(event: ToolFinished) -> str:
    if event.outcome is not ToolOutcome.SUCCEEDED:
        return ""
    try:
        return read_snapshot(event.output).id
    except ValidationError:
        return ""


def in_workspace(state: State, folder: str) -> str:
    """Return the JSON of an execution's configuration with another workspace."""
    return state.config.model_copy(update={"workspace": folder}).model_dump_json()
