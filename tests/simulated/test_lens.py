"""The lens over plan guards: what it hides, what it puts in place of it, and how often it errs."""

import json

import pytest

from actors.guards.built_in import BUILT_IN
from actors.simulated.plans import plan_of
from actors.simulated.profile import Defect
from actors.simulated.verdict_filter import Lens
from actors.values.artifacts import Artifact, Context
from tests.simulated.test_author import PROBLEM, profile

SOUND, BROKEN = plan_of("g", "n"), plan_of("g", "n", Defect.GOAL, "clue_abc123")


def judged(lens, plan, node="g_plan/v1.a1"):
    artifact = Artifact(artifact_id=node, step="g_plan", content=json.dumps(plan), node=node)
    return lens.over(BUILT_IN)["plan_medium"]({})(artifact, Context(specification=PROBLEM))


def test_a_lens_that_changes_nothing_leaves_the_guards_as_they_are():
    assert Lens(profile(), 1).over(BUILT_IN) == dict(BUILT_IN)


def test_only_guards_of_plans_are_seen_through_it():
    seen = Lens(profile(), 1, feedback="shuffled").over(BUILT_IN)
    assert {name for name in seen if seen[name] is not BUILT_IN[name]} == {
        "plan_minimal",
        "plan_medium",
        "plan_expansive",
    }


def test_verdict_only_tells_that_it_was_a_rejection_and_nothing_else():
    verdict = judged(Lens(profile(), 1, feedback="verdict_only"), BROKEN)
    assert not verdict.passed
    assert [finding.code for finding in verdict.findings] == ["guard.rejected"]
    assert "clue" not in verdict.model_dump_json()
    assert verdict.score == 0


def test_shuffled_findings_are_real_ones_of_another_problem():
    codes = set()
    for attempt in range(60):
        verdict = judged(Lens(profile(), 1, feedback="shuffled"), BROKEN, f"g_plan/v1.a{attempt}")
        assert not verdict.passed
        assert "clue_abc123" not in verdict.model_dump_json()
        codes |= {finding.code for finding in verdict.errors}
    assert len(codes) >= 4


@pytest.mark.parametrize("feedback", ["full", "shuffled", "verdict_only"])
def test_what_passes_passes_whatever_is_shown_of_rejections(feedback):
    assert judged(Lens(profile(), 1, feedback=feedback), SOUND).passed


def test_a_guard_errs_as_often_as_it_is_told_to():
    lens = Lens(profile(), 1, false_accept=0.3, false_reject=0.1)
    accepted = sum(judged(lens, BROKEN, f"g_plan/v{n}.a1").passed for n in range(1000))
    rejected = sum(not judged(lens, SOUND, f"g_plan/v{n}.a1").passed for n in range(1000))
    assert abs(accepted / 1000 - 0.3) < 0.05
    assert abs(rejected / 1000 - 0.1) < 0.03


def test_a_verdict_through_it_is_the_same_wherever_it_is_made():
    lens = {"feedback": "shuffled", "false_accept": 0.3, "false_reject": 0.3}
    for attempt in range(20):
        verdicts = [judged(Lens(profile(), 1, **lens), BROKEN, f"g_plan/v1.a{attempt}") for _ in range(2)]
        assert verdicts[0] == verdicts[1]
