"""`execute` and `do`: plans that run with tools, the shipped examples, what is refused before anything runs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from replan.setup.installation import data_root
from tests.cli.conftest import run_id
from tests.support.python_tools import PLAN, STEP

EXAMPLES = data_root() / "configs" / "examples"

TOOLS = """
tools:
  touch:
    risk: none
    python: ./actions.py:touch
    repeatable: true
  careful:
    python: ./actions.py:touch
    repeatable: true
  there:
    risk: none
    python: ./actions.py:there
    repeatable: true
generators: {maker: touch, careful: careful}
guards: {dynamic_test: there}
"""

ACTIONS = """
def touch(workspace):
    (workspace / "made").write_text("made")


def there(workspace):
    return (workspace / "made").exists()
"""


def plan(**changes):
    return {**PLAN, "steps": [STEP | changes]}


@pytest.fixture
def files(tmp_path):
    """Return a function that writes a plan, and gives the arguments that execute it."""
    (tmp_path / "tools.yaml").write_text(TOOLS)
    (tmp_path / "actions.py").write_text(ACTIONS)
    (tmp_path / "work").mkdir()

    def write(**changes):
        (tmp_path / "plan.json").write_text(json.dumps(plan(**changes)))
        return (
            tmp_path / "plan.json",
            "--tools",
            tmp_path / "tools.yaml",
            "--workspace",
            tmp_path / "work",
            "-m",
            "template:bug",
        )

    return write


def shipped():
    """Return the content of every shipped example file."""
    return {
        path: path.read_bytes() for path in EXAMPLES.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_repair_example_fails_first_and_ends_green(replan, tmp_path):
    before, work = shipped(), tmp_path / "work"
    result = replan("do", "--example", "repair", "--workspace", work)
    assert result.exit_code == 0, result.stderr
    assert "- Do not change the tests." in result.stderr
    assert "plan rejected: The goal needs 'committed', but no step makes it" in result.stderr
    assert "plan, second attempt accepted" in result.stderr
    assert "back to" not in result.stderr
    assert "Proved at level medium." in result.stderr
    assert "in no step" not in result.stdout
    assert "✗ write_fix" in result.stdout
    assert "✓ report" in result.stdout
    assert "✓ write_better_fix" in result.stdout
    assert "met: All tests pass" in result.stdout
    assert "kept: Do not change the tests" in result.stdout
    for line in ([sys.executable, "-m", "pytest", "-q"], ["git", "diff", "--exit-code", "HEAD"]):
        assert subprocess.run(line, cwd=work, capture_output=True, check=False).returncode == 0
    assert shipped() == before


def test_the_detour_example_replans_around_a_tool_that_never_works(replan, tmp_path):
    """S112: a permanent failure leads to a partial replan, whose plan reaches the same goal in another way."""
    before, work = shipped(), tmp_path / "work"
    result = replan("execute", "--example", "detour", "--workspace", work, "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert (told["outcome"], told["revision"]) == ("success", 2)
    first, second = told["revisions"]
    assert (first["trace"], first["level"]) == (["add_up:ok", "print_summary:fail"], "partial_replan")
    assert second["trace"] == ["put_into_outbox:ok"]
    assert (work / "outbox" / "summary.txt").read_text() == "3 orders, 1798 cents\n"
    story = replan("show", told["run_id"]).stdout
    assert "tool.permanent" in story
    assert "then a partial replan" in story
    assert shipped() == before


def test_an_example_never_overwrites_a_folder(replan, tmp_path):
    result = replan("execute", "--example", "repair", "--workspace", tmp_path)
    assert result.exit_code == 2
    assert "this folder exists already" in result.stderr


def test_a_dry_run_shows_order_branches_and_approvals_and_writes_nothing(replan, home, files, tmp_path):
    result = replan("execute", *files(generator="careful"), "--dry-run")
    assert result.exit_code == 0, result.stderr
    assert "1. make  Make it  needs your approval" in result.stdout
    assert "runs  careful: actions.py:touch()" in result.stdout
    assert not home.exists()
    assert list((tmp_path / "work").iterdir()) == []


def test_a_dry_run_of_a_contingent_step_says_when_it_runs(replan):
    result = replan("execute", "--example", "repair", "--dry-run")
    lines = result.stdout.splitlines()
    assert lines.index("Only after a failure") < next(i for i, row in enumerate(lines) if "report_there" in row)
    assert "   when  tests_failed" in lines
    steps = json.loads(replan("execute", "--example", "repair", "--dry-run", "--json").stdout)["steps"]
    assert [(step["step"], step["turn"], step["contingent"]) for step in steps] == [
        ("write_fix", 1, False),
        ("commit", 2, False),
        ("report", None, True),
        ("write_better_fix", None, True),
    ]


def test_names_that_no_tool_implements_are_refused_with_the_whole_list(replan, home, files):
    result = replan("execute", *files(generator="wizard", guard="all_tests_pass"))
    assert result.exit_code == 2
    assert "no tool or check implements generator 'wizard', guard 'all_tests_pass'" in result.stderr
    assert not home.exists()


def test_a_plan_that_was_edited_after_its_proof_is_proved_again(replan, home, files):
    result = replan("execute", *files(effects=["something_else"]))
    assert result.exit_code == 2
    assert "the plan is not proved: plan.goal_unreachable" in result.stderr
    assert not home.exists()


def test_a_misspelt_key_of_a_plan_is_refused_here_and_by_check(replan, files):
    for command in (("check",), ("execute", *files()[1:], "--dry-run")):
        arguments = files(precondition=["start"])
        result = replan(command[0], arguments[0], *command[1:])
        assert result.exit_code == {"check": 3, "execute": 2}[command[0]]
        assert "did you mean 'preconditions'?" in result.stdout + result.stderr


def test_a_question_of_an_execution_expires_as_its_workflow_says(replan, files, tmp_path):
    workflow = (data_root() / "configs" / "workflows" / "search.yaml").read_text()
    (tmp_path / "soon.yaml").write_text(f"{workflow}\nquestion_expires_seconds: 86400\n")
    options = ("--approve", "each", "-w", tmp_path / "soon.yaml", "--no-input")
    assert replan("execute", *files(), *options).exit_code == 6
    (question,) = json.loads(replan("questions", "--last", "--json").stdout)["questions"]
    assert question["until"] > question["asked"]


@pytest.mark.parametrize("text", ["", "[]", "{}", "not JSON", '{"plan": 3}'])
def test_a_file_without_a_plan_is_one_line(replan, files, tmp_path, text):
    arguments = files()
    (tmp_path / "plan.json").write_text(text)
    result = replan("execute", *arguments)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_plan_from_standard_input_and_one_inside_the_result_of_a_run(replan, files):
    _, *arguments = files()
    assert replan("execute", "-", *arguments, input=json.dumps(plan())).exit_code == 0
    assert replan("execute", "-", *arguments, input=json.dumps({"run_id": "x", "plan": plan()})).exit_code == 0


def test_a_model_that_writes_no_files_is_refused_before_anything_runs(replan, home, files, tmp_path):
    (tmp_path / "tools.yaml").write_text(
        "tools: {w: {model: {file: a.txt, instructions: Write.}}, there: {python: ./actions.py:there}}\n"
        "generators: {maker: w}\nguards: {dynamic_test: there}\n"
    )
    result = replan("execute", *files())
    assert result.exit_code == 2
    assert (
        "the generator 'maker' needs a model that writes files, but 'template:bug' writes only plans" in result.stderr
    )
    assert not home.exists()


def test_a_risky_tool_waits_for_approval_and_goes_on_after_the_answer(replan, files, tmp_path):
    result = replan("execute", *files(generator="careful"), "--no-input", "--json")
    assert result.exit_code == 6
    told = json.loads(result.stdout)
    assert not (tmp_path / "work" / "made").exists()
    assert replan("answer", told["question"]["id"], "yes").exit_code == 0
    assert replan("resume", told["run_id"]).exit_code == 0
    assert (tmp_path / "work" / "made").exists()


def test_a_second_execution_of_a_workspace_is_refused_while_the_first_has_not_finished(replan, files):
    first = json.loads(replan("execute", *files(generator="careful"), "--no-input", "--json").stdout)["run_id"]
    second = replan("execute", *files())
    assert second.exit_code == 2
    assert f"run '{first}' works in this workspace and has not finished" in second.stderr
    assert replan("cancel", first).exit_code == 0
    assert replan("execute", *files()).exit_code == 0


def test_a_failed_goal_is_exit_3(replan, files, tmp_path):
    (tmp_path / "actions.py").write_text(ACTIONS.replace("return (workspace", "return not (workspace"))
    result = replan("execute", *files(), "--no-input")
    assert result.exit_code in (3, 6), result.stderr
    assert "✗ make" in result.stdout


def test_do_plans_and_executes_and_the_two_runs_name_each_other(replan, files, problem, scripted, tmp_path):
    _, *arguments = files()
    model = scripted({"g_plan": [plan(generator="wizard"), plan()]})
    result = replan("do", problem, *arguments[:-2], "-w", "single", "-m", model, "--json")
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)
    assert told["outcome"] == "success"
    planning = json.loads(replan("show", told["plan_of"], "--json").stdout)
    assert [each["run_id"] for each in planning["executions"]] == [told["run_id"]]
    assert told["run_id"] in replan("show", told["plan_of"]).stderr
    assert (tmp_path / "work" / "made").exists()


def test_do_without_a_plan_executes_nothing(replan, files, problem, scripted, tmp_path):
    _, *arguments = files()
    model = scripted({"g_plan": [plan(generator="wizard")] * 3})
    result = replan("do", problem, *arguments[:-2], "-w", "single", "-m", model)
    assert result.exit_code == 3
    assert "plan.unbound" in result.stdout
    assert list((tmp_path / "work").iterdir()) == []


def test_do_without_tools_calls_no_model(replan, problem, home):
    result = replan("do", problem, "-m", "template:bug")
    assert result.exit_code == 2
    assert "there are no tools" in result.stderr
    assert not home.exists()


def test_the_plan_of_a_run_is_executed_with_what_the_run_knows(replan, files, problem, scripted):
    _, *arguments = files()
    assert replan("run", problem, "-w", "single", "-m", scripted({"g_plan": [plan()]})).exit_code == 0
    run = run_id(replan)
    result = replan("execute", run, *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["plan_of"] == run
    assert run in replan("runs").stdout


def test_what_is_neither_a_file_nor_a_run_is_exit_8(replan, files):
    _, *arguments = files()
    result = replan("execute", "k7m2x9qa", *arguments)
    assert result.exit_code == 8
    assert "no run 'k7m2x9qa', and there is no file with this name" in result.stderr


def test_the_tools_file_of_the_home_is_used_where_none_is_named(replan, files, home, tmp_path):
    path, _, tools, *others = files()
    home.mkdir(mode=0o700)
    (home / "tools.yaml").write_text(Path(tools).read_text())
    (home / "actions.py").write_text(ACTIONS)
    assert replan("execute", path, *others).exit_code == 0
    (tmp_path / "work" / "tools.yaml").write_text(Path(tools).read_text())
    inside = replan("execute", path, "--tools", tmp_path / "work" / "tools.yaml", *others)
    assert inside.exit_code == 2
    assert "must not be in the workspace" in inside.stderr


def test_what_a_cancelled_execution_has_left_is_exported_checked_and_executed(replan, files, tmp_path):
    """The first step is done; the second one waits for an approval when the run is cancelled."""
    path, *options = files()
    value = plan()
    tell = {"step_id": "tell", "name": "Tell it", "generator": "careful", "guard": "dynamic_test", "retry_budget": 1}
    tell |= {"dependencies": ["make"], "preconditions": ["made"], "effects": ["told"]}
    path.write_text(json.dumps(value | {"goal_state": ["told"], "steps": [*value["steps"], tell]}))
    assert replan("execute", path, *options, "--no-input").exit_code == 6
    assert replan("cancel", "--last").exit_code == 0
    report = replan("show", "--last").stdout
    assert "· tell  Tell it  (not done)" in report
    assert "next  tell" in report
    rest = tmp_path / "rest.json"
    assert replan("export", "--last", "--draft", "-o", rest).exit_code == 0
    said = json.loads(rest.read_text())["not_proved"]
    assert said == f"The rest of execution {run_id(replan)} is not proved: 1 of 2 steps are left; missing tokens: told."
    assert replan("check", rest, "--level", "expansive").exit_code == 0
    assert replan("execute", rest, *options, "--approve", "none", "--no-input").exit_code == 0
