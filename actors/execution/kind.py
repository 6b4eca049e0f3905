"""The run kind `execution`, and the records at which an execution can be forked.

An execution can be forked at a record if a snapshot shows the workspace at that record. Files change only while a
person does a step, or while a file-changing tool works. So a snapshot shows the workspace at every record between the
last possible change before the snapshot and the first possible change after the snapshot.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from actors.execution import undo_rules
from actors.execution.events import EVENTS, ExecutionEvent, ReplanReplied
from actors.execution.ids import parse_node
from actors.execution.machine import ExecutionMachine
from actors.execution.state import AttemptPhase, State
from actors.execution.views import VIEWS, log_fields
from actors.execution.workspace_rules import snapshot_of
from actors.run.calls import Replied
from actors.run.fork_event import ForkWorkspace
from actors.run.ids import child_run, node_of
from actors.run.kind import Kind, Resources
from actors.run.questions import ClarificationRequested
from actors.run.tools import ToolFinished, ToolReissued, ToolRequested
from actors.tools.preflight_rules import WORKSPACE_LOOK
from actors.tools.snapshot_texts import WORKSPACE_SNAPSHOT
from actors.tools.uses import WORKSPACE_READ
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec

if TYPE_CHECKING:
    from actors.run.kind import PreparedRun, Setup
    from runtime.drive.actor import Actor

_WRONG_TASK = "the task of an execution must be an ExecutionInput, which has a plan and its tools"
_LOOKING = (WORKSPACE_SNAPSHOT, WORKSPACE_READ, WORKSPACE_LOOK)


def _fork_workspace(history: Iterable[tuple[ExecutionEvent, State]]) -> ForkWorkspace | None:
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
                snapshot_id = snapshot_of(event).id
                if snapshot_id and not _may_change_files(state):
                    shown.setdefault(stretch, snapshot_id)
            case _:
                pass
        places.append(-1 if _may_change_files(state) else stretch)
    return ForkWorkspace(folder, [shown.get(item, "") for item in places])


def _may_change_files(state: State) -> bool:
    tools = any(tool.request.tool not in _LOOKING for tool in state.run.tools.values())
    return tools or any(_asks_for_step(question.request) for question in state.run.questions.values() if question.open)


def _asks_for_step(event: ClarificationRequested) -> bool:
    node = parse_node(event.node)
    return node is not None and node.phase == AttemptPhase.ACT


CODEC: Codec[ExecutionEvent] = Codec(EVENTS)


def _actors(state: State, resources: Resources) -> "AbstractAsyncContextManager[Sequence[Actor[Any, Any]]]":
    from actors.execution.actors import open_actors  # noqa: PLC0415 -- reading a run needs none

    at_work = [attempt.node for attempt in state.active.values()]
    return open_actors(state.run.run_id, state.config, resources, at_work)


def _prepare(request: Any, setup: "Setup") -> "PreparedRun":
    from actors.execution.prepare import ExecutionInput, prepare_execution  # noqa: PLC0415 -- as above

    if not isinstance(request, ExecutionInput):
        raise UsageProblem(_WRONG_TASK, place="task", hint="pass an ExecutionInput")
    return prepare_execution(request, setup)


def _purpose(reply: Replied) -> str:
    if isinstance(reply, ReplanReplied):
        return "replan"
    parsed = parse_node(node_of(reply.request_id))
    return parsed.name if parsed is not None else node_of(reply.request_id)


EXECUTION: Kind[State, ExecutionEvent] = Kind(
    name="execution",
    machine=ExecutionMachine(),
    codec=CODEC,
    fork_workspace=_fork_workspace,
    in_workspace=lambda state, folder: state.config.model_copy(update={"workspace": folder}).model_dump_json(),
    actors=_actors,
    prepare=_prepare,
    model=lambda state: state.config.model or None,
    children=lambda state: [child_run(state.run.run_id, node) for node in state.replan_nodes],
    made_from=lambda state: state.plan_of,
    purpose=_purpose,
    undo_problem=undo_rules.problem,
    log_fields=log_fields,
    views=VIEWS,
)
"""The kind of executions, which run a proved plan with the user's tools, and replan if the plan fails."""
