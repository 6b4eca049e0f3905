"""The JSON Schema of a plan: one closed object in which every key is required, as strict structured output wants it."""

from typing import Any

from actors.values.open_questions import QUESTIONS_SCHEMA

_TEXT = {"type": "string"}
_TOKENS = {"type": "array", "items": {"type": "string"}}
_COUNT = {"type": "integer"}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    """Return an object schema that has exactly these keys."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def plan_schema() -> dict[str, Any]:
    """Return a fresh JSON Schema of a plan, for a model's `response_format`.

    It is stricter than `read_plan`, which has defaults: strict structured output knows no optional keys, so a model
    writes an empty list or an empty string instead. Number ranges are left to the guards, since not every server that
    speaks this format accepts them.
    """
    step = _closed(
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
        }
    )
    invariant = _closed({"when": _TOKENS, "must": _TOKENS, "must_not": _TOKENS})
    return _closed(
        {
            "plan_id": _TEXT,
            "goal": _TEXT,
            "initial_state": _TOKENS,
            "goal_state": _TOKENS,
            "total_retry_budget": _COUNT,
            "invariants": {"type": "array", "items": invariant},
            "steps": {"type": "array", "items": step},
            "open_questions": QUESTIONS_SCHEMA,
        }
    )
