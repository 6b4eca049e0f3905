"""What two artifacts of a step have in common if they say the same, in whatever words. Pure."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from actors.planning.early_ends import meaning
from actors.values.artifacts import Artifact

TYPED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "analysis": ("problem_type", "language"),
    "recon": ("mentioned_files", "apis_involved", "test_references", "constraints_mentioned"),
    "strategy": ("strategy_id",),
}
"""By role, the fields of an artifact that later steps and guards go by; its other texts explain them."""


@lru_cache(maxsize=256)
def typed_meaning(artifact: Artifact, role: str) -> str:
    """Return a text that two artifacts of a role have in common if their typed fields agree.

    Lists are sets, and neither case nor white space counts. An artifact of another role, and one that has none of the
    fields, is compared as a whole, without its white space.
    """
    fields, value = TYPED_FIELDS.get(role, ()), artifact.parsed
    if isinstance(value, dict) and any(name in value for name in fields):
        return json.dumps([_folded(value.get(name)) for name in fields], sort_keys=True)
    return meaning(artifact, plan=False)


def _folded(value: Any) -> Any:
    """Return a value without case, white space, order and repetition."""
    match value:
        case str():
            return " ".join(value.casefold().split())
        case list():
            return sorted({json.dumps(_folded(item), sort_keys=True) for item in value})
        case dict():
            return {key: _folded(item) for key, item in value.items()}
        case _:
            return value
