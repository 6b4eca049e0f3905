"""Outside plans with seeded mistakes, written as PDDL, are judged as unified-planning's own validator judges them."""

import os
import random
import statistics
import time

from unified_planning.io import PDDLReader
from unified_planning.shortcuts import get_environment

from packages.lab.tests.pddl.test_against_unified_planning import theirs
from replan_lab.pddl.action_list import read_plan_actions
from replan_lab.pddl.domain_reader import read_domain, read_problem
from replan_lab.pddl.judging import judge_actions
from tests.long.conformance.test_external_plans import as_pddl
from tests.support.external import cases

get_environment().credits_stream = None
MUTATIONS = 10
"""Changed plans for each plan."""
SHARE = 1 if os.environ.get("REPLAN_CONFORMANCE") else 10
"""One plan in so many is changed; `make conformance` takes all."""
MEDIAN_SECONDS_MAX = 0.05


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
