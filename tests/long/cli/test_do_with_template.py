"""`replan do` with a template on a small repository with a failing test and a tool that mends it."""

import json
import re
import subprocess
import sys

import pytest

WRONG = "def mean(numbers):\n    return sum(numbers) / (len(numbers) - 1)\n"
RIGHT = WRONG.replace("(len(numbers) - 1)", "len(numbers)")
TEST = "from calc import mean\n\n\ndef test_mean():\n    assert mean([2, 4]) == 3\n"
PROBLEM = """\
# mean() in calc.py returns a wrong value

mean([2,4]) gives 6 instead of 3. tests in test_calc.py fail.
"""
TOOLS = """\
tools:
  tests:
    command: [{python}, -m, pytest, -q, -p, "no:cacheprovider"]
    environment: [PATH, HOME, PYTHONDONTWRITEBYTECODE=1, PYTEST_DISABLE_PLUGIN_AUTOLOAD=1]
    repeatable: true
    risk: none
    broken_exit_codes: [2, 3, 4, 5]
  fix: {{command: [git, apply, {patch}], repeatable: true, risk: none}}
  look: {{command: [git, diff, --stat], repeatable: true, risk: none}}
generators: {{tester: look}}
guards:
  test_fails: {{tool: tests, expect: failure}}
  dynamic_test: tests
  all_tests_pass: tests
steps:
  apply_fix: {{generator: fix, guard: tests}}
"""
STORY = """\
Finished: success
   ✓ reproduce  Reproduce: mean() in calc.py returns a wrong value  (its check failed, as expected)
   ✓ write_failing_test  Pin it with a test that fails  (its check failed, as expected)
   ✓ apply_fix  Fix the cause
   ✓ verify_fix  See the reported case work
   ✓ run_regression  Run all tests

   goal achieved: mean() in calc.py returns a wrong value. The failure is mended, pinned by a test, and \
nothing else has changed
"""


@pytest.fixture
def case(tmp_path, replan):
    """Return a function that runs `do` on the repository, and the repository."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "calc.py").write_text(WRONG)
    (work / "test_calc.py").write_text(TEST)
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=work, check=True)
    (work / "calc.py").write_text(RIGHT)
    patch = tmp_path / "fix.patch"
    patch.write_bytes(subprocess.run(["git", "diff"], cwd=work, check=True, capture_output=True).stdout)
    (work / "calc.py").write_text(WRONG)
    (tmp_path / "tools.yaml").write_text(TOOLS.format(python=sys.executable, patch=patch))
    (tmp_path / "problem.md").write_text(PROBLEM)

    def call():
        words = ["--tools", str(tmp_path / "tools.yaml"), "--workspace", str(work)]
        return replan("do", str(tmp_path / "problem.md"), "-m", "template:bug", *words)

    return call, work


def test_the_story_is_reproduce_fix_and_passing_tests(case):
    call, work = case
    result = call()
    assert result.exit_code == 0, result.stderr
    told = re.sub(r"  \([\d.]+ s\)|, [\d.]+ s(?=\))", "", result.stdout)
    assert told.startswith(STORY), told
    assert (work / "calc.py").read_text() == RIGHT


def test_names_that_the_tools_file_lacks_are_said_before_the_first_call(case, replan, tmp_path):
    """A2 of the review: one line and exit code 2, since another call of the template would plan with the same names."""
    call, work = case
    file = tmp_path / "tools.yaml"
    whole = file.read_text()
    file.write_text(whole[: whole.index("steps:")].replace("  test_fails: {tool: tests, expect: failure}\n", ""))
    result = call()
    assert result.exit_code == 2
    (said,) = result.stderr.splitlines()
    assert "your tools file does not bind: coder, syntax, test_fails" in said
    assert str(file) in said
    assert "name another model" in said
    assert (work / "calc.py").read_text() == WRONG
    assert replan("runs", "--json").stdout.count("run_id") == 0


def test_execute_too_compares_the_tools_with_what_the_author_needs_before_the_first_call(case, replan, tmp_path):
    """The plan itself is executed; where it fails, a person is asked, and no call of the template is spent."""
    _, work = case
    file = tmp_path / "tools.yaml"
    whole = file.read_text()
    file.write_text(whole[: whole.index("steps:")].replace("  test_fails: {tool: tests, expect: failure}\n", ""))
    step = {"step_id": "do", "name": "Look", "generator": "tester", "guard": "dynamic_test", "retry_budget": 1}
    state = {"initial_state": ["a"], "goal_state": ["b"], "total_retry_budget": 2}
    plan = {"plan_id": "one", "goal": PROBLEM, **state, "steps": [{**step, "preconditions": ["a"], "effects": ["b"]}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    words = ["--tools", str(file), "--workspace", str(work), "-m", "template:bug", "--no-input"]
    result = replan("execute", str(tmp_path / "plan.json"), *words)
    lack = "your tools file does not bind: coder, syntax, test_fails; bind these names in this file"
    assert f"if this plan fails, no new plan can be made: {lack}" in result.stderr
    assert result.exit_code == 6
    shown = json.loads(replan("show", "--last", "--json").stdout)
    assert shown["calls"] == 0
    (asked,) = json.loads(replan("questions", "--json").stdout)["questions"]
    assert f"No new plan can be made: {lack}" in asked["shown"]
    assert [each["value"] for each in asked["choices"]] == ["try the step again", "the step is done", "give up"]


def test_a_precondition_that_nothing_makes_costs_the_author_no_call(case, replan, tmp_path):
    _, work = case
    step = {"step_id": "do", "name": "Look", "generator": "tester", "guard": "dynamic_test", "retry_budget": 1}
    state = {"initial_state": ["a"], "goal_state": ["b"], "total_retry_budget": 2}
    plan = {"plan_id": "one", "goal": PROBLEM, **state, "steps": [{**step, "preconditions": ["a"], "effects": ["b"]}]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    words = ["--tools", str(tmp_path / "tools.yaml"), "--workspace", str(work), "-m", "template:bug", "--no-input"]
    result = replan("execute", str(tmp_path / "plan.json"), *words)
    lack = "the steps of `template:bug` do not make b, which the plan's goal needs"
    assert f"if this plan fails, no new plan can be made: {lack}" in result.stderr
    shown = json.loads(replan("show", "--last", "--json").stdout)
    assert (result.exit_code, shown["calls"]) == (6, 0)


def test_the_author_is_asked_for_another_plan_where_its_own_plan_fails(case, replan, tmp_path):
    call, _ = case
    (tmp_path / "fix.patch").write_text("no patch")
    assert call().exit_code == 6
    shown = json.loads(replan("show", "--last", "--json").stdout)
    assert shown["calls"] > 0
