"""The key `search` of a workflow: its validator and its JSON Schema."""

from typing import Any

from actors.files.config_model import config_error
from actors.files.suggestions import nearest
from actors.search.strategies.notation import NUMBER_MAX, NUMBERS, UnknownSearch, read_search


def canonical_search(value: Any) -> str:
    """Return a search as one text with all its numbers, such as `beam:4`; a pydantic validator.

    Raises:
        PydanticCustomError: there is no such search, or a number does not fit.
    """
    try:
        return str(read_search(value))
    except UnknownSearch as problem:
        hint = nearest(problem.name, NUMBERS, kind="searches") if problem.name else problem.hint
        raise config_error(str(problem), (), hint) from None


def _schema() -> dict[str, Any]:
    """Return the JSON Schema of the three forms: a name alone, a name with numbers, a mapping."""
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
"""The JSON Schema of the key, for editors."""
