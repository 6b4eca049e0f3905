"""What an execution hands back that ends before its goals: what is done, what is left, and the next steps."""

import pytest

from actors.execution.result import result_of
from actors.execution.result_lines import result_lines
from actors.execution.views import VIEWS
from actors.run.result import RunView
from replan.api.check import check
from runtime.core.errors import UsageProblem
from tests.execution.stage import Begun, Stage, plan, step, tool, tools_for

PLAN = plan(
    step("a", "start", "x"),
    step("b", "start", "y", on_failure="continue", failure_effects="sad"),
    step("mend", "sad", "y", dependencies="b"),
    step("c", "x y", "goal", dependencies="a b"),
)


def result(stage):
    return result_of(RunView("r1", "finished", stage.state, stage.state))


def draft(stage):
    return VIEWS.documents["draft"](stage.state, result(stage), "replan").json


def stopped(tools=None, *, begun=False, **fields):
    """Return an execution that is cancelled after its first step, once the tool of `b` has begun if `begun`."""
    stage = Stage(PLAN, tools, **fields)
    stage.run_step("a")
    if begun:
        stage.send(Begun(stage.only("tool:"), stage.now))
    stage.post(kind="cancel")
    return stage


def statuses(stage):
    return {step.step: (str(step.status), step.attempts) for step in result(stage).steps}


def test_a_cancelled_execution_says_what_is_done_what_is_left_and_what_comes_next():
    found = result(stopped())
    rows = [row.plain.strip() for row in result_lines(found, "replan")]
    assert rows[rows.index("Plan p") + 1 : rows.index("goal pending: reach the goal")] == [
        "✓ a  (4.0 s)",
        "· b  (not done, 1 attempt of 1)",
        "· c  (not done)",
        "- mend  (not needed)",
        "",
    ]
    assert rows[rows.index("lacks goal") + 1] == "next  b"
    assert rows[-1] == "The remaining steps, as a plan that is not proved: replan export r1 --draft -o draft.json"
    told = found.to_json()
    assert (told["next"], told["missing"], told["state"]) == (["b"], ["goal"], ["start", "x"])


def test_the_rest_of_a_cancelled_execution_is_a_plan_that_check_proves():
    rest = draft(stopped())
    assert rest["not_proved"] == "The rest of execution r1 is not proved: 3 of 4 steps are left; missing tokens: goal."
    assert [step["step_id"] for step in rest["plan"]["steps"]] == ["b", "mend", "c"]
    assert rest["plan"]["initial_state"] == ["start", "x"]
    assert check(rest["plan"], level="expansive").passed


def test_a_step_that_waited_for_an_approval_is_not_done_and_had_no_attempt():
    stage = stopped(tools_for(PLAN, do_b=tool("do_b", risky=True)), approval="risky")
    assert statuses(stage)["b"] == ("not_done", 0)


def test_nobody_knows_what_a_tool_has_done_that_may_run_only_once_and_was_not_checked():
    """The rest of the plan would do the step again, which its person has to know."""
    stage = stopped(tools_for(PLAN, do_b=tool("do_b", repeatable=False)), begun=True)
    assert statuses(stage)["b"] == ("running", 1), "the run ends with the tool"
    assert not result(stage).has_draft
    stage.tool("do_b")
    assert statuses(stage)["b"] == ("unknown", 1)
    assert draft(stage)["not_proved"].endswith("; missing tokens: goal; nobody knows whether these steps were done: b.")


def test_an_execution_whose_goals_failed_hands_back_the_step_that_failed_with_all_behind_it():
    value = plan(step("a", "start", "x"), step("b", "x", "goal", dependencies="a"))
    stage = Stage(value, replans=False)
    while not stage.requests("user"):
        stage.run_step("a", "failed")
    stage.answer("give up")
    assert (str(stage.end), result(stage).next) == ("goals_failed", ())
    assert [step["step_id"] for step in draft(stage)["plan"]["steps"]] == ["a", "b"]
    assert statuses(stage)["b"] == ("not_done", 0)


@pytest.mark.parametrize(("steps", "cause"), [(["a"], "the run has not ended"), (["a", "b", "c"], "no step is left")])
def test_an_execution_that_goes_on_or_has_reached_its_goals_has_no_draft(steps, cause):
    stage = Stage(PLAN)
    for name in steps:
        stage.run_step(name)
    with pytest.raises(UsageProblem, match=f"run r1 has no draft: {cause}"):
        draft(stage)
    assert "next" not in result(stage).to_json()


def test_an_execution_whose_only_failed_step_is_not_done_again_has_no_draft():
    """The plan goes on after the failure, so its rest has no step."""
    stage = Stage(plan(step("a", "start", "goal", on_failure="continue", failure_effects="sad")), replans=False)
    while not stage.requests("user"):
        stage.run_step("a", "failed")
    stage.answer("give up")
    assert str(stage.end) == "goals_failed"
    assert statuses(stage)["a"][0] == "failed"
    with pytest.raises(UsageProblem, match="run r1 has no draft: no step is left"):
        draft(stage)
