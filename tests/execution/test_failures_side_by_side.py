"""Steps that fail side by side: each failure that the plan hands over gets a decision of its own."""

from tests.execution.stage import Stage, plan, step

PAIR = plan(step("a", "start", "x"), step("b", "start", "y"), goal="x y")


def both_fail():
    """Return an execution in which two steps that run side by side had a transient fault."""
    stage = Stage(PAIR, replans=False)
    assert stage.tool("do_a", "transient") == ["tool_finished"]
    stage.tool("do_b", "transient")
    return stage


def test_where_one_is_tried_again_the_other_is_decided_about_next():
    stage = both_fail()
    decided = [event for event in stage.events if event.kind == "trouble_decided"]
    assert [(event.step, event.level) for event in decided] == [("a", "local_retry")]
    stage.woken()
    stage.run_step("a")
    decided = [event for event in stage.events if event.kind == "trouble_decided"]
    assert [(event.step, event.level) for event in decided] == [("a", "local_retry"), ("b", "local_retry")]
    stage.woken()
    stage.run_step("b")
    assert stage.end == "success"


def test_a_person_is_asked_about_each_of_them():
    stage = Stage(PAIR, replans=False)
    stage.tool("do_a", "permanent")
    stage.tool("do_b", "permanent")
    for step_id in ("a", "b"):
        text, _options = stage.question()
        assert repr(step_id) in text
        stage.answer("the step is done")
    assert stage.end == "success"
    assert stage.state.tokens == {"start", "x", "y"}


def test_a_failure_that_is_not_decided_about_when_the_run_ends_is_recorded_all_the_same():
    stage = Stage(PAIR, replans=False, questions_max=0)
    stage.tool("do_a", "permanent")
    stage.tool("do_b", "permanent")
    assert stage.end == "goals_failed"
    settled = [event for event in stage.events if event.kind == "step_settled"]
    assert [(event.step, event.outcome, event.late) for event in settled] == [("a", "fail", False), ("b", "fail", True)]
