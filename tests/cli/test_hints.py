"""Hints of the command line: similar names, the last run, and commands that can be pasted."""

import re
import subprocess
import sys

import pytest
import trio

from actors.config.step_guards import BUILT_IN
from actors.planning.kind import CODEC
from replan.runs.home import open_home
from replan.setup.installation import program
from runtime.process.identity import identity
from tests.cli.conftest import ROOT, run_id
from tests.cli.samples import ANALYSIS, ASKING, PLAN
from tests.cli.test_bad_input import assert_refused


def test_the_last_run_is_shown_and_logged(replan, problem):
    replan("run", problem, "-m", "template:bug", "-w", "single")
    run = run_id(replan)
    for view in (["show"], ["show", "--tree"], ["log"]):
        assert replan(*view, "--last").stdout == replan(*view, run).stdout
    assert_refused(replan("show", run, "--last"), "both a run and --last")
    assert_refused(replan("log"), "no run is named", "replan log --last")


def test_the_hint_about_models_names_the_supported_forms(replan, problem):
    forms = "template:NAME, scripted:FILE, replay:RUN[?lenient] or recorded:FILE"
    assert_refused(replan("run", problem, "-m", ""), forms)


def test_hints_use_the_program_name_of_the_call(tmp_path, monkeypatch):
    ours = tmp_path / "bin" / "replan"
    ours.parent.mkdir()
    ours.write_text("#!/bin/sh\n")
    ours.chmod(0o700)
    monkeypatch.setattr("sys.argv", [str(ours)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert program() == str(ours)
    monkeypatch.setenv("PATH", str(ours.parent))
    assert program() == "replan"


def test_a_hint_after_a_call_by_path_works_by_copy_and_paste(home, problem, scripted, tmp_path):
    command = tmp_path / "replan"
    command.write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\nimport replan.__main__\n")
    command.chmod(0o700)
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    run = subprocess.run(
        ["./replan", "run", problem, "-m", model, "-w", "option_a"], cwd=tmp_path, capture_output=True, check=False
    )
    hints = [line.partition(" with: ")[2] for line in run.stderr.decode().splitlines() if " with: " in line]
    assert [hint.split()[:2] for hint in hints] == [["./replan", "answer"], ["./replan", "resume"]]
    for hint in hints:
        result = subprocess.run(["bash", "-c", hint], cwd=tmp_path, capture_output=True, check=False)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("command", [["show", "nosuchrun"], ["run", "-", "-m", "replay:nosuchrun"]])
def test_hints_use_python_m_after_a_call_as_a_module(shell, command):
    with shell(*command) as process:
        _, err = process.communicate(b"A problem.")
    assert process.returncode == 8
    assert err.decode().strip() == f"replan: no run 'nosuchrun' (`{sys.executable} -m replan runs` lists the runs)"


def test_the_hint_to_the_help_uses_the_program_name_of_the_call(shell):
    with shell("check", "--level", "odd", "plan.json") as process:
        _, err = process.communicate()
    assert process.returncode == 2
    assert f"(`{sys.executable} -m replan check --help` explains)" in err.decode()


def test_the_doctor_checks_the_named_model(replan, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "template:bug (--model)" in replan("doctor", "-m", "template:bug").stdout
    checks = replan("doctor").stdout
    assert f"guards {len(BUILT_IN)} built in, " in checks
    assert re.search(r"kinds of agents [^;]*\bplanning\b", " ".join(checks.split()))
    online = replan("doctor", "-m", "gpt-5-mini")
    assert online.exit_code == 1
    assert "needs a key" in online.stdout


@pytest.mark.parametrize("group", [[], ["workflow"]])
def test_the_summaries_of_commands_are_not_truncated(replan, group):
    assert "..." not in replan(*group, "--help").stdout.partition("Commands:")[2].partition("Examples:")[0]


def announce(kinds):

    async def write():
        async with open_home() as engine:
            await engine.journal.announce("a host", identity(), 60.0, kinds)

    trio.run(write)


@pytest.mark.parametrize(
    ("kinds", "hinted"),
    [({"gardening": 1}, True), ({"planning": CODEC.format - 1}, True), ({"planning": CODEC.format}, False)],
)
def test_a_host_that_does_not_drive_a_run_does_not_hide_how_to_resume_it(replan, problem, scripted, kinds, hinted):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    assert replan("run", problem, "-m", model, "-w", "option_a").exit_code == 6
    run = run_id(replan)
    announce(kinds)
    answered = replan("answer", f"{run}/q1", "Version 3.12")
    assert (f"go on with: {program()} resume {run}" in answered.stderr) is hinted
    assert (f"go on with: {program()} resume {run}" in replan("tell", run, "hurry").stderr) is hinted
    assert replan("runs", "--json").stdout.count(f'"status": "{"parked" if hinted else "running"}"') == 1


def test_a_run_is_not_handed_to_hosts_of_other_kinds(replan, problem):
    replan("run", problem, "-m", "template:bug", "-w", "single")
    announce({"gardening": 1})
    assert_refused(
        replan("run", problem, "-m", "template:bug", "--detach"),
        "no running host drives runs of kind 'planning'",
    )
