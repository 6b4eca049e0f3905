"""What a classifier may answer about a failure: one code of a closed set, read strictly out of a model's reply. Pure.

The code selects a row of the policy, and nothing else that the model writes counts (S22).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from actors.policy.table import Policy, Row
from actors.values.findings import ReasonTag
from runtime.models.replies import Parsed, read_reply

CLASSIFIER = "failure_classifier"
"""The prompt entry of the classifier, and what its calls are for."""


class Cause(StrEnum):
    """Why an artifact was rejected: a reason tag (S109), or one of two codes that only a classifier gives."""

    REQUIREMENT_VIOLATION = "requirement_violation"
    TOOL_FAILURE = "tool_failure"
    MISSING_EVIDENCE = "missing_evidence"
    WORKFLOW_MISMATCH = "workflow_mismatch"
    GOAL_DEPENDENCY_FAILURE = "goal_dependency_failure"
    OWN_MISTAKE = "own_mistake"  # what the step built on is sound
    UNCLEAR = "unclear"  # the policy decides as if nobody had been asked


CAUSE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"cause": {"type": "string", "enum": [str(cause) for cause in Cause]}},
    "required": ["cause"],
    "additionalProperties": False,
}
"""The JSON Schema of a classifier's reply."""


def read_cause(text: str) -> Cause | None:
    """Return the code in a reply: an object with the one key `cause`. None for anything else."""
    reply = read_reply(text)
    value = reply.value if isinstance(reply, Parsed) else None
    if not isinstance(value, dict) or value.keys() != {"cause"} or not isinstance(value["cause"], str):
        return None
    return Cause(value["cause"]) if value["cause"] in set(Cause) else None


def row_for(cause: Cause, policy: Policy) -> Row | None:
    """Return the row that a code selects: the first with that tag; for the step's own mistake the one for the rest.

    None where the policy decides as if nobody had been asked.
    """
    match cause:
        case Cause.UNCLEAR:
            return None
        case Cause.OWN_MISTAKE:
            return policy.rows[-1]
        case _:
            return next((row for row in policy.rows if ReasonTag(cause) in row.tags), None)
