"""The optional classifier: when it is called, what it may answer, and which row an answer selects (S22)."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from actors.policy.decision import Escalation, decide, is_worth_classifying
from actors.policy.table import Cause, read_cause, row_for
from actors.search.progress import Search
from actors.values.findings import Code, ReasonTag
from tests.policy.situations import failure, past, situation
from tests.support.worlds import default_policy

FAR = failure("plan.dead_end")


def is_called(failed, **changes):
    current = situation(**changes)
    return is_worth_classifying(failed, current, decide(failed, current))


@pytest.mark.parametrize(
    ("cause", "rule", "target"),
    [
        ("own_mistake", "otherwise", "plan"),
        ("requirement_violation", "requirement_violated", "strategy"),
        ("missing_evidence", "missing_evidence", "recon"),
        ("goal_dependency_failure", "wrong_workflow", "analysis"),
        ("workflow_mismatch", "wrong_workflow", "analysis"),
        ("tool_failure", "tool_failure", "plan"),
        ("unclear", "wrong_facts", "recon"),
    ],
)
def test_a_code_selects_its_row(cause, rule, target):
    decision = decide(FAR, situation(), Cause(cause))
    assert (decision.rule, decision.targets) == (rule, (target,))
    assert decision.classified == (None if cause == "unclear" else cause)


def test_the_tags_of_guards_are_codes_of_the_set():
    """The causes are the reason tags of guards and two more."""
    assert {str(tag) for tag in ReasonTag} == {str(cause) for cause in Cause} - {"own_mistake", "unclear"}


def test_a_cause_without_a_row_leaves_the_decision_to_the_table():
    without_tags = default_policy().model_copy(update={"rows": default_policy().rows[-1:]})
    assert row_for(Cause.MISSING_EVIDENCE, without_tags) is None
    assert decide(FAR, situation(policy=without_tags), Cause.MISSING_EVIDENCE).classified is None


def test_only_a_costly_step_back_is_worth_a_call():
    assert is_called(FAR)
    assert not is_called(failure("plan.goal_unreachable")), "one level up is cheap"
    assert not is_called(failure("plan.cycle")), "a retry is cheaper still"
    assert is_called(failure("plan.cycle"), history=(past(failure("plan.cycle"), 1),)), "stagnation goes further"


def test_a_failure_that_has_its_reason_is_not_classified():
    """A guard's tag is a classification, and only the user knows the requirements."""
    assert not is_called(failure("plan.dead_end", tags=["missing_evidence"]))
    assert not is_called(failure("requirements.changed"))


def test_an_answer_that_could_change_nothing_is_not_paid_for():
    used_up = {"analysis": 2, "recon": 3, "strategy": 4}
    assert not is_called(FAR, visits=used_up, attempt=3)
    assert not is_called(FAR, search=Search.BLIND, attempt=3)
    assert not is_called(FAR, search=Search.LINEAR)


def test_the_budgets_hold_whatever_is_answered():
    """A cause selects a proposal, as a finding does: visits, attempts and escalations limit it in the same way."""
    exhausted = situation(attempt=3, visits={"analysis": 2, "recon": 3, "strategy": 4})
    assert {decide(FAR, exhausted, cause).level for cause in Cause} == {"give_up"}
    no_escalations = situation(escalation=Escalation(e_max=0), questions_left=0)
    assert {decide(FAR, no_escalations, cause).targets for cause in Cause} == {("plan",)}


@pytest.mark.parametrize(
    "reply",
    ["", "own_mistake", "Sure!", '"own_mistake"', '["own_mistake"]', '{"cause": "give_up"}', '{"cause": null}',
     '{"cause": ["own_mistake"]}', '{"cause": "own_mistake", "target": "g_analysis"}', '{"reason": "own_mistake"}',
     '{"cause": "own_mistake", "cause": "unclear"}', '{"cause": "OWN_MISTAKE"}', "\x00", "{" * 9_000],
)  # fmt: skip
def test_anything_but_one_code_is_none(reply):
    assert read_cause(reply) is None


def test_a_code_may_stand_in_a_fence():
    assert read_cause('```json\n{"cause": "unclear"}\n```') is Cause.UNCLEAR


@given(some.text())
def test_reading_never_fails(text):
    assert read_cause(text) is None or text.strip()


@given(some.sampled_from([str(code) for code in Code]), some.sampled_from([None, *Cause]), some.integers(1, 3))
def test_every_code_and_every_cause_has_a_decision(code, cause, attempt):
    assert decide(failure(code), situation(attempt=attempt), cause).step == "plan"
