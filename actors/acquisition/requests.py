"""The requests of the nodes that wait: calls of the model, searches and questions, and what each may cost. Pure."""

import json
from collections.abc import Mapping
from functools import partial

from actors.acquisition.answers import acquisition_question
from actors.acquisition.events import (
    DECOMPOSE,
    OBSERVE,
    PLAN,
    REFLECT,
    AcquisitionCall,
    DecisionRequested,
    DecompositionRequested,
    ObservationRequested,
    ReflectionRequested,
)
from actors.acquisition.prompt import material, rendered
from actors.acquisition.replies import ATTEMPTS, NODES, SCHEMAS, replies_for, schema_bytes, wanted
from actors.acquisition.schema import schema_of
from actors.acquisition.search_output import PASSAGES_MAX
from actors.acquisition.state import State
from actors.run.ids import step_of
from actors.run.machine import CallPrompt, try_fields
from actors.run.questions import ClarificationRequested, new_id
from actors.run.texts import storable
from actors.run.tools import ToolRequested

SEARCH = "search"
"""The name of the search tool, and of the node that calls it."""

_PURPOSES: Mapping[str, str] = {"plan": PLAN, "observe": OBSERVE, "reflect": REFLECT}


def next_call(state: State) -> AcquisitionCall | None:
    """Return the call that the run's node waits for and that was not made yet; None where it waits for none."""
    path = ""
    if state.node in NODES:
        path = wanted(state) or ""
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
        text=rendered(state, purpose, path),
        output_tokens_max=state.config.output_tokens_max,
        timeout_seconds=state.config.timeout_seconds,
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
