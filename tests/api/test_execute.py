"""Plans are executed and schemas filled from Python: the same in trio, in asyncio and without a loop."""

import asyncio
import json
from pathlib import Path

import pytest

import replan
from tests.cli.samples import write_script
from tests.journal.behind import query
from tests.support.python_tools import PLAN, execution_options

TOOLS = """
tools:
  make: {python: ./actions.py:make, repeatable: true}
  made: {risk: none, python: ./actions.py:made, repeatable: true}
generators: {maker: make}
guards: {dynamic_test: made}
"""
ACTIONS = """
def make(workspace):
    (workspace / "made").touch()


def made(workspace):
    return (workspace / "made").exists()
"""


@pytest.fixture
def options(tmp_path):
    return execution_options(tmp_path, TOOLS, ACTIONS)


def test_a_plan_is_executed_outside_of_an_event_loop(options):
    result = replan.execute(PLAN, **options)
    assert result.succeeded
    assert [goal.status for goal in result.goals] == ["achieved"]
    assert (options["workspace"] / "made").exists()
    assert replan.show(result.run_id, home=options["home"]).to_json()["trace"] == ["make:ok"]


async def test_a_plan_is_executed_in_trio_and_its_records_are_followed(options):
    async with replan.start_execution(PLAN, **options) as run:
        kinds = [record.event.kind async for record in run]
        result = await run.result()
    assert result.succeeded
    assert "step_settled" in kinds


def test_a_plan_is_executed_in_asyncio(options):
    assert asyncio.run(replan.aexecute(PLAN, **options)).succeeded


def test_a_plan_from_a_file_and_a_typed_plan(options, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(PLAN))
    assert replan.execute(path, **options).succeeded
    step = replan.Step(
        "make",
        name="Make it",
        generator="maker",
        guard="dynamic_test",
        preconditions=frozenset({"start"}),
        effects=frozenset({"made"}),
    )
    plan = replan.Plan("p2", (step,), initial_state=frozenset({"start"}), goal_state=frozenset({"made"}))
    assert replan.execute(plan, **options).succeeded


def test_a_home_in_memory_keeps_no_run(options):
    assert replan.execute(PLAN, **{**options, "home": replan.MEMORY}).succeeded
    assert not options["home"].exists()


def test_a_risky_tool_asks_by_the_function_that_is_passed(options):
    asked = []

    def ask(question):
        asked.append(question["text"])
        return "yes"

    assert replan.execute(PLAN, **{**options, "approve": "risky", "ask": ask}).succeeded
    ((posted,),) = query(options["home"] / "journal.sqlite3", "SELECT body FROM inbox")
    assert json.loads(posted)["via"] == "ask"
    assert len(asked) == 1
    assert "make" in asked[0]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"approve": "perhaps"}, "approve"),
        ({"level": "high"}, "level"),
        ({"max_calls": 0}, "max_calls"),
        ({"workspace": "/nowhere/at/all"}, "/nowhere/at/all"),
        ({"tools": "no-such-file.yaml"}, "no-such-file.yaml"),
        ({"model": "no spaces allowed"}, "model"),
    ],
)
def test_bad_input_names_the_keyword_and_nothing_is_written(options, changes, place):
    with pytest.raises(replan.UsageProblem) as raised:
        replan.execute(PLAN, **{**options, **changes})
    assert raised.value.place == place
    assert not options["home"].exists()


@pytest.mark.parametrize("plan", [3, None, {}, {"steps": []}, Path("no-such-plan.json")])
def test_what_is_no_plan_is_refused(options, plan):
    with pytest.raises(replan.UsageProblem):
        replan.execute(plan, **options)


def test_a_result_of_planning_is_executed_and_do_does_both(options, tmp_path):
    model = write_script(tmp_path, {"g_plan": [PLAN]})
    planned = replan.solve("Make the file.", workflow="single", model=model, home=options["home"])
    executed = replan.execute(planned, **options)
    assert executed.succeeded
    assert executed.plan_of == planned.run_id
    assert replan.execute(planned.run_id, **options).plan_of == planned.run_id
    done = replan.do("Make the file.", workflow="single", **{**options, "model": model})
    assert done.succeeded
    assert done.execution.plan_of == done.planning.run_id


async def test_do_in_an_event_loop_plans_and_executes(options, tmp_path):
    model = write_script(tmp_path, {"g_plan": [PLAN]})
    done = await replan.ado("Make the file.", workflow="single", **{**options, "model": model})
    assert done.succeeded
    assert done.execution.plan_of == done.planning.run_id


def test_do_without_a_plan_executes_nothing(options, tmp_path):
    model = write_script(tmp_path, {"g_plan": [{"steps": []}] * 3})
    done = replan.do("Make the file.", workflow="single", **{**options, "model": model})
    assert (done.succeeded, done.execution, done.planning.outcome) == (False, None, "all_pruned")
