"""Replies whose end is missing: they have codes of their own, and no guard sees them."""

import pytest

from actors.planning.result_lines import advice_for
from actors.run.calls import reject_cut_artifact
from actors.values.artifacts import Artifact
from actors.values.findings import Code, Finding
from runtime.models.replies import is_whole

WHOLE = '{"a": [1, {"b": "}"}]}'


@pytest.mark.parametrize(
    "text",
    [WHOLE, f" {WHOLE}\n", f"```json\n{WHOLE}\n```", f"```\n{WHOLE}```", f"<think>[{{</think>{WHOLE}", "[1, 2]", "{}"],
)
def test_a_reply_that_is_whole_has_lost_nothing(text):
    """Some servers name the limit also where the last token was just the last."""
    assert is_whole(text)
    assert not Artifact("a", "s", text, finish_reason="length").ended_early


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        WHOLE[:-1],
        f"Here it is: {WHOLE}",
        f"{WHOLE} That was",
        f"```json\n{WHOLE}",
        '```json\n[1, {"a": 2}',
        '[{"a": 1}, {"b"',
        "<think>I wonder whether {}",
        "3",
        "null",
        "[" * 100_000,
    ],
)
def test_a_reply_that_may_be_a_part_is_cut(text):
    """An object inside is no proof: it may be one of many."""
    assert not is_whole(text)
    for reason, code in (("length", Code.CUT), ("content_filter", Code.FILTERED)):
        artifact = Artifact("a", "s", text, finish_reason=reason)
        assert artifact.ended_early
        verdict = reject_cut_artifact(artifact, "plan_medium", 4096)
        assert [finding.code for finding in verdict.errors] == [code]
        assert (verdict.guard, verdict.passed, verdict.fatal) == ("plan_medium", False, False)
    assert not Artifact("a", "s", text).ended_early


def test_the_limit_is_named_and_brevity_is_asked_for():
    (finding,) = reject_cut_artifact(Artifact("a", "s", "{", finish_reason="length"), "g", 4096).findings
    assert "limit of 4,096 tokens" in finding.message
    assert "shorter" in finding.message


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("reply.cut", "--output-tokens-max 8192"),
        ("reply.filtered", "filter"),
        ("reply.not_json", "JSON"),
        ("recon.not_in_text", "name the files"),
        ("plan.unknown_guard", "guard_catalog"),
        ("plan.goal_unreachable", ""),
        ("requirements.conflict", "answer"),
        ("my_guard.own_code", ""),
    ],
)
def test_the_advice_follows_the_first_error(code, words):
    """Warnings do not count; a code that nobody knows gives none."""
    findings = [Finding(code="plan.orphan_step", message="", severity="warning"), Finding(code=code, message="")]
    advice = advice_for(findings, 4096)
    assert words in advice
    assert bool(advice) == bool(words)
    assert advice_for([], 4096) == ""
