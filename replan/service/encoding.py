"""Answers of servers as JSON."""

from typing import Any

import orjson


def encoded(value: Any) -> bytes:
    """Return a value as JSON. A text with half a surrogate pair, which has no UTF-8, is sent with a replacement."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_storable(value))


def _storable(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case dict():
            return {str(_storable(key)): _storable(item) for key, item in value.items()}
        case list() | tuple():
            return [_storable(item) for item in value]
        case _:
            return value
