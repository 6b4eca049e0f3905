"""`demands_planned` rejects a plan that leaves out a demand of the user's text, and says what to do about each."""

import json

import pytest

from actors.guards import requirements_covered
from actors.guards.requirements_covered import FINDINGS_MAX, QUOTE_MAX, make_demands_planned
from actors.values.artifacts import Artifact, Context
from actors.values.findings import ReasonTag
from actors.values.given import Given
from actors.values.requirements import requirement_id

GOAL = "Add a button that exports the list of orders."
BAN = "Never change the file LICENSE."


def plan(*requirements, satisfies=()):
    step = {"step_id": "s", "generator": "x", "guard": "human", "retry_budget": 1, "effects": ["done"],
            "satisfies": list(satisfies)}  # fmt: skip
    return {"plan_id": "p", "goal": "g", "initial_state": ["a"], "goal_state": ["done"], "steps": [step],
            "requirements": list(requirements)}  # fmt: skip


def stated(quote, kind="goal", **fields):
    return {"kind": kind, "quote": quote, "text": quote, **fields}


def judged(text, value, **context):
    return make_demands_planned({})(Artifact("a", "plan", json.dumps(value)), Context(text, **context))


def test_a_demand_that_no_requirement_quotes_is_to_be_stated_first():
    verdict = judged(GOAL, plan())
    [finding] = verdict.findings
    assert (verdict.passed, finding.code, finding.tags) == (False, "demand.in_no_step", (ReasonTag.MISSING_EVIDENCE,))
    assert finding.where == requirement_id(GOAL.rstrip("."))
    assert finding.message.endswith("as its quote, and let a step satisfy this requirement")


def test_a_demand_that_a_requirement_quotes_lacks_a_step():
    name = requirement_id(GOAL.rstrip("."))
    [finding] = judged(GOAL, plan(stated(GOAL.rstrip(".")))).findings
    assert finding.tags == (ReasonTag.REQUIREMENT_VIOLATION,)
    assert f"add {name} to 'satisfies' of a step" in finding.message
    assert judged(GOAL, plan(stated(GOAL.rstrip("."), tokens=["done"]), satisfies=[name])).passed


def test_a_prohibition_need_only_be_stated():
    [finding] = judged(BAN, plan()).findings
    assert finding.message.endswith("with these words as its quote")
    assert judged(BAN, plan(stated(BAN.rstrip("."), "must_keep", paths=["LICENSE"]))).passed


def test_a_plan_of_an_execution_that_goes_on_is_not_compared():
    assert judged(GOAL, plan(), given=Given(initial_state=("a",))).passed
    assert not judged(GOAL, plan(), given=Given(goal_state=("done",))).passed


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}"])
def test_what_is_no_plan_is_rejected_for_that(text):
    verdict = make_demands_planned({})(Artifact("a", "plan", text), Context(GOAL))
    assert not verdict.passed
    assert "demand.in_no_step" not in {finding.code for finding in verdict.findings}


@pytest.mark.parametrize(
    ("more", "last"),
    [(0, None), (1, "1 more demand of the text is in no step"), (2, "2 more demands of the text are in no step")],
)
def test_the_demands_beyond_the_limit_are_counted(more, last):
    text = "\n\n".join(f"The page number {number} must show a total." for number in range(FINDINGS_MAX + more))
    findings = judged(text, plan()).findings
    assert len(findings) == FINDINGS_MAX + (more > 0)
    assert (findings[-1].message == last) is (more > 0)
    assert (FINDINGS_MAX, QUOTE_MAX) == (20, 300)


def test_a_long_demand_is_quoted_to_the_limit(monkeypatch):
    length = len(GOAL) - 1
    for limit, quote in ((length, GOAL[:-1]), (length - 1, f"{GOAL[: length - 2]}…")):
        monkeypatch.setattr(requirements_covered, "QUOTE_MAX", limit)
        assert f'demands "{quote}", but' in judged(GOAL, plan()).findings[0].message
