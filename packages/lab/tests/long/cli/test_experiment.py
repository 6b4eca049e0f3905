"""The command `experiment`: its output, its files and its errors."""

import json
import subprocess
import time

import pytest
import yaml
from click.testing import CliRunner

from packages.lab.tests.experiments.conftest import SMALL
from replan.cli.app import app
from replan.setup.installation import data_root


@pytest.fixture
def file(tmp_path):
    """Return a function that writes the small experiment with changes."""

    def written(**changes):
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump({**SMALL, **changes}))
        return path

    return written


def run(*arguments):
    return CliRunner().invoke(app, ["lab", "experiment", *map(str, arguments)])


def test_a_line_per_arm_is_printed_and_the_report_written(file, tmp_path):
    result = run(file(), "--out", tmp_path / "out", "--jobs", "1")
    assert result.exit_code == 0
    assert "search/depth_first" in result.stdout
    assert f"Report: {tmp_path / 'out' / 'report.html'}" in result.stdout
    assert (tmp_path / "out" / "report.html").exists()


def test_json_is_one_object_with_all_tables(file, tmp_path):
    result = run(file(), "--out", tmp_path / "out", "--jobs", "1", "--json")
    shown = json.loads(result.stdout)
    assert [row["arm"] for row in shown["arms"]] == ["search/depth_first", "search/blind"]
    assert {"name", "folder", "budgets", "depths", "steps"} <= set(shown)


def test_a_spent_budget_is_an_exit_code(file, tmp_path):
    result = run(file(budget={"calls": 40}), "--out", tmp_path / "out", "--jobs", "1")
    assert result.exit_code == 5
    assert "the budget is spent" in (tmp_path / "out" / "report.html").read_text()


def test_an_invalid_experiment_is_reported_in_one_line(file, tmp_path):
    result = run(file(searches=["deep", "blind"]), "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "not 'deep'" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_killed_and_restarted_experiment_writes_the_same_bytes(file, tmp_path, commands):
    """A real process and a real SIGKILL."""
    path = file(seeds={"first": 1000, "count": 24})
    results = tmp_path / "out" / "results.jsonl"
    words = ("lab", "experiment", path, "--jobs", "1", "--out", tmp_path / "out")
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = commands.start(*words, cwd=data_root(), **streams)
    while process.poll() is None and not (results.exists() and results.stat().st_size > 6_000):
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert 0 < len(results.read_bytes().splitlines()) < 48
    assert run(path, "--out", tmp_path / "out", "--jobs", "1").exit_code == 0
    assert run(path, "--out", tmp_path / "whole", "--jobs", "1").exit_code == 0
    for name in ("results.jsonl", "report.html", "arms.csv"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
