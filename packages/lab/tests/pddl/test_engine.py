"""The engine for unified-planning: its verdicts, its reasons, and what it leaves to others."""

from dataclasses import replace

import unified_planning.environment
from unified_planning.engines import SequentialPlanValidator, ValidationResultStatus
from unified_planning.engines.results import FailedValidationReason
from unified_planning.plans import PlanKind, SequentialPlan
from unified_planning.shortcuts import And, BoolType, Fluent, InstantaneousAction, Not, Problem

from actors.values.findings import Code, Finding
from packages.lab.tests.pddl.test_against_unified_planning import examples, mutants, theirs
from replan_lab.pddl import unified_planning_engine
from replan_lab.pddl.action_list import ACTIONS_MAX
from replan_lab.pddl.domain import PlanAction
from replan_lab.pddl.judging import judge_actions
from replan_lab.pddl.unified_planning_engine import NAME, ReplanValidator, model_of, register


def supported():
    """Return the examples of unified-planning that the engine says it supports, by name."""
    return {name: each for name, each in examples().items() if ReplanValidator.supports(each.problem.kind)}


def plans_of(example):
    """Return its sequential plans, valid and invalid, and ten changed ones for each."""
    plans = [each for each in (*example.valid_plans, *example.invalid_plans) if each.kind is PlanKind.SEQUENTIAL_PLAN]
    changed = [SequentialPlan(m) for p in plans if p.actions for m in mutants(example.problem, p.actions, "engine")]
    return [*plans, *changed]


def test_it_agrees_with_the_validator_of_the_library_on_its_examples_and_on_plans_with_mistakes():
    """The status, the reason and the action that cannot run."""
    compared = 0
    for name, example in supported().items():
        for plan in plans_of(example):
            result = ReplanValidator().validate(example.problem, plan)
            valid, failing = theirs(example.problem, plan)
            expected = ValidationResultStatus.VALID if valid else ValidationResultStatus.INVALID
            assert result.status is expected, (name, str(plan), result.log_messages)
            if failing is not None:
                assert result.inapplicable_action is plan.actions[failing]
                assert result.reason is FailedValidationReason.INAPPLICABLE_ACTION
            elif not valid:
                assert result.reason is FailedValidationReason.UNSATISFIED_GOALS
            assert bool(result.log_messages) is not valid
            compared += 1
    assert (len(supported()), compared) == (13, 143)


def test_it_supports_only_problems_that_the_validator_of_the_library_supports():
    assert all(SequentialPlanValidator.supports(example.problem.kind) for example in supported().values())
    numeric = examples()["counter"].problem
    assert not ReplanValidator.supports(numeric.kind)
    assert not ReplanValidator.supports_plan(PlanKind.PARTIAL_ORDER_PLAN)


def test_a_registered_engine_is_found_by_its_name():
    environment = unified_planning.environment.Environment()
    register(environment)
    register(environment)
    with environment.factory.PlanValidator(name=NAME) as validator:
        assert isinstance(validator, ReplanValidator)


def lamp(initially=False):
    """Return a problem of one lamp, and its two actions."""
    lit = Fluent("lit", BoolType())
    on, off = InstantaneousAction("on"), InstantaneousAction("off")
    on.add_precondition(Not(lit))
    on.add_effect(lit, True)
    off.add_precondition(lit)
    off.add_effect(lit, False)
    problem = Problem("lamp")
    problem.add_fluent(lit, default_initial_value=initially)
    problem.add_actions([on, off])
    problem.add_goal(lit)
    return problem, on, off


def test_fluents_that_hold_by_default_hold_at_the_beginning():
    for initially in (False, True):
        problem, on, off = lamp(initially)
        for actions in ([on()], [off()], [off(), on()], []):
            plan = SequentialPlan(actions)
            expected, _ = theirs(problem, plan)
            assert bool(ReplanValidator().validate(problem, plan)) is expected


def test_the_log_says_what_is_missing():
    problem, on, _ = lamp()
    result = ReplanValidator().validate(problem, SequentialPlan([on(), on()]))
    [message] = [log.message for log in result.log_messages]
    assert message == (
        "step 2 (on): needs '(not (lit))': an earlier action ends it. "
        "(off) makes '(not (lit))', and then nothing else is lacking."
    )


def test_what_it_cannot_judge_is_unknown():
    problem, on, off = lamp()
    long = SequentialPlan([on(), off()] * (ACTIONS_MAX // 2 + 1))
    result = ReplanValidator().validate(problem, long)
    assert result.status is ValidationResultStatus.UNKNOWN
    assert "more than 5,000 actions" in result.log_messages[0].message
    problem.clear_goals()
    problem.add_goal(Not(And(problem.fluent("lit"), Not(problem.fluent("lit")))))
    result = ReplanValidator().validate(problem, SequentialPlan([on()]))
    assert result.status is ValidationResultStatus.UNKNOWN
    assert "is not supported" in result.log_messages[0].message


def test_the_log_of_what_is_too_complex_says_that_and_no_other_finding(monkeypatch):
    problem, on, _ = lamp()
    plan = SequentialPlan([on()])
    judgement = judge_actions(*model_of(problem), [PlanAction("on")])
    findings = (
        Finding(code=Code.PRECONDITION_UNSATISFIED, message="another"),
        Finding(code=Code.TOO_COMPLEX, message="too many states"),
    )
    verdict = judgement.verdict.model_copy(update={"passed": False, "findings": findings})
    monkeypatch.setattr(unified_planning_engine, "judge_actions", lambda *_: replace(judgement, verdict=verdict))
    result = ReplanValidator().validate(problem, plan)
    assert result.status is ValidationResultStatus.UNKNOWN
    assert [log.message for log in result.log_messages] == ["too many states"]
