"""How steps run: in the order that the plan allows, attempted and checked as it says, with the trace that it proves."""

from actors.execution.state import SIDE_BY_SIDE_MAX
from actors.run.questions import USER
from actors.run.waits import CLOCK
from tests.execution.stage import Stage, person, plan, step, tools_for
from tests.support.questions import FORM

LINE = plan(step("a", "start", "x"), step("b", "x", "goal"))


def test_a_plan_of_two_steps_runs_to_its_goal():
    stage = Stage(LINE)
    assert stage.requests() == ["tool:a/r1.v1.a1.act"]
    assert stage.tool("do_a") == ["tool_finished", "tool_requested"]
    assert stage.tool("check_syntax") == ["tool_finished", "step_settled", "tool_requested"]
    assert stage.run_step("b") == ["tool_finished", "step_settled", "run_finished"]
    assert stage.end == "success"
    assert stage.state.trace == ("a:ok", "b:ok")
    assert stage.state.tokens == {"start", "x", "goal"}


def test_tools_waits_and_people_are_handed_the_request_itself():
    value = plan(step("a", "start", "x", retry_budget=2), step("b", "start", "goal"), step("c", "start", "y"))
    stage = Stage(value, tools_for(value, do_b=person()))
    stage.tool("do_a", "transient", reason="it took long")
    works = list(stage.work.values())
    assert {work.address for work in works} == {CLOCK, USER, "tool:do_c"}
    assert all(stage.machine.brief(stage.state, work) is work.request for work in works)


def test_independent_steps_run_side_by_side():
    stage = Stage(plan(step("a", "start", "x"), step("b", "start", "y"), step("c", "x y", "goal")))
    assert stage.requests() == ["tool:a/r1.v1.a1.act", "tool:b/r1.v1.a1.act"]


def test_a_transient_failure_is_tried_again_after_a_pause_and_a_permanent_one_is_not():
    value = plan(step("a", "start", "goal", retry_budget=3), step("b", "start", "y"))
    stage = Stage(value, replans=False)
    assert stage.tool("do_a", "transient", reason="it took long") == [
        "tool_finished",
        "attempt_decided",
        "wait_requested",
    ]
    assert stage.woken() == ["wait_ended", "tool_requested"]
    stage.run_step("b")
    assert stage.tool("do_a", "permanent", reason="no such program")[:3] == [
        "tool_finished",
        "attempt_decided",
        "step_settled",
    ]
    assert stage.state.trace == ("b:ok", "a:fail")
    text, options = stage.question()
    assert "no such program" in text
    assert options == ["try the step again", "the step is done", "give up"]


def test_a_failure_goes_back_to_an_ancestor_while_the_total_covers_it():
    value = plan(step("a", "start", "x"), step("b", "x", "goal", on_failure="a", dependencies="a"), total=5)
    stage = Stage(value, replans=False)
    for _ in range(2):
        stage.run_step("a")
        stage.run_step("b", check="failed")
    assert stage.state.trace == ("a:ok", "b:fail", "a:ok", "b:fail")
    assert stage.state.trouble.cause == "escalated"


def test_a_step_that_fails_with_a_contingency_goes_on():
    value = plan(
        step("a", "start", "goal", on_failure="continue", failure_effects=["broken"]),
        step("r", "broken", "goal"),
    )
    stage = Stage(value)
    stage.run_step("a", "failed")
    stage.run_step("r")
    assert stage.end == "success"
    assert stage.state.trace == ("a:fail", "r:ok")


def test_a_policy_runs_its_steps_fairly_until_its_goal():
    value = plan(
        step("a", "start", "", repeatable=True, on_failure="continue"),
        step("b", "start", "goal", delete_effects="start", repeatable=True, on_failure="continue"),
    )
    stage = Stage(value)
    assert stage.requests() == ["tool:a/r1.v1.a1.act"]
    stage.run_step("a")
    stage.run_step("b")
    assert stage.end == "success"


def test_only_so_many_steps_are_at_work_at_a_time():
    many = [step(f"s{number}", "start", f"t{number}") for number in range(SIDE_BY_SIDE_MAX + 3)]
    stage = Stage(plan(*many, goal=" ".join(f"t{number}" for number in range(SIDE_BY_SIDE_MAX + 3)), total=99))
    assert len(stage.requests("tool:")) == SIDE_BY_SIDE_MAX
    stage.run_step(stage.requests("tool:")[0].removeprefix("tool:").partition("/")[0])
    assert len(stage.requests("tool:")) == SIDE_BY_SIDE_MAX


def test_an_answer_for_the_planning_run_is_passed_on_whatever_it_says():
    stage = Stage(plan(step("a", "start", "goal")))
    stage.tool("do_a", "permanent", reason="gone")
    question = {**FORM.form, "text": "How?", "answer_schema": {"type": "string"}, "node": "g/v1.a1", "why": "g"}
    stage.planned({"unsuccessful_run": {"outcome": "needs_answer", "why": "?", "question": question}})
    stage.answer("the step is done")
    assert stage.requests() == ["replan/r1.n2"]
