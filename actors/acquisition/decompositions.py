"""Decompositions that a model proposes: which is to be asked for, and which a reply has, once validated. Pure."""

from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from actors.acquisition.call_events import DECOMPOSE
from actors.acquisition.profile import COMPONENTS_MAX, Decomposition, FieldSpec, Profile
from actors.acquisition.replies import ATTEMPTS, Unusable, read_object, replies_for, text_of
from actors.acquisition.schema import Schema, names_in, schema_of
from actors.acquisition.state import ReplyText, State
from actors.quantities.formula import parse_formula
from actors.quantities.formula_check import check_formulas
from actors.quantities.units import UnitTable
from runtime.core.pydantic_messages import describe
from runtime.core.total_readers import total

NODES = ("prepare_schema", "normalize_decision")
"""The nodes that wait for decompositions."""


def wanted(state: State) -> str | None:
    """Return the field whose decomposition is to be asked for at this node; None where none is."""
    settled = proposed(state)
    return next((path for path in _candidates(state) if path not in settled), None)


def proposed(state: State) -> Mapping[str, Decomposition | None]:
    """Return the decompositions that the replies at this node have, by path; None for a field that stays whole."""
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
    """Yield the fields without a decomposition that this node needs one for."""
    schema = schema_of(state)
    if state.node == "prepare_schema":
        for path, spec in schema.profile.fields.items():
            if spec.required and schema.lacks_decomposition(path) and schema.value(path) is None:
                yield path
    elif state.node == "normalize_decision" and state.planner.decision is not None:
        decision = state.planner.decision
        if decision.action in ("search", "ask_user") and schema.lacks_decomposition(decision.target_field):
            yield decision.target_field


@total("the components and their formula", Unusable)
def read_decomposition(reply: ReplyText, profile: Profile, path: str) -> Decomposition | Unusable:
    """Return the decomposition in a reply, or the first thing that is wrong with it."""
    value = read_object(reply)
    if isinstance(value, Unusable):
        return value
    fields = value.get("fields")
    if not (isinstance(fields, list) and 0 < len(fields) <= COMPONENTS_MAX):
        return Unusable(f"`fields` is a list of 1 to {COMPONENTS_MAX} components.")
    try:
        specs = {text_of(spec.get("name")) if isinstance(spec, dict) else "": _component(spec) for spec in fields}
        found = Decomposition.model_validate({"formula": value.get("formula"), "fields": specs})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return Unusable(f"{'.'.join(map(str, first['loc']))}: {describe(first)}")
    return _checked(found, profile, path)


def _component(spec: object) -> object:
    """Return a component as the profile would have it, of the keys that a model may give."""
    if not isinstance(spec, dict):
        return spec
    kept = {key: spec[key] for key in ("label", "unit", "words", "minimum", "maximum") if spec.get(key) is not None}
    return {**kept, "source": "user" if spec.get("source") == "user" else "web"}


def _checked(found: Decomposition, profile: Profile, path: str) -> Decomposition | Unusable:
    """Return the decomposition, unless a unit is unknown, or its formula has a number or gives another unit.

    A number in a formula would be a value that nobody vouches for. Only 1 may stand in it, as in `1 - share`.
    """
    table = UnitTable(profile.units)
    samples = Schema.sample_units(profile)
    for name, spec in found.fields.items():
        problem = table.problem(_filled(spec, samples))
        if problem or spec.type != "number":
            return Unusable(f"fields.{name}.unit: {problem or 'a component is a number'}")
    unused = [name for name in found.fields if name not in names_in(found.formula)]
    if unused:
        return Unusable(f"The formula does not use {', '.join(unused)}.")
    numbers = [number for number in parse_formula(found.formula).numbers if number != 1]
    if numbers:
        return Unusable(f"The formula has the number {numbers[0]:g}; a number is a component with a source of its own.")
    units = {name: _filled(spec, samples) for name, spec in found.fields.items()}
    target = profile.fields[path]
    problems = check_formulas({"": found.formula}, {**units, "": _filled(target, samples)}, table)
    return Unusable(f"formula: {problems[0].cause}") if problems else found


def _filled(spec: FieldSpec, samples: Mapping[str, str]) -> str:
    return Schema.sample(spec.unit, samples)
