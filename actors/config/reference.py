"""Names what was read: a content hash of a resolved workflow, so that a run knows whether its files have changed."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical(value: Any) -> str:
    """Return a value's canonical JSON: keys sorted, no white space, UTF-8 as it is, no NaN.

    The order of keys does not count, which is why an order that matters is a list in `resolved`.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def content_ref(resolved: Mapping[str, Any]) -> str:
    """Return the SHA-256, in hex, of the canonical JSON of a resolved workflow: plain data only.

    Resolved means with every default, and with the prompts and the policy as text or data, not as names. Raises
    `TypeError` or `ValueError` on what is not JSON: a bug of the caller's.
    """
    return hashlib.sha256(canonical(resolved).encode()).hexdigest()
