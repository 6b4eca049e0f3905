"""Outside plans, written as PDDL, are judged as published; with mistakes, as unified-planning's validator does."""

import os
import random
import statistics
import time

import pytest
from unified_planning.io import PDDLReader
from unified_planning.shortcuts import get_environment

from packages.lab.tests.pddl.test_against_unified_planning import theirs
from replan_lab.pddl.action_list import read_plan_actions
from replan_lab.pddl.domain_reader import read_domain, read_problem
from replan_lab.pddl.judging import judge_actions
from tests.support.external import cases

get_environment().credits_stream = None
MUTATIONS = 10
"""Changed plans for each plan."""
SHARE = 1 if os.environ.get("REPLAN_CONFORMANCE") else 10
"""One plan in so many is changed; `make conformance` takes all."""
MEDIAN_SECONDS_MAX = 0.05


def as_pddl(plan):
    """Return a plan of ground steps as a domain, a problem and a sequential plan in PDDL.

    Each token is a predicate without terms, and each step an action without parameters.
    """
    tokens = {*plan["initial_state"], *plan["goal_state"]}
    for step in plan["steps"]:
        tokens |= {*step["preconditions"], *step["effects"], *step["delete_effects"]}
    atom = {token: f"(t{number})" for number, token in enumerate(sorted(tokens))}
    actions = [
        f"(:action {step['step_id']} :parameters () "
        f":precondition (and {' '.join(atom[token] for token in step['preconditions'])}) "
        f":effect (and {' '.join(f'(not {atom[token]})' for token in step['delete_effects'])} "
        f"{' '.join(atom[token] for token in step['effects'])}))"
        for step in plan["steps"]
    ]
    domain = f"(define (domain d) (:predicates {' '.join(atom.values())}) {' '.join(actions)})"
    initial, goal = (" ".join(atom[token] for token in plan[key]) for key in ("initial_state", "goal_state"))
    problem = f"(define (problem p) (:domain d) (:init {initial}) (:goal (and {goal})))"
    return domain, problem, "\n".join(f"({step['step_id']})" for step in plan["steps"]), atom


@pytest.mark.parametrize(("name", "count"), [("planbench.jsonl", 241), ("acpbench.jsonl", 80)])
def test_published_verdicts_hold_for_the_same_plans_in_pddl(name, count):
    """Each plan is written as PDDL and checked as `lab pddl check` does; malformed plans have no form in PDDL."""
    rows = [row for row in cases(name) if row["expected"]["failure_kind"] != "malformed"]
    for row in rows:
        domain, problem, plan, atom = as_pddl(row["plan"])
        read = read_domain(domain, "d")
        judgement = judge_actions(read, read_problem(problem, "p", read), read_plan_actions(plan, "plan"))
        expected = row["expected"]
        assert judgement.verdict.passed == expected["valid"], row["case_id"]
        failing = judgement.failure
        assert (failing and failing.action.name) == expected["first_failing_step"], row["case_id"]
        unmet = failing.unmet if failing else judgement.unmet_goals
        assert unmet == tuple(sorted(atom[token] for token in expected["unmet"])), row["case_id"]
    assert len(rows) == count


def changed(lines, schemas, seed):
    """Yield plans with a dropped action, with two swapped ones, and with other arguments of an action."""
    chance = random.Random(seed)
    for number in range(MUTATIONS):
        found, index = list(lines), chance.randrange(len(lines))
        match ("drop", "swap", "arguments")[number % 3]:
            case "drop":
                del found[index]
            case "swap":
                other = chance.randrange(len(found))
                found[index], found[other] = found[other], found[index]
            case _:
                alike = [line for line in lines if schemas[line] == schemas[lines[index]] and line != lines[index]]
                found[index] = chance.choice(alike or lines)
        yield found


def test_plans_with_mistakes_are_judged_as_unified_planning_judges_them():
    """The verdict and the first action that cannot run. The ground problem of a plan has the plan's actions alone."""
    rows = [row for name in ("planbench.jsonl", "acpbench.jsonl") for row in cases(name)]
    rows = [row for row in rows if row["expected"]["failure_kind"] != "malformed" and row["plan"]["steps"]]
    different, seconds, verdicts = [], [], []
    for row in rows[::SHARE]:
        domain_text, problem_text, plan, _ = as_pddl(row["plan"])
        reader = PDDLReader()
        their_problem = reader.parse_problem_string(domain_text, problem_text)
        schemas = {f"({step['step_id']})": step["name"].strip("(").partition(" ")[0] for step in row["plan"]["steps"]}
        for lines in changed(plan.splitlines(), schemas, row["case_id"]):
            text = "\n".join(lines)
            began = time.process_time()
            domain = read_domain(domain_text, "domain")
            problem = read_problem(problem_text, "problem", domain)
            judgement = judge_actions(domain, problem, read_plan_actions(text, "plan"))
            seconds.append(time.process_time() - began)
            mine = judgement.verdict.passed, judgement.failure and judgement.failure.index
            other = theirs(their_problem, reader.parse_plan_string(their_problem, text))
            verdicts.append(mine)
            if mine != other:
                different.append((row["case_id"], text, mine, other))
    assert different == []
    assert len(verdicts) == MUTATIONS * len(rows[::SHARE]) >= MUTATIONS * 30
    assert {passed for passed, _ in verdicts} == {True, False}
    assert statistics.median(seconds) <= MEDIAN_SECONDS_MAX
