"""`replan check --format`: what build servers read, with the line of each finding, and the action that uses it."""

import json
import os
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
import yaml

from tests.tidy.source import ROOT

PLAN = {
    "plan_id": "p",
    "initial_state": ["start"],
    "goal_state": ["goal"],
    "total_retry_budget": 2,
    "steps": [
        {"step_id": "a", "generator": "g", "guard": "syntax", "retry_budget": 1, "effects": ["goal"]},
        {
            "step_id": 'b, "x": 50%',
            "generator": "g",
            "guard": "human",
            "retry_budget": 1,
            "preconditions": ["lost\x07"],
        },
    ],
}
GOOD = {**PLAN, "steps": PLAN["steps"][:1]}
SCRIPT = ROOT / ".github" / "check_plans.py"


@pytest.fixture
def plans(tmp_path):
    """A plan that is rejected at its second step, and one that is valid."""
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_text(json.dumps(PLAN, indent=1))
    good.write_text(json.dumps(GOOD))
    line = next(number for number, row in enumerate(bad.read_text().splitlines(), 1) if "50%" in row)
    return str(bad), str(good), line


def test_github_gets_a_command_for_each_finding_at_the_line_of_its_step(replan, plans):
    bad, good, line = plans
    result = replan("check", bad, good, "--format", "github")
    assert result.exit_code == 3
    row = next(row for row in result.stdout.splitlines() if "precondition_unsatisfied" in row)
    assert row.startswith(f"::error file={bad},line={line},title=plan.precondition_unsatisfied::step b, ")
    assert "50%25" in row
    assert "good.json" not in result.stdout


def test_sarif_is_one_log_with_a_result_for_each_finding(replan, plans):
    bad, good, line = plans
    log = json.loads(replan("check", bad, good, "--format", "sarif").stdout)
    assert (log["version"], len(log["runs"])) == ("2.1.0", 1)
    results = log["runs"][0]["results"]
    place = next(each for each in results if each["ruleId"] == "plan.precondition_unsatisfied")["locations"][0]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": bad}, "region": {"startLine": line}}
    assert {each["level"] for each in results} <= {"error", "warning"}
    assert json.loads(replan("check", good, "--format", "sarif").stdout)["runs"][0]["results"] == []


def test_junit_has_a_case_for_each_plan_and_fails_where_it_is_rejected(replan, plans):
    bad, good, line = plans
    suite = ET.fromstring(replan("check", bad, good, "--format", "junit").stdout)[0]
    assert [(case.get("name"), len(case)) for case in suite] == [(bad, 1), (good, 0)]
    assert f"{line}: plan.precondition_unsatisfied: step b" in suite[0][0].text


@pytest.mark.parametrize("form", ["github", "sarif", "junit"])
def test_a_line_of_a_file_with_many_plans_is_the_place_of_its_findings(replan, tmp_path, form):
    path = tmp_path / "many.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n\n{json.dumps(PLAN)}\nno plan\n")
    result = replan("check", path, "--format", form)
    assert result.exit_code == 2
    assert {"github": f"{path},line=3,", "sarif": '"startLine": 3}', "junit": f"{path}:3"}[form] in result.stdout
    assert {"github": f"{path},line=4,", "sarif": '"startLine": 4}', "junit": f"{path}:4"}[form] in result.stdout


def test_two_forms_are_refused(replan, plans):
    result = replan("check", plans[0], "--json", "--format", "junit")
    assert result.exit_code == 2
    assert "several output formats are given" in result.stderr


def test_the_action_annotates_and_draws_the_plans_of_a_checkout(plans, tmp_path):
    steps = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    given = {name: value.partition("inputs.")[2].partition(" ")[0] for name, value in steps[-1]["env"].items()}
    assert steps[-1]["run"] == 'python "$GITHUB_ACTION_PATH/.github/check_plans.py"'
    assert given == {"REPLAN_PLANS": "plans", "REPLAN_LEVEL": "level", "REPLAN_GUARDS": "guards"}
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "REPLAN_LEVEL": "medium"}

    def run(patterns):
        environment["REPLAN_PLANS"] = patterns
        return subprocess.run(
            [sys.executable, SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    done = run("*.json nothing/*.json")
    assert done.returncode == 3, done.stderr
    assert "::error file=bad.json,line=" in done.stdout
    summary = (tmp_path / "summary.md").read_text()
    assert "## Plans: 2 checked" in summary
    assert "### `good.json`\n\n```mermaid\nflowchart TD\n" in summary
    assert (run("none*.json").returncode, run("none*.json").stdout) == (0, "::notice::no file matches none*.json\n")
