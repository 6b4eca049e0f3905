"""Where the plan does not go on by itself: levels by the table, goals and history that survive, and requirements."""

import json

from actors.execution import faults
from actors.execution.forbidden import changed_paths
from actors.execution.goals import Goal, goals_of, statuses
from actors.execution.replan_rules import given_facts
from actors.execution.result import run_phase
from actors.plans.reader import read_plan
from actors.run.settings import SettingsChanged
from actors.values.requirements import requirement_id
from tests.execution.stage import Stage, plan, step, tool, tools_for

NAMES = tools_for(plan(step("a"), step("b"), step("c"), step("x")))


def broken(stage, name="a"):
    return stage.tool(f"do_{name}", "permanent", reason="no such program")


def test_a_transient_failure_of_a_tool_is_a_local_retry_after_a_pause():
    """S111: same goals, same plan."""
    stage = Stage(plan(step("a", "start", "goal", retry_budget=2)))
    stage.tool("do_a", "transient", reason="the call took longer than 60 s")
    [decision] = [event for event in stage.events if event.kind == "attempt_decided"]
    assert (decision.level, decision.rule, decision.again) == ("local_retry", "tool_transient", True)
    assert decision.delay_seconds == 2.0
    assert stage.state.revision == 1


def test_a_failure_that_no_row_knows_has_the_last_row_and_a_warning():
    """S110."""
    stage = Stage(plan(step("a", "start", "goal", retry_budget=2)))
    stage.tool("do_a", "failed")
    [decision] = [event for event in stage.events if event.kind == "attempt_decided"]
    assert (decision.rule, decision.known) == ("otherwise", False)


def test_a_replan_starts_from_all_tokens_with_the_reason_and_keeps_the_goals():
    """S112, S116: a partial replan has the same goals and a revision marker."""
    stage = Stage(plan(step("a", "start", "x"), step("b", "x", "goal")), NAMES)
    stage.run_step("a")
    broken(stage, "b")
    facts = given_facts(stage.state, stage.state.replan)
    assert (facts.initial_state, facts.goal_state, facts.asks_nobody) == (("start", "x"), ("goal",), True)
    assert "no such program" in facts.failure_summary
    assert facts.achieved == ("a",)
    assert run_phase(stage.state) == "planning"
    stage.planned(plan(step("c", "x", "goal"), initial="start x"))
    assert run_phase(stage.state) == "validating"
    stage.proved()
    [marker] = [event for event in stage.events if event.kind == "plan_revised"]
    assert (marker.revision, marker.level) == (2, "partial_replan")
    assert run_phase(stage.state) == "executing"


def test_the_goals_change_by_the_users_word_only():
    """S113: the user has said so, or is asked."""
    stage = Stage(plan(step("a", "start", "goal")), NAMES)
    stage.post(kind="requirement", text="Also keep the old login.")
    facts = given_facts(stage.state, stage.state.replan)
    assert facts.goal_state is None
    assert stage.state.replan.level == "full_replan"


def test_a_rejected_plan_never_takes_the_place_of_the_old_one():
    stage = Stage(plan(step("a", "start", "goal")), NAMES)
    broken(stage)
    stage.planned(plan(step("c", "moon", "goal"), initial="start"))
    stage.proved()
    assert stage.state.revision == 1
    [_, decision] = [event for event in stage.events if event.kind == "trouble_decided"]
    assert (decision.cause, decision.level) == ("plan_rejected", "partial_replan")


def test_a_late_result_of_an_old_revision_changes_the_tokens_and_no_step_of_it_is_begun():
    """S117: downstream work sees the marker; what cannot be undone still counts."""
    value = plan(step("a", "start", "x"), step("b", "start", "y"), step("c", "x y", "goal"))
    stage = Stage(value, tools_for(value, do_b=tool("do_b", repeatable=False)))
    stage.post(kind="requirement", text="Keep the API.")
    assert stage.requests() == ["tool:b/r1.v1.a1.act"]
    stage.run_step("b")
    assert stage.state.tokens == {"start", "y"}
    assert stage.state.trace == ()
    assert stage.requests() == ["replan/r1.n1"]


def test_a_second_requirement_withdraws_the_planning_run_of_the_first():
    stage = Stage(plan(step("a", "start", "goal")), NAMES)
    stage.post(kind="requirement", text="Keep the API.")
    stage.post(kind="requirement", text="Keep the database.")
    assert stage.requests() == ["replan/r1.n2"]
    work = stage.work["replan/r1.n2"]
    assert "Keep the database." in stage.machine.brief(stage.state, work).problem


def test_goals_history_and_revisions_survive_a_replan():
    """S118."""
    stage = Stage(plan(step("a", "start", "x"), step("b", "x", "goal")), NAMES)
    stage.run_step("a")
    broken(stage, "b")
    stage.planned(plan(step("c", "x", "goal"), initial="start x"))
    stage.proved()
    state = stage.state
    assert [revision.trace for revision in state.earlier] == [("a:ok", "b:fail")]
    assert [past.step for past in state.history] == ["b"]
    [goal] = goals_of(state.plan.plan)
    found = statuses([goal], state.plan.program, state.now, state.tokens)
    assert found == {"goal": "pending"}


def test_a_failed_prerequisite_blocks_its_dependents_and_the_plan_is_made_anew():
    """S119: the finding carries the tag that the table reads."""
    first = {"kind": "goal", "quote": "data moved", "tokens": ["moved"]}
    second = {"kind": "goal", "quote": "page up", "tokens": ["up"], "depends_on": [requirement_id("data moved")]}
    value = plan(step("a", "start", "moved"), step("b", "moved", "up"), goal="moved up", requirements=[first, second])
    stage = Stage(value, NAMES, questions_max=0)
    stage.tool("do_a", "failed")
    [decision] = [event for event in stage.events if event.kind == "trouble_decided"]
    assert {finding.code for finding in decision.findings} == {"step.failed", "goal.prerequisite_failed"}
    assert (decision.rule, decision.level) == ("budget", "partial_replan"), "nobody may be asked for new goals"
    goals = goals_of(stage.state.plan.plan)
    found = statuses(goals, stage.state.plan.program, stage.state.now, stage.state.tokens)
    assert sorted(found.values()) == ["blocked", "failed"]


def test_a_requirement_violated_during_the_run_is_handed_over_at_once():
    """S120: by the difference of two snapshots; attempts that are left do not matter."""
    kept = {"kind": "must_keep", "quote": "no migrations", "paths": ["db/migrations"]}
    stage = Stage(plan(step("a", "start", "goal", retry_budget=3), requirements=[kept]), NAMES, snapshots=True)
    stage.tool("workspace:snapshot", output=json.dumps({"id": "c0"}))
    stage.tool("do_a")
    stage.tool("workspace:snapshot", output=json.dumps({"id": "c1", "changed": ["db/migrations/1.sql"]}))
    [decision] = [event for event in stage.events if event.kind == "trouble_decided"]
    assert (decision.cause, decision.rule) == ("requirement_violated", "requirement_violated")
    assert [finding.code for finding in stage.state.violations] == ["requirement.violated"]


def test_a_requirement_on_tokens_is_compared_after_every_step():
    """S120."""
    avoided = {"kind": "must_avoid", "quote": "no downtime", "tokens": ["down"]}
    value = plan(step("a", "start", "down"), step("b", "down", "goal"), requirements=[avoided])
    stage = Stage(value, NAMES, replans=False)
    stage.run_step("a")
    assert stage.state.trouble.cause == "requirement_violated"
    assert stage.question()[1] == ["go on with this plan", "give up"]
    stage.answer("go on with this plan")
    stage.run_step("b")
    assert stage.end == "success"


def test_the_findings_of_an_execution_carry_the_tags_of_their_kinds():
    """S109: failed tools, violated requirements and goals that depend on failed ones; rejected results have no tag."""
    attempt = Stage(plan(step("a", "start", "goal"))).state.active["a"]
    goal = Goal("g", "the page is up", frozenset({"up"}))
    requirement = {"kind": "must_keep", "quote": "no migrations", "paths": ["db"]}
    kept, _ = read_plan(plan(step("a", "start", "goal"), requirements=[requirement]))
    assert (
        faults.transient_failure(attempt, "t", "late").tags
        == faults.permanent_failure(attempt, "t", "gone").tags
        == ("tool_failure",)
    )
    assert [finding.tags for finding in faults.failed_prerequisites([(goal, goal)])] == [("goal_dependency_failure",)]
    assert [finding.tags for finding in changed_paths(kept.requirements, ["db/1.sql"], "a")] == [
        ("requirement_violation",)
    ]
    assert faults.reported_failure(attempt).tags == ()


def test_what_cannot_be_written_can_be_stored_all_the_same():
    """The output of a Python function may hold half a surrogate pair, which has no UTF-8."""
    stage = Stage(plan(step("a", "start", "goal")), NAMES, approval="each")
    stage.answer("yes")
    stage.tool("do_a", "failed", output="\ud800 wrong", reason="half \udfff")
    assert "? wrong" in stage.state.results["a"].findings[0].message


def test_an_author_that_lacks_names_of_the_tools_is_not_asked_until_another_one_takes_its_place():
    """A call of it would plan with names that no tool implements."""
    stage = Stage(plan(step("a", "start", "goal")), NAMES, author_lacks="your tools file lacks: coder")
    broken(stage)
    [request] = [event for event in stage.events if event.kind == "clarification_requested"]
    assert "make a new plan" not in [choice.value for choice in request.choices]
    assert "No new plan can be made: your tools file lacks: coder." in request.shown
    change = SettingsChanged(at=1.0, model="qwen3:8b")
    assert stage.config.with_settings(change).author_lacks == ""
