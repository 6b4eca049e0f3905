"""The filter of plan guards' verdicts: which findings it hides or replaces, and its error rates."""

import json
from dataclasses import replace

import pytest

from actors.config.step_guards import BUILT_IN
from actors.values.artifacts import Artifact, Context
from packages.lab.tests.simulated.test_author import PROBLEM, profile
from replan_lab.simulated.plans import simulate_plan
from replan_lab.simulated.profile import Defect
from replan_lab.simulated.verdict_filter import COMPARING, VerdictFilter

SOUND, BROKEN = simulate_plan("g"), simulate_plan("g", Defect.GOAL, "clue_abc123")


def lens(feedback):
    """Return a filter through which search and author see the same."""
    return VerdictFilter(profile(), 1, feedback, feedback)


def judged(verdict_filter, plan, node="g_plan/v1.a1"):
    artifact = Artifact(artifact_id=node, step="g_plan", content=json.dumps(plan), node=node)
    return verdict_filter.apply(BUILT_IN)["plan_medium"]({})(artifact, Context(specification=PROBLEM))


def test_a_filter_without_changes_returns_the_same_guards():
    assert VerdictFilter(profile(), 1).apply(BUILT_IN) == dict(BUILT_IN)


def test_only_what_judges_plans_is_changed():
    """A guard that compares says nothing of what cannot be read, or it would tell what the filter withholds."""
    seen = lens("shuffled").apply(BUILT_IN)
    assert {name for name in seen if seen[name] is not BUILT_IN[name]} == {
        "plan_minimal",
        "plan_medium",
        "plan_expansive",
        *COMPARING,
    }
    unreadable = Artifact(artifact_id="a", step="g_plan", content="no JSON")
    plan, strategy = (Context(specification="x", settings={"role": role}) for role in ("plan", "strategy"))
    for name in COMPARING:
        assert seen[name]({})(unreadable, plan).findings == ()
        assert not seen[name]({})(unreadable, strategy).passed


def test_feedback_does_not_change_an_acceptance():
    assert all(judged(lens(feedback), SOUND).passed for feedback in ("full", "shuffled", "verdict_only"))


def test_verdict_only_feedback_is_a_rejection_without_findings():
    verdict = judged(lens("verdict_only"), BROKEN)
    assert not verdict.passed
    assert [finding.code for finding in verdict.findings] == ["guard.rejected"]
    assert "clue" not in verdict.model_dump_json()
    assert verdict.score == 0


def test_shuffled_findings_are_those_of_another_problem():
    codes = set()
    for attempt in range(60):
        verdict = judged(lens("shuffled"), BROKEN, f"g_plan/v1.a{attempt}")
        assert not verdict.passed
        assert "clue_abc123" not in verdict.model_dump_json()
        codes |= {finding.code for finding in verdict.errors}
    assert len(codes) >= 4


def test_a_guard_errs_at_the_given_rates():
    verdict_filter = VerdictFilter(profile(), 1, false_accept=0.3, false_reject=0.1)
    accepted = sum(judged(verdict_filter, BROKEN, f"g_plan/v{n}.a1").passed for n in range(1000))
    rejected = sum(not judged(verdict_filter, SOUND, f"g_plan/v{n}.a1").passed for n in range(1000))
    assert abs(accepted / 1000 - 0.3) < 0.05
    assert abs(rejected / 1000 - 0.1) < 0.03


def test_a_filtered_verdict_is_repeatable():
    changed = VerdictFilter(profile(), 1, "shuffled", "shuffled", false_accept=0.3, false_reject=0.3)
    for attempt in range(20):
        node = f"g_plan/v1.a{attempt}"
        assert judged(changed, BROKEN, node) == judged(replace(changed), BROKEN, node)


@pytest.mark.parametrize(("search", "author"), [("full", "verdict_only"), ("verdict_only", "full")])
def test_search_and_author_can_be_blinded_separately(search, author):
    """The search reads codes and places, the author reads messages."""
    finding = judged(VerdictFilter(profile(), 1, search, author), BROKEN).errors[0]
    assert (finding.code == "plan.goal_unreachable") == (search == "full")
    assert ("clue_abc123" in finding.message) == (author == "full")


def test_a_guard_can_err_on_whole_problems():
    """On such a problem every attempt meets the same error; the shares are of problems."""
    accepted = rejected = 0
    for seed in range(400):
        verdict_filter = VerdictFilter(profile(), seed, accepting_problems=0.3, rejecting_problems=0.2)
        wrong = {judged(verdict_filter, BROKEN, f"g_plan/v{n}.a1").passed for n in range(3)}
        right = {judged(verdict_filter, SOUND, f"g_plan/v{n}.a1").passed for n in range(3)}
        assert len(wrong) == len(right) == 1
        accepted += wrong == {True}
        rejected += right == {False}
    assert abs(accepted / 400 - 0.3) < 0.07
    assert abs(rejected / 400 - 0.2) < 0.06
