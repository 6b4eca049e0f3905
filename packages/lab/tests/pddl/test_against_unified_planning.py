"""Verdicts on sequential plans agree with unified-planning's own validator on its own problems, and on plans that are
its plans with seeded mistakes. Its problems and plans are written as PDDL by its writer, and read by ours."""

import random
import warnings
from collections import Counter
from pathlib import Path

import pytest
from unified_planning.engines import SequentialPlanValidator, ValidationResultStatus
from unified_planning.exceptions import UPException
from unified_planning.io import PDDLReader, PDDLWriter
from unified_planning.plans import PlanKind
from unified_planning.shortcuts import get_environment
from unified_planning.test import __file__ as up_tests
from unified_planning.test.examples import get_example_problems

from packages.lab.tests.pddl.worlds import BLOCKS, PARCEL, ROOMS, TWO
from replan_lab.pddl.action_list import read_plan_actions
from replan_lab.pddl.domain import PlanAction
from replan_lab.pddl.domain_reader import read_domain, read_problem
from replan_lab.pddl.grounding import ground_action
from replan_lab.pddl.judging import judge_actions
from runtime.core.errors import UsageProblem

get_environment().credits_stream = None
MUTATIONS = 10
"""Changed plans for each plan."""


def written(problem):
    """Return a problem of unified-planning as ours, with the writer that knows its names; None if it is no PDDL."""
    writer = PDDLWriter(problem)
    try:
        texts = writer.get_domain(), writer.get_problem()
    except (UPException, RuntimeError):  # Its writer has no form for 9 of the examples.
        return None
    domain = read_domain(texts[0], "domain")
    return writer, domain, read_problem(texts[1], "problem", domain)


def theirs(problem, plan):
    """Return whether unified-planning accepts a plan, and the index of the first action that it cannot run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = SequentialPlanValidator().validate(problem, plan)
    failing = len(result.trace) - 1 if result.inapplicable_action is not None else None
    return result.status is ValidationResultStatus.VALID, failing


def ours(domain, problem, actions):
    judgement = judge_actions(domain, problem, actions)
    return judgement.verdict.passed, judgement.failure and judgement.failure.index


def examples():
    """Return unified-planning's examples that are sequential, by name."""
    return {
        name: example
        for name, example in get_example_problems().items()
        if any(plan.kind is PlanKind.SEQUENTIAL_PLAN for plan in (*example.valid_plans, *example.invalid_plans))
        and SequentialPlanValidator.supports(example.problem.kind)
    }


def mutants(problem, actions, seed):
    """Yield plans with a dropped action, two swapped ones, or another object of the right type in one."""
    chance = random.Random(seed)
    for number in range(MUTATIONS):
        changed = list(actions)
        index = chance.randrange(len(changed))
        match ("drop", "swap", "argument")[number % 3]:
            case "drop":
                del changed[index]
            case "swap":
                other = chance.randrange(len(changed))
                changed[index], changed[other] = changed[other], changed[index]
            case _:
                action = changed[index]
                arguments = list(action.actual_parameters)
                if arguments:
                    place = chance.randrange(len(arguments))
                    kind = action.action.parameters[place].type
                    choices = list(problem.objects(kind)) if kind.is_user_type() else []
                    if choices:
                        arguments[place] = chance.choice(choices)
                changed[index] = action.action(*arguments)
        yield changed


def test_verdicts_agree_on_the_examples_of_unified_planning_and_on_their_plans_with_mistakes():
    supported, refused, compared, different = set(), {}, 0, []
    for name, example in examples().items():
        try:
            made = written(example.problem)
        except UsageProblem as outside:
            refused[name] = outside.cause
            continue
        if made is None:
            continue
        writer, domain, problem = made
        supported.add(name)
        plans = [*example.valid_plans, *example.invalid_plans]
        plans = [plan for plan in plans if plan.kind is PlanKind.SEQUENTIAL_PLAN]
        for plan in list(plans):
            plans += map(type(plan), mutants(example.problem, plan.actions, name) if plan.actions else ())
        for plan in plans:
            actions = read_plan_actions(writer.get_plan(plan), "plan")
            compared += 1
            mine, other = ours(domain, problem, actions), theirs(example.problem, plan)
            if mine != other:
                different.append((name, str(plan), mine, other))
    assert different == []
    assert (len(supported), compared) == (14, 154)
    words = [cause.partition("`")[2].partition("`")[0] for cause in refused.values()]
    assert Counter(words) == {
        ":numeric-fluents": 11,
        "exists": 2,
        "forall": 2,
        "or": 2,
        "imply": 1,
        ":constraints": 1,
    }


def walk(domain, problem, chance, length):
    """Return a random plan of which all actions can run, but not the last."""
    by_type = [
        (
            schema,
            [
                sorted(name for name, k in problem.objects.items() if domain.is_a(k, kind))
                for _, kind in schema.parameters
            ],
        )
        for schema in domain.actions.values()
    ]
    state, actions = problem.initial, []
    while True:
        schema, choices = chance.choice(by_type)
        if not all(choices):
            continue
        action = PlanAction(schema.name, tuple(map(chance.choice, choices)))
        ground = ground_action(action, domain)
        runs = ground.can_run_in(state)
        if runs and len(actions) < length:
            actions.append(action)
            [change] = ground.outcomes(state)
            state = change.apply_to(state)
        elif not runs and len(actions) == length:
            return [*actions, action]


FILES = {
    "depot": "",
    "miconic": "domain.pddl:49: `imply`",
    "citycar": "domain.pddl:127: `forall`",
    "tpp_metric": "domain.pddl:5: the requirement `:fluents`",
    "sailing": "domain.pddl:23: `decrease`",
    "visit_precedence": "domain.pddl:5: `:durative-action`",
    "robot_fastener": "domain.pddl:22: `:durative-action`",
    "matchcellar": "domain.pddl:10: `:durative-action`",
    "counters": "domain.pddl:18: `<=`",
    "parking_action_cost": "domain.pddl:13: `:durative-action`",
    "safe_road": "domain.pddl:27: `forall`",
}
"""The domains with files that unified-planning brings: what refuses each; empty for those that are supported."""


@pytest.mark.parametrize("name", FILES)
def test_verdicts_agree_on_random_plans_for_the_files_of_unified_planning(name):
    folder = Path(up_tests).parent / "pddl" / name
    texts = [(folder / file).read_text(encoding="utf-8") for file in ("domain.pddl", "problem.pddl")]
    if FILES[name]:
        with pytest.raises(UsageProblem) as refused:
            read_problem(texts[1], "problem.pddl", read_domain(texts[0], "domain.pddl"))
        assert str(refused.value).startswith(f"{FILES[name]} is not supported")
        return
    compare_random_plans(*texts)


def test_verdicts_agree_on_random_plans_of_blocks_and_of_conditional_effects():
    certain = ROOMS.replace("(oneof (carries ?r) (and))", "(carries ?r)").replace(
        "(oneof (wet ?r) (not (wet ?r)))", "(when (not (carries ?r)) (wet ?r))"
    )
    compare_random_plans(BLOCKS, TWO)
    compare_random_plans(certain.replace(" :non-deterministic", ""), PARCEL)


def compare_random_plans(*texts):
    """Compare ten plans for a domain and a problem, of which only the last action cannot run."""
    domain = read_domain(texts[0], "domain.pddl")
    problem = read_problem(texts[1], "problem.pddl", domain)
    reader = PDDLReader()
    read = reader.parse_problem_string(*texts)
    for seed in range(10):
        actions = walk(domain, problem, random.Random(seed), 12)
        assert len(actions) == 13
        plan = reader.parse_plan_string(read, "\n".join(map(str, actions)))
        assert ours(domain, problem, actions) == theirs(read, plan)
