"""The stated requirements of a plan: how they are read and written, and which of them no guard can check."""

import pytest

from actors.plans.coverage import GOALS_MAX, RequirementStanding, check_requirements
from actors.plans.plan import plan_to_json
from actors.plans.plan_text import plan_lines
from actors.plans.reader import read_plan
from actors.values.requirements import requirement_id

from .build import judge, plan, step, warnings


def requirement(quote, kind="goal"):
    return {"id": requirement_id(quote), "kind": kind, "text": quote, "quote": quote, "source": "problem"}


TAKEN, IDLE, LATE = requirement("run fast"), requirement("run far"), requirement("by Friday", "deadline")
VALUE = plan(
    step("work", "start", "goal", satisfies=[TAKEN["id"]]),
    step("orphan", "start", "nothing", satisfies=[IDLE["id"]]),
    requirements=[TAKEN, IDLE, LATE],
    basis="Taken for a wish.",
)


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


def test_only_what_no_guard_can_check_is_not_checked():
    value, _ = read_plan({**VALUE, "requirements": [TAKEN | {"tokens": ["goal"]}, IDLE, LATE]})
    assert not_checked(value) == ["by Friday"]
    many = [requirement(f"goal {number}") for number in range(GOALS_MAX + 1)]
    assert len(not_checked(read_plan({**VALUE, "requirements": many})[0])) == 1


def not_checked(value):
    """Return the texts of the requirements that no guard can check."""
    return [
        each.requirement.text for each in check_requirements(value) if each.standing is RequirementStanding.NOT_CHECKED
    ]


def test_all_fields_of_a_requirement_survive_writing_and_reading():
    whole = TAKEN | {
        "tokens": ["goal"],
        "depends_on": [IDLE["id"]],
        "tools": ["shell"],
        "paths": ["src/api.py"],
        "conflicts_with": [LATE["id"]],
        "limit": {"name": "time", "value": "3 days"},
    }
    value, findings = read_plan({**VALUE, "requirements": [whole]})
    assert findings == ()
    assert plan_to_json(value)["requirements"] == [whole]
    assert read_plan(plan_to_json(value)) == (value, ())


@pytest.mark.parametrize("key", ["tokens", "depends_on", "tools", "paths", "conflicts_with", "limit", "id"])
@pytest.mark.parametrize(
    "value", [None, 3, "text", [3, None, ""], {"name": 1, "value": [2]}, {"name": "", "value": ""}]
)
def test_an_optional_field_of_another_type_is_empty(key, value):
    read, findings = read_plan({**VALUE, "requirements": [TAKEN | {key: value}]})
    assert findings == ()
    assert plan_to_json(read)["requirements"] == [TAKEN]


MAKES_X, LOSES_X = step("make", "start", "x goal"), step("lose", "x", "goal", delete_effects=["x"])


@pytest.mark.parametrize(
    ("fields", "steps", "initial", "standing", "where"),
    [
        ({"kind": "must_avoid", "tokens": ["x"]}, [MAKES_X], "start", RequirementStanding.VIOLATED, ("make",)),
        (
            {"kind": "must_avoid", "tokens": ["x"]},
            [step("a", "start", "goal")],
            "start",
            RequirementStanding.NOT_CHECKED,
            (),
        ),
        ({"kind": "must_avoid", "tokens": ["x"]}, [LOSES_X], "x", RequirementStanding.NOT_CHECKED, ()),
        ({"kind": "must_avoid", "tokens": ["x"]}, [LOSES_X], "start", RequirementStanding.KEPT, ()),
        ({"kind": "must_keep", "tokens": ["x"]}, [LOSES_X], "x", RequirementStanding.VIOLATED, ("lose",)),
        ({"kind": "must_keep", "tokens": ["x"]}, [MAKES_X], "x", RequirementStanding.KEPT, ()),
        ({"kind": "must_keep", "tokens": ["x"]}, [MAKES_X], "start", RequirementStanding.NOT_CHECKED, ()),
        ({"kind": "must_keep", "tokens": ["x", "y"]}, [MAKES_X], "x", RequirementStanding.NOT_CHECKED, ()),
        ({"kind": "must_keep", "tokens": ["x"], "paths": ["a"]}, [MAKES_X], "x", RequirementStanding.NOT_CHECKED, ()),
        (
            {"kind": "must_avoid", "tools": ["do_a"]},
            [step("a", "start", "goal")],
            "start",
            RequirementStanding.VIOLATED,
            ("a",),
        ),
        ({"kind": "must_avoid", "tools": ["rm"]}, [step("a", "start", "goal")], "start", RequirementStanding.KEPT, ()),
        ({"kind": "must_avoid", "tools": ["rm"], "tokens": ["x"]}, [LOSES_X], "x", RequirementStanding.NOT_CHECKED, ()),
        (
            {"kind": "must_keep", "tools": ["do_a"]},
            [step("a", "start", "goal")],
            "start",
            RequirementStanding.NOT_CHECKED,
            (),
        ),
        ({"kind": "deadline", "tokens": ["x"]}, [MAKES_X], "x", RequirementStanding.NOT_CHECKED, ()),
    ],
)
def test_where_a_requirement_stands_that_is_no_goal(fields, steps, initial, standing, where):
    item = {**requirement("words of the text", fields["kind"]), **fields}
    named = [{**each, "generator": f"do_{each['step_id']}"} for each in steps]
    value, _ = read_plan({**plan(*named, requirements=[item]), "initial_state": initial.split()})
    [found] = check_requirements(value)
    assert (found.standing, found.steps) == (standing, where)
