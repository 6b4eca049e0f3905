"""The optional classifier: when it is asked, what it may answer, and which row an answer selects (S22)."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from actors.policy.cause import Cause, read_cause, row_for
from actors.policy.classification import worth_classifying
from actors.policy.decide import Escalation, decide
from actors.search.moves import Search
from actors.values.findings import Code, ReasonTag
from tests.policy.situations import failure, past, situation
from tests.support.worlds import default_policy

FAR = failure("plan.dead_end")


def asked(fails, **changes):
    now = situation(**changes)
    return worth_classifying(fails, now, decide(fails, now))


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
    made = decide(FAR, situation(), Cause(cause))
    assert (made.rule, made.targets) == (rule, (target,))
    assert made.classified == (None if cause == "unclear" else cause)


def test_the_tags_of_guards_are_codes_of_the_set():
    """A classifier gives the same reasons as a guard, and two of its own."""
    assert {str(tag) for tag in ReasonTag} == {str(cause) for cause in Cause} - {"own_mistake", "unclear"}


def test_a_code_without_a_row_leaves_the_table_its_say():
    small = default_policy().model_copy(update={"rows": default_policy().rows[-1:]})
    assert row_for(Cause.MISSING_EVIDENCE, small) is None
    assert decide(FAR, situation(policy=small), Cause.MISSING_EVIDENCE).classified is None


def test_only_a_costly_step_back_is_worth_a_call():
    assert asked(FAR)
    assert not asked(failure("plan.goal_unreachable")), "one level up is cheap"
    assert not asked(failure("plan.cycle")), "a retry is cheaper still"
    assert asked(failure("plan.cycle"), history=(past(failure("plan.cycle"), 1),)), "stagnation goes further"


def test_who_gave_the_reason_is_not_asked_again():
    """A guard's tag is a classification, and what the requirements say is nobody's guess."""
    assert not asked(failure("plan.dead_end", tags=["missing_evidence"]))
    assert not asked(failure("requirements.changed"))


def test_an_answer_that_could_change_nothing_is_not_paid_for():
    used_up = {"analysis": 2, "recon": 3, "strategy": 4}
    assert not asked(FAR, visits=used_up, attempt=3)
    assert not asked(FAR, search=Search.BLIND, attempt=3)
    assert not asked(FAR, search=Search.LINEAR)


def test_the_budgets_hold_whatever_is_answered():
    """A code is a wish like any row's: without visits, attempts or escalations left it goes where those allow."""
    at_last = situation(attempt=3, visits={"analysis": 2, "recon": 3, "strategy": 4})
    assert {decide(FAR, at_last, cause).level for cause in Cause} == {"give_up"}
    quiet = situation(escalation=Escalation(e_max=0), questions_left=0)
    assert {decide(FAR, quiet, cause).targets for cause in Cause} == {("plan",)}


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
