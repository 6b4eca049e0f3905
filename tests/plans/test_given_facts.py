"""Given facts take the place of what a plan says, and names that no tool implements are errors."""

import pytest

from actors.plans.mending import findings_of_replaced_keys, set_given_facts, unbound_findings
from actors.values.findings import Code
from actors.values.given import Given

PLAN = {"plan_id": "p", "initial_state": ["a", "b"], "goal_state": ["g"], "steps": []}


def test_each_replaced_value_is_a_warning_that_names_its_key():
    found = [
        (each.code, each.where, each.severity) for each in findings_of_replaced_keys(("initial_state", "goal_state"))
    ]
    assert found == [(Code.GIVEN_REPLACED, key, "warning") for key in ("initial_state", "goal_state")]
    assert findings_of_replaced_keys(()) == ()


@pytest.mark.parametrize(
    ("written", "fact", "replaced"),
    [
        (["a", "b"], ("a", "b"), ()),
        (["b", "a"], ("a", "b"), ()),
        (["a"], ("a", "b"), ("initial_state",)),
        (["a", "c"], ("a", "b"), ("initial_state",)),
        (["a", "b", "b"], ("a", "b"), ("initial_state",)),
        ("ab", ("a", "b"), ("initial_state",)),
        (None, ("a", "b"), ("initial_state",)),
        ([{"x": 1}, "b"], ("a", "b"), ("initial_state",)),
        ([["a"], "b"], ("a", "b"), ("initial_state",)),
    ],
)
def test_a_fact_replaces_what_a_plan_says_unless_it_says_the_same_in_another_order(written, fact, replaced):
    made, keys = set_given_facts({**PLAN, "initial_state": written}, Given(initial_state=fact))
    assert keys == replaced
    assert sorted(made["initial_state"], key=str) == sorted(fact)


def test_a_fact_that_the_author_left_out_is_filled_in_and_is_no_replacement():
    left_out = {key: value for key, value in PLAN.items() if key != "goal_state"}
    made, keys = set_given_facts(left_out, Given(goal_state=("g", "h")))
    assert (sorted(made["goal_state"]), keys) == (["g", "h"], ())
    assert set_given_facts(PLAN, Given()) == (PLAN, ())


@pytest.mark.parametrize("value", [None, [], "text", {"steps": "none"}, {"initial_state": ["a"]}])
def test_what_has_no_list_of_steps_is_returned_as_it_is(value):
    assert set_given_facts(value, Given(initial_state=("x",))) == (value, ())


def test_requirements_in_objects_are_the_same_in_any_order():
    first, second = ({"kind": "goal", "quote": quote, "text": quote, "tokens": ["g"]} for quote in ("one", "two"))
    given = Given(requirements=(first, second))
    assert set_given_facts({**PLAN, "requirements": [second, first]}, given)[1] == ()
    assert set_given_facts({**PLAN, "requirements": [first, first]}, given)[1] == ("requirements",)


def unbound(steps, **given):
    return [(each.code, each.where) for each in unbound_findings({"steps": steps}, Given(**given))]


def test_a_name_that_no_tool_implements_is_an_error_at_its_step():
    steps = [{"step_id": "s", "generator": "make", "guard": "look"}, {"step_id": "t", "generator": "other"}]
    assert unbound(steps) == []
    assert unbound(steps, generators=("make",)) == [(Code.UNBOUND, "t")]
    assert unbound(steps, generators=("make", "other"), guards=()) == [(Code.UNBOUND, "s")]
    assert unbound(steps, generators=("make",), step_generators=("t",)) == []
    assert unbound([{"step_id": "s", "guard": ""}, {"step_id": "t", "guard": 3}, 7], guards=()) == []
    [made] = unbound_findings({"steps": steps[1:]}, Given(generators=("make", "more")))
    assert made.message == "step t: no tool implements the generator 'other'; choose one of 'make', 'more'."
    [none] = unbound_findings({"steps": steps[1:]}, Given(generators=()))
    assert none.message.endswith("'other'; none is.")
    for value in (None, [], {"steps": None}, {"steps": {}}):
        assert list(unbound_findings(value, Given(generators=()))) == []


def test_where_no_tool_checks_anything_an_empty_guard_says_that_there_is_none():
    plan = {"steps": [{"step_id": "s", "guard": ""}, {"step_id": "t", "guard": "look"}, 7]}
    made, keys = set_given_facts(plan, Given(guards=()))
    assert (made["steps"], keys) == ([{"step_id": "s"}, {"step_id": "t", "guard": "look"}, 7], ())
    assert set_given_facts(plan, Given(guards=("look",))) == (plan, ())
    assert set_given_facts(plan, Given()) == (plan, ())
    assert set_given_facts(plan, Given(guards=(), step_guards=("s",))) == (plan, ())
