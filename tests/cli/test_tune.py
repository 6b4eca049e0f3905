"""The commands `tune`: their output, the files that they write, and their errors."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import trio
import yaml

from actors.planning.kind import PLANNING
from replan.experiments.preparation import prepare
from replan.experiments.simulation import simulate_run
from replan.runs.home import open_home
from replan.setup.data_files import data_root
from runtime.journal.port import Fact
from tests.cli.samples import ANALYSIS, PLAN
from tests.tuning.test_race import installed

PROBLEM = str(data_root() / "configs" / "problems" / "login_timeout.md")
RACE = ("tune", "race", PROBLEM, "-m", "simulated:base", "-w", "single", "-w", "search", "-p", "default", "--jobs", "1")
UNMADE = {**PLAN, "goal_state": ["a_token_that_nothing_makes"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_race_writes_a_workflow_that_runs_at_once(replan, folder):
    result = replan(*RACE, "--cap", 5, "--cap", 10, "--max-calls", 120)
    assert result.exit_code == 0
    assert "Written: tuned.yaml" in result.stdout
    text = (folder / "tuned.yaml").read_text()
    head = [line for line in text.splitlines() if line.startswith("#")]
    assert head[0] == "# Made by `replan tune race`."
    for part in ("95 % interval", "calls on average", "paired", "of 120 calls allowed"):
        assert any(part in line for line in head), part
    workflow = yaml.safe_load(text)
    assert workflow["policy"] == "default"
    assert workflow["max_total_calls"] in (5, 10)
    dry = json.loads(replan("run", PROBLEM, "-w", "tuned.yaml", "-m", "rules", "--dry-run", "--json").stdout)
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
    result = replan("run", PROBLEM, "-w", "tuned.yaml", "-m", "rules", "--max-calls", 4, "--dry-run", "--json")
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
        (["-m", "simulated:base", "--max-calls", "900", "--out", "notes.md"], "was not made by Replan"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_writes_nothing(replan, folder, monkeypatch, arguments, said):
    monkeypatch.setenv("REPLAN_MODEL", "rules")  # A model of the environment is not named for the race.
    (folder / "notes.md").write_text("mine\n")
    result = replan("tune", "race", PROBLEM, *arguments)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr
    assert [path.name for path in folder.iterdir()] == ["notes.md"]


def test_a_missing_problem_is_named(replan, folder):
    result = replan("tune", "race", "nowhere.md", *RACE[3:], "--max-calls", 120)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "nowhere.md" in result.stderr


def test_a_home_without_runs_changes_no_belief(replan, folder):
    result = replan("tune", "belief", "--json")
    shown = json.loads(result.stdout)
    assert result.exit_code == 3
    assert (shown["file"], shown["runs_used"], shown["failures"], shown["log_score_error"]) == (None, 0, 0, None)
    result = replan("tune", "belief")
    assert result.stdout.endswith("Nothing was written.\n")
    assert result.stderr == (
        "replan: this home has no runs that a belief learns from; plan some first, as with `replan run problem.md`\n"
    )
    assert list(folder.iterdir()) == []


def record(name, count):
    """Store simulated runs of the workflow `search` in the home, each of another problem that is hard at the plan."""
    path = Path("recorded.yaml")
    path.write_text(
        f"name: runs\ndescription: d\nproblems: [{PROBLEM}]\nmodels: ['simulated:plan_level']\nbaseline: one\n"
        "pipelines: [{name: one, workflow: search}]\n"
    )
    prepared = prepare(path, installed())
    path.unlink()
    setup, text = prepared.arms[0].lab_setup, prepared.problems[0].text

    async def store():
        async with open_home(make=True) as engine:
            for seed in range(count):
                facts = [Fact(event) for event in simulate_run(setup, f"{text}\nTicket {seed}.", seed)[1]]
                await engine.journal.create(f"{name}{seed}", "title", PLANNING.name, PLANNING.format, facts=facts)

    trio.run(store)


def test_a_belief_is_written_and_decides_and_is_estimated_from_there_on(replan, folder):
    """The same runs suggest little more to the policy that was tuned with them."""
    record("r", 60)
    result = replan("tune", "belief", "--out", "mine.yaml")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert re.fullmatch(r"\d+ runs and 50 pseudo-runs estimate, \d+ held-out runs of \d+ problems judge\.", lines[0])
    assert sum(map(int, re.findall(r"(\d+) (?:held-out )?runs", lines[0]))) == 60
    assert float(re.search(r"plan 18.4% -> ([\d.]+)%", lines[1])[1]) > 30
    score = r"The log score .* changes by ([-+.\d]+), .* more than two standard errors better\."
    [gain] = [float(found[1]) for line in lines if (found := re.match(score, line))]
    assert any(re.match(r"The first move would differ in \d+ of \d+ recorded failures\.", line) for line in lines)
    assert "saved" not in result.stdout
    assert lines[-1] == "Written: mine.yaml"
    text = (folder / "mine.yaml").read_text()
    assert [line.removeprefix("# ") for line in text.splitlines() if line.startswith("#")][1:] == lines[:-1]
    policy, shipped = yaml.safe_load(text), yaml.safe_load((data_root() / "configs/policies/belief.yaml").read_text())
    assert policy["name"] == "mine"
    assert policy["belief"]["causes"]["plan"] > 0.3
    changed = {key for key in shipped["belief"] if policy["belief"][key] != shipped["belief"][key]}
    assert changed <= {"causes", "chances", "agreement"}
    assert {key: value for key, value in policy.items() if key not in ("name", "belief")} == {
        key: value for key, value in shipped.items() if key not in ("name", "belief")
    }
    assert replan("policy", "check", "./mine.yaml", "-w", "search").exit_code == 0
    (folder / "flow.yaml").write_text(
        "name: flow\npolicy: ./mine.yaml\naction_pairs: {g_plan: {generator: LLMPlanGenerator, guard: plan_medium}}\n"
    )
    assert replan("run", PROBLEM, "-w", "flow.yaml", "-m", "rules").exit_code == 0
    again = replan("tune", "belief", "--policy", "./mine.yaml", "--out", "two.yaml", "--json")
    assert json.loads(again.stdout)["log_score_gain"] < gain / 2


def test_too_few_runs_are_said_in_one_line(replan, folder):
    record("r", 12)
    result = replan("tune", "belief")
    assert (result.exit_code, result.stderr.count("\n")) == (3, 1)
    assert "cannot judge an estimate; 20 are needed, so plan about " in result.stderr
    assert result.stdout.endswith("Nothing was written.\n")
    assert list(folder.glob("*.yaml")) == []


def test_many_runs_of_one_problem_are_no_evidence(replan, folder, problem, scripted):
    """All are in one half, and one problem judges nothing, however often it was planned."""
    model = scripted({"g_plan": [UNMADE, PLAN]})
    for _ in range(3):
        assert replan("run", problem, "-m", model, "-w", "single").exit_code == 0
    shown = json.loads(replan("tune", "belief", "--json").stdout)
    assert {shown["runs_used"], shown["runs_held_out"]} == {0, 3}
    assert (shown["problems_held_out"], shown["log_score_error"], shown["file"]) == (
        shown["runs_held_out"] // 3,
        None,
        None,
    )


def test_runs_of_another_search_are_left_out_and_counted(replan, folder, problem, scripted):
    for _ in range(2):
        replan("run", problem, "-m", scripted({"g_plan": [UNMADE, PLAN]}), "-w", "single", "--search", "linear")
    result = replan("tune", "belief", "--json")
    assert [each["cause"] for each in json.loads(result.stdout)["left_out"]] == ["its search is linear"] * 2
    assert "replan: 2 runs left out of which a belief has no use: its search is linear" in result.stderr
    assert "Left out: 2 runs, of which 0 cannot be read." in replan("tune", "belief").stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--policy", "default"], "policy 'default' has no belief"),
        (["--policy", "beleif"], "unknown policy 'beleif'"),
        (["--out", "notes.md"], "was not made by Replan"),
    ],
)
def test_a_wrong_command_for_a_belief_is_one_line(replan, folder, arguments, said):
    (folder / "notes.md").write_text("mine\n")
    result = replan("tune", "belief", *arguments)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert said in result.stderr


def test_a_damaged_run_is_named_and_harms_no_other(replan, folder, home, problem, scripted):
    ids = []
    for _ in range(2):
        model = scripted({"g_analysis": [ANALYSIS], "g_plan": [UNMADE, PLAN]})
        ids.append(json.loads(replan("run", problem, "-m", model, "-w", "option_a", "--json").stdout)["run_id"])
    whole = json.loads(replan("tune", "belief", "--json").stdout)
    assert (whole["runs_used"] + whole["runs_held_out"], whole["failures"]) == (2, 2)
    with closing(sqlite3.connect(home / "journal.sqlite3")) as journal, journal:
        journal.execute("UPDATE events SET at = at + 1 WHERE run = (SELECT min(run) FROM events) AND seq = 2")
    result = replan("tune", "belief", "--json")
    shown = json.loads(result.stdout)
    assert result.exit_code == 3
    assert (shown["runs_used"] + shown["runs_held_out"], shown["failures"]) == (1, 1)
    assert [each["run_id"] for each in shown["left_out"]] == [ids[0]]
    assert f"replan: 1 run left out that cannot be read; it is {ids[0]}: " in result.stderr
    assert "Left out: 1 run, of which 1 cannot be read." in replan("tune", "belief").stdout
