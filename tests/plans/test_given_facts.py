"""Given facts take the place of what a plan says, and names that no tool implements are errors."""

import json

import pytest

from actors.config.step_guards import BUILT_IN
from actors.plans.mending import findings_of_replaced_keys, set_given_facts, unbound_findings
from actors.values.artifacts import Artifact, Context
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
    assert none.message.endswith("'other'; the tools implement no generators.")
    for value in (None, [], {"steps": None}, {"steps": {}}):
        assert list(unbound_findings(value, Given(generators=()))) == []


def test_where_no_tool_checks_anything_an_empty_guard_says_that_there_is_none():
    plan = {"steps": [{"step_id": "s", "guard": ""}, {"step_id": "t", "guard": "look"}, 7]}
    made, keys = set_given_facts(plan, Given(guards=()))
    assert (made["steps"], keys) == ([{"step_id": "s"}, {"step_id": "t", "guard": "look"}, 7], ())
    assert set_given_facts(plan, Given(guards=("look",))) == (plan, ())
    assert set_given_facts(plan, Given()) == (plan, ())
    assert set_given_facts(plan, Given(guards=(), step_guards=("s",))) == (plan, ())


GIVEN = Given(
    generators=("book", "mail", "look"),
    guards=("syntax",),
    undos={"book": "cancel", "mail": "irreversible"},
    step_generators=("seats", "menu"),
    step_undos={"seats": "free_seats"},
)


def step(name, generator, needs, makes, **more):
    fields = {"step_id": name, "name": name, "generator": generator, "guard": "syntax", "retry_budget": 1}
    after = {"dependencies": [needs]} if needs != "start" else {}
    return {**fields, "preconditions": [needs], "effects": [makes], **after, **more}


def plan(*steps):
    total = len(steps)
    fields = {"plan_id": "p", "initial_state": ["start"], "goal_state": [steps[-1]["step_id"]]}
    return {**fields, "total_retry_budget": total, "steps": [*steps]}


PAY = step("pay", "book", "hotel", "pay", on_failure="undo")


@pytest.mark.parametrize(
    ("changed", "undo"),
    [
        ({}, "cancel"),
        ({"undo": ""}, "cancel"),
        ({"undo": None}, "cancel"),
        ({"undo": "nothing"}, "nothing"),
        ({"generator": "mail"}, "irreversible"),
        ({"generator": "look"}, None),
        ({"step_id": "seats"}, "free_seats"),
        ({"step_id": "menu"}, None),
        ({"generator": 3}, None),
    ],
    ids=str,
)
def test_a_step_has_what_its_own_binding_or_its_generator_declares(changed, undo):
    hotel = {**step("hotel", "book", "start", "hotel"), **changed}
    made, replaced = set_given_facts(plan(hotel, PAY), GIVEN)
    assert ([each.get("undo") for each in made["steps"]], replaced) == ([undo, "cancel"], ())
    assert set_given_facts(made, GIVEN)[0] == made


def test_a_plan_that_undoes_nothing_stays_as_it_is():
    told = plan(step("hotel", "book", "start", "hotel"))
    assert set_given_facts(told, GIVEN)[0] is told


@pytest.mark.parametrize("strange", [[], [3, None], [{"on_failure": "undo"}], [{"step_id": 3, "on_failure": "undo"}]])
def test_what_is_no_step_is_left_to_the_guard(strange):
    told = {"steps": strange}
    assert set_given_facts(told, GIVEN)[0] is told


def test_the_proof_covers_a_plan_whose_undo_only_the_tools_know():
    told = plan(step("hotel", "book", "start", "hotel"), PAY)
    verdicts = [
        BUILT_IN["plan_expansive"]({})(Artifact("n", "plan", json.dumps(each)), Context("x"))
        for each in (told, set_given_facts(told, GIVEN)[0])
    ]
    assert [each.passed for each in verdicts] == [False, True], verdicts
    assert {each.code for each in verdicts[0].findings} == {"plan.no_undo"}
