"""`whatif`: recorded runs under an edited workflow, guard, policy or program. Nothing is called and nothing written."""

import json
import shutil

import apsw
import pytest
import yaml

from replan.setup.installation import data_root
from tests.cli.conftest import ROOT, SCRIPT
from tests.cli.samples import ANALYSIS, ASKING, BACKTRACKS, PLAN
from tests.cli.test_bad_input import assert_refused

GUARD = """
import replan
from replan import Verdict


@replan.guard
def small(artifact, context):
    {body}
    return Verdict(guard="small", passed=True, score=1.0)
"""
WORKFLOW = """name: w
action_pairs:
  g_plan:
    generator: model
    guard: {all_of: [plan_medium, small]}
    prompt: plan_direct
"""


@pytest.fixture
def whatif(replan):
    """Call `whatif --json`; return the exit code and the report."""

    def call(*arguments):
        done = replan("lab", "whatif", *arguments, "--json")
        return done.exit_code, json.loads(done.stdout)

    return call


def edited(tmp_path, folder, name, change):
    """Write a shipped workflow or policy after a change, and return its path."""
    fields = yaml.safe_load((data_root() / "configs" / folder / f"{name}.yaml").read_text(encoding="utf-8"))
    change(fields)
    path = tmp_path / f"{name}.yaml"
    path.write_text(yaml.safe_dump(fields, sort_keys=False), encoding="utf-8")
    return path


def records(replan, run):
    return [json.loads(line) for line in replan("log", run, "--json").stdout.splitlines()]


def test_what_decides_the_same_differs_nowhere(planned, whatif, tmp_path):
    planned(), planned(BACKTRACKS)
    same = edited(tmp_path, "workflows", "search", lambda fields: fields.update(description="Another text."))
    for options in ((), ("--workflow", same), ("--policy", "belief"), ("--guard", "plan_medium"), ("--release", ROOT)):
        code, report = whatif(*options)
        assert (code, report["counts"]["same"], report["runs"]) == (0, 2, []), options


def test_an_edited_workflow_differs_at_the_record_of_its_first_other_decision(planned, whatif, replan, tmp_path):
    run = planned(BACKTRACKS)

    def no_retries(fields):
        fields["action_pairs"]["g_plan"]["rmax"] = 1

    code, report = whatif("--workflow", edited(tmp_path, "workflows", "search", no_retries))
    [found] = report["runs"]
    assert (code, found["run_id"], found["outcome"]) == (3, run, "differs")
    record = records(replan, run)[found["seq"] - 1]
    assert (record["seq"], record["kind"]) == (found["seq"], "decided")
    assert 0.0 < found["odds_estimate"] < 1.0
    shown = replan("lab", "whatif", run, "--workflow", tmp_path / "search.yaml").stdout
    assert f"differs at record {found['seq']}, because: the policy" in shown
    assert "the next attempt is accepted with an estimated probability of" in shown


def test_another_prompt_needs_a_reply_that_nobody_recorded(planned, whatif, tmp_path):
    run = planned()
    prompts = yaml.safe_load((data_root() / "prompts" / "planning.yaml").read_text(encoding="utf-8"))
    prompts["plan"]["task"] += " Be brief."
    (tmp_path / "prompts.yaml").write_text(yaml.safe_dump(prompts), encoding="utf-8")
    path = edited(tmp_path, "workflows", "search", lambda fields: fields.update(prompts="./prompts.yaml"))
    code, report = whatif("--workflow", path)
    [found] = report["runs"]
    assert (code, found["run_id"], found["outcome"], found["request"]) == (3, run, "needs_reply", "g_plan/v1.a1")
    assert report["reasons"] == [
        {
            "outcome": "needs_reply",
            "reason": "the prompt of g_plan (generation) differs",
            "runs": 1,
            "example": run,
            "seq": found["seq"],
        }
    ]


def test_waiting_runs_come_first_and_are_counted(replan, planned, whatif, tmp_path):
    planned()
    planned({**SCRIPT, "g_analysis": [ASKING, ANALYSIS]})

    def silent(fields):
        fields["questions_max"] = 0

    path = edited(tmp_path, "workflows", "search", silent)
    code, report = whatif("--workflow", path)
    assert (code, report["waiting"]) == (3, {"compared": 1, "differ": 1})
    assert report["runs"][0]["status"] == "waiting"
    first = replan("lab", "whatif", "--workflow", path).stdout.splitlines()[0]
    assert first == "1 of 1 waiting run would decide differently"


def test_a_guard_that_is_edited_judges_the_recorded_artifacts(replan, problem, scripted, whatif, tmp_path):
    house, workflow = tmp_path / "house.py", tmp_path / "w.yaml"
    workflow.write_text(WORKFLOW)
    house.write_text(GUARD.format(body="pass"))
    replan("run", problem, "-w", workflow, "--plugins", house, "-m", scripted({"g_plan": [PLAN]}), "--no-input")
    asked = ("--guard", "small", "--plugins", house)
    assert whatif(*asked)[0] == 0
    house.write_text(GUARD.format(body="return Verdict(guard='small', passed=False)"))
    code, report = whatif(*asked)
    assert (code, report["runs"][0]["reason"]) == (3, "the guard now rejects an artifact that it accepted")
    house.write_text(GUARD.format(body="raise ValueError('no such table')"))
    code, report = whatif(*asked)
    assert code == 1
    assert report["runs"][0]["reason"] == "raises PlugInFailed: guard small: ValueError: no such table (house.py:8)"
    house.write_text(GUARD.format(body="while True: pass"))
    code, report = whatif(*asked, "--time-limit", "2")
    assert (code, report["runs"][0]["reason"]) == (1, "the replay did not end within 2 s")
    house.write_text(GUARD.format(body="import os; print('noise'); os._exit(3)"))
    assert whatif(*asked)[1]["runs"][0]["reason"] == "the process that replays the run ended without an answer"


def test_a_fork_is_compared_from_where_it_began(planned, whatif, replan, scripted):
    run = planned()
    replan("fork", run, "--at", "10", "-m", scripted(SCRIPT), "--no-input")
    code, report = whatif()
    assert (code, report["counts"]["same"]) == (0, 2), report["runs"]


def test_a_damaged_run_harms_no_other(planned, whatif, home):
    planned()
    damaged = planned()
    connection = apsw.Connection(str(home / "journal.sqlite3"))
    connection.execute("UPDATE runs SET last_hash = zeroblob(32) WHERE run = ?", (damaged,))
    connection.close()
    code, report = whatif()
    assert (code, report["counts"]["same"]) == (9, 1)
    assert [(each["run_id"], each["outcome"]) for each in report["runs"]] == [(damaged, "unreadable")]


def test_the_program_of_another_checkout_is_named_where_it_decides_otherwise(planned, whatif, replan, tmp_path):
    run, other = planned(BACKTRACKS), tmp_path / "other"
    for folder in ("actors", "configs", "packages/lab/replan_lab", "prompts", "replan", "runtime"):
        shutil.copytree(ROOT / folder, other / folder, ignore=shutil.ignore_patterns("__pycache__"))
    assert whatif("--release", other)[1]["counts"]["same"] == 1
    policy = other / "actors" / "policy" / "decision.py"
    text = policy.read_text(encoding="utf-8")
    policy.write_text(text.replace("case Search.LINEAR:", "case Search.DEPTH_FIRST:", 1), encoding="utf-8")
    code, report = whatif("--release", other)
    [found] = report["runs"]
    decided = next(record["seq"] for record in records(replan, run) if record["kind"] == "decided")
    assert (code, found["seq"]) == (3, decided)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--guard", "plan_mediun"), "no guard 'plan_mediun'"),
        (("--guard", "human_review"), "asks a person, who cannot be asked again"),
        (("--policy", "defualt"), "unknown policy"),
        (("--workflow", "serch"), "unknown workflow"),
        (("--release", "/nonexistent"), "the folder /nonexistent has no file packages/lab/replan_lab/whatif/worker.py"),
        (("nosuchrun",), "nosuchrun"),
    ],
)
def test_what_cannot_be_folded_is_refused_in_one_line(replan, planned, arguments, words):
    planned()
    assert_refused(replan("lab", "whatif", *arguments), words, code=8 if arguments == ("nosuchrun",) else 2)


def test_an_empty_home_has_nothing_to_compare(replan):
    done = replan("lab", "whatif")
    assert (done.exit_code, done.stdout) == (0, "0 runs: 0 unchanged, 0 with another decision\n")
