"""Replies of a real model, SmolLM2-135M-Instruct, to the prompts of this project: each is read, and judged.

They came from runs with `--compact` and limits of 300 to 900 tokens (`make model`): copied examples, lists that repeat
one item for ever, delimiters of the prompt, and ends that are missing.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from actors.config.step_guards import BUILT_IN
from actors.values.artifacts import Artifact, Context, lacks_end
from runtime.models.replies import Parsed, read_reply

LINES = (Path(__file__).parent / "data" / "smollm2.jsonl").read_text(encoding="utf-8").splitlines()
REPLIES = [json.loads(line) for line in LINES]
GUARDS = {
    "g_analysis": ("analysis_valid",),
    "g_recon": ("recon_valid", "requirements_agree"),
    "g_strategy": ("strategy_valid", "evidence_present"),
    "g_plan": ("plan_minimal", "plan_medium", "plan_expansive", "requirements_covered"),
}


@pytest.mark.parametrize("number", range(len(REPLIES)))
def test_each_reply_gets_a_verdict_of_its_guards(number):
    reply = REPLIES[number]
    for guard in GUARDS[reply["step"]]:
        verdict = BUILT_IN[guard]({})(Artifact("n", reply["step"], reply["text"]), Context("The mail is sent twice."))
        assert verdict.passed == (not verdict.errors)
        assert all("\n" not in finding.message for finding in verdict.findings)


def test_the_replies_are_of_the_kinds_that_a_small_model_writes():
    kinds = Counter(
        "cut"
        if lacks_end(each["text"], each["finish_reason"])
        else "object"
        if isinstance(read_reply(each["text"]), Parsed)
        else "unreadable"
        for each in REPLIES
    )
    assert kinds["cut"] >= 5
    assert kinds["object"] >= 5


def test_a_reply_that_keeps_to_the_schema_is_an_object_with_its_fields():
    whole = [each for each in REPLIES if each["finish_reason"] == "stop" and each["step"] == "g_analysis"]
    assert whole
    for each in whole:
        found = read_reply(each["text"])
        assert isinstance(found, Parsed)
        assert set(found.value) >= {"problem_type", "severity", "key_signals"}
