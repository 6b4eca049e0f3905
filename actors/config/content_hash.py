"""The content hash of a resolved workflow, by which a changed file is noticed."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical_json(value: Any) -> str:
    """Return a value's canonical JSON: sorted keys, no white space, UTF-8 unescaped, no NaN.

    The order of keys does not count; `LoadedWorkflow.resolved` keeps an order that matters as a list.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_ref(resolved: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of the canonical JSON of a resolved workflow.

    `resolved` is plain data in which every default is present and the prompts and policy are content, not names. Raises
    `TypeError` or `ValueError` for what JSON cannot hold, which is a bug of the caller.
    """
    return hashlib.sha256(canonical_json(resolved).encode()).hexdigest()
