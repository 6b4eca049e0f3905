"""The JSON Schemas that replies of models are asked to fit, by the purpose of the call. Pure."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from actors.acquisition.call_events import DECOMPOSE, OBSERVE, PLAN, REFLECT

_TEXT = {"type": "string"}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has all of some properties, and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


_COMPONENT = _object(
    {
        "name": _TEXT,
        "label": _TEXT,
        "unit": _TEXT,
        "words": {"type": "array", "items": _TEXT},
        "source": {"type": "string", "enum": ["web", "user"]},
    }
)

SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    PLAN: _object(
        {
            "reasoning": _TEXT,
            "action": {"type": "string", "enum": ["search", "ask_user", "reflect", "calculate", "finish"]},
            "target_field": _TEXT,
            "query": _TEXT,
            "question": _TEXT,
        }
    ),
    OBSERVE: _object(
        {
            "values": {
                "type": "array",
                "items": _object(
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
    DECOMPOSE: _object({"formula": _TEXT, "fields": {"type": "array", "items": _COMPONENT}}),
    REFLECT: _object(
        {
            "assessment": _TEXT,
            "next_field": _TEXT,
            "finish": {"type": "boolean"},
            "caveats": {"type": "array", "items": _TEXT},
        }
    ),
}
"""The schemas."""


@lru_cache(maxsize=8)
def schema_bytes(purpose: str) -> int:
    """Return the bytes of a schema as JSON, as it goes out with a call."""
    return len(orjson.dumps(SCHEMAS[purpose]))
