"""The causes of a failure that the optional classifier can name, and the strict parser of its replies. Pure.

A cause is one code of a closed set. It selects a row of the policy; nothing else in the model's reply has an effect
(S22).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from actors.policy.table import Policy, Row
from actors.values.findings import ReasonTag
from runtime.core.total_readers import total
from runtime.models.replies import Parsed, read_reply

CLASSIFIER = "failure_classifier"
"""The name of the classifier's prompt entry, and of the purpose of its calls."""


class Cause(StrEnum):
    """Why an artifact was rejected: a reason tag (S109), or one of two codes that only a classifier gives."""

    REQUIREMENT_VIOLATION = "requirement_violation"
    TOOL_FAILURE = "tool_failure"
    MISSING_EVIDENCE = "missing_evidence"
    WORKFLOW_MISMATCH = "workflow_mismatch"
    GOAL_DEPENDENCY_FAILURE = "goal_dependency_failure"
    OWN_MISTAKE = "own_mistake"  # the artifacts that the step builds on are correct
    UNCLEAR = "unclear"  # the policy decides without a cause


CAUSE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"cause": {"type": "string", "enum": [str(cause) for cause in Cause]}},
    "required": ["cause"],
    "additionalProperties": False,
}
"""The JSON Schema of a classifier's reply."""


@total("the cause", lambda _: None)
def read_cause(text: str) -> Cause | None:
    """Return the cause in a reply that is an object with `cause` as its only key; None for any other text."""
    reply = read_reply(text)
    value = reply.value if isinstance(reply, Parsed) else None
    if not isinstance(value, dict) or value.keys() != {"cause"} or not isinstance(value["cause"], str):
        return None
    return Cause(value["cause"]) if value["cause"] in set(Cause) else None


def row_for(cause: Cause, policy: Policy) -> Row | None:
    """Return the row that a cause selects: the first row with that tag, and for `OWN_MISTAKE` the last row.

    None for `UNCLEAR` or if no row has the tag: the policy decides without a cause.
    """
    match cause:
        case Cause.UNCLEAR:
            return None
        case Cause.OWN_MISTAKE:
            return policy.rows[-1]
        case _:
            return next((row for row in policy.rows if ReasonTag(cause) in row.tags), None)
