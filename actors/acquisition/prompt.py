"""The prompt of each call, and the same as data for models in this process. Pure."""

from collections.abc import Mapping
from typing import Any

from actors.acquisition.events import DECOMPOSE, OBSERVE, PLAN, REFLECT
from actors.acquisition.next_task import query_for, questions_left, searches_left
from actors.acquisition.observation import read_observation
from actors.acquisition.replies import Unusable, read_decision, read_decomposition, read_reflection, replies_for
from actors.acquisition.schema import Schema, schema_of
from actors.acquisition.state import ReplyText, State
from actors.prompting.render import Rendered, render
from actors.values.artifacts import Artifact, Context, Feedback, format_json

ROLES: Mapping[str, str] = {
    PLAN: "acquisition_plan",
    OBSERVE: "acquisition_observe",
    DECOMPOSE: "acquisition_decompose",
    REFLECT: "acquisition_reflect",
}
"""The role that a model in this process plays, by the purpose of the call."""
REJECTIONS_SHOWN = 10
"""Observed values that were not taken and that a prompt shows."""


def render_prompt(state: State, purpose: str, path: str) -> Rendered:
    """Return the prompt of a call about a field; the path is empty for a call about none."""
    return render(state.config.templates[purpose], _context(state, purpose, path))


def material(state: State, purpose: str, path: str) -> dict[str, Any]:
    """Return what the prompt says as plain data, for models in this process."""
    return {
        "role": ROLES[purpose],
        "specification": state.goal,
        "requirements": list(state.run.texts_of("requirement")),
        "notes": list(state.run.texts_of("note")),
        "retry": [feedback.text for feedback in _feedback(state, purpose, path)],
        **_parts(state, purpose, path),
    }


def _context(state: State, purpose: str, path: str) -> Context:
    parts = _parts(state, purpose, path)
    return Context(
        specification=state.goal,
        requirements=state.run.texts_of("requirement"),
        dependencies={name: _make_artifact(name, part) for name, part in parts.items() if part not in ("", [], {})},
        retry=_feedback(state, purpose, path),
        clarifications=state.run.clarifications,
        notes=state.run.texts_of("note"),
    )


def _make_artifact(name: str, part: Any) -> Artifact:
    return Artifact(artifact_id=name, step=name, content=part if isinstance(part, str) else format_json(part))


def _parts(state: State, purpose: str, path: str) -> dict[str, Any]:
    """Return the parts of a prompt by name, in the order in which it shows them."""
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
            parts["fields"] = [_status(state, schema, field) for field in schema.fields]
            parts["searches"] = [search.model_dump(mode="json") for search in state.planner.searches]
            parts["calculation"] = state.planner.calculation.model_dump(mode="json", exclude={"inputs_hash"})
            parts["not_taken"] = [
                rejection.model_dump(mode="json") for rejection in state.planner.rejections[-REJECTIONS_SHOWN:]
            ]
    return parts


def _wanted_value_view(schema: Schema, path: str) -> dict[str, Any]:
    """Return what a model has to know to find a value for a field."""
    spec = schema.fields[path]
    shown: dict[str, Any] = {"path": path, "label": spec.label, "type": spec.type}
    if spec.type == "number":
        shown["unit"] = schema.unit(path) or ""
    shown["words"] = list(spec.words)
    if spec.choices:
        shown["choices"] = list(spec.choices)
    return shown


def _known_value_view(schema: Schema, path: str) -> dict[str, Any]:
    value = schema.value(path)
    assert value is not None, "the field has a value"
    return {"path": path, "label": schema.fields[path].label, "value": value.value, "unit": value.unit}


def _status(state: State, schema: Schema, path: str) -> dict[str, Any]:
    """Return how far a field is, for a decision or a review."""
    spec, value = schema.fields[path], schema.value(path)
    shown = _wanted_value_view(schema, path)
    shown |= {"source": spec.source, "required": spec.required, "made_of_others": schema.is_made(path)}
    if value is not None:
        shown |= {"value": value.value, "unit": value.unit, "from": value.source}
    elif not schema.is_made(path):
        shown["suggested_query"] = query_for(state, schema, path)
        shown["may_search"] = searches_left(state, path)
        shown["may_ask"] = questions_left(state, path)
    return shown


def _feedback(state: State, purpose: str, path: str) -> tuple[Feedback, ...]:
    """Return what was wrong with the replies to this call that could not be used."""
    about = path if purpose == DECOMPOSE else ""
    found = []
    for reply in replies_for(state, purpose, about):
        problem = _problem(state, purpose, path, reply)
        if problem is not None:
            found.append(Feedback(reply.call, problem.message))
    return tuple(found)


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
