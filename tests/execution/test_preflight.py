"""The preflight check in an execution: before the first step, after each new plan, and what follows from it."""

import json

from actors.execution.execution_questions import GO_ON, LOOK_AGAIN, REPLAN
from actors.run.tools import ToolOutcome
from actors.tools.preflight_rules import WORKSPACE_LOOK
from actors.tools.specs import CommandSpec
from tests.execution.stage import Stage, plan, step, tools_for

PLAN = plan(step("a", "start", "middle"), step("b", "middle", "goal"))
NEW = plan(step("c", "start", "goal", generator="do_a"))


def seen(*answers, why="it is gone"):
    sights = [{} if answer == "yes" else {"answer": answer, "why": why} for answer in answers]
    return json.dumps({"calls": sights})


def stage(**fields):
    tools = tools_for(PLAN)
    spec = CommandSpec(
        name="do_a", argv=("a",), folder="/", parameters={}, environment=(), output_bytes=1, transient_exit_codes=(),
        failure_pattern="",
    )  # fmt: skip
    return Stage(PLAN, tools.model_copy(update={"tools": {"do_a": spec}}), looks=True, **fields)


def test_no_step_begins_before_the_look_and_the_look_is_taken_once():
    made = stage()
    assert made.requests("tool:") == ["tool:workspace/look.n1"]
    needed = json.loads(made.work["tool:workspace/look.n1"].request.arguments)["calls"]
    assert [call["tool"] for call in needed] == ["do_a", "check_syntax", "do_b"]
    made.tool(WORKSPACE_LOOK, output=seen("yes", "yes", "yes"))
    made.run_step("a")
    made.run_step("b")
    assert made.end == "success"
    assert made.state.unsure == ()


def test_what_nobody_can_tell_is_kept_and_the_plan_goes_on():
    made = stage()
    made.tool(WORKSPACE_LOOK, output=seen("unknown", "yes", "yes"))
    assert [finding.message for finding in made.state.unsure] == ["the tool 'do_a': it is gone"]
    assert made.requests("tool:do_a")


def test_a_look_that_fails_tells_nothing_and_the_plan_goes_on():
    made = stage()
    made.tool(WORKSPACE_LOOK, ToolOutcome.PERMANENT, reason="no lock")
    assert made.requests("tool:do_a")
    assert "no lock" in made.state.unsure[0].message


def test_what_is_not_there_is_a_fact_for_a_new_plan_which_is_compared_in_turn():
    made = stage()
    made.tool(WORKSPACE_LOOK, output=seen("no", "yes", "yes"))
    [planner] = [work for work in made.work.values() if work.address == "planner"]
    facts = made.machine.brief(made.state, planner).given
    assert "world.lacks: the tool 'do_a': it is gone" in facts.failure_summary
    made.planned(NEW)
    made.proved()
    assert made.state.revision == 2
    made.tool(WORKSPACE_LOOK, output=seen("yes", "yes"))
    assert made.requests("tool:do_a")


def test_a_person_decides_where_no_new_plan_can_be_made():
    made = stage(replans=False)
    made.tool(WORKSPACE_LOOK, output=seen("no", "yes", "yes"))
    [question] = made.state.run.open_questions.values()
    options = question.answer_schema["enum"]
    assert options[:2] == [LOOK_AGAIN, GO_ON]
    assert REPLAN not in options
    made.answer(LOOK_AGAIN)
    assert made.requests("tool:") == ["tool:workspace/look.n2"]
    made.tool(WORKSPACE_LOOK, output=seen("no", "yes", "yes"))
    made.answer(GO_ON)
    assert made.requests("tool:do_a")


def test_no_preflight_check_is_made_unless_the_configuration_asks_for_it():
    assert Stage(PLAN, tools_for(PLAN)).requests("tool:do_a")
