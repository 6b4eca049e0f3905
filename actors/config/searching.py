"""The key `search` of a workflow: checked, written in its one form, and described to editors."""

from typing import Any

from actors.files.explain import complaint, nearest
from actors.search.strategies.notation import NUMBER_MAX, NUMBERS, UnknownSearch, read_search


def searched(value: Any) -> str:
    """Return the search as one text with all its numbers, such as `beam:4`; for a validator."""
    try:
        return str(read_search(value))
    except UnknownSearch as problem:
        hint = nearest(problem.name, NUMBERS, kind="searches") if problem.name else problem.hint
        raise complaint(str(problem), (), hint) from None


def _schema() -> dict[str, Any]:
    """Return what an editor completes: each name alone, a text with numbers, and a mapping."""
    number = {"type": "integer", "minimum": 1, "maximum": NUMBER_MAX}
    names = list(NUMBERS)
    keys: dict[str, Any] = {key: number for numbers in NUMBERS.values() for key in numbers}
    mapping = {
        "type": "object",
        "properties": {"name": {"enum": names}, **keys, "calls": {"type": "integer", "minimum": 1}},
        "required": ["name"],
        "additionalProperties": False,
    }
    numbered = {"type": "string", "pattern": r"^[a-z_]+:[1-9][0-9]*(x[1-9][0-9]*)?$"}
    return {"anyOf": [{"enum": names}, numbered, mapping]}


SEARCH_SCHEMA = _schema()
"""The key's JSON Schema."""
