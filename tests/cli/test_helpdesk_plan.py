"""The plan of the helpdesk (`benchmarks/bench_helpdesk.py`) is proved, and its tools file implements all of it."""

import json

from tests.tidy.source import ROOT

FOLDER = ROOT / "benchmarks" / "helpdesk"


def test_the_plan_of_the_helpdesk_is_proved_with_fair_retries(replan):
    result = replan("check", FOLDER / "plan.json", "--level", "expansive", "--r-max", "300", "--json")
    assert result.exit_code == 0, result.stdout
    told = json.loads(result.stdout)
    assert (told["valid"], told["assurance"]) == (True, "strong_cyclic")


def test_its_tools_file_reads_every_outcome_and_value(replan, tmp_path):
    (tmp_path / "work").mkdir()
    words = (
        "--tools",
        FOLDER / "tools.yaml",
        "--workspace",
        tmp_path / "work",
        "--r-max",
        "300",
        "-m",
        "template:bug",
        "--dry-run",
    )
    result = replan("execute", FOLDER / "plan.json", *words)
    assert result.exit_code == 0, result.stderr
