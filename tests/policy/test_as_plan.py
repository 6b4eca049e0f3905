"""The search policy as a contingent plan: proved by the plan guards, and compared with the decisions of the policy."""

import json

import pytest

from actors.config.loader import load_policy, load_workflow, shipped_workflows
from actors.guards import plan_expansive
from actors.planning.config import RunConfig
from actors.planning.policy_as_plan import as_plan
from actors.policy.decision import decide
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Code
from replan.setup.installation import data_root
from runtime.models.replies import ReplyCode
from tests.policy.situations import failure, situation
from tests.support.worlds import SEEDS, pinned

SHIPPED = shipped_workflows(data_root())


def shipped(name):
    loaded = load_workflow(name, data_root())
    policy = load_policy(loaded.workflow.policy, data_root())
    return RunConfig(workflow=loaded.workflow, policy=policy, prompts=loaded.prompts, model="toy")


def judged(plan, **config):
    guard = plan_expansive.make(config)
    return guard(Artifact("plan", "plan", json.dumps(plan)), Context(""))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_policy_of_a_shipped_workflow_is_a_plan_that_the_strictest_guard_accepts(name):
    """S46: no dead end, the invariants hold, and the goal or a person is reachable from everywhere."""
    plan = as_plan(shipped(name))
    verdict = judged(plan)
    assert verdict.passed, verdict.findings
    assert verdict.facts["assurance"] in ("strong", "strong_cyclic")
    assert verdict.facts["escalations"], "some trace ends with a person"


def test_the_plan_names_the_rows_that_lead_back():
    """S46: the backtracking steps of the seeds' plan step are those of the table."""
    names = {step["step_id"]: step["name"] for step in as_plan(pinned(SEEDS))["steps"]}
    assert "wrong_strategy" in names["g_plan.to.g_strategy"]
    assert "wrong_facts" in names["g_plan.to.g_recon"]
    assert "wrong_workflow" in names["g_plan.to.g_analysis"]
    assert "g_plan.to.g_plan" not in names
    assert names["g_recon.to.g_recon"].endswith("when nothing else is allowed")


def test_attempts_are_retry_budgets_and_visits_are_steps():
    """S23: a non-leaf has a plan step per visit, a leaf has one."""
    steps = {step["step_id"]: step for step in as_plan(pinned(SEEDS))["steps"] if ".to." not in step["step_id"]}
    for step, settings in SEEDS.items():
        visits = [name for name in steps if name == step or (name.startswith(f"{step}.") and name[-1].isdigit())]
        assert len(visits) == 1 + settings.get("backtrack_budget", 0)
        assert all(steps[visit]["retry_budget"] == settings["rmax"] for visit in visits)


def test_a_policy_that_forgets_to_clear_what_builds_on_a_step_is_rejected():
    """S5: the guard can reject: an invariant forbids an accepted plan whose strategy is unset."""
    plan = as_plan(pinned(SEEDS | {"g_late": {"requires": ["g_strategy"]}}))
    for step in plan["steps"]:
        if step["step_id"] == "g_plan.to.g_strategy":
            step["delete_effects"].remove("g_late: accepted")
    verdict = judged(plan)
    assert "plan.invariant_broken" in {finding.code for finding in verdict.errors}


def test_a_policy_that_asks_nobody_has_dead_ends():
    plan = as_plan(pinned(SEEDS))
    plan["steps"] = [step for step in plan["steps"] if not step["step_id"].endswith(".ask")]
    assert "plan.dead_end" in {finding.code for finding in judged(plan).errors}


def test_every_decision_of_the_table_is_a_step_of_the_plan():
    """S46: for each decision of the table in the seeds' workflow, the plan has a step that carries it out."""
    config = pinned(SEEDS)
    known = {step["step_id"] for step in as_plan(config)["steps"]}
    for step in SEEDS:
        for code in [*Code, *ReplyCode]:
            for attempt in (1, 3):
                where = situation(step, graph=config.graph, roles=config.roles, attempt=attempt)
                decision = decide(failure(code, step=step), where)
                if decision.level in ("partial_replan", "full_replan"):
                    assert f"{step}.to.{'+'.join(decision.targets)}" in known


def test_steps_that_are_redone_together_are_one_way_back():
    """S103: `escalate_to` with two steps."""
    steps = {
        "a": {"backtrack_budget": 1},
        "b": {"backtrack_budget": 1},
        "c": {"requires": ["a", "b"], "escalate_to": ["a", "b"]},
    }
    plan = as_plan(pinned(steps))
    (backtrack,) = (step for step in plan["steps"] if step["step_id"] == "c.to.a+b")
    assert set(backtrack["effects"]) == {"a: wanted", "b: wanted", "c: wanted"}
    assert judged(plan).passed
