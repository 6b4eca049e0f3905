"""The limits of a plan's size, checked on the JSON value before the plan is read."""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.values.findings import Code, Finding

STEPS_MAX = 20_000
"""The most steps of a plan."""
INVARIANTS_MAX = 1_000
"""The most invariants of a plan."""
KEYS_MAX = 100
"""The most keys of a plan, a step or an invariant."""
LIST_MAX = 10_000
"""The most items of one list of tokens or dependencies."""
ITEMS_MAX = 200_000
"""The most items of all lists of tokens and dependencies together."""
NAME_MAX = 1_000
"""Characters of one token or step id."""
_LISTS = (("steps", STEPS_MAX), ("invariants", INVARIANTS_MAX))


def too_large(value: Mapping[str, Any]) -> Finding | None:
    """Return an error about the first part of a plan that is too large to be read, or None. Never raises."""
    for name, limit in _LISTS:
        items = value.get(name)
        if isinstance(items, list) and len(items) > limit:
            return _error(name, f"has {len(items):,} items", limit)
    total = 0
    for path, fields in _objects(value):
        if len(fields) > KEYS_MAX:
            return _error(path or "the plan", f"has {len(fields):,} keys", KEYS_MAX)
        for key, field in fields.items():
            where = f"{path}.{key[:40]}".removeprefix(".")
            if key == "step_id" and isinstance(field, str) and len(field) > NAME_MAX:
                return _error(where, f"has {len(field):,} characters", NAME_MAX)
            if not isinstance(field, list) or (not path and key in ("steps", "invariants", "open_questions")):
                continue
            if len(field) > LIST_MAX:
                return _error(where, f"has {len(field):,} items", LIST_MAX)
            total += len(field)
            for item in field:
                if isinstance(item, str) and len(item) > NAME_MAX:
                    return _error(where, f"has an item of {len(item):,} characters", NAME_MAX)
    return _error("the plan", f"has {total:,} items in its lists", ITEMS_MAX) if total > ITEMS_MAX else None


def _objects(value: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the plan, its steps and its invariants, each with its path."""
    yield "", value
    for name, _ in _LISTS:
        items = value.get(name)
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict):
                yield f"{name}[{index}]", item


def _error(where: str, cause: str, limit: int) -> Finding:
    text = f"{where} {cause}; at most {limit:,} are read. Make the plan smaller."
    return Finding(code=Code.PLAN_TOO_LARGE, where="" if where == "the plan" else where, message=text)
