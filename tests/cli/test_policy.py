"""`policy list`, `show` and `check`: misspelt codes, tags and roles are found, with the nearest name."""

import json

import pytest

from tests.cli.samples import PLAN

POLICY = """name: mine
rows:
  - id: first
    why: A reason.
    codes: [plan.cycle]
    level: partial_replan
    target: role strategy
  - id: otherwise
    why: Another one.
    level: local_retry
"""


@pytest.fixture
def check(replan, tmp_path):
    path = tmp_path / "mine.yaml"

    def call(old="", new="", *more):
        assert old in POLICY
        path.write_text(POLICY.replace(old, new))
        done = replan("policy", "check", path, "--json", *more)
        (report,) = json.loads(done.stdout)["policies"]
        assert report["valid"] == (done.exit_code == 0)
        return done.exit_code, report["findings"]

    return call


def test_the_shipped_policies_are_listed_shown_and_valid(replan):
    rows = json.loads(replan("policy", "list", "--json").stdout)["policies"]
    assert [row["name"] for row in rows] == ["belief", "default"]
    assert [line.split()[0] for line in replan("policy", "list").stdout.splitlines()] == ["belief", "default"]
    assert "1. ask_the_user: clarify\n   fires on a fatal verdict, requirements.conflict" in (
        replan("policy", "show", "default").stdout
    )
    assert json.loads(replan("policy", "show", "default", "--json").stdout)["rows"][0]["id"] == "ask_the_user"
    for row in rows:
        assert replan("policy", "check", row["name"]).stdout == f"{row['name']}: valid\n"


@pytest.mark.parametrize(
    ("old", "new", "line", "near"),
    [
        ("plan.cycle", "plan.cicle", 5, "plan.cycle"),
        ("plan.cycle", "plam.*", 5, "plan.*"),
        ("role strategy", "role strateg", 7, "strategy"),
        ("codes: [plan.cycle]", "tags: [missing_evidense]", 5, "missing_evidence"),
        ("level: local_retry", "level: lokal_retry", 10, "local_retry"),
    ],
)
def test_a_misspelt_name_is_an_error_with_the_nearest_one(check, old, new, line, near):
    code, (finding,) = check(old, new)
    assert (code, finding["severity"]) == (2, "error")
    assert f"mine.yaml:{line} " in finding["place"]
    assert near in finding["hint"]


def test_a_name_of_a_plug_in_is_a_warning(check):
    code, (finding,) = check("plan.cycle", "house.no_test")
    assert (code, finding["severity"]) == (0, "warning")


def test_the_roles_of_a_workflow_are_known(check, tmp_path):
    workflow = tmp_path / "w.yaml"
    workflow.write_text("name: w\naction_pairs:\n  g_plan: {generator: model, guard: plan_medium, role: sketch}\n")
    code, (finding,) = check("role strategy", "role sketch")
    assert (code, finding["severity"]) == (0, "warning")
    assert check("role strategy", "role sketch", "-w", workflow) == (0, [])


def test_a_run_says_that_its_policy_has_a_misspelt_name(replan, problem, scripted, tmp_path):
    (tmp_path / "mine.yaml").write_text(POLICY.replace("plan.cycle", "plan.cicle"))
    workflow = tmp_path / "w.yaml"
    pair = "{generator: model, guard: plan_medium, prompt: plan_direct}"
    workflow.write_text(f"name: w\npolicy: ./mine.yaml\naction_pairs:\n  g_plan: {pair}\n")
    done = replan("run", problem, "-w", workflow, "-m", scripted({"g_plan": [PLAN]}), "--no-input")
    assert done.exit_code == 0
    assert "policy mine, row 'first': unknown code 'plan.cicle'; did you mean 'plan.cycle'?" in done.stderr


def test_a_missing_policy_is_one_line(replan):
    done = replan("policy", "show", "defalt")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert "did you mean 'default'?" in done.stderr
