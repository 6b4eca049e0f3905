"""Replies whose end is missing: the verdict on them, which needs no guard. Pure."""

from actors.values.artifacts import LENGTH, Artifact
from actors.values.findings import Code, Finding, Verdict


def cut_verdict(artifact: Artifact, guard: str, output_tokens_max: int) -> Verdict:
    """Return the rejection of an artifact that ended early, in the name of the step's guard.

    The text tells the next attempt what to do otherwise.
    """
    if artifact.finish_reason == LENGTH:
        message = (
            f"The reply was cut off at the limit of {output_tokens_max:,} tokens, so its end is missing. "
            "Write it anew, complete and much shorter: nothing around the JSON, brief texts, only what is necessary."
        )
        return Verdict(guard=guard, findings=(Finding(code=Code.CUT, message=message),))
    message = (
        "A content filter of the provider stopped the reply, so its end is missing. "
        "Write it anew, complete and in neutral words, without what a filter may object to."
    )
    return Verdict(guard=guard, findings=(Finding(code=Code.FILTERED, message=message),))
