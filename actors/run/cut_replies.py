"""Replies whose end is missing: the verdict on them, which needs no guard. Pure."""

from actors.values.artifacts import LENGTH, Artifact
from actors.values.findings import Code, Finding, Verdict

LIMIT = "output_tokens_max"
"""The fact of a verdict that says which limit cut the reply."""


def cut_verdict(artifact: Artifact, guard: str, output_tokens_max: int) -> Verdict:
    """Return the rejection of an artifact that ended early, in the name of the step's guard.

    The text tells the next attempt what to do otherwise.
    """
    if artifact.finish_reason == LENGTH:
        message = (
            f"The reply was cut off at the limit of {output_tokens_max:,} tokens, so its end is missing. "
            "Write it anew, complete and much shorter: nothing around the JSON, brief texts, only what is necessary."
        )
        return Verdict(
            guard=guard, findings=(Finding(code=Code.CUT, message=message),), facts={LIMIT: output_tokens_max}
        )
    message = (
        "A content filter of the provider stopped the reply, so its end is missing. "
        "Write it anew, complete and in neutral words, without what a filter may object to."
    )
    return Verdict(guard=guard, findings=(Finding(code=Code.FILTERED, message=message),))


def text_under_limit(verdict: Verdict | None, output_tokens_max: int) -> str:
    """Return what the next attempt is told where the limit has been raised since; empty for any other verdict."""
    limit = None if verdict is None else verdict.facts.get(LIMIT)
    if not isinstance(limit, int) or output_tokens_max <= limit:
        return ""
    return (
        f"The reply was cut off at the limit of {limit:,} tokens, so its end is missing. "
        f"The limit is {output_tokens_max:,} tokens now. Write it anew and complete."
    )
