"""`plan_minimal`: the fields, and how the steps fit together."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.guards import plan_minimal
from actors.plans.graph import CYCLES_MAX, cycles, order_of
from actors.plans.reader import read_plan
from actors.values.artifacts import Artifact, Context
from runtime.core.errors import UsageProblem
from runtime.models.replies import Parsed
from tests.plans.build import errors, judge, plan, step, warnings

GOOD = plan(step("a", "start", "x"), step("b", "x", "goal", after="a"))


def test_a_plan_that_fits_together_passes_with_full_score():
    verdict = judge("minimal", GOOD)
    assert (verdict.passed, verdict.score, verdict.findings, verdict.guard) == (True, 1.0, (), "plan_minimal")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (plan(step("a"), step("a")), [("plan.duplicate_id", "a")]),
        (plan(step("escalate")), [("plan.reserved_id", "escalate")]),
        (plan(step("a", after="b")), [("plan.unknown_dependency", "a")]),
        (plan(step("a", after="a")), [("plan.cycle", "a")]),
        (plan(step("b", after="c"), step("c", after="b")), [("plan.cycle", "b")]),
        (plan(step("a", guard="nope")), [("plan.unknown_guard", "a")]),
        (plan(step("a", retry_budget=0)), [("plan.bad_budget", "a")]),
        (plan(step("a"), total_retry_budget=0), [("plan.bad_budget", "total_retry_budget")]),
        (plan(step("a", on_failure="b")), [("plan.unknown_target", "a")]),
        (plan(step("a", on_failure="b"), step("b")), [("plan.unknown_target", "a")]),
        (plan(step("a"), step("b", after="a", on_failure="a")), []),
        (plan(step("a", on_failure="a")), []),
        (plan(step("a", repeatable=True), step("b")), [("plan.mixed_repeatable", "b")]),
        (
            plan(step("a", repeatable=True), step("b", after="a", repeatable=True)),
            [("plan.mixed_repeatable", "b")],
        ),
    ],
)
def test_each_structural_problem_has_its_code_and_names_its_step(value, expected):
    verdict = judge("minimal", value)
    assert errors(verdict) == expected
    assert verdict.passed == (not expected)
    assert verdict.score < 1 or verdict.passed


def test_a_budget_of_thousands_of_digits_is_only_too_large():
    artifact = Artifact("a1", "g_plan", "")
    artifact.__dict__["value"] = Parsed(plan(step("a", retry_budget=10**5000)))
    assert errors(plan_minimal.make({})(artifact, Context(""))) == [("plan.bad_budget", "a")]


def test_problems_of_fields_and_of_the_graph_are_reported_together():
    value = plan(step("a", after="b", preconditions="x"), step("b", after="a", guard="nope"))
    assert {code for code, _ in errors(judge("minimal", value))} == {"field.type", "plan.cycle", "plan.unknown_guard"}


def test_separate_cycles_are_all_reported():
    value = plan(step("a", after="b"), step("b", after="a"), step("c", after="d"), step("d", after="c"))
    verdict = judge("minimal", value)
    assert errors(verdict) == [("plan.cycle", "a"), ("plan.cycle", "c")]
    assert "a needs b needs a" in verdict.findings[0].message


def test_a_reply_without_json_is_rejected_with_the_replys_own_code():
    """The code says why the reply cannot be read, not that the plan has no steps."""
    assert [code for code, _ in errors(judge("minimal", "I cannot do that."))] == ["reply.not_json"]
    assert [code for code, _ in errors(judge("expansive", ""))] == ["reply.empty"]


def test_a_step_without_a_guard_is_a_warning():
    unguarded = step("a")
    del unguarded["guard"]
    verdict = judge("minimal", plan(unguarded))
    assert verdict.passed
    assert warnings(verdict) == [("plan.unknown_guard", "a")]


def test_a_misspelt_dependency_is_shown_the_nearest_name():
    verdict = judge("minimal", plan(step("compile"), step("link", after="compiel")))
    assert "did you mean 'compile'" in verdict.findings[0].message


def test_ten_misspelt_dependencies_are_shown_the_nearest_name_and_the_others_are_not():
    steps = [step(f"s{number:02}", after="compiel") for number in range(12)]
    findings = judge("minimal", plan(step("compile"), *steps)).findings
    assert ["did you mean 'compile'" in finding.message for finding in findings] == [True] * 10 + [False] * 2


@pytest.mark.parametrize(("steps", "score"), [(1, 0.1), (3, 0.15)])
def test_the_score_of_a_broken_plan_falls_with_the_share_of_wrong_places(steps, score):
    value = plan(*(step(f"s{number}", guard="syntax" if number else "nope") for number in range(steps)))
    assert judge("minimal", value).score == pytest.approx(score)


def test_a_plan_may_have_one_attempt_in_all():
    assert judge("minimal", plan(step("a", "start", "goal"), total_retry_budget=1)).passed


def test_a_workflow_adds_guards_or_replaces_them():
    custom, usual = plan(step("a", guard="custom")), plan(step("a", guard="syntax"))
    assert judge("minimal", custom, guard_catalog=["custom"]).passed
    assert judge("minimal", usual, guard_catalog=["custom"]).passed
    assert not judge("minimal", usual, guard_catalog={"only": ["custom"]}).passed


@pytest.mark.parametrize(
    ("config", "cause"),
    [
        ({"rmax": 3}, "did you mean 'r_max'"),
        ({"r_max": 0}, "at least 1"),
        ({"r_max": True}, "at least 1"),
        ({"max_explorations": "many"}, "at least 1"),
        ({"assurance": "certain"}, "use none or weak or strong_cyclic or strong"),
        ({"guard_catalog": "syntax"}, "list of guard names"),
        ({"guard_catalog": {"without": []}}, "list of guard names"),
    ],
)
@pytest.mark.parametrize("level", ["minimal", "medium", "expansive"])
def test_settings_that_make_no_sense_are_usage_problems(level, config, cause):
    with pytest.raises(UsageProblem, match=cause):
        judge(level, GOOD, **config)


@pytest.mark.parametrize("level", ["minimal", "medium", "expansive"])
@pytest.mark.parametrize("value", [GOOD, {"plan_id": "p", "steps": []}, {}])
def test_a_question_in_a_plan_is_an_error_like_in_every_other_artifact(level, value):
    verdict = judge(level, {**value, "open_questions": ["Which database?", " ", 3]})
    assert not verdict.passed
    assert errors(verdict)[0] == ("requirements.open_question", "open_questions[0]")
    assert sum(code == "requirements.open_question" for code, _ in errors(verdict)) == 1


def test_a_question_of_an_unknown_kind_is_not_lost():
    verdict = judge("minimal", {**GOOD, "open_questions": [{"question": "Which?", "choices": ["only"]}]})
    assert errors(verdict) == [("field.choice", "open_questions[0]")]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_reported_cycles_are_cycles_and_disjoint(edges):
    """At least one is reported iff the steps have no order; each step of a cycle depends on the next."""
    after = {f"s{number}": {f"s{target}" for source, target in edges if source == number} for number in range(8)}
    read, _ = read_plan(plan(*(step(name, after=sorted(names)) for name, names in after.items())))
    circles = cycles(read)
    assert bool(circles) == (order_of(read) is None)
    members = [name for circle in circles for name in circle]
    assert len(members) == len(set(members))
    for circle in circles:
        assert circle[0] == min(circle)
        assert all(later in after[name] for name, later in pairwise((*circle, circle[0])))


def test_cycles_at_the_end_of_a_long_chain_are_found_in_one_search():
    """Each cycle was searched for from the start: 20,000 steps took 1.6 seconds of processor."""
    chain = [step(f"s{number:05}", after=f"s{number - 1:05}" if number else ()) for number in range(19_900)]
    pairs = [step(f"z{number:02}", after=f"z{number ^ 1:02}") for number in range(40)]
    read, _ = read_plan(plan(*chain, *pairs))
    started = time.process_time()
    assert len(cycles(read)) == CYCLES_MAX
    assert time.process_time() - started < 0.5
