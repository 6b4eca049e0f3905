"""Prohibitions are the execution's and not a plan's: they survive every replan, and no forbidden tool starts."""

import json

import pytest

from actors.execution.forbidden import forbidden_uses
from actors.execution.replan_rules import given_facts, guard_of, prove
from actors.execution.result import goal_views, result_of, step_views
from actors.plans.reader import read_draft
from actors.run.machine import MODEL
from actors.run.result import RunView
from actors.values.model_settings import ModelSettings
from actors.values.requirements import Requirement, requirement_id
from tests.execution.stage import Stage, plan, step, tool, tools_for, toolset, writer


def requires(kind, quote, **fields):
    return {"kind": kind, "text": quote, "quote": quote, **fields}


KEPT = requires("must_keep", "LICENSE must not change", paths=["LICENSE"])
AVOIDED = requires("must_avoid", "never use the shredder", tools=["shredder"])
INVARIANT = {"must": ["safe"]}


def guarded(*steps, **fields):
    return plan(*steps, initial="start safe", requirements=[KEPT, AVOIDED], invariants=[INVARIANT], **fields)


TOOLS = toolset({"do": tool("do"), "shredder": tool("shred"), "other": tool("other")}, {"syntax": tool("check")})
DO = step("a", "start", "goal", generator="do")
SHRED = step("b", "start", "goal", generator="shredder")


def broken(stage):
    stage.tool("do", "permanent", reason="no such program")


def stated(given):
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
    assert "Attempts to make a new plan so far: 2." in text
    assert text.partition("\n")[0].endswith("?")
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
    assert stage.question()[0].partition("\n")[0].endswith("?")


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


def compared(stage, changed, done=("do",)):
    """Play a step whose snapshots, after its work and after its check, find these changed paths."""
    for name in done:
        stage.tool(name)
    stage.tool("workspace:snapshot", output=json.dumps({"id": "c1", "changed": changed}))
    if stage.requests("tool:check"):
        stage.tool("check")


def with_snapshots(*requirements, **fields):
    stage = Stage(plan(DO, requirements=list(requirements)), TOOLS, snapshots=True, replans=False, **fields)
    stage.tool("workspace:snapshot", output=json.dumps({"id": "c0"}))
    return stage


def test_a_check_that_changes_a_protected_path_is_a_violation_and_its_step_fails():
    stage = with_snapshots(KEPT)
    compared(stage, [])
    stage.tool("workspace:snapshot", output=json.dumps({"id": "c2", "changed": ["LICENSE"]}))
    assert {finding.code for finding in stage.state.violations} == {"requirement.violated", "step.check_changes"}
    assert stage.state.trouble.cause == "requirement_violated"


def test_a_check_that_changes_other_files_is_a_violation_of_its_own_and_its_step_goes_on():
    """Tests that leave a cache behind do not fail a step; the result says so."""
    stage = with_snapshots(KEPT)
    compared(stage, [])
    stage.tool("workspace:snapshot", output=json.dumps({"id": "c2", "changed": ["cache/x"]}))
    stage.tool("workspace:snapshot", output=json.dumps({"id": "c3", "changed": ["cache/x"]}))
    assert stage.end == "success"
    [finding] = stage.state.violations
    assert finding.code == "step.check_changes"
    assert "the check 'syntax' of the step 'a' changed files: cache/x" in finding.message


def test_a_change_outside_of_the_scope_is_a_violation():
    stage = with_snapshots(requires("scope", "only docs/", paths=["docs"]))
    compared(stage, ["docs/a.md", "out.txt"])
    [finding] = stage.state.violations
    assert "out.txt changed outside this scope" in finding.message


@pytest.mark.parametrize(("most", "broken"), [("1", True), ("2", False)])
def test_a_budget_of_files_counts_what_all_steps_have_changed(most, broken):
    stage = with_snapshots(requires("budget", "few files", limit={"name": "files", "value": most}))
    compared(stage, ["a.py", "b.py"])
    assert bool(stage.state.violations) == broken


@pytest.mark.parametrize(("value", "late"), [("1970-01-01T00:01:00Z", True), ("2999-01-01", False), ("soon", False)])
def test_a_deadline_that_is_a_time_is_compared_after_each_step(value, late):
    deadline = requires("deadline", "in time", limit={"name": "end", "value": value})
    stage = Stage(plan(DO, requirements=[deadline]), TOOLS, replans=False)
    stage.tool("do")
    stage.tool("check")
    assert bool(stage.state.violations) == late


def test_what_the_execution_cannot_compare_is_listed_as_not_checked():
    unchecked = [requires("budget", "at most 100 EUR"), requires("deadline", "by yesterday"), KEPT]
    stage = Stage(plan(DO, requirements=[*unchecked, AVOIDED]), TOOLS)
    result = result_of(RunView("run", "running", stage.state, stage.state))
    assert [item.quote for item in result.not_checked] == [item["quote"] for item in unchecked]
    assert "not checked: budget: at most 100 EUR" in result.remarks()


def test_goals_of_earlier_revisions_are_shown_after_a_full_replan_with_what_became_of_them():
    """S118."""
    goals = [requires("goal", "data exists", tokens=["x"]), requires("goal", "report exists", tokens=["y"])]
    value = plan(step("a", "start", "x"), step("b", "x", "y"), goal="x y", requirements=goals)
    stage = Stage(value, tools_for(plan(step("a"), step("b"), step("c"))))
    stage.run_step("a")
    stage.post(kind="requirement", text="A table will do.")
    stage.planned(plan(step("c", "x", "z"), initial="start x", goal="z") | {"goal": "a table exists"})
    stage.proved()
    shown = {goal.text: goal.status for goal in goal_views(stage.state)}
    assert shown == {"a table exists": "pending", "data exists": "achieved", "report exists": "dropped"}


def test_the_text_of_the_goal_survives_a_partial_replan():
    """S118: of a plan without goal requirements too."""
    stage = Stage(guarded(DO) | {"goal": "the file out.txt exists"}, TOOLS)
    broken(stage)
    stage.planned(plan(step("c", "start", "goal", generator="other"), initial="safe start") | {"goal": "b"})
    stage.proved()
    assert [goal.text for goal in goal_views(stage.state)] == ["the file out.txt exists"]


def test_the_back_off_doubles_between_the_visits_of_a_step():
    stage = Stage(plan(DO), TOOLS, replans=False)
    for _ in range(3):
        stage.tool("do", "transient", reason="late")
        stage.woken()
    delays = [event.delay_seconds for event in stage.events if event.kind == "trouble_decided"]
    assert delays == [2.0, 4.0, 8.0]


def test_the_story_lists_steps_in_the_order_in_which_they_ended():
    value = plan(step("a", "start broken", "goal"), step("b", "start", "x"), step("c", "x", "broken"))
    stage = Stage(value)
    stage.run_step("b")
    stage.run_step("c")
    assert [shown.step for shown in step_views(stage.state)] == ["b", "c", "a"]


def test_the_prompt_of_a_model_shows_its_last_five_rejections_and_not_only_the_last():
    value = plan(step("a", "start", "goal", retry_budget=7))
    stage = Stage(value, toolset({"do_a": writer()}, {"syntax": tool("check")}))
    for number in range(6):
        stage.tool("workspace:read", output='{"files": {}}')
        stage.reply(f"text {number}")
        stage.tool("workspace:write")
        stage.tool("check", "failed", output=f"wrong {number}")
    said = [feedback.text for feedback in stage.state.feedback["a"]]
    assert [f"wrong {number}" in text for number, text in zip(range(1, 6), said, strict=True)] == [True] * 5


def test_a_file_is_asked_for_with_the_settings_of_the_run_and_a_change_of_them():
    value = plan(step("a", "start", "goal", retry_budget=7))
    stage = Stage(value, toolset({"do_a": writer()}, {"syntax": tool("check")}), model_settings={"seed": 1})
    stage.tool("workspace:read", output='{"files": {}}')
    [work] = [work for work in stage.machine.outstanding(stage.state).values() if work.address == MODEL]
    assert stage.machine.brief(stage.state, work).fields == {"seed": 1}
    stage.post(kind="change", model_settings={"seed": 2})
    assert stage.machine.brief(stage.state, work).fields == {"seed": 2}
    planned = stage.state.config.planning
    assert planned.steps["g_plan"].settings == ModelSettings(seed=2)


@pytest.mark.parametrize(("kind", "findings"), [("must_avoid", 1), ("must_keep", 0)])
def test_only_what_must_be_avoided_forbids_the_tools_that_it_names(kind, findings):
    draft, _ = read_draft(plan(SHRED, initial="start"))
    requirement = Requirement("r1", kind, "use no shredder", "use no shredder", tools=("shredder",))
    assert len(forbidden_uses([requirement], draft.steps[0], None)) == findings
