"""The stated requirements of a plan: how they are read and written, and which of them no step takes up."""

import pytest

from actors.plans.coverage import not_taken_up
from actors.plans.plan import plan_to_json
from actors.plans.plan_lines import plan_lines
from actors.plans.reader import read_plan
from actors.values.requirements import requirement_id

from .build import judge, plan, step, warnings


def requirement(quote, kind="goal"):
    """Return a requirement as JSON."""
    return {"id": requirement_id(quote), "kind": kind, "text": quote, "quote": quote, "source": "problem"}


TAKEN, IDLE, LATE = requirement("run fast"), requirement("run far"), requirement("by Friday", "deadline")
VALUE = plan(
    step("work", "start", "goal", satisfies=[TAKEN["id"]]),
    step("orphan", "start", "nothing", satisfies=[IDLE["id"]]),
    requirements=[TAKEN, IDLE, LATE],
    basis="Taken for a wish.",
)


def test_what_only_an_orphan_satisfies_is_not_taken_up():
    value, findings = read_plan(VALUE)
    assert findings == ()
    assert [item.text for item in not_taken_up(value)] == ["run far", "by Friday"]


def test_requirements_survive_writing_and_reading():
    value, _ = read_plan(VALUE)
    assert read_plan(plan_to_json(value)) == (value, ())
    assert plan_to_json(value)["requirements"] == VALUE["requirements"]


def test_the_basis_stands_above_the_plan():
    rows = plan_lines(VALUE)
    assert "".join(span.text for span in rows[0].spans) == "Taken for a wish."


def test_a_step_that_satisfies_what_the_plan_does_not_list_is_a_warning():
    value = plan(step("work", "start", "goal", satisfies=["r_unknown"]))
    verdict = judge("medium", value)
    assert verdict.passed
    assert warnings(verdict) == [("plan.unknown_requirement", "work")]


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"requirements": "as before"}, "requirements"),
        ({"requirements": [TAKEN, 3, {"kind": ["goal"], "quote": "x"}]}, "requirements"),
        ({"requirements": {"a": 1}}, "requirements"),
        ({"basis": ["x"]}, "basis"),
    ],
)
def test_a_plan_that_uses_a_new_field_for_something_else_is_still_accepted(fields, where):
    verdict = judge("medium", plan(step("work", "start", "goal"), **fields))
    assert verdict.passed
    assert warnings(verdict) == [("field.type", where)]


def test_a_step_that_uses_satisfies_for_something_else_is_still_accepted():
    verdict = judge("medium", plan(step("work", "start", "goal", satisfies={"a": 1})))
    assert verdict.passed
    assert warnings(verdict) == [("field.type", "steps[0].satisfies")]
