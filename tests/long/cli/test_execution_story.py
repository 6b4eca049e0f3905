"""What an execution tells: goals through a replan, blocked goals, violated requirements, prompts, stops."""

import json
import os
import signal
import time

import pytest

from tests.cli.conftest import read_until
from tests.cli.samples import write_script

ACTIONS = """
import time


def make(workspace, name):
    (workspace / name).write_text(name)


def fail(workspace):
    raise PermissionError("never")


def flaky(workspace):
    if not (workspace / "tried").exists():
        (workspace / "tried").touch()
        raise TimeoutError("not now")


def there(workspace):
    return any(workspace.iterdir())


def slow(workspace):
    for _ in range(300):
        if (workspace / "go").exists():
            return "done"
        time.sleep(0.1)
    raise TimeoutError("nobody let it go on")
"""
TOOLS = """
tools:
  make: {risk: none, python: ./actions.py:make, repeatable: true, parameters: {name: {type: string, pattern: '[a-z]'}}}
  flaky: {risk: none, python: ./actions.py:flaky, repeatable: true}
  fail: {risk: none, python: ./actions.py:fail, repeatable: true}
  there: {risk: none, python: ./actions.py:there, repeatable: true}
  slow: {risk: none, python: ./actions.py:slow, repeatable: true}
generators:
  make_a: {tool: make, with: {name: a}}
  make_b: {tool: make, with: {name: b}}
  broken: fail
  flaky: flaky
  slow: slow
guards: {dynamic_test: there}
"""


def goal(name, **more):
    return {"kind": "goal", "text": f"there is {name}", "quote": name, "source": "user", "tokens": [name], **more}


def step(name, generator, effects, **more):
    base = {
        "step_id": name,
        "name": name,
        "generator": generator,
        "guard": "dynamic_test",
        "retry_budget": 2,
        "dependencies": [],
        "preconditions": ["start"],
        "effects": effects,
    }
    return base | more


def plan(*steps, requirements=(), goals=("a", "b")):
    return {
        "plan_id": "p1",
        "initial_state": ["start"],
        "goal_state": list(goals),
        "total_retry_budget": 20,
        "requirements": list(requirements),
        "steps": list(steps),
    }


@pytest.fixture
def files(tmp_path):
    """Return a function that writes a plan and a script of new plans, and gives the arguments that execute it."""
    (tmp_path / "tools.yaml").write_text(TOOLS)
    (tmp_path / "actions.py").write_text(ACTIONS)
    (tmp_path / "work").mkdir()

    def write(value, *new_plans):
        (tmp_path / "plan.json").write_text(json.dumps(value))
        model = write_script(tmp_path, {"g_plan": list(new_plans)}) if new_plans else "template:bug"
        tools, work = tmp_path / "tools.yaml", tmp_path / "work"
        return tmp_path / "plan.json", "--tools", tools, "--workspace", work, "-w", "single", "-m", model

    return write


def test_a_plan_with_a_step_that_does_what_a_requirement_forbids_is_refused_before_it_starts(replan, files):
    avoid = {"kind": "must_avoid", "text": "nothing is broken", "quote": "broken", "source": "user", "tokens": ["bad"]}
    first = plan(step("one", "make_a", ["bad", "a"]), requirements=[goal("a"), avoid], goals=("a",))
    for more in ([], ["--dry-run"]):
        result = replan("execute", *files(first), *more)
        assert result.exit_code == 2
        assert "the plan is not proved: requirement.violated" in result.stderr


def test_the_prompt_of_a_file_that_a_model_wrote_is_shown(replan, tmp_path):
    assert replan("execute", "--example", "repair", "--workspace", tmp_path / "work").exit_code == 0
    prompt = replan("show", "--last", "--prompt", "write_better_fix/r1.v1.a1.act")
    assert prompt.exit_code == 0, prompt.stderr
    assert "report.txt" in prompt.stdout
    assert "voucher is never paid out" in prompt.stdout
    told = json.loads(replan("show", "--last", "--prompt", "write_fix/r1.v1.a1.act", "--json").stdout)
    assert told["verified"]
    missing = replan("show", "--last", "--prompt", "write_fx/r1.v1.a1.act")
    assert missing.exit_code == 2
    assert "write_fix/r1.v1.a1.act" in missing.stderr


def test_ctrl_c_parks_once_the_tool_has_ended_and_prints_the_command_that_goes_on(shell, files, replan, tmp_path):
    slow_first = plan(step("one", "slow", ["a"]), step("two", "make_b", ["b"], dependencies=["one"]))
    process = shell("execute", *files(slow_first))
    read_until(process.stderr, "execution started")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    (tmp_path / "work" / "go").touch()
    _, stderr = process.communicate(timeout=300)
    assert process.returncode == 130
    assert b"replan resume" in stderr
    (row,) = json.loads(replan("runs", "--json").stdout)["runs"]
    assert row["status"] == "parked"
    assert json.loads(replan("resume", row["run_id"], "--json").stdout)["trace"] == ["one:ok", "two:ok"]


def test_a_killed_execution_goes_on_where_it_was(shell, files, replan, tmp_path):
    value = plan(step("one", "make_a", ["a"]), step("two", "slow", ["b"], dependencies=["one"]))
    process = shell("execute", *files(value))
    read_until(process.stderr, "one done")
    time.sleep(0.5)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    (tmp_path / "work" / "a").unlink()
    (tmp_path / "work" / "go").touch()
    (row,) = json.loads(replan("runs", "--json").stdout)["runs"]
    told = json.loads(replan("resume", row["run_id"], "--json").stdout)
    assert (told["outcome"], told["trace"]) == ("success", ["one:ok", "two:ok"])
    assert not (tmp_path / "work" / "a").exists()
