"""The decisions of an acquisition run, each a rule that `advance` tries, and the requests that they make. Pure."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from actors.acquisition.answers import acquisition_question
from actors.acquisition.calculation import inputs_hash
from actors.acquisition.events import (
    DECOMPOSE,
    INCOMPLETE,
    OBSERVE,
    PLAN,
    REFLECT,
    AcquisitionCall,
    DecisionRequested,
    DecompositionRequested,
    ObservationRequested,
    ReflectionRequested,
    Routed,
)
from actors.acquisition.graph import END, AcquisitionGraph
from actors.acquisition.planner_state import apply, names_of_writes
from actors.acquisition.profile import Profile
from actors.acquisition.prompt import material, render_prompt
from actors.acquisition.replies import ATTEMPTS, NODES, SCHEMAS, field_to_decompose, replies_for, schema_bytes
from actors.acquisition.schema import schema_of
from actors.acquisition.search_output import PASSAGES_MAX
from actors.acquisition.state import State
from actors.run.ending import Outcome, RunFinished, end_exhausted_run
from actors.run.ids import step_of
from actors.run.machine import CallPrompt, try_fields
from actors.run.questions import ClarificationRequested, new_id
from actors.run.rules import AFTER_FAULT, EXPIRE, KEEP_DEADLINE, REMIND, TAKE_OVER_TOOLS, Rule, Scope
from actors.run.tools import ToolRequested
from runtime.core.events import storable

SEARCH = "search"
"""The name of the search tool, and of the node that calls it."""

_PURPOSES: Mapping[str, str] = {"plan": PLAN, "observe": OBSERVE, "reflect": REFLECT}


def next_call(state: State) -> AcquisitionCall | None:
    """Return the call that the run's node waits for and that was not made yet; None where it waits for none."""
    path = ""
    if state.node in NODES:
        path = field_to_decompose(state) or ""
        purpose = DECOMPOSE if path else None
    else:
        purpose = _PURPOSES.get(state.node)
    if purpose is None:
        return None
    attempt = len(replies_for(state, purpose, path)) + 1
    if attempt > ATTEMPTS:
        return None
    number = state.calls.get(purpose, 0) + (attempt == 1)
    if purpose == OBSERVE and state.planner.decision is not None:
        path = state.planner.decision.target_field
    return call_for(state, f"{purpose}/v{number}.a{attempt}", path, 1)


def next_try(state: State, request: AcquisitionCall) -> AcquisitionCall:
    """Return the request for the next try of a call."""
    return call_for(state, request.node, subject_of(request), request.try_number + 1)


def subject_of(request: AcquisitionCall) -> str:
    """Return the path of the field that a call is about; empty for none."""
    return request.path if isinstance(request, ObservationRequested | DecompositionRequested) else ""


def prompt_of(state: State, purpose: str, path: str) -> CallPrompt:
    """Return what a call about a field sends to the model."""
    return CallPrompt(
        purpose=purpose,
        text=render_prompt(state, purpose, path),
        output_tokens_max=state.config.output_tokens_max,
        timeout_seconds=state.config.timeout_seconds,
        settings=state.config.model_settings,
        schema=SCHEMAS[purpose],
        schema_bytes=schema_bytes(purpose),
        material=partial(material, state, purpose, path),
    )


def call_for(state: State, node: str, path: str, try_number: int) -> AcquisitionCall:
    """Return the request for a try of a call, with the prompt, limits and reservation as they are now."""
    purpose = step_of(node)
    fields = try_fields(state, prompt_of(state, purpose, path), node, try_number)
    match purpose:
        case "plan":
            return DecisionRequested(**fields)
        case "observe":
            return ObservationRequested(**fields, path=path)
        case "decompose":
            return DecompositionRequested(**fields, path=path)
        case _:
            return ReflectionRequested(**fields)


def search_for(state: State) -> ToolRequested | None:
    """Return the call of the search tool that the run's node waits for; None where it waits for none."""
    decision = state.planner.decision
    if state.node != SEARCH or state.tool is not None or state.run.tools or decision is None:
        return None
    arguments = {"query": decision.query, "limit": PASSAGES_MAX}
    return ToolRequested(
        node=f"{SEARCH}/v{state.visit}",
        tool=SEARCH,
        arguments=storable(json.dumps(arguments, ensure_ascii=False)),
        repeatable=True,
        timeout_seconds=state.config.search_seconds,
    )


def question_for(state: State) -> ClarificationRequested | None:
    """Return the question that the run's node asks; None where it asks none, or has asked it."""
    decision = state.planner.decision
    if state.node != "ask_user" or state.question or decision is None:
        return None
    return ClarificationRequested(
        question_id=new_id(state.run.questions),
        node=f"ask_user/v{state.visit}",
        **acquisition_question(schema_of(state), decision).form,
        why=f"{decision.target_field}: {storable(decision.reasoning) or 'a value is needed'}",
        blocks=(decision.target_field,),
    )


Table = Callable[[Profile], AcquisitionGraph]
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
        REMIND,
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
    foreign = names_of_writes(hop.writes) - node.owns
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
    return call if short is None else end_exhausted_run(short)
