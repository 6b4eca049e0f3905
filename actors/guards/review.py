"""`human_review`: a guard whose verdict comes from a person, alone or as a member of a composite. Pure.

The person is asked last, and only where the answer matters: nobody reviews what another guard has rejected already.
"""

from collections.abc import Mapping
from typing import Any

from actors.guards.composite import combined
from actors.guards.composite_spec import Composite
from actors.guards.fields import check_settings
from actors.guards.port import Guard
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict

NAME = "human_review"

APPROVE = "approve"
REJECT = "reject:"
SCHEMA: dict[str, Any] = {
    "type": "string",
    "pattern": r"^approve$|^reject: *\S",
    "description": "approve, or reject: and the reason",
}
"""What a reviewer may answer; the reason is the feedback that the next attempt gets."""


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings. Without a person nobody has judged, so by itself it never passes."""
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001 - a guard's signature
        return unanswered("there is nobody to ask")

    return guard


def reviewed(guard: str | Composite) -> bool:
    """Tell whether a person judges, alone or among others."""
    return guard == NAME or (isinstance(guard, Composite) and NAME in guard.members)


def needed(guard: str | Composite, verdict: Verdict | None) -> bool:
    """Tell whether a person is still to be asked, after what the other guards said; None where there are none."""
    if verdict is None or not isinstance(guard, Composite):
        return reviewed(guard)
    if guard.kind != "majority":
        return verdict.passed
    passes = sum(1 for part in verdict.parts if part.passed)
    return not verdict.passed and not verdict.fatal and 2 * (passes + 1) > len(set(guard.members))


def left_open(guard: str | Composite, verdict: Verdict) -> bool:
    """Tell whether a verdict is only what the other guards say, and a person is still to judge."""
    own = verdict.guard == NAME or any(part.guard == NAME for part in verdict.parts)
    return reviewed(guard) and not own and needed(guard, verdict)


def answered(answer: str) -> Verdict:
    """Return the person's verdict. Only `approve` passes; what else there is is the reason for a rejection."""
    if answer == APPROVE:
        return Verdict(guard=NAME, passed=True, score=1.0)
    return _rejected(Code.REVIEW_REJECTED, answer.removeprefix(REJECT).strip())


def unanswered(why: str) -> Verdict:
    """Return the verdict of a review that nobody gave: nothing passes unseen."""
    return _rejected(Code.REVIEW_UNANSWERED, why)


def together(guard: str | Composite, others: Verdict | None, person: Verdict) -> Verdict:
    """Return the step's verdict: the person's, with what the other guards said."""
    if others is None or not isinstance(guard, Composite):
        return person
    return combined(guard.kind, (*others.parts, person), len(set(guard.members)))


def _rejected(code: Code, message: str) -> Verdict:
    return Verdict(guard=NAME, passed=False, score=0.0, findings=(Finding(code=code, message=message),))
