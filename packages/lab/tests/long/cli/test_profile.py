"""`replan lab profile`: what it prints of a simulated and of a scripted model, its file, its limits."""

import json

import pytest
import yaml

from replan_lab.tuning import model_profile
from tests.cli.conftest import SCRIPT

FEW = ("--tasks", "10", "--max-calls", "120", "--jobs", "1")


@pytest.fixture(autouse=True)
def two_worlds(monkeypatch, tmp_path):
    monkeypatch.setattr(model_profile, "WORLDS", 2)
    monkeypatch.chdir(tmp_path)


def test_a_profile_prints_each_step_writes_the_settings_goes_on_and_is_known_to_later_runs(replan, tmp_path):
    result = replan("lab", "profile", "-m", "simulated:base", *FEW)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["step", "attempts"]
    assert {line.split()[0] for line in lines[1:5]} == {"g_analysis", "g_recon", "g_strategy", "g_plan"}
    assert [line.split(":")[0].split()[0] for line in lines[5:]] == [
        "Plans",
        "A",
        "Feedback",
        "Settings",
        "These",
        "Later",
        "Written",
    ]
    assert replan(
        "run", "--dry-run", "-m", "simulated:exact", "-w", str(tmp_path / "profile.yaml"), "-", input="It fails."
    )
    results = tmp_path / "profile.profile" / "measured" / "results.jsonl"
    written = results.read_bytes()
    counts = json.loads(replan("lab", "profile", "-m", "simulated:base", *FEW, "--json").stdout)["counted"]
    assert (counts["runs"], results.read_bytes()) == (10, written), "nothing is asked twice"
    run = json.loads(replan("run", "-m", "simulated:base", "--json", "-", input="It fails.").stdout)["run_id"]
    known = json.loads(replan("show", run, "--tree", "--json").stdout)["author"]
    assert known["source"] == f"profile (10 runs, {counts['date']})"
    assert f"source: {known['source']}" in replan("show", run, "--tree").stdout
    assert known["in_runs"]


def test_a_profile_from_another_version_is_refused_before_any_call(replan, tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "model_profiles.yaml").write_text("format: 2\n")
    for arguments in ("lab", "profile", "-m", "simulated:base", *FEW), ("run", "-m", "simulated:base", "-"):
        refused = replan(*arguments, env={"REPLAN_HOME": str(home)}, input="It fails.")
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert "model_profiles.yaml" in refused.stderr
        assert "replan lab profile" in refused.stderr


def test_a_model_of_the_journal_is_measured_by_its_recorded_runs(replan, scripted, tmp_path):
    result = replan("lab", "profile", "-m", scripted(SCRIPT), *FEW, "--json")
    assert result.exit_code == 0, result.stderr
    shown = json.loads(result.stdout)
    assert shown["tasks"] == 10
    assert sum(row["attempts"] for row in shown["steps"]) == shown["calls"]
    assert yaml.safe_load((tmp_path / "profile.yaml").read_text())["max_total_calls"] == shown["settings"]["max_calls"]


def test_compact_prompts_are_measured_and_written(replan, tmp_path):
    """The prompts of the tasks are shorter, and a run with the written workflow has the same."""
    sizes = []
    for options in (), ("--compact", "--output-tokens-max", "900"):
        out = tmp_path / f"profile{len(options)}.yaml"
        result = replan("lab", "profile", "-m", "simulated:base", *FEW, *options, "--out", str(out), "--json")
        assert result.exit_code == 0, result.stderr
        written = yaml.safe_load(out.read_text())
        assert written.get("model_settings") == ({"compact": True} if options else None)
        assert written.get("output_tokens_max") == (900 if options else None)
        shown = replan("run", "--dry-run", "--json", "-m", "template:bug", "-w", str(out), "-", input="It fails.")
        trials = (out.with_suffix(".profile") / "measured" / "results.jsonl").read_text().splitlines()[1:]
        sizes.append(sum(json.loads(trial)["tokens"] for trial in trials))
        assert shown.exit_code == 0, shown.stderr
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (["--max-calls", "100"], "no model is named"),
        (["-m", "simulated:base"], "a profile needs a limit"),
        (["-m", "simulated:base", "--max-calls", "100"], "60 tasks need at least 360 calls"),
        (
            ["-m", "simulated:base", "--max-calls", "600", "--out", "notes.md"],
            "the file exists, and Replan did not write it",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(replan, tmp_path, arguments, cause):
    (tmp_path / "notes.md").write_text("mine")
    result = replan("lab", "profile", *arguments)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert cause in result.stderr
