"""The JSON Schema of a plan: a closed object in which every key is required, as strict structured output demands."""

from collections.abc import Mapping
from typing import Any

from actors.values.open_questions import QUESTIONS_SCHEMA
from actors.values.requirements import RequirementKind, RequirementSource

_TEXT = {"type": "string"}
_TOKENS = {"type": "array", "items": {"type": "string"}}
_COUNT = {"type": "integer"}
REQUIREMENT: Mapping[str, Any] = {
    "kind": {"type": "string", "enum": [str(kind) for kind in RequirementKind]},
    "text": _TEXT,
    "quote": _TEXT,
    "source": {"type": "string", "enum": [str(source) for source in RequirementSource]},
    "tools": _TOKENS,
    "paths": _TOKENS,
}
"""The properties that a requirement has in recon and in a plan alike."""


def _closed_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that has exactly these keys."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def plan_schema() -> dict[str, Any]:
    """Return the JSON Schema of a plan for a model's `response_format`, a new object at each call.

    It is stricter than `read_plan`, which accepts missing keys: strict structured output has no optional keys, so a
    model writes an empty list or an empty string instead. The guards check the ranges of numbers, because not every
    server that supports this format accepts ranges in a schema.
    """
    outcome = _closed_schema({"name": _TEXT, "effects": _TOKENS, "delete_effects": _TOKENS})
    step = _closed_schema(
        {
            "step_id": _TEXT,
            "name": _TEXT,
            "description": _TEXT,
            "generator": _TEXT,
            "guard": _TEXT,
            "retry_budget": _COUNT,
            "dependencies": _TOKENS,
            "preconditions": _TOKENS,
            "effects": _TOKENS,
            "delete_effects": _TOKENS,
            "on_failure": _TEXT,
            "failure_effects": _TOKENS,
            "failure_delete_effects": _TOKENS,
            "repeatable": {"type": "boolean"},
            "satisfies": _TOKENS,
            "implements": _TOKENS,
            "outcomes": {"type": "array", "items": outcome},
        }
    )
    requirement = _closed_schema({"id": _TEXT, **REQUIREMENT, "tokens": _TOKENS, "depends_on": _TOKENS})
    invariant = _closed_schema({"when": _TOKENS, "must": _TOKENS, "must_not": _TOKENS})
    return _closed_schema(
        {
            "plan_id": _TEXT,
            "goal": _TEXT,
            "initial_state": _TOKENS,
            "goal_state": _TOKENS,
            "total_retry_budget": _COUNT,
            "invariants": {"type": "array", "items": invariant},
            "requirements": {"type": "array", "items": requirement},
            "steps": {"type": "array", "items": step},
            "open_questions": QUESTIONS_SCHEMA,
        }
    )
