"""The arguments of a call to an MCP server: a template with parameters, compared with what the server lists. Pure."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from actors.tools.specs import PLACEHOLDER, filled, parameters_in

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def placeholders(value: Any) -> Iterator[str]:
    """Yield the names of the parameters in a template."""
    match value:
        case str():
            yield from parameters_in(value)
        case list():
            for item in value:
                yield from placeholders(item)
        case dict():
            for item in value.values():
                yield from placeholders(item)
        case _:
            return


def filled_in(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with its parameters filled in, each once; a text that is one parameter becomes its value."""
    match template:
        case str():
            whole = PLACEHOLDER.fullmatch(template)
            return values[whole.group(1)] if whole and whole.group(1) else filled(template, values)
        case list():
            return [filled_in(item, values) for item in template]
        case dict():
            return {key: filled_in(item, values) for key, item in template.items()}
        case _:
            return template


def schema_problem(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """Return why arguments do not fit the schema that a server lists, as half a sentence; empty where they do.

    Compared are the names and types of the arguments alone: a server's schema may hold patterns and references, which
    would have us compute or fetch what the server wants. The server checks the rest itself.
    """
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        return "the server lists no schema that can be read"
    missing = [name for name in required if isinstance(name, str) and name not in arguments]
    if missing:
        return f"the server wants the argument {missing[0][:60]!r}, which the tools file does not give"
    for name, value in arguments.items():
        if name not in properties:
            return f"the server lists no argument {name[:60]!r}"
        wanted = _types_of(properties[name])
        if wanted and not any(_is_of(value, kind) for kind in wanted):
            return f"the server wants {' or '.join(wanted)[:60]} as {name[:60]!r}, not {json.dumps(value)[:60]}"
    return ""


def _types_of(schema: Any) -> list[str]:
    """Return the types that a property's schema names at its top; none where it names none."""
    found = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    return [kind for kind in kinds if isinstance(kind, str) and kind in _TYPES]


def _is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])
