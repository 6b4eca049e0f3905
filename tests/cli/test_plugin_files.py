"""Plug-ins of files that the user names: `--plugins FILE.py`, and `plugins` in the config file."""

import json
import os

import pytest

from tests.cli.conftest import run_id
from tests.cli.samples import PLAN
from tests.cli.test_bad_input import assert_refused

GUARDS = """
import replan
from replan import Verdict


@replan.guard
def small(artifact, context):
    return Verdict(guard="small", passed=len(artifact.parsed["steps"]) < 9, score=1.0)


@replan.guard(name="at_most")
def make(config):
    most = config["steps"]
    return lambda artifact, context: Verdict(guard="at_most", passed=len(artifact.parsed["steps"]) <= most, score=1.0)
"""

WORKFLOW = """name: w
action_pairs:
  g_plan:
    generator: model
    guard: {all_of: [plan_medium, small, at_most]}
    guard_config:
      at_most: {steps: 9}
    prompt: plan_direct
"""


@pytest.fixture
def files(tmp_path):
    workflow, guards = tmp_path / "w.yaml", tmp_path / "house.py"
    workflow.write_text(WORKFLOW)
    guards.write_text(GUARDS)
    return workflow, guards


@pytest.fixture
def plan(replan, problem, scripted, files):

    def call(*more, replies=(PLAN,)):
        model = scripted({"g_plan": list(replies)})
        return replan("run", problem, "-w", files[0], "-m", model, "--no-input", *more)

    return call


def test_a_workflow_names_guards_that_a_file_has(plan, files):
    assert_refused(plan(), f"{files[0]}:5", "unknown guard 'small'", "--plugins FILE.py adds your own guards")
    result = plan("--plugins", files[1])
    assert result.exit_code == 0


def test_the_start_of_the_run_records_name_file_and_hash(replan, plan, files):
    plan("--plugins", files[1])
    first = json.loads(replan("show", "--last", "--events", "--json").stdout)["events"][0]
    assert [(each["plugin"], each["file"]) for each in first["plugins"]] == [
        ("guard 'small'", str(files[1])),
        ("guard 'at_most'", str(files[1])),
    ]
    assert {len(each["hash"]) for each in first["plugins"]} == {32}


def test_the_config_file_may_name_the_file(replan, home, plan, files):
    home.mkdir(mode=0o700)
    (home / "config.yaml").write_text(f"plugins: [{os.path.relpath(files[1], home)}]\n")
    result = plan()
    assert result.exit_code == 0


ASKING = [{**PLAN, "open_questions": ["Which version is it?"]}, PLAN]


def parked(replan, plan, files):
    """Return the id of a run that waits for an answer, which is in its inbox."""
    assert plan("--plugins", files[1], replies=ASKING).exit_code == 6
    run = run_id(replan)
    replan("answer", f"{run}/q1", "3.11")
    return run


def test_a_resume_without_the_file_says_which_one_it_needs(replan, plan, files):
    run = parked(replan, plan, files)
    refused = replan("resume", run, "--no-input")
    assert_refused(refused, f"guard 'small' of {files[1]} and guard 'at_most' of {files[1]}", "--plugins FILE.py")
    resumed = replan("resume", run, "--no-input", "--plugins", files[1])
    assert (resumed.exit_code, "has changed" in resumed.stderr) == (0, False)


def test_a_resume_with_a_changed_file_says_so(replan, plan, files):
    run = parked(replan, plan, files)
    files[1].write_text(GUARDS + "\n# changed\n")
    resumed = replan("resume", run, "--no-input", "--plugins", files[1])
    assert resumed.exit_code == 0
    assert f"{files[1]} changed after the run began; the run uses the current content: guard 'small'" in resumed.stderr


@pytest.mark.parametrize(
    ("change", "place", "cause"),
    [
        (
            ("small(artifact, context)", "small()"),
            "house.py:6",
            "guard 'small' does not have the parameters of a guard",
        ),
        (("import replan\n", "import nowhere\n"), "house.py:2", "cannot be run: ModuleNotFoundError"),
        (("def small(", "def small(("), "house.py:", "not valid Python"),
        (("@replan.guard\n", ""), "w.yaml:5", "unknown guard 'small'"),
        (('name="at_most"', 'name="small"'), "house.py", "two functions are marked as guard 'small'"),
        (('name="at_most"', 'name="plan_medium"'), "plan_medium", "a plug-in cannot have a built-in name"),
    ],
)
def test_an_error_in_the_file_names_its_line(plan, files, change, place, cause):
    assert change[0] in GUARDS
    files[1].write_text(GUARDS.replace(*change))
    assert_refused(plan("--plugins", files[1]), place, cause)


@pytest.mark.parametrize(
    ("settings", "line", "cause"),
    [
        ("at_most: {step: 9}", 7, "guard 'at_most' cannot be made: KeyError: 'steps'"),
        ("at_most: 9", 7, "guard 'at_most' of step 'g_plan': its settings must be a mapping"),
        ("small: {steps: 9}", 7, "guard 'small' takes no settings (leave steps out"),
        ("steps: 9", 6, "guard 'plan_medium' of step 'g_plan': unknown setting 'steps'"),
        ("plan_medium: {r_mix: 9}", 7, "guard 'plan_medium' of step 'g_plan': unknown setting 'r_mix' (did you mean"),
    ],
)
def test_an_error_in_settings_names_file_line_step_and_guard(plan, files, settings, line, cause):
    files[0].write_text(WORKFLOW.replace("at_most: {steps: 9}", settings))
    result = plan("--plugins", files[1])
    assert_refused(result, f"{files[0]}:{line}", "of step 'g_plan'", cause)


def test_the_settings_of_a_member_are_its_own(plan, files):
    files[0].write_text(WORKFLOW.replace("at_most: {steps: 9}", "{at_most: {steps: 2}, plan_medium: {r_max: 50}}"))
    result = plan("--plugins", files[1], replies=[PLAN] * 9)
    assert result.exit_code == 3
    assert f"to continue the run, name its plug-ins again: --plugins {files[1]}" in result.stderr


@pytest.mark.parametrize(
    ("name", "cause"), [("missing.py", "there is no such file"), ("w.yaml", "this is not a Python file")]
)
def test_a_missing_file_and_a_file_that_is_not_python_are_refused(plan, files, name, cause):
    path = files[1].parent / name
    result = plan("--plugins", path)
    assert_refused(result, str(path), cause)


def test_reading_commands_run_no_file(replan, home, plan, files):
    plan("--plugins", files[1])
    (home / "config.yaml").write_text("plugins: [missing.py]\n")
    for command in (["runs"], ["show", "--last"], ["log", "--last"], ["questions"]):
        assert replan(*command).exit_code == 0
    assert_refused(replan("resume", "--last"), "missing.py", "there is no such file")


CRASH = """
import os

from replan import guard


@guard
def small(artifact, context):
    return artifact.parsed["no_such_key"], os.environ["OPENAI_API_KEY"]


@guard
def at_most(artifact, context):
    return small(artifact, context)
"""


def test_a_crash_of_a_guard_names_it_and_its_traceback_is_shown_with_debug(plan, files, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-of-some-length-1234567890")
    files[1].write_text(CRASH.replace('["no_such_key"]', '[os.environ["OPENAI_API_KEY"]]'))
    files[0].write_text(WORKFLOW.replace("      at_most: {steps: 9}\n", "      plan_medium: {r_max: 9}\n"))
    silent = plan("--plugins", files[1])
    assert silent.exit_code == 1
    assert "guard small: KeyError" in silent.stdout + silent.stderr
    assert "Traceback" not in silent.stderr
    assert f"--plugins {files[1]}" in silent.stderr.splitlines()[-1], "the command that goes on can be pasted"
    shown = plan("--plugins", files[1], "--debug").stderr
    assert shown.count(f'File "{files[1]}", line 9, in small') == 1
    assert "a-key-of-some-length" not in shown
