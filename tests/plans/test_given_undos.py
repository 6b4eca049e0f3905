"""A plan that undoes says of each step what the tools declare of its undo, unless the step says it."""

import json

import pytest

from actors.guards.built_in import BUILT_IN
from actors.plans.mending import set_given_facts
from actors.values.artifacts import Artifact, Context
from actors.values.given import Given

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
