"""The kind of executions, registered under the name `execution`."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from actors.execution import fork_places, undo_rules
from actors.execution.events import EVENTS, ExecutionEvent, ReplanReplied
from actors.execution.ids import parse_node
from actors.execution.machine import ExecutionMachine
from actors.execution.state import State
from actors.execution.views import VIEWS, log_fields
from actors.run.calls import Replied
from actors.run.ids import child_run, node_of
from actors.run.kind import Kind, Resources
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec

if TYPE_CHECKING:
    from actors.run.kind import PreparedRun, Setup
    from runtime.drive.actor import Actor

CODEC: Codec[ExecutionEvent] = Codec(EVENTS)
"""The codec of the events of executions."""


def _actors(state: State, resources: Resources) -> "AbstractAsyncContextManager[Sequence[Actor[Any, Any]]]":
    from actors.execution.actors import open_actors  # noqa: PLC0415 -- reading a run needs none

    at_work = [attempt.node for attempt in state.active.values()]
    return open_actors(state.run.run_id, state.config, resources, at_work)


def _prepare(request: Any, setup: "Setup") -> "PreparedRun":
    from actors.execution.prepare import ExecutionInput, prepare_execution  # noqa: PLC0415 -- as above

    if not isinstance(request, ExecutionInput):
        raise UsageProblem("the task of an execution is no plan", place="task", hint="pass an ExecutionInput")
    return prepare_execution(request, setup)


def _model(state: State) -> str | None:
    return state.config.model or None


def _run_of_plan(state: State) -> str:
    return state.plan_of


def _children(state: State) -> list[str]:
    return [child_run(state.run.run_id, node) for node in state.replan_nodes]


def _purpose(reply: Replied) -> str:
    if isinstance(reply, ReplanReplied):
        return "replan"
    parsed = parse_node(node_of(reply.request_id))
    return parsed.name if parsed is not None else node_of(reply.request_id)


EXECUTION: Kind[State, ExecutionEvent] = Kind(
    name="execution",
    machine=ExecutionMachine(),
    codec=CODEC,
    fork_workspace=fork_places.fork_workspace,
    in_workspace=fork_places.in_workspace,
    actors=_actors,
    prepare=_prepare,
    model=_model,
    children=_children,
    made_from=_run_of_plan,
    purpose=_purpose,
    undo_problem=undo_rules.problem,
    log_fields=log_fields,
    views=VIEWS,
)
"""Execution: runs a proved plan with the user's tools, and replans where that fails."""
