"""Chooses the next value to acquire, without asking a model, and tells whether a field has attempts left. Pure."""

from collections.abc import Iterable, Iterator

from replan_acquire.acquisition.planner_state import PlannerDecision
from replan_acquire.acquisition.schema import Schema, schema_of
from replan_acquire.acquisition.state import State


def searches_left(state: State, path: str) -> bool:
    """Return whether another search for a field is allowed in this round."""
    return state.planner.searches_for(path) < state.config.profile.caps.attempts_per_field


def questions_left(state: State, path: str) -> bool:
    """Return whether another question about a field is allowed in this round."""
    count = state.planner.questions_about(path)
    return path not in state.planner.refused and count < state.config.profile.caps.attempts_per_field


def _decision_for(state: State, schema: Schema, path: str) -> PlannerDecision | None:
    """Return the next decision about a field: a search, or a question if no search is left, or None if neither is left.

    No question is asked about an optional field. No question is asked about a field with a default either, unless the
    user is its source.
    """
    spec = schema.fields[path]
    if spec.source != "user" and searches_left(state, path):
        query = query_for(state, schema, path)
        if query:
            why = f"the next search is for {path}"
            return PlannerDecision(action="search", target_field=path, query=query, reasoning=why)
    asks = spec.required and (spec.default is None or spec.source == "user")
    if asks and questions_left(state, path):
        return PlannerDecision(action="ask_user", target_field=path, reasoning=f"the user is asked for {path}")
    return None


def query_for(state: State, schema: Schema, path: str) -> str:
    """Return the first of the field's queries that was not searched in this round; empty if no query is left.

    The field's own `query` comes first. The other queries are made from the field's `words`, then from its label. They
    end with the values of the bootstrap fields of type `text`, such as the region.
    """
    spec = schema.fields[path]
    place = " ".join(schema.text(name) for name in schema.profile.bootstrap if schema.fields[name].type == "text")
    templates = (spec.query, *(f"{word} {place}" for word in (*spec.words, spec.label)))
    for template in templates:
        query = schema.fill_slots(template)
        if query and not was_query_made(state, path, query):
            return query
    return ""


def was_query_made(state: State, path: str, query: str) -> bool:
    """Return whether a query was made for a field in this round. Case and white space are ignored."""
    words = _fold_query(query)
    return any(search.path == path and _fold_query(search.query) == words for search in state.planner.searches)


def _fold_query(query: str) -> str:
    return " ".join(query.casefold().split())


def missing_fields(schema: Schema) -> Iterator[str]:
    """Yield the required fields that are not computed and have no value, in the profile's order."""
    for path, spec in schema.profile.fields.items():
        if spec.required and schema.is_direct(path) and schema.value(path) is None:
            yield path


def open_components(schema: Schema) -> Iterator[str]:
    """For each required field without a value, yield its components without a value.

    Each component is yielded once, in the profile's order.
    """
    seen: set[str] = set()
    for path, spec in schema.profile.fields.items():
        if not (spec.required and schema.is_made(path)) or schema.value(path) is not None:
            continue
        for component in schema.components(path):
            if component not in seen and schema.value(component) is None:
                seen.add(component)
                yield component


def optional_fields(schema: Schema) -> Iterator[str]:
    """Yield the optional fields without a value that documents may state."""
    for path, spec in schema.profile.fields.items():
        if not spec.required and spec.source == "web" and schema.value(path) is None:
            yield path


def chance_finds(state: State, schema: Schema) -> Iterator[str]:
    """Yield the required fields whose values were found only by searches for other fields.

    A search for such a field may find more values.
    """
    components = [
        component
        for path, spec in schema.profile.fields.items()
        if spec.required
        for component in schema.components(path)
    ]
    direct = [path for path, spec in schema.profile.fields.items() if spec.required and schema.is_direct(path)]
    for path in dict.fromkeys((*direct, *components)):
        value = schema.value(path)
        if value is None or value.via != "search" or schema.fields[path].source != "web":
            continue
        if state.planner.searches_for(path) == 0 and query_for(state, schema, path):
            yield path


def first_task(state: State, schema: Schema, paths: Iterable[str]) -> PlannerDecision | None:
    """Return the next decision about the first field that has an attempt left; None if no field has an attempt left."""
    for path in paths:
        decision = _decision_for(state, schema, path)
        if decision is not None:
            return decision
    return None


def next_component_task(state: State, schema: Schema, path: str) -> PlannerDecision | None:
    """Return the next decision about a component without a value; None if no such component has an attempt left."""
    return first_task(
        state, schema, (component for component in schema.components(path) if schema.value(component) is None)
    )


def next_acquisition_task(state: State) -> PlannerDecision | None:
    """Return the decision about the next field to acquire; None if no attempt is left.

    If the calculation is blocked, the field that a review proposed comes first, then the fields in the errors. These
    fields are acquired again even if they have values.
    """
    schema = schema_of(state)
    calculation = state.planner.calculation
    named = [path for error in calculation.errors for path in error.fields] if calculation.status == "blocked" else []
    proposed = state.planner.reflections[-1].next_field if state.planner.reflections else ""
    wanted = [proposed, *named] if calculation.status == "blocked" else []
    fields = [item for path in wanted for item in _fields_to_acquire(schema, path)]
    others = (*missing_fields(schema), *open_components(schema), *optional_fields(schema))
    return first_task(state, schema, dict.fromkeys([*fields, *others]))


def _fields_to_acquire(schema: Schema, path: str) -> Iterator[str]:
    if path not in schema.fields:
        return
    if schema.is_made(path):
        yield from schema.components(path)
    else:
        yield path
