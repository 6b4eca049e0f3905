"""The limits of replies, plans and verdicts: what is too large is rejected, cheaply, and can always be recorded."""

import json

import pytest

from actors.config.step_guards import BUILT_IN
from actors.plans.reader import STEPS_MAX, too_large
from actors.values.artifacts import Artifact, Context
from actors.values.findings import FINDINGS_MAX, VERDICT_BYTES_MAX, Code, Finding, Verdict, limit_verdict
from runtime.models.replies import ReplyCode
from tests.plans.build import judge, plan, step

SIZE = 4 * 1024 * 1024


def filled(start, item, end, size=SIZE - 100):
    """Return a text of nearly 4 MiB: the start, the item many times, and the end."""
    return start + ",".join([item] * ((size - len(start) - len(end)) // (len(item) + 1))) + end


def numbered(start, template, end, count):
    """Return a text with the numbers from 0 in a template."""
    before, after = template.split("N")
    return start + before + f"{after},{before}".join(map(str, range(count))) + after + end


SHAPES = {
    "numbers as steps": lambda: filled('{"steps":[', "1", "]}"),
    "a third of it": lambda: filled('{"steps":[', "1", "]}", SIZE // 3),
    "lists as steps": lambda: filled('{"steps":[', "[]", "]}"),
    "objects as steps": lambda: filled('{"steps":[', "{}", "]}"),
    "bare steps": lambda: numbered('{"steps":[', '{"step_id":"sN"}', "]}", 180_000),
    "numbers as tokens": lambda: filled('{"steps":[{"step_id":"a","effects":[', "1", "]}]}"),
    "many tokens": lambda: numbered('{"steps":[{"step_id":"a","effects":[', '"tN"', "]}]}", 300_000),
    "many keys": lambda: numbered("{", '"kN":1', ',"steps":[{"step_id":"a"}]}', 300_000),
    "many keys of a step": lambda: numbered('{"steps":[{"step_id":"a",', '"kN":1', "}]}", 300_000),
    "many invariants": lambda: filled('{"steps":[{"step_id":"a"}],"invariants":[', "1", "]}"),
    "many questions": lambda: filled('{"steps":[{"step_id":"a"}],"open_questions":[', '"q"', "]}"),
    "a long name": lambda: '{"steps":[{"step_id":"' + "a" * (SIZE - 100) + '"}]}',
    "a long token": lambda: '{"steps":[{"step_id":"a","effects":["' + "a" * (SIZE - 100) + '"]}]}',
    "Python literals": lambda: filled("{'steps':[", "'a'", "]}"),
}
"""Texts of nearly 4 MiB, made when a test needs one."""


@pytest.mark.parametrize(
    ("guard", "shape"),
    [
        *(("plan_expansive", shape) for shape in SHAPES),
        ("recon_valid", "many keys"),
        ("recon_valid", "numbers as steps"),
    ],
)
def test_a_large_reply_of_any_shape_is_rejected_with_a_small_verdict(guard, shape):
    """A verdict that was as large as the reply, or larger, could not be written, and the run was stuck for good.

    The expansive level judges by all that the lower ones do.
    """
    artifact = Artifact(artifact_id="a1", step="g", content=SHAPES[shape]())
    verdict = BUILT_IN[guard]({})(artifact, Context(specification="A text."))
    assert not verdict.passed
    assert len(verdict.findings) <= FINDINGS_MAX + 1
    assert len(limit_verdict(verdict).model_dump_json()) < 500_000


def test_what_is_too_large_has_a_code_of_its_own():
    many = [{"step_id": f"s{number}"} for number in range(STEPS_MAX + 1)]
    assert [(finding.code, finding.where) for finding in judge("minimal", plan(*many)).errors] == [
        (Code.PLAN_TOO_LARGE, "steps")
    ]
    wide = step("a", makes=[f"t{number}" for number in range(10_001)])
    assert [(finding.code, finding.where) for finding in judge("minimal", plan(wide)).errors] == [
        (Code.PLAN_TOO_LARGE, "steps[0].effects")
    ]
    assert [finding.code for finding in judge("minimal", SHAPES["numbers as steps"]()).errors] == [ReplyCode.TOO_LARGE]


def test_the_last_finding_counts_those_that_are_left_out():
    broken = plan(*(step(f"s{number:03}", guard="nothing", extra=1) for number in range(150)))
    findings = judge("minimal", broken).findings
    assert len(findings) == FINDINGS_MAX + 1
    assert {finding.code for finding in findings[:-1]} == {Code.UNKNOWN_GUARD}
    assert (findings[-1].code, findings[-1].severity) == (Code.MORE_FINDINGS, "error")
    assert findings[-1].message.startswith("and 200 more")


def test_a_plug_ins_verdict_is_cut():
    many = [Finding(code="own.code", message="x" * 10_000, where=f"s{number}") for number in range(500)]
    verdict = limit_verdict(Verdict(guard="own", findings=tuple(many)))
    assert len(verdict.findings) == FINDINGS_MAX + 1
    assert max(len(finding.message) for finding in verdict.findings) <= 4_000
    assert limit_verdict(verdict) is verdict


def test_a_verdict_that_is_too_large_is_a_rejection():
    verdict = limit_verdict(Verdict(guard="own", passed=True, score=1.0, facts={"log": "x" * (VERDICT_BYTES_MAX + 1)}))
    assert (verdict.guard, verdict.passed, [finding.code for finding in verdict.findings]) == (
        "own",
        False,
        [Code.VERDICT_TOO_LARGE],
    )


def test_an_ordinary_verdict_is_kept_as_it_is():
    verdict = judge("expansive", json.dumps(plan(step("a", "nothing", "goal"))))
    assert limit_verdict(verdict) is verdict


def test_a_plan_has_at_most_200_000_items_in_all_of_its_lists():
    full = ["t"] * 10_000
    steps = [{"step_id": f"s{number}", "effects": full} for number in range(20)]
    assert too_large({"steps": steps}) is None
    assert "200,001 items in its lists; the limit is 200,000" in too_large({"steps": steps, "goal": ["t"]}).message
