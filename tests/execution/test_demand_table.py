"""An execution says of each demand what its current plan does about it, also of what was told to it on the way."""

from actors.demands.table import standing_text
from actors.execution.result import conclusion_of, result_of
from actors.run.result import RunView
from tests.execution.stage import Stage, plan, step
from tests.execution.test_prohibitions import AVOIDED, KEPT, TOOLS, guarded


def result(stage):
    return result_of(RunView("r", "running", stage.state, stage.state))


def standings(stage):
    return {row.quote: standing_text(row) for row in result(stage).demands.rows}


def test_files_and_tools_that_an_execution_compares_are_checked():
    """Where snapshots are switched off, nothing compares files."""
    value = guarded(step("a", "start", "goal", generator="do"))
    stage = Stage(value, TOOLS, problem="", snapshots=True)
    tools = {AVOIDED["quote"]: "checked by requirements_covered"}
    assert standings(stage) == {KEPT["quote"]: "checked by the execution"} | tools
    assert result(stage).proved
    assert standings(Stage(value, TOOLS, problem="")) == {KEPT["quote"]: "declared, not checked"} | tools


def test_what_an_execution_is_told_is_a_demand_that_its_plan_ignores():
    stage = Stage(plan(step("a", "start", "goal", generator="do")), TOOLS, problem="")
    assert result(stage).demands is None, "nobody has said anything"
    stage.post(kind="note", text="The report must be written in English.")
    assert standings(stage) == {"The report must be written in English": "in no step"}
    assert not result(stage).proved
    table = result(stage).demands
    known = conclusion_of(stage.state.config, stage.state.plan.plan, None, table).text
    assert known.startswith("Consistent, but 1 demand is in no step (level ")
