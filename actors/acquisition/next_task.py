"""Which value is to be acquired next without a model's advice, and what may still be done for a field. Pure."""

from collections.abc import Iterable, Iterator

from actors.acquisition.planner_state import PlannerDecision
from actors.acquisition.schema import Schema, schema_of
from actors.acquisition.state import State


def searches_left(state: State, path: str) -> bool:
    """Tell whether a field may be searched for once more in this round."""
    return state.planner.searches_for(path) < state.config.profile.caps.attempts_per_field


def questions_left(state: State, path: str) -> bool:
    """Tell whether the user may be asked for a field once more in this round."""
    asked = state.planner.questions_about(path)
    return path not in state.planner.refused and asked < state.config.profile.caps.attempts_per_field


def decision_for(state: State, schema: Schema, path: str) -> PlannerDecision | None:
    """Return how a field is acquired next: searched for, then asked; None where nothing is left.

    An optional field is never asked for, nor is one with a default that documents may have.
    """
    spec = schema.fields[path]
    if spec.source != "user" and searches_left(state, path):
        query = query_for(state, schema, path)
        if query:
            why = f"{path} is searched for"
            return PlannerDecision(action="search", target_field=path, query=query, reasoning=why)
    asks = spec.required and (spec.default is None or spec.source == "user")
    if asks and questions_left(state, path):
        return PlannerDecision(action="ask_user", target_field=path, reasoning=f"{path} is asked of the user")
    return None


def query_for(state: State, schema: Schema, path: str) -> str:
    """Return the first query for a field that was not tried in this round; empty where all were.

    The field's own `query` comes first. Then follows one query for each of its words and for its label, each with the
    values of the bootstrap fields that are texts, such as the region.
    """
    spec = schema.fields[path]
    place = " ".join(schema.text(name) for name in schema.profile.bootstrap if schema.fields[name].type == "text")
    templates = (spec.query, *(f"{word} {place}" for word in (*spec.words, spec.label)))
    for template in templates:
        query = schema.filled(template)
        if query and not was_query_made(state, path, query):
            return query
    return ""


def was_query_made(state: State, path: str, query: str) -> bool:
    """Tell whether a field was searched for by a query in this round; case and white space do not count."""
    words = fold_query(query)
    return any(search.path == path and fold_query(search.query) == words for search in state.planner.searches)


def fold_query(query: str) -> str:
    """Return a query as it is compared."""
    return " ".join(query.casefold().split())


def missing_fields(schema: Schema) -> Iterator[str]:
    """Yield the fields without a value that are acquired directly and required, in the profile's order."""
    for path, spec in schema.profile.fields.items():
        if spec.required and schema.is_direct(path) and schema.value(path) is None:
            yield path


def open_components(schema: Schema) -> Iterator[str]:
    """Yield the components without a value that required composed fields without a value need.

    They come in the profile's order, each once.
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
    """Yield the optional fields without a value that documents may have."""
    for path, spec in schema.profile.fields.items():
        if not spec.required and spec.source == "web" and schema.value(path) is None:
            yield path


def chance_finds(state: State, schema: Schema) -> Iterator[str]:
    """Yield the required fields for which no search was made: their values come from searches for other fields.

    A value that stands in the passages of another search by chance is not the only one that documents state.
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
    """Return the decision for the first of some fields for which something is left to do."""
    for path in paths:
        decision = decision_for(state, schema, path)
        if decision is not None:
            return decision
    return None


def next_component_task(state: State, schema: Schema, path: str) -> PlannerDecision | None:
    """Return the decision for the next component of a made field that has no value; None where none is left."""
    return first_task(
        state, schema, (component for component in schema.components(path) if schema.value(component) is None)
    )


def next_acquisition_task(state: State) -> PlannerDecision | None:
    """Return the next decision, the fields first that the errors of a blocked calculation name.

    A field that such an error names is acquired again, also where it has a value.
    """
    schema = schema_of(state)
    calculation = state.planner.calculation
    named = [path for error in calculation.errors for path in error.fields] if calculation.status == "blocked" else []
    proposed = state.planner.reflections[-1].next_field if state.planner.reflections else ""
    wanted = [proposed, *named] if calculation.status == "blocked" else []
    fields = [item for path in wanted for item in _direct(schema, path)]
    others = (*missing_fields(schema), *open_components(schema), *optional_fields(schema))
    return first_task(state, schema, dict.fromkeys([*fields, *others]))


def _direct(schema: Schema, path: str) -> Iterator[str]:
    """Yield the fields that have to be acquired for one: itself, or its components."""
    if path not in schema.fields:
        return
    if schema.is_made(path):
        yield from schema.components(path)
    else:
        yield path
