"""`human_review`: a guard whose verdict comes from a person. It may be a member of a composite. Pure.

In a composite, the person is asked after the other members, and only if the answer can still change the composite's
verdict.
"""

from typing import Any

from actors.guards.fields import without_settings
from actors.guards.port import Composite, combine_verdicts
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code, Finding, Verdict

NAME = "human_review"

APPROVE = "approve"
REJECT = "reject:"
"""The beginning of an answer that rejects the artifact. The reason for the rejection follows this word."""
SCHEMA: dict[str, Any] = {
    "type": "string",
    "pattern": r"^approve$|^reject: *\S",
    "description": "approve, or reject: and the reason",
}
"""The JSON schema of the answer to a review. The reason for a rejection becomes the feedback for the next attempt."""


def _reject_unreviewed(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001 - a guard's signature
    return verdict_without_answer("no person can be asked for a review")


def includes_review(guard: str | Composite) -> bool:
    """Return whether the guard of a step includes a person's review."""
    return guard == NAME or (isinstance(guard, Composite) and NAME in guard.members)


def is_needed(guard: str | Composite, verdict: Verdict | None) -> bool:
    """Return whether a person must be asked, because the answer can still change the verdict.

    `verdict` combines the verdicts of the other members; None if there are no other members.
    """
    if verdict is None or not isinstance(guard, Composite):
        return includes_review(guard)
    if guard.kind != "majority":
        return verdict.passed
    passes = sum(1 for part in verdict.parts if part.passed)
    return not verdict.passed and not verdict.fatal and 2 * (passes + 1) > len(set(guard.members))


def is_open(guard: str | Composite, verdict: Verdict) -> bool:
    """Return whether a verdict needs a review by a person and does not have one yet."""
    has_review = verdict.guard == NAME or any(part.guard == NAME for part in verdict.parts)
    return includes_review(guard) and not has_review and is_needed(guard, verdict)


def verdict_of(answer: str) -> Verdict:
    """Return the verdict of a person's answer: `approve` passes, and any other text rejects and is the reason."""
    if answer == APPROVE:
        return Verdict(guard=NAME, passed=True, score=1.0)
    return _reject_by_person(Code.REVIEW_REJECTED, answer.removeprefix(REJECT).strip())


def verdict_without_answer(why: str) -> Verdict:
    """Return the rejection, with the message `why`, for a review that a person declined or that has expired."""
    return _reject_by_person(Code.REVIEW_UNANSWERED, why)


def combine_with_review(guard: str | Composite, others: Verdict | None, person: Verdict) -> Verdict:
    """Return the step's verdict: the person's, combined in a composite with the verdict of the other members."""
    if others is None or not isinstance(guard, Composite):
        return person
    return combine_verdicts(guard.kind, (*others.parts, person), len(set(guard.members)))


def _reject_by_person(code: Code, message: str) -> Verdict:
    return Verdict(guard=NAME, passed=False, score=0.0, findings=(Finding(code=code, message=message),))


make = without_settings(NAME, _reject_unreviewed)
