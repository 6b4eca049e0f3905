"""Which JSON Schema a model is asked to keep to, by the role of the step. Pure: what is sent is also reserved for."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from actors.guards.shapes import ANALYSIS_SCHEMA, CRITIQUE_SCHEMA, RECON_SCHEMA, STRATEGY_SCHEMA
from actors.plans.schema import plan_schema
from actors.policy.cause import CAUSE_SCHEMA, CLASSIFIER

SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    "analysis": ANALYSIS_SCHEMA,
    "critique": CRITIQUE_SCHEMA,
    CLASSIFIER: CAUSE_SCHEMA,
    "plan": plan_schema(),
    "recon": RECON_SCHEMA,
    "strategy": STRATEGY_SCHEMA,
}
"""The schemas; a role of the user's own has none."""


@lru_cache(maxsize=64)
def schema_bytes(role: str) -> int:
    """Return the bytes of a role's schema as JSON, as it goes out with a call; 0 where there is none."""
    schema = SCHEMAS.get(role)
    return 0 if schema is None else len(orjson.dumps(schema))
