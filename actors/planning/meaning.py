"""The meaning of an artifact: a text that two artifacts share if they say the same in other words. Pure."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from actors.values.artifacts import Artifact
from runtime.models.replies import Parsed

TYPED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "analysis": ("problem_type", "language"),
    "recon": ("mentioned_files", "apis_involved", "test_references", "constraints_mentioned"),
    "strategy": ("strategy_id",),
}
"""By role, the fields of an artifact that later steps and guards read; its other fields explain them."""
_WORDS_OF_A_PLAN = frozenset({"plan_id", "name", "description", "basis"})
"""The keys of a plan that no guard reads: two plans that differ in nothing else are the same."""


@lru_cache(maxsize=256)
def typed_meaning(artifact: Artifact, role: str) -> str:
    """Return a text that two artifacts of a role share if their typed fields are equal.

    Lists count as sets; case and white space do not count. An artifact of another role, or without any of the fields,
    has the text of `meaning`.
    """
    fields, value = TYPED_FIELDS.get(role, ()), artifact.parsed
    if isinstance(value, dict) and any(name in value for name in fields):
        return json.dumps([_fold_value(value.get(name)) for name in fields], sort_keys=True)
    return meaning(artifact, plan=False)


def _fold_value(value: Any) -> Any:
    """Return a value without case, white space, order and repetition."""
    match value:
        case str():
            return " ".join(value.casefold().split())
        case list():
            return sorted({json.dumps(_fold_value(item), sort_keys=True) for item in value})
        case dict():
            return {key: _fold_value(item) for key, item in value.items()}
        case _:
            return value


@lru_cache(maxsize=256)
def meaning(artifact: Artifact, *, plan: bool) -> str:
    """Return a text that two artifacts have in common if they say the same, whatever their white space.

    Of a plan, the names for people and the order of its lists do not count, since no guard reads them.
    """
    value = artifact.value
    if not isinstance(value, Parsed):
        return " ".join(artifact.content.split())
    return json.dumps(_canonical(value.value, plan=plan), sort_keys=True)


def _canonical(value: Any, *, plan: bool) -> Any:
    match value:
        case str():
            return " ".join(value.split())
        case list():
            items = [_canonical(item, plan=plan) for item in value]
            return sorted(items, key=lambda item: json.dumps(item, sort_keys=True)) if plan else items
        case dict():
            return {
                key: _canonical(item, plan=plan)
                for key, item in value.items()
                if not (plan and key in _WORDS_OF_A_PLAN)
            }
        case _:
            return value
