"""Sequential plans for problems in PDDL: what the guards say of them, and of which action first."""

import pytest

from packages.lab.tests.pddl.worlds import BLOCKS, PARCEL, ROOMS, SWAP, TWO
from replan_lab.pddl.action_list import read_plan_actions
from replan_lab.pddl.domain_reader import read_domain, read_problem
from replan_lab.pddl.judging import judge_actions
from replan_lab.pddl.translation import translate
from runtime.core.errors import UsageProblem


def judged(plan, domain=BLOCKS, problem=TWO, **settings):
    read = read_domain(domain, "d.pddl")
    return judge_actions(read, read_problem(problem, "p.pddl", read), read_plan_actions(plan, "plan.txt"), **settings)


def failing(judgement):
    """Return the number of the first action that cannot run, and what it lacks; None where each runs."""
    failure = judgement.failure
    return failure and (failure.index + 1, failure.unmet)


@pytest.mark.parametrize("level", ["minimal", "medium", "expansive"])
def test_a_valid_plan_is_valid_at_each_level(level):
    judgement = judged(SWAP, level=level)
    assert judgement.verdict.passed
    assert (judgement.failure, judgement.unmet_goals) == (None, ())


@pytest.mark.parametrize("level", ["medium", "expansive"])
def test_the_first_action_that_cannot_run_is_named_with_what_it_lacks(level):
    judgement = judged("(unstack b a)\n(pick-up a)\n(stack a b)\n", level=level)
    assert not judgement.verdict.passed
    assert failing(judgement) == (2, ("(handempty)",))
    assert judgement.failure.action.line == 2


def test_a_goal_that_must_not_hold_is_looked_at():
    judgement = judged(
        "(unstack b a)\n(put-down b)\n(pick-up a)\n(stack a b)\n(unstack a b)\n(stack a b)\n(unstack a b)"
    )
    assert (judgement.verdict.passed, judgement.failure, judgement.unmet_goals) == (False, None, ("(on a b)",))
    judgement = judged("(unstack b a)")
    assert judgement.unmet_goals == ("(not (holding b))", "(on a b)")


def test_equality_is_decided_by_the_objects():
    judgement = judged("(unstack b a)\n(stack b b)\n")
    assert failing(judgement) == (2, ("(clear b)", "(not (= b b))"))


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ("(unstack b a)\n(putdown b)", "the domain has no action putdown (did you mean 'put-down'?)"),
        ("(unstack b a)\n(put-down)", "(put-down) names 0 objects, but put-down takes 1"),
        ("(unstack b a)\n(put-down c)", "(put-down c) names c, which is not an object of the problem"),
    ],
)
def test_what_is_no_action_of_the_problem_is_the_first_failure(plan, says):
    judgement = judged(plan)
    assert failing(judgement) == (2, ())
    assert [finding.message for finding in judgement.verdict.errors] == [f"{says}."]
    assert [finding.where for finding in judgement.verdict.errors] == [f"2 {plan.splitlines()[1]}"]


def test_an_action_that_fails_before_one_that_is_none_of_the_problem_comes_first():
    judgement = judged("(pick-up a)\n(no-action)")
    assert failing(judgement) == (1, ("(clear a)",))


def test_an_object_of_another_type_is_refused():
    judgement = judged("(move k w h)", ROOMS, PARCEL)
    assert judgement.verdict.errors[0].message == (
        "(move k w h) names k of the type room for ?r, which must be of the type robot."
    )


@pytest.mark.parametrize(("goal", "valid"), [("(ontable a)", True), ("(and)", True), ("(clear a)", False)])
def test_a_plan_without_actions_is_valid_iff_the_goal_holds_at_the_beginning(goal, valid):
    problem = TWO.replace("(and (on a b) (not (holding b)))", goal)
    judgement = judged("; nothing to do\n", problem=problem)
    assert (judgement.verdict.passed, judgement.unmet_goals) == (valid, () if valid else ("(clear a)",))


def test_a_conditional_effect_happens_where_its_condition_holds_before_the_action():
    assert judged("(take w)\n(move w k h)", ROOMS, PARCEL).verdict.passed
    judgement = judged("(move w k h)\n(take w)", ROOMS, PARCEL)
    assert (judgement.failure, judgement.unmet_goals) == (None, ("(parcel h)",))


def test_adding_wins_over_deleting_the_same_atom():
    assert judged("(take w)\n(move w k k)\n(move w k h)", ROOMS, PARCEL).verdict.passed


def test_medium_asks_for_one_course_of_events_and_expansive_for_all():
    plan = "(try-to-take w)\n(move w k h)"
    assert judged(plan, ROOMS, PARCEL).verdict.passed
    strict = judged(plan, ROOMS, PARCEL, level="expansive")
    assert not strict.verdict.passed
    assert strict.verdict.facts["assurance"] == "weak"
    lost = next(finding for finding in strict.verdict.errors if finding.trace)
    assert lost.trace == ("1 (try-to-take w):outcome 2", "2 (move w k h) case 1:ok")
    assert judged(plan, ROOMS, PARCEL, level="expansive", assurance="weak").verdict.passed
    assert judged(
        "(shower w)\n(take w)\n(move w k h)", ROOMS, PARCEL, level="expansive", assurance="strong"
    ).verdict.passed


def test_a_plan_of_which_an_action_may_not_run_is_not_strong_even_where_the_goal_holds_without_it():
    problem = PARCEL.replace("(and (parcel h) (in w h))", "(in w k)")
    plan = "(try-to-take w)\n(take w)"
    assert judged(plan, ROOMS, problem).verdict.passed
    assert not judged(plan, ROOMS, problem, level="expansive").verdict.passed


def test_an_action_that_no_course_of_events_lets_run_is_the_first_failure():
    judgement = judged("(shower w)\n(take w)\n(take w)\n(move w k h)", ROOMS, PARCEL)
    assert not judgement.verdict.passed
    assert failing(judgement) == (3, ("(not (carries w))",))


def test_too_many_states_are_refused_where_an_effect_depends_on_them():
    """Twelve independent coins are 4,096 states."""
    coins = range(12)
    domain = f"""(define (domain coins) (:predicates {" ".join(f"(c{n})" for n in coins)} (done))
      {" ".join(f"(:action toss{n} :parameters () :effect (oneof (c{n}) (not (c{n}))))" for n in coins)}
      (:action look :parameters () :effect (when (c0) (done)))
      (:action stop :parameters () :effect (done)))"""
    problem = "(define (problem p) (:domain coins) (:init) (:goal (done)))"
    tosses = "\n".join(f"(toss{n})" for n in coins)
    assert judged(f"{tosses}\n(stop)", domain, problem, level="expansive").verdict.facts["assurance"] == "strong"
    with pytest.raises(UsageProblem, match=r"^d.pddl:2: the action \(toss9\) leads to more than 1,000 states"):
        judged(f"{tosses}\n(look)", domain, problem)


def test_too_many_outcomes_of_one_action_are_refused():
    coins = " ".join(f"(oneof (c{n}) (not (c{n})))" for n in range(8))
    domain = f"""(define (domain coins) (:predicates {" ".join(f"(c{n})" for n in range(8))})
      (:action toss :parameters () :effect (and {coins})))"""
    problem = "(define (problem p) (:domain coins) (:init) (:goal (c0)))"
    with pytest.raises(UsageProblem, match=r"^d.pddl:2: the action \(toss\) has too many outcomes"):
        judged("(toss)", domain, problem)


def test_only_what_the_plan_can_meet_is_grounded():
    """A problem with a million pairs of blocks costs a plan of one action nothing."""
    names = [f"b{n}" for n in range(1000)]
    on_table = " ".join(f"(ontable {name}) (clear {name})" for name in names)
    problem = f"""(define (problem many) (:domain blocks) (:objects {" ".join(names)} - block)
      (:init (handempty) {on_table}) (:goal (holding b7)))"""
    domain = read_domain(BLOCKS, "d")
    plan = translate(domain, read_problem(problem, "p", domain), read_plan_actions("(pick-up b7)", "plan")).plan
    assert plan.initial_state == {"(and)", "(handempty)", "(clear b7)", "(ontable b7)"}


def test_a_plan_that_no_guard_can_read_is_refused():
    """Its tokens together are longer than the longest plan that is read."""
    name = "x" * 190
    domain = f"""(define (domain d) (:predicates ({name}1) ({name}2))
      (:action {name} :effect (and ({name}1) (not ({name}2)))))"""
    problem = f"(define (problem p) (:domain d) (:init) (:goal ({name}1)))"
    assert judged(f"({name})", domain, problem).verdict.passed
    with pytest.raises(UsageProblem, match=r"^PLAN: the plan is too large to be judged"):
        judged(f"({name})\n" * 4000, domain, problem)
