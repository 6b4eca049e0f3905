"""Small things of the first day: the version, what a wrong command line was meant as, `--json` on every command."""

import json
import platform

import click
import pytest

from replan.cli.app import app
from replan.cli.command_table import OTHER_WORDS, command_for
from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, ASKING, PLAN, RECON, STRATEGY
from tests.cli.test_docs import commands

ASKS = {"g_analysis": [ASKING, ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY], "g_plan": [PLAN]}


def test_version_is_a_command_and_an_option(replan):
    assert replan("version").stdout == replan("--version").stdout
    shown = json.loads(replan("version", "--json").stdout)
    assert shown["python"] == platform.python_version()
    assert f"replan {shown['version']}\n" == replan("version").stdout


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["pay.md", "-m", "template:bug"], "did you mean `replan run pay.md -m template:bug`?"),
        (["-"], "did you mean `replan run -`?"),
        (["The login fails"], "did you mean `echo 'The login fails' | replan run -`?"),
        (["plan", "pay.md", "-m", "template:bug"], "did you mean `replan run`?"),
        (["status"], "did you mean `replan runs`?"),
        (["verify"], "did you mean `replan home verify`?"),
        (["rum"], "(Did you mean one of: 'resume', 'run'?)"),
        (
            ["--json", "runs"],
            "--json belongs after a command, as in `replan COMMAND --json`",
        ),
    ],
)
def test_a_wrong_command_line_says_what_was_meant(replan, arguments, meant):
    result = replan(*arguments)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert meant in result.stderr


@pytest.mark.parametrize("word", OTHER_WORDS)
def test_the_command_for_a_word_of_other_tools_exists(replan, word):
    """Whoever follows the hint reaches the help of a command or how to install it, and no word hides a command."""
    named = command_for(word, "replan").strip("`").split()[1:]
    result = replan(*named, "--help")
    assert result.exit_code == 0 or "is not installed: pip install" in result.stderr
    assert app.get_command(click.Context(app), word) is None


def test_an_existing_file_is_taken_for_a_problem(replan, problem):
    assert f"did you mean `replan run {problem}`?" in replan(problem).stderr


@pytest.mark.parametrize("flag", ["-q", "--quiet"])
def test_a_quiet_run_shows_no_progress(replan, problem, scripted, flag):
    result = replan("run", problem, "-m", scripted({**ASKS, "g_analysis": [ANALYSIS]}), flag)
    assert result.exit_code == 0
    assert "Proved at level medium" in result.stdout
    assert result.stderr == ""
    assert replan("resume", "--last", flag).stderr.startswith("replan: run ")


def test_every_command_has_json():
    """Groups have none: their commands do."""
    for path, command in commands(app):
        if not isinstance(command, click.Group):
            assert any("--json" in parameter.opts for parameter in command.params), path


def test_the_list_of_runs_has_a_head(replan, problem, scripted):
    assert not replan("runs").stdout.startswith("RUN")
    replan("run", problem, "-m", scripted(ASKS), "--no-input")
    head, row = replan("runs").stdout.splitlines()
    assert head.split() == ["RUN", "STATUS", "AGE", "TITLE"]
    assert [head.index(word) for word in ("RUN", "STATUS", "TITLE")] == [
        row.index(word) for word in (run_id(replan), "waiting", "Login fails")
    ]


def test_messages_are_acknowledged_as_json(replan, problem, scripted):
    replan("run", problem, "-m", scripted(ASKS), "--no-input")
    run = run_id(replan)
    assert json.loads(replan("tell", run, "It is slow", "--json").stdout) == {
        "run_id": run,
        "kind": "note",
        "result": "accepted",
    }
    answered = json.loads(replan("answer", f"{run}/q1", "3.11", "--json").stdout)
    assert answered == {"question": f"{run}/q1", "result": "accepted", "answer": "3.11", "open_questions": 0}
    assert json.loads(replan("answer", f"{run}/q1", "3.11", "--json").stdout)["result"] == "duplicate"
    assert json.loads(replan("cancel", run, "--json").stdout) == {"run_id": run, "cancelled": True}


def test_the_log_is_also_json_lines(replan, problem, scripted):
    replan("run", problem, "-m", scripted(ASKS), "--no-input")
    rows = [json.loads(line) for line in replan("log", "--last", "--json").stdout.splitlines()]
    assert rows == json.loads(replan("show", "--last", "--events", "--json").stdout)["events"]
