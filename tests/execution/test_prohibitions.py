"""Prohibitions are the execution's and not a plan's: they survive every replan, and no forbidden tool starts."""

import json

import pytest

from actors.execution.proof import guard_of, prove
from actors.execution.replan_brief import given_facts
from actors.values.requirements import requirement_id
from tests.execution.stage import Stage, plan, step, tool, tools_for, toolset

KEPT = {
    "kind": "must_keep",
    "text": "LICENSE must not change",
    "quote": "LICENSE must not change",
    "paths": ["LICENSE"],
}
AVOIDED = {
    "kind": "must_avoid",
    "text": "never use the shredder",
    "quote": "never use the shredder",
    "tools": ["shredder"],
}
INVARIANT = {"must": ["safe"]}


def guarded(*steps, **fields):
    """Return a plan with a prohibition of each sort."""
    return plan(*steps, initial="start safe", requirements=[KEPT, AVOIDED], invariants=[INVARIANT], **fields)


TOOLS = toolset({"do": tool("do"), "shredder": tool("shred"), "other": tool("other")}, {"syntax": tool("check")})
DO = step("a", "start", "goal", generator="do")
SHRED = step("b", "start", "goal", generator="shredder")


def broken(stage):
    """Have the tool of the only step fail for good."""
    stage.tool("do", "permanent", reason="no such program")


def stated(given):
    """Return the quotes of the requirements that a planning run is given."""
    return {each["quote"] for each in (*(given.requirements or ()), *given.kept_requirements)}


def test_a_full_replan_hands_every_prohibition_and_invariant_to_the_planning_run():
    stage = Stage(guarded(DO), TOOLS)
    stage.post(kind="requirement", text="out.txt is needed by noon")
    assert stage.state.replan.level == "full_replan"
    given = given_facts(stage.state, stage.state.replan)
    assert given.goal_state is None, "the goals may change"
    assert {KEPT["quote"], AVOIDED["quote"]} <= stated(given)
    assert given.kept_invariants == (INVARIANT,)
    assert {each["quote"] for each in given.shown["kept_requirements"]} >= {KEPT["quote"], AVOIDED["quote"]}


def test_a_partial_replan_hands_every_requirement_to_the_planning_run():
    stage = Stage(guarded(DO), TOOLS)
    broken(stage)
    assert stage.state.replan.level == "partial_replan"
    given = given_facts(stage.state, stage.state.replan)
    assert {each["quote"] for each in given.requirements} == {KEPT["quote"], AVOIDED["quote"]}
    assert [each["must"] for each in given.invariants] == [["safe"]]


def test_after_a_full_replan_a_plan_that_uses_a_forbidden_tool_is_rejected_and_the_planning_run_is_told_why():
    """The new plan names no requirement at all."""
    stage = Stage(guarded(DO), TOOLS)
    stage.post(kind="requirement", text="out.txt is needed by noon")
    stage.planned(plan(SHRED, initial="safe start"))
    stage.proved()
    assert stage.state.revision == 1
    assert stage.state.replan.level == "full_replan", "it is planned again, and nobody is asked"
    summary = given_facts(stage.state, stage.state.replan).failure_summary
    assert "never use the shredder" in summary
    assert "'b' uses 'shredder'" in summary


def test_a_new_plan_that_leaves_out_its_prohibitions_has_them_all_the_same():
    stage = Stage(guarded(DO), TOOLS, snapshots=True)
    stage.tool("workspace:snapshot", output=json.dumps({"id": "c0"}))
    stage.post(kind="requirement", text="out.txt is needed by noon")
    stage.planned(plan(step("c", "start", "goal", generator="other"), initial="safe start"))
    stage.proved()
    assert stage.state.revision == 2
    assert {item.quote for item in stage.state.plan.plan.requirements} >= {KEPT["quote"], AVOIDED["quote"]}
    assert stage.state.plan.plan.invariants
    stage.tool("other")
    stage.tool("workspace:snapshot", output=json.dumps({"id": "c1", "changed": ["LICENSE"]}))
    assert [finding.code for finding in stage.state.violations] == ["requirement.violated"]


def test_a_new_plan_that_weakens_a_prohibition_is_proved_against_the_whole_of_it():
    stage = Stage(guarded(DO), TOOLS)
    broken(stage)
    stage.planned(plan(SHRED, initial="safe start", requirements=[{**AVOIDED, "kind": "goal", "tools": []}, KEPT]))
    stage.proved()
    assert stage.state.revision == 1
    assert stage.state.trouble is None
    assert stage.state.replans == 2


def test_a_new_plan_that_breaks_an_invariant_of_the_first_one_goes_back_to_the_planning_run_with_the_finding():
    """The planning run itself proves no invariants at its level; the proof of the execution does."""
    value = plan(DO, initial="start safe", invariants=[INVARIANT])
    stage = Stage(value, TOOLS)
    broken(stage)
    stage.planned(plan(step("c", "start", "goal", generator="other", delete_effects="safe"), initial="safe start"))
    stage.proved()
    assert stage.requests() == ["replan/r1.n2"]
    assert "plan.invariant_broken" in given_facts(stage.state, stage.state.replan).failure_summary


def test_a_person_is_asked_about_rejected_plans_once_no_replan_is_left_and_reads_no_finding():
    stage = Stage(guarded(DO), TOOLS)
    broken(stage)
    for _ in range(2):
        stage.planned(plan(SHRED, initial="safe start"))
        stage.proved()
    text, options = stage.question()
    assert "the tool 'do' cannot be called: no such program" in text
    assert "2 attempts" in text
    assert text.endswith("?")
    assert "requirement.violated" not in text
    assert requirement_id(AVOIDED["quote"]) not in text
    assert "give up" in options


def test_partial_replans_that_find_no_plan_lead_to_a_full_one_by_themselves():
    """S113: the plan is infeasible."""
    stage = Stage(guarded(DO), TOOLS)
    broken(stage)
    stage.planned({"unsuccessful_run": {"outcome": "all_pruned", "why": "no way"}})
    assert stage.state.replan.level == "full_replan"
    assert stage.requests() == ["replan/r1.n2"]
    stage.planned({"unsuccessful_run": {"outcome": "all_pruned", "why": "no way"}})
    text, _ = stage.question()
    assert "no such program" in text


def test_a_planning_run_that_ran_out_of_calls_says_nothing_about_the_goals():
    stage = Stage(guarded(DO), TOOLS)
    broken(stage)
    stage.planned({"unsuccessful_run": {"outcome": "budget_exhausted", "why": "no calls left"}})
    assert stage.state.replan is None
    assert stage.question()[0].endswith("?")


@pytest.mark.parametrize("name", ["shredder", "shred", "Shredder "])
def test_the_proof_compares_forbidden_tools_with_names_and_with_what_they_are_bound_to(name):
    value = plan(SHRED, requirements=[{**AVOIDED, "tools": [name]}])
    verdict = prove(guard_of("plan_expansive", TOOLS, "strong_cyclic", 100), json.dumps(value))
    assert not verdict.passed
    [finding] = verdict.errors
    assert (finding.code, finding.tags) == ("requirement.violated", ("requirement_violation",))


def test_a_guard_may_be_forbidden_too():
    value = plan(DO, requirements=[{**AVOIDED, "tools": ["check"]}])
    assert not prove(guard_of("plan_minimal", TOOLS, "none", 100), json.dumps(value)).passed


def test_a_tool_that_the_user_forbids_later_does_not_start_and_going_on_is_no_choice():
    value = plan(step("a", "start", "x", generator="do"), step("b", "x", "goal", generator="shredder"))
    stage = Stage(value, TOOLS, replans=False)
    stage.post(kind="requirement", text="Never use the shredder.")
    stage.answer("go on with this plan")
    stage.tool("do")
    stage.tool("check")
    text, options = stage.question()
    assert "'b' uses 'shredder'" in text
    assert options == ["the step is done", "give up"]
    assert not [event for event in stage.events if event.kind == "tool_requested" and event.tool == "shred"]
    stage.answer("the step is done")
    assert stage.end == "success"


def test_a_check_that_the_user_forbids_while_its_step_is_at_work_does_not_start():
    value = plan(step("a", "start", "goal", generator="do"))
    stage = Stage(value, toolset({"do": tool("do", repeatable=False)}, {"syntax": tool("check")}), replans=False)
    stage.post(kind="requirement", text="You must not use the tool `check`.")
    stage.tool("do")
    assert not stage.requests("tool:")
    assert [event.tool for event in stage.events if event.kind == "tool_requested"] == ["do"]


def test_what_the_user_forbids_is_kept_by_the_plans_after_it_as_far_as_it_can_be_read():
    stage = Stage(plan(DO), TOOLS)
    stage.post(kind="requirement", text="Do not change db/schema.sql and never use the shredder.")
    kept = stage.state.constraints.requirements
    assert {path for item in kept for path in item.paths} == {"db/schema.sql"}
    assert {name for item in kept for name in item.tools} == {"shredder"}
    given = given_facts(stage.state, stage.state.replan)
    assert {each["quote"] for each in given.kept_requirements} == {item.quote for item in kept}


def test_what_the_program_cannot_read_reaches_the_planning_run_as_text():
    stage = Stage(plan(DO), TOOLS)
    stage.post(kind="requirement", text="Bitte nichts anfassen, was nicht nötig ist.")
    work = stage.work[stage.only("planner")]
    assert "Bitte nichts anfassen" in stage.machine.brief(stage.state, work).problem


def test_a_further_replan_still_has_what_the_user_has_forbidden():
    stage = Stage(plan(DO), tools_for(plan(DO, SHRED)))
    stage.post(kind="requirement", text="Never use the shredder.")
    stage.planned(plan(DO, initial="start"))
    stage.proved()
    broken(stage)
    assert stage.state.replan.level == "partial_replan"
    assert "Never use the shredder" in stated(given_facts(stage.state, stage.state.replan))
