"""`check`: the contract for files, lines, levels and codes."""

import json

import pytest

from tests.cli.samples import LOST, PLAN
from tests.cli.test_bad_input import refused


@pytest.fixture
def plans(tmp_path):
    """A valid plan, a rejected one, one that is no JSON, and a file with several."""
    (tmp_path / "good.json").write_text(json.dumps(PLAN))
    (tmp_path / "bad.json").write_text(json.dumps(LOST))
    (tmp_path / "torn.json").write_text('{"plan_id": "p1", "steps": [')
    rows = [PLAN, {"case_id": "c2", "plan": LOST, "expected": {}}, {"plan": PLAN}]
    (tmp_path / "many.jsonl").write_text("\n\n".join(json.dumps(row) for row in rows) + "\n")
    return tmp_path


def test_a_valid_plan_is_exit_0(replan, plans, home):
    done = replan("check", plans / "good.json", "--json")
    shown = json.loads(done.stdout)
    assert done.exit_code == 0
    assert shown == {
        "file": str(plans / "good.json"),
        "level": "medium",
        "valid": True,
        "assurance": None,
        "escalations": [],
        "findings": [],
    }
    assert not home.exists()


def test_a_rejected_plan_is_exit_3_with_its_findings(replan, plans):
    done = replan("check", plans / "bad.json", "--json")
    shown = json.loads(done.stdout)
    assert (done.exit_code, shown["valid"]) == (3, False)
    finding = next(one for one in shown["findings"] if one["severity"] == "error")
    assert set(finding) == {"code", "severity", "message", "step_id", "tokens"}
    assert (finding["code"], finding["step_id"], finding["tokens"]) == (
        "plan.precondition_unsatisfied",
        "fix",
        ["nobody_makes_this"],
    )


def test_the_expansive_level_reports_assurance_and_escalations(replan, plans):
    shown = json.loads(replan("check", plans / "good.json", "--level", "expansive", "--json").stdout)
    assert shown["assurance"] == "strong"
    assert shown["escalations"] == ["ask", "fix"]


def test_a_dead_end_comes_with_its_trace(replan, tmp_path):
    plan = {**PLAN, "steps": [{**PLAN["steps"][0], "failure_effects": []}, PLAN["steps"][2]]}
    (tmp_path / "dead.json").write_text(json.dumps(plan))
    done = replan("check", tmp_path / "dead.json", "--level", "expansive", "--json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert done.exit_code == 3
    assert (finding["code"], finding["trace"]) == ("plan.dead_end", ["find:fail"])
    weak = replan("check", tmp_path / "dead.json", "--level", "expansive", "--assurance", "weak")
    assert weak.exit_code == 0


def test_lines_of_a_jsonl_file_are_plans_or_hold_one(replan, plans):
    done = replan("check", plans / "many.jsonl", "--jsonl")
    rows = [json.loads(row) for row in done.stdout.splitlines()]
    assert done.exit_code == 3
    assert [(row["line"], row.get("case_id"), row["valid"]) for row in rows] == [
        (1, None, True),
        (3, "c2", False),
        (5, None, True),
    ]


def test_several_files_are_an_array(replan, plans):
    done = replan("check", plans / "good.json", plans / "bad.json", "--json")
    assert [one["valid"] for one in json.loads(done.stdout)] == [True, False]
    assert isinstance(json.loads(replan("check", plans / "many.jsonl", "--json").stdout), list)


def test_what_cannot_be_read_is_exit_2_and_the_others_are_still_checked(replan, plans):
    done = replan("check", plans / "torn.json", plans / "missing.json", plans / "good.json", "--jsonl")
    rows = [json.loads(row) for row in done.stdout.splitlines()]
    assert done.exit_code == 2
    assert [row["valid"] for row in rows] == [False, True]
    assert rows[0]["findings"][0]["code"].startswith("reply.")
    assert "missing.json: no such file" in done.stderr


def test_for_people_there_are_lines(replan, plans):
    done = replan("check", plans / "good.json", plans / "bad.json")
    assert "good.json: valid at level medium" in done.stdout
    assert "bad.json: rejected at level medium" in done.stdout
    assert "- plan.precondition_unsatisfied at fix: " in done.stdout


def test_a_plan_may_come_in_the_result_of_a_run(replan, problem, scripted):
    shown = replan("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", "single", "--json").stdout
    assert replan("check", "-", input=shown).exit_code == 0


def test_settings_reach_the_guards(replan, plans, tmp_path):
    assert replan("check", plans / "good.json", "--r-max", "5").exit_code == 3
    odd = {**PLAN, "steps": [{**step, "guard": "my_guard"} for step in PLAN["steps"]]}
    (tmp_path / "odd.json").write_text(json.dumps(odd))
    assert replan("check", tmp_path / "odd.json").exit_code == 3
    assert replan("check", tmp_path / "odd.json", "--guard", "my_guard").exit_code == 0


def test_flags_that_contradict_each_other_are_refused(replan, plans):
    refused(replan("check", plans / "good.json", "--assurance", "weak"), "--level expansive")
    assert replan("check", plans / "good.json", "--json", "--jsonl").exit_code == 2
    assert replan("check", plans / "good.json", "--level", "large").exit_code == 2


def test_a_file_without_any_plan_is_not_a_green_check(replan, tmp_path):
    (tmp_path / "none.jsonl").write_text("\n\n")
    done = replan("check", tmp_path / "none.jsonl")
    assert done.exit_code == 2
    assert "none.jsonl: holds no plan" in done.stderr


def test_a_run_without_a_plan_is_said_to_have_none(replan, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"run_id": "r", "status": "waiting", "plan": None}))
    done = replan("check", tmp_path / "run.json")
    assert done.exit_code == 2
    assert "run.json: the run has no plan: waiting" in done.stderr


def test_people_read_a_finding_once_with_all_its_steps(replan, tmp_path):
    guards = {"find": "ours", "ask": "ours", "fix": "syntx"}
    steps = [{**step, "guard": guards[step["step_id"]]} for step in PLAN["steps"]]
    (tmp_path / "own.json").write_text(json.dumps({**PLAN, "steps": steps}))
    done = replan("check", tmp_path / "own.json")
    _, first, second, *advice = done.stdout.splitlines()
    assert done.exit_code == 3
    assert first.startswith("- plan.unknown_guard at ask, find: unknown guard 'ours'; choose one of 'all_tests_pass', ")
    assert second == "- plan.unknown_guard at fix: unknown guard 'syntx'."
    assert advice == ["- did you mean 'syntax' for 'syntx'?", "- guards of your own are allowed by name: --guard ours"]
    assert replan("check", tmp_path / "own.json", "--guard", "ours", "--guard", "syntx").exit_code == 0
    shown = json.loads(replan("check", tmp_path / "own.json", "--json").stdout)
    assert [one["step_id"] for one in shown["findings"]] == ["ask", "find", "fix"]


def test_what_is_wrong_in_many_steps_counts_those_that_a_line_cannot_name(replan, tmp_path):
    one = PLAN["steps"][0]
    steps = [{**one, "step_id": f"s{number:02}", "retry_budget": 0} for number in range(20)]
    (tmp_path / "many.json").write_text(json.dumps({**PLAN, "steps": steps}))
    line = next(row for row in replan("check", tmp_path / "many.json").stdout.splitlines() if "bad_budget" in row)
    assert line.startswith("- plan.bad_budget at s00, s01, ")
    assert "s11 and 8 more: retry_budget must be" in line


def test_what_is_no_plan_at_all_is_called_unreadable(replan, plans):
    """Exit 2, as the help says; a rejected plan could be read."""
    done = replan("check", plans / "torn.json")
    assert done.exit_code == 2
    assert done.stdout.splitlines()[0] == f"{plans / 'torn.json'}: unreadable"


@pytest.mark.parametrize("value", ["a text", "", json.dumps(PLAN), 3, None, [], True])
def test_json_that_is_no_object_is_read_and_rejected(replan, tmp_path, value):
    """A text is a JSON value like the others, whatever stands in it."""
    for name, content in (("plan.json", value), ("plans.jsonl", value), ("held.json", {"plan": value})):
        (tmp_path / name).write_text(json.dumps(content))
        done = replan("check", tmp_path / name, "--jsonl")
        shown = json.loads(done.stdout)
        assert (done.exit_code, [one["code"] for one in shown["findings"]]) == (3, ["field.not_object"])
