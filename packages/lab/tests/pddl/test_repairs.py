"""Suggested repairs: actions that make what is lacking, with the objects that follow from it and from the state."""

import time

import pytest

from packages.lab.tests.pddl.worlds import BLOCKS, PARCEL, ROOMS, TWO
from replan_lab.pddl.action_list import read_plan_actions
from replan_lab.pddl.domain_reader import read_domain, read_problem
from replan_lab.pddl.judging import judge_actions
from replan_lab.pddl.repairs import REPAIRS_MAX


def repairs(plan, domain=BLOCKS, problem=TWO):
    read = read_domain(domain, "d.pddl")
    judgement = judge_actions(read, read_problem(problem, "p.pddl", read), read_plan_actions(plan, "plan.txt"))
    told = [each.sentence for each in judgement.repairs]
    if told:
        assert judgement.verdict.errors[0].message.endswith(" ".join(["", *told]))
    return told


def test_an_action_after_which_nothing_is_lacking_comes_first():
    assert (
        repairs("(unstack b a)\n(pick-up a)\n(stack a b)")
        == [
            "(put-down b) makes '(handempty)', and then nothing else is lacking.",
            "(stack b a) makes '(handempty)', and can run there.",
            "(unstack ?x ?y) makes '(clear a)', once it can run.",
        ][:2]
    )


def test_an_action_that_is_not_ready_is_named_as_one_that_would_help():
    assert repairs("(stack a b)") == [
        "(pick-up a) makes '(holding a)', once it can run.",
        "(unstack a ?y) makes '(holding a)', once it can run.",
    ]


def test_the_goal_is_repaired_at_the_end():
    assert repairs("(unstack b a)\n(put-down b)\n(pick-up a)") == [
        "(stack a b) makes '(on a b)', and then nothing else is lacking."
    ]


def test_what_must_not_hold_is_ended():
    assert repairs(
        "(unstack b a)\n(put-down b)\n(pick-up a)\n(stack a b)\n(unstack a b)\n(put-down a)\n(pick-up b)"
    ) == [
        "(put-down b) makes '(not (holding b))', and can run there.",
        "(stack b a) makes '(not (holding b))', and can run there.",
        "(stack a b) makes '(on a b)', once it can run.",
    ]


def test_a_valid_plan_an_unknown_action_and_an_uncertain_state_get_none():
    assert repairs("(unstack b a)\n(put-down b)\n(pick-up a)\n(stack a b)") == []
    assert repairs("(fly a)") == []
    assert repairs("(shower w)\n(take w)\n(take w)\n(move w k h)", ROOMS, PARCEL) == []


def test_a_suggestion_that_runs_does_run():
    """Each that is said to run, put before the action that fails, lets the plan get one action further at least."""
    read = read_domain(BLOCKS, "d")
    problem = read_problem(TWO, "p", read)
    for text in (
        "(pick-up a)",
        "(stack a b)",
        "(put-down b)",
        "(unstack b a)\n(unstack b a)",
        "(unstack b a)\n(pick-up a)",
    ):
        actions = read_plan_actions(text, "plan")
        judgement = judge_actions(read, problem, actions)
        for repair in judgement.repairs:
            if repair.runs:
                index = judgement.failure.index
                more = [*actions[:index], *read_plan_actions(repair.action, "r"), *actions[index:]]
                after = judge_actions(read, problem, more).failure
                assert after is None or after.index > index + repair.enough


@pytest.mark.parametrize("count", [2000])
def test_a_large_state_is_searched_within_a_limit(count):
    """Two thousand blocks: the search looks at a bounded number of atoms."""
    names = [f"b{n}" for n in range(count)]
    atoms = " ".join(f"(ontable {name}) (clear {name})" for name in names)
    problem = f"""(define (problem many) (:domain blocks) (:objects {" ".join(names)} - block)
      (:init (handempty) {atoms}) (:goal (on b7 b8)))"""
    assert repairs("(stack b7 b8)", problem=problem)[0] == (
        "(pick-up b7) makes '(holding b7)', and then nothing else is lacking."
    )


def test_an_action_with_too_many_outcomes_is_suggested_as_one_that_may_not_be_enough():
    coins = " ".join(f"(oneof (c{n}) (not (c{n})))" for n in range(8))
    domain = f"""(define (domain coins) (:predicates (thrown) (seen) {" ".join(f"(c{n})" for n in range(8))})
      (:action toss :effect (and (thrown) {coins}))
      (:action look :precondition (thrown) :effect (seen)))"""
    problem = "(define (problem p) (:domain coins) (:init) (:goal (seen)))"
    assert repairs("(look)", domain, problem) == ["(toss) makes '(thrown)', and can run there."]


def test_the_tries_of_one_failure_are_limited_together():
    """Twenty goals, each made by twenty actions that never run, with 300 objects for each of two parameters."""
    many = range(20)
    domain = f"""(define (domain d) (:predicates (never) {" ".join(f"(g{n})" for n in many)})
      {
        " ".join(
            f"(:action a{n}-{m} :parameters (?x ?y) :precondition (and (not (= ?x ?x))) :effect (g{n}))"
            for n in many
            for m in many
        )
    })"""
    problem = f"""(define (problem p) (:domain d) (:objects {" ".join(f"o{n}" for n in range(300))})
      (:init) (:goal (and {" ".join(f"(g{n})" for n in many)})))"""
    began = time.process_time()
    assert len(repairs("", domain, problem)) == REPAIRS_MAX
    assert time.process_time() - began < 5.0
