"""The rules that make an acquisition run's decisions and requests, and the prompts of these requests. Pure."""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from actors.prompting.render import Rendered, render
from actors.run.ending import Outcome, RunFinished, end_exhausted_run
from actors.run.ids import step_of
from actors.run.machine import CallPrompt, try_fields
from actors.run.questions import ClarificationRequested, new_id
from actors.run.rules import AFTER_FAULT, EXPIRE, KEEP_DEADLINE, REMIND, TAKE_OVER_TOOLS, Rule, Scope
from actors.run.tools import ToolRequested
from actors.values.artifacts import Artifact, Context, Feedback, format_json
from replan_acquire.acquisition.answers import acquisition_question
from replan_acquire.acquisition.calculation import hash_inputs
from replan_acquire.acquisition.events import (
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
from replan_acquire.acquisition.graph import END, AcquisitionGraph
from replan_acquire.acquisition.next_task import query_for, questions_left, searches_left
from replan_acquire.acquisition.observation import read_observation
from replan_acquire.acquisition.planner_state import PASSAGES_MAX, apply, names_of_writes
from replan_acquire.acquisition.profile import Profile
from replan_acquire.acquisition.replies import (
    ATTEMPTS,
    NODES,
    SCHEMAS,
    Unusable,
    field_to_decompose,
    read_decision,
    read_decomposition,
    read_reflection,
    replies_for,
    schema_bytes,
)
from replan_acquire.acquisition.schema import Schema, schema_of
from replan_acquire.acquisition.state import ReplyText, State
from runtime.core.events import make_storable

ROLES: Mapping[str, str] = {
    PLAN: "acquisition_plan",
    OBSERVE: "acquisition_observe",
    DECOMPOSE: "acquisition_decompose",
    REFLECT: "acquisition_reflect",
}
REJECTIONS_SHOWN = 10
_EMPTY: tuple[Any, ...] = ("", [], {})


def _render_prompt(state: State, purpose: str, path: str) -> Rendered:
    return render(state.config.templates[purpose], _context(state, purpose, path))


def material(state: State, purpose: str, path: str) -> dict[str, Any]:
    """Return the content of the prompt as plain data, for models that run in this process."""
    return {
        "role": ROLES[purpose],
        "specification": state.goal,
        "requirements": list(state.run.texts_of("requirement")),
        "notes": list(state.run.texts_of("note")),
        "retry": [feedback.text for feedback in _feedback(state, purpose, path)],
        **_parts(state, purpose, path),
    }


def _context(state: State, purpose: str, path: str) -> Context:
    """Return the context with which the template of a prompt is rendered.

    The template reads its parts under `artifacts`. Empty parts are omitted.
    """
    parts = _parts(state, purpose, path)
    return Context(
        specification=state.goal,
        requirements=state.run.texts_of("requirement"),
        dependencies={name: _make_artifact(name, part) for name, part in parts.items() if part not in _EMPTY},
        retry=_feedback(state, purpose, path),
        clarifications=state.run.clarifications,
        notes=state.run.texts_of("note"),
    )


def _make_artifact(name: str, part: Any) -> Artifact:
    return Artifact(artifact_id=name, step=name, content=part if isinstance(part, str) else format_json(part))


def _parts(state: State, purpose: str, path: str) -> dict[str, Any]:
    schema = schema_of(state)
    parts: dict[str, Any] = {"profile": schema.profile.about}
    match purpose:
        case "observe":
            parts["field"] = path
            places = (item for item in schema.profile.bootstrap if schema.fields[item].type == "text")
            parts["place"] = [schema.text(item) for item in places if schema.text(item)]
            parts["units"] = dict(schema.profile.units)
            parts["fields"] = [
                _wanted_value_view(schema, field)
                for field in schema.fields
                if not schema.is_made(field) and field not in schema.profile.bootstrap
            ]
            parts["passages"] = [passage.model_dump(mode="json") for passage in state.planner.last_observation]
        case "decompose":
            parts["field"] = _wanted_value_view(schema, path)
            parts["units"] = dict(schema.profile.units)
            parts["known"] = [
                _known_value_view(schema, field) for field in schema.fields if schema.value(field) is not None
            ]
        case _:
            parts["fields"] = [_field_status_view(state, schema, field) for field in schema.fields]
            parts["searches"] = [search.model_dump(mode="json") for search in state.planner.searches]
            parts["calculation"] = state.planner.calculation.model_dump(mode="json", exclude={"inputs_hash"})
            parts["not_taken"] = [
                rejection.model_dump(mode="json") for rejection in state.planner.rejections[-REJECTIONS_SHOWN:]
            ]
    return parts


def _wanted_value_view(schema: Schema, path: str) -> dict[str, Any]:
    """Return the facts about a field that a model needs to find its value."""
    spec = schema.fields[path]
    view: dict[str, Any] = {"path": path, "label": spec.label, "type": spec.type}
    if spec.type == "number":
        view["unit"] = schema.unit(path) or ""
    view["words"] = list(spec.words)
    if spec.choices:
        view["choices"] = list(spec.choices)
    return view


def _known_value_view(schema: Schema, path: str) -> dict[str, Any]:
    value = schema.value(path)
    assert value is not None, "the field has a value"
    return {"path": path, "label": schema.fields[path].label, "value": value.value, "unit": value.unit}


def _field_status_view(state: State, schema: Schema, path: str) -> dict[str, Any]:
    spec = schema.fields[path]
    value = schema.value(path)
    view = _wanted_value_view(schema, path)
    view |= {"source": spec.source, "required": spec.required, "made_of_others": schema.is_made(path)}
    if value is not None:
        view |= {"value": value.value, "unit": value.unit, "from": value.source}
    elif not schema.is_made(path):
        view["suggested_query"] = query_for(state, schema, path)
        view["may_search"] = searches_left(state, path)
        view["may_ask"] = questions_left(state, path)
    return view


def _feedback(state: State, purpose: str, path: str) -> tuple[Feedback, ...]:
    subject = path if purpose == DECOMPOSE else ""
    errors = []
    for reply in replies_for(state, purpose, subject):
        problem = _problem(state, purpose, path, reply)
        if problem is not None:
            errors.append(Feedback(reply.call, problem.message))
    return tuple(errors)


def _problem(state: State, purpose: str, path: str, reply: ReplyText) -> Unusable | None:
    schema = schema_of(state)
    read: object
    match purpose:
        case "plan":
            read = read_decision(reply, schema)
        case "observe":
            read = read_observation(reply, state)
        case "decompose":
            read = read_decomposition(reply, state.config.profile, path)
        case _:
            read = read_reflection(reply, schema, "")
    return read if isinstance(read, Unusable) else None


SEARCH = "search"

_PURPOSES: Mapping[str, str] = {"plan": PLAN, "observe": OBSERVE, "reflect": REFLECT}


def _next_call(state: State) -> AcquisitionCall | None:
    """Return the next call to a model that the current node needs; None if the node needs no call."""
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
    return _make_call(state, f"{purpose}/v{number}.a{attempt}", path, 1)


def next_try(state: State, request: AcquisitionCall) -> AcquisitionCall:
    """Return the request for the next try of a call."""
    return _make_call(state, request.node, subject_of(request), request.try_number + 1)


def subject_of(request: AcquisitionCall) -> str:
    """Return the path of the field that a call is about; empty if it is about no field."""
    return request.path if isinstance(request, ObservationRequested | DecompositionRequested) else ""


def make_call_prompt(state: State, purpose: str, path: str) -> CallPrompt:
    """Return the prompt of a call about a field, with its limits and settings."""
    return CallPrompt(
        purpose=purpose,
        text=_render_prompt(state, purpose, path),
        output_tokens_max=state.config.output_tokens_max,
        timeout_seconds=state.config.timeout_seconds,
        settings=state.config.model_settings,
        schema=SCHEMAS[purpose],
        schema_bytes=schema_bytes(purpose),
        material=partial(material, state, purpose, path),
    )


def _make_call(state: State, node: str, path: str, try_number: int) -> AcquisitionCall:
    purpose = step_of(node)
    fields = try_fields(state, make_call_prompt(state, purpose, path), node, try_number)
    match purpose:
        case "plan":
            return DecisionRequested(**fields)
        case "observe":
            return ObservationRequested(**fields, path=path)
        case "decompose":
            return DecompositionRequested(**fields, path=path)
        case _:
            return ReflectionRequested(**fields)


def _make_search(state: State) -> ToolRequested | None:
    decision = state.planner.decision
    if state.node != SEARCH or state.tool is not None or state.run.tools or decision is None:
        return None
    arguments = {"query": decision.query, "limit": PASSAGES_MAX}
    return ToolRequested(
        node=f"{SEARCH}/v{state.visit}",
        tool=SEARCH,
        arguments=make_storable(json.dumps(arguments, ensure_ascii=False)),
        repeatable=True,
        timeout_seconds=state.config.search_seconds,
    )


def _make_question(state: State) -> ClarificationRequested | None:
    decision = state.planner.decision
    if state.node != "ask_user" or state.question or decision is None:
        return None
    return ClarificationRequested(
        question_id=new_id(state.run.questions),
        node=f"ask_user/v{state.visit}",
        **acquisition_question(schema_of(state), decision).form,
        why=f"{decision.target_field}: {make_storable(decision.reasoning) or 'a value is needed'}",
        blocks=(decision.target_field,),
    )


Table = Callable[[Profile], AcquisitionGraph]


def rules_over(table: Table, reissue: Callable[[State], Any]) -> tuple[Rule, ...]:
    """Return the rules for a table of nodes, in order. The first rule that returns an event decides."""
    return (
        TAKE_OVER_TOOLS,
        EXPIRE,
        Rule("end", Scope.RUN, end),
        Rule("leave the node", Scope.RUN, partial(leave, table)),
        Rule("ask", Scope.RUN, _make_question),
        AFTER_FAULT,
        KEEP_DEADLINE,
        REMIND,
        Rule("reissue", Scope.RUN, reissue),
        Rule("request", Scope.RUN, request),
    )


def leave(table: Table, state: State) -> Routed | None:
    """If the gate of the current node has decided, leave the node for the next one."""
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
        reason=make_storable(hop.reason),
        decision_origin=after.decision_origin,
        writes=hop.writes,
    )


def end(state: State) -> RunFinished | None:
    """After the last node, end the run: with `success` if nothing is missing, and with `incomplete` otherwise."""
    if state.node != END:
        return None
    lacking = _describe_missing(state)
    if not lacking:
        return RunFinished(outcome=Outcome.SUCCESS, why="every required field has a value")
    last = state.path[-1].reason
    return RunFinished(outcome=INCOMPLETE, why=make_storable(f"{lacking}; {last}" if last not in lacking else lacking))


def _describe_missing(state: State) -> str:
    """Return one line about the required values or results that are missing; empty if nothing is missing."""
    schema = schema_of(state)
    calculation = state.planner.calculation
    missing = [path for path, spec in schema.profile.fields.items() if spec.required and schema.value(path) is None]
    if missing:
        return f"no value for {', '.join(missing)}"
    if state.planner.status == "aborted":
        return "the run was aborted"
    if schema.profile.calculator is None:
        return ""
    if calculation.status == "blocked":
        return f"the calculation is blocked: {'; '.join(error.message for error in calculation.errors[:3])}"
    if calculation.status == "none" or calculation.inputs_hash != hash_inputs(schema):
        return "the results were not calculated from the current values"
    return ""


def request(state: State) -> AcquisitionCall | ToolRequested | RunFinished | None:
    """Request the call or the search that the current node needs.

    If a limit does not allow this request, end the run.
    """
    run = state.run
    if run.saving or run.calls.open:
        return None
    for tries in run.calls.tries.values():
        if tries.phase != "rested":
            return None
        return _affordable(state, next_try(state, tries.request))
    search = _make_search(state)
    if search is not None:
        return search
    call = _next_call(state)
    return None if call is None else _affordable(state, call)


def _affordable(state: State, call: AcquisitionCall) -> AcquisitionCall | RunFinished:
    short = state.run.ledger.shortfall(call.reserve, state.run.now)
    return call if short is None else end_exhausted_run(short)
