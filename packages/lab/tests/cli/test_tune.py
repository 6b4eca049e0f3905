"""The commands `tune`: their output, the files that they write, and their errors."""

import json

import pytest
import yaml

from replan.setup.installation import data_root

PROBLEM = str(data_root() / "configs" / "problems" / "login_timeout.md")
RACE = ("lab", "race", PROBLEM, "-m", "simulated:base", "-w", "single", "-w", "search", "-p", "default", "--jobs", "1")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_race_writes_a_workflow_that_runs_at_once(replan, folder):
    result = replan(*RACE, "--cap", 5, "--cap", 10, "--max-calls", 120)
    assert result.exit_code == 0
    assert "Written: tuned.yaml" in result.stdout
    text = (folder / "tuned.yaml").read_text()
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert head[0] == "# Made by `replan lab race`."
    for part in ("95 % interval", "calls on average", "Paired difference", "of 120 calls allowed"):
        assert any(part in line for line in head), part
    workflow = yaml.safe_load(text)
    assert workflow["policy"] == "default"
    assert workflow["max_total_calls"] in (5, 10)
    dry = json.loads(replan("run", PROBLEM, "-w", "tuned.yaml", "-m", "template:bug", "--dry-run", "--json").stdout)
    assert dry["calls_limit"] == workflow["max_total_calls"]


def test_json_is_one_object_with_the_numbers(replan, folder):
    result = replan(*RACE, "--cap", 5, "--max-calls", 100, "--json")
    shown = json.loads(result.stdout)
    assert shown["winner"] == shown["standings"][0]
    assert shown["calls"] <= 100
    assert shown["runner_up"]["entrant"] != shown["winner"]["entrant"]
    assert shown["stopped"] is None


def test_a_belief_policy_in_the_winner_keeps_its_other_options(replan, folder):
    """A workflow with a belief policy takes `--max-calls`; no key that it leaves out counts as set."""
    assert replan(*RACE[:-3], "belief", "--cap", 10, "--max-calls", 120, "--jobs", 1).exit_code == 0
    assert yaml.safe_load((folder / "tuned.yaml").read_text())["policy"] == "belief"
    result = replan("run", PROBLEM, "-w", "tuned.yaml", "-m", "template:bug", "--max-calls", 4, "--dry-run", "--json")
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-m", "simulated:base"], "a race needs a limit"),
        (["--max-calls", "100"], "no model is named"),
        (["-m", "simulated:base", "--max-cost", "5"], "a simulated model costs nothing"),
        (["-m", "simulated:base", "--max-calls", "5"], "may need"),
        (["-m", "simulated:base", "--max-calls", "900", "-w", "serch"], "unknown workflow 'serch'"),
        (["-m", "simulated:base", "--max-calls", "900", "-p", "strict"], "unknown policy 'strict'"),
        (["-m", "simulated:bose", "--max-calls", "900"], "unknown profile 'bose'"),
        (["-m", "simulated:base", "--max-calls", "900", "--out", "notes.md"], "Replan did not write it"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_writes_nothing(replan, folder, monkeypatch, arguments, said):
    monkeypatch.setenv("REPLAN_MODEL", "template:bug")  # A model of the environment is not named for the race.
    (folder / "notes.md").write_text("mine\n")
    result = replan("lab", "race", PROBLEM, *arguments)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr
    assert [path.name for path in folder.iterdir()] == ["notes.md"]


def test_a_missing_problem_is_named(replan, folder):
    result = replan("lab", "race", "nowhere.md", *RACE[3:], "--max-calls", 120)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "nowhere.md" in result.stderr
