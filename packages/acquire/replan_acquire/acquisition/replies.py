"""Reads the replies of models in an acquisition, and defines their JSON Schemas. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson
from pydantic import ValidationError

from actors.run.ids import step_of
from actors.values.answers import closed_schema
from replan_acquire.acquisition.events import DECOMPOSE, OBSERVE, PLAN, REFLECT
from replan_acquire.acquisition.planner_state import PlannerDecision, Reflection
from replan_acquire.acquisition.profile import COMPONENTS_MAX, Decomposition, FieldSpec, Profile
from replan_acquire.acquisition.schema import Schema, names_in, schema_of
from replan_acquire.acquisition.state import ReplyText, State
from replan_acquire.quantities.calculator import check_formulas
from replan_acquire.quantities.formula import parse_formula
from replan_acquire.quantities.units import UnitTable
from runtime.core.hooks import make_total
from runtime.core.pydantic_messages import describe
from runtime.models.replies import Unreadable, read_reply

ATTEMPTS = 2
"""The largest number of replies that a node requests for one purpose. A node requests a second reply only if the first
is unusable.
"""
REASON_MAX = 500
"""The largest number of characters that are kept of the reason in a model's reply."""
TEXT_MAX = 2_000
"""The largest number of characters that are kept of a question or a search query in a model's reply."""
CAVEATS_MAX = 10
"""The largest number of caveats that are kept from one review by a model."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """The reason why a reply cannot be used. `message` tells this to the model, and may quote the reply."""

    message: str


def replies_for(state: State, purpose: str, path: str = "") -> tuple[ReplyText, ...]:
    """Return the replies to calls with this purpose that the current node has received.

    With `path`, only replies about that field are returned.
    """
    return tuple(reply for reply in state.replies if step_of(reply.call) == purpose and path in ("", reply.path))


def last_problem(read: object) -> str:
    """Return the message of an `Unusable` reply; an empty text for a reply that can be used."""
    return read.message if isinstance(read, Unusable) else ""


def read_object(reply: ReplyText) -> Mapping[str, Any] | Unusable:
    """Return the JSON object in a reply, or why the reply has none."""
    if reply.ended_early:
        return Unusable("The end of the reply is missing; write one short JSON object and nothing else.")
    found = read_reply(reply.content)
    if isinstance(found, Unreadable):
        return Unusable(found.message)
    if not isinstance(found.value, dict):
        return Unusable("The reply is not a JSON object.")
    return found.value


@make_total("the decision", Unusable)
def read_decision(reply: ReplyText, schema: Schema) -> PlannerDecision | Unusable:
    """Return the decision in a reply. A decision about an unknown field cannot be used."""
    value = read_object(reply)
    if isinstance(value, Unusable):
        return value
    fields = {key: text_of(value.get(key)) for key in ("target_field", "query", "question", "reasoning")}
    try:
        decision = PlannerDecision.model_validate({"action": value.get("action"), **fields})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return Unusable(f"{first['loc'][0] if first['loc'] else 'reply'}: {describe(first)}")
    needs_field = decision.action in ("search", "ask_user")
    if needs_field and decision.target_field not in schema.fields:
        return Unusable(
            f"There is no field {decision.target_field[:80]!r}; target_field must be one of the listed paths."
        )
    if not needs_field and decision.target_field not in schema.fields:
        decision = decision.model_copy(update={"target_field": ""})
    return decision.model_copy(
        update={
            "reasoning": cut_line(decision.reasoning, REASON_MAX),
            "query": cut_line(decision.query, TEXT_MAX),
            "question": decision.question.strip()[:TEXT_MAX],
        }
    )


@make_total("the review", Unusable)
def read_reflection(reply: ReplyText, schema: Schema, inputs: str) -> Reflection | Unusable:
    """Return the review in a reply. If the proposed field is unknown, the review proposes no field."""
    value = read_object(reply)
    if isinstance(value, Unusable):
        return value
    if not isinstance(value.get("finish"), bool):
        return Unusable("`finish` must be true or false.")
    listed = value.get("caveats")
    caveats = (
        [cut_line(item, REASON_MAX) for item in listed if isinstance(item, str)] if isinstance(listed, list) else []
    )
    path = text_of(value.get("next_field"))
    return Reflection(
        inputs_hash=inputs,
        next_field=path if path in schema.fields else "",
        finish=value["finish"],
        caveats=tuple(filter(None, caveats))[:CAVEATS_MAX],
    )


def text_of(value: object) -> str:
    """Return the value if it is a text; otherwise an empty text."""
    return value if isinstance(value, str) else ""


def cut_line(text: str, most: int) -> str:
    """Return a text on one line, cut to at most this number of characters."""
    return " ".join(text.split())[:most]


_TEXT = {"type": "string"}


_COMPONENT = closed_schema(
    {
        "name": _TEXT,
        "label": _TEXT,
        "unit": _TEXT,
        "words": {"type": "array", "items": _TEXT},
        "source": {"type": "string", "enum": ["web", "user"]},
    }
)

SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    PLAN: closed_schema(
        {
            "reasoning": _TEXT,
            "action": {"type": "string", "enum": ["search", "ask_user", "reflect", "calculate", "finish"]},
            "target_field": _TEXT,
            "query": _TEXT,
            "question": _TEXT,
        }
    ),
    OBSERVE: closed_schema(
        {
            "values": {
                "type": "array",
                "items": closed_schema(
                    {
                        "field": _TEXT,
                        "value": _TEXT,
                        "unit": _TEXT,
                        "quote": _TEXT,
                        "source": _TEXT,
                        "confidence": {"type": "number"},
                    }
                ),
            }
        }
    ),
    DECOMPOSE: closed_schema({"formula": _TEXT, "fields": {"type": "array", "items": _COMPONENT}}),
    REFLECT: closed_schema(
        {
            "assessment": _TEXT,
            "next_field": _TEXT,
            "finish": {"type": "boolean"},
            "caveats": {"type": "array", "items": _TEXT},
        }
    ),
}


@lru_cache(maxsize=8)
def schema_bytes(purpose: str) -> int:
    """Return the size of a schema as JSON, in bytes."""
    return len(orjson.dumps(SCHEMAS[purpose]))


NODES = ("prepare_schema", "normalize_decision")
"""The nodes at which a run waits until a model has decomposed a field."""


def field_to_decompose(state: State) -> str | None:
    """Return the path of the field whose decomposition the current node must request; None if none is missing."""
    settled = proposed_decompositions(state)
    return next((path for path in _candidates(state) if path not in settled), None)


def proposed_decompositions(state: State) -> Mapping[str, Decomposition | None]:
    """Return the decompositions in the replies that the current node has received, by path.

    The value is None if no reply about a field can be used.
    """
    found: dict[str, Decomposition | None] = {}
    for path in _candidates(state):
        given = replies_for(state, DECOMPOSE, path)
        if given:
            read = read_decomposition(given[-1], state.config.profile, path)
            if isinstance(read, Decomposition):
                found[path] = read
            elif len(given) >= ATTEMPTS:
                found[path] = None
    return found


def _candidates(state: State) -> Iterator[str]:
    schema = schema_of(state)
    if state.node == "prepare_schema":
        for path, spec in schema.profile.fields.items():
            if spec.required and schema.lacks_decomposition(path) and schema.value(path) is None:
                yield path
    elif state.node == "normalize_decision" and state.planner.decision is not None:
        decision = state.planner.decision
        if decision.action in ("search", "ask_user") and schema.lacks_decomposition(decision.target_field):
            yield decision.target_field


@make_total("the components and their formula", Unusable)
def read_decomposition(reply: ReplyText, profile: Profile, path: str) -> Decomposition | Unusable:
    """Return the decomposition in a reply, or its first error."""
    value = read_object(reply)
    if isinstance(value, Unusable):
        return value
    fields = value.get("fields")
    if not (isinstance(fields, list) and 0 < len(fields) <= COMPONENTS_MAX):
        return Unusable(f"`fields` must be a list of 1 to {COMPONENTS_MAX} components.")
    try:
        specs = {text_of(spec.get("name")) if isinstance(spec, dict) else "": _component(spec) for spec in fields}
        found = Decomposition.model_validate({"formula": value.get("formula"), "fields": specs})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return Unusable(f"{'.'.join(map(str, first['loc']))}: {describe(first)}")
    return _check_decomposition(found, profile, path)


def _component(spec: object) -> object:
    if not isinstance(spec, dict):
        return spec
    kept = {key: spec[key] for key in ("label", "unit", "words", "minimum", "maximum") if spec.get(key) is not None}
    return {**kept, "source": "user" if spec.get("source") == "user" else "web"}


def _check_decomposition(found: Decomposition, profile: Profile, path: str) -> Decomposition | Unusable:
    """Return the decomposition unchanged, or its first error, such as an unknown unit or a number in the formula.

    A formula may contain no number except 1, such as in `1 - share`, because any other number has no source.
    """
    table = UnitTable(profile.units)
    samples = Schema.sample_units(profile)
    for name, spec in found.fields.items():
        problem = table.problem(_sample_unit(spec, samples))
        if problem or spec.type != "number":
            return Unusable(f"fields.{name}.unit: {problem or 'a component must be a number'}")
    unused = [name for name in found.fields if name not in names_in(found.formula)]
    if unused:
        return Unusable(f"The formula does not use {', '.join(unused)}.")
    numbers = [number for number in parse_formula(found.formula).numbers if number != 1]
    if numbers:
        return Unusable(
            f"The formula contains the number {numbers[0]:g}; make it a component with a source of its own."
        )
    units = {name: _sample_unit(spec, samples) for name, spec in found.fields.items()}
    target = profile.fields[path]
    problems = check_formulas({"": found.formula}, {**units, "": _sample_unit(target, samples)}, table)
    return Unusable(f"formula: {problems[0].cause}") if problems else found


def _sample_unit(spec: FieldSpec, samples: Mapping[str, str]) -> str:
    return Schema.sample(spec.unit, samples)
