"""The decisions of an acquisition run, each a rule that `advance` tries. Pure."""

from collections.abc import Callable
from functools import partial
from typing import Any

from actors.acquisition.calculation import inputs_hash
from actors.acquisition.events import INCOMPLETE, AcquisitionCall, Routed
from actors.acquisition.graph import END, Graph
from actors.acquisition.planner_state import apply, written
from actors.acquisition.profile import Profile
from actors.acquisition.requests import next_call, next_try, question_for, search_for
from actors.acquisition.schema import schema_of
from actors.acquisition.state import State
from actors.run.ending import Outcome, RunFinished, exhausted
from actors.run.rules import AFTER_FAULT, EXPIRE, KEEP_DEADLINE, TAKE_OVER_TOOLS, Rule, Scope
from actors.run.texts import storable
from actors.run.tools import ToolRequested

Table = Callable[[Profile], Graph]
"""Returns the graph of a profile."""


def rules_over(table: Table, reissue: Callable[[State], Any]) -> tuple[Rule, ...]:
    """Return the rules over one table of nodes, in the order that counts."""
    return (
        TAKE_OVER_TOOLS,
        EXPIRE,
        Rule("end", Scope.RUN, end),
        Rule("leave the node", Scope.RUN, partial(leave, table)),
        Rule("ask", Scope.RUN, question_for),
        AFTER_FAULT,
        KEEP_DEADLINE,
        Rule("reissue", Scope.RUN, reissue),
        Rule("request", Scope.RUN, request),
    )


def leave(table: Table, state: State) -> Routed | None:
    """Leave the node for the next one, once its gate decides."""
    graph = table(state.config.profile)
    node = graph.nodes.get(state.node)
    hop = None if node is None else node.gate(state)
    if node is None or hop is None:
        return None
    foreign = written(hop.writes) - node.owns
    assert not foreign, f"{node.name} writes {', '.join(sorted(foreign))}, which it does not own"
    after = apply(state.planner, hop.writes)
    return Routed(
        node=node.name,
        outcome=hop.outcome,
        to=graph.next(node.name, hop.outcome),
        reason=storable(hop.reason),
        decision_origin=after.decision_origin,
        writes=hop.writes,
    )


def end(state: State) -> RunFinished | None:
    """End the run once it has left the last node: `success` with all that the profile requires, else `incomplete`."""
    if state.node != END:
        return None
    lacking = what_is_missing(state)
    if not lacking:
        return RunFinished(outcome=Outcome.SUCCESS, why="every required value is there")
    last = state.path[-1].reason
    return RunFinished(outcome=INCOMPLETE, why=storable(f"{lacking}; {last}" if last not in lacking else lacking))


def what_is_missing(state: State) -> str:
    """Return what the profile requires and the run lacks, in one line; empty where nothing is missing."""
    schema, calculation = schema_of(state), state.planner.calculation
    missing = [path for path, spec in schema.profile.fields.items() if spec.required and schema.value(path) is None]
    if missing:
        return f"no value for {', '.join(missing)}"
    if state.planner.status == "aborted":
        return "the run was aborted"
    if schema.profile.calculator is None:
        return ""
    if calculation.status == "blocked":
        return f"the calculation is blocked: {'; '.join(error.message for error in calculation.errors[:3])}"
    if calculation.status == "none" or calculation.inputs_hash != inputs_hash(schema):
        return "there is no calculation of the values as they are"
    return ""


def request(state: State) -> AcquisitionCall | ToolRequested | RunFinished | None:
    """Request what the node waits for, where that can be paid; end the run where it cannot."""
    run = state.run
    if run.saving or run.calls.open:
        return None
    for tries in run.calls.tries.values():
        if tries.phase != "rested":
            return None
        return _affordable(state, next_try(state, tries.request))
    search = search_for(state)
    if search is not None:
        return search
    call = next_call(state)
    return None if call is None else _affordable(state, call)


def _affordable(state: State, call: AcquisitionCall) -> AcquisitionCall | RunFinished:
    short = state.run.ledger.shortfall(call.reserve, state.run.now)
    return call if short is None else exhausted(short)
