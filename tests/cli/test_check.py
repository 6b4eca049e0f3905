"""`check`: files, lines, levels, findings and exit codes."""

import json

import pytest

from replan.cli.terminal import plain
from runtime.models.replies import BYTES_MAX
from tests.cli.samples import LOST, PLAN
from tests.cli.test_bad_input import assert_refused


@pytest.fixture
def plans(tmp_path):
    """A folder with a valid plan, a rejected plan, a file that is not JSON, and a file with several plans."""
    (tmp_path / "good.json").write_text(json.dumps(PLAN))
    (tmp_path / "bad.json").write_text(json.dumps(LOST))
    (tmp_path / "malformed.json").write_text('{"plan_id": "p1", "steps": [')
    rows = [PLAN, {"case_id": "c2", "plan": LOST, "expected": {}}, {"plan": PLAN}]
    (tmp_path / "many.jsonl").write_text("\n\n".join(json.dumps(row) for row in rows) + "\n")
    return tmp_path


def test_a_valid_plan_is_exit_0(replan, plans, home):
    result = replan("check", plans / "good.json", "--json")
    shown = json.loads(result.stdout)
    assert result.exit_code == 0
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
    result = replan("check", plans / "bad.json", "--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["valid"]) == (3, False)
    finding = next(item for item in shown["findings"] if item["severity"] == "error")
    assert set(finding) == {"code", "severity", "message", "step_id", "tokens"}
    assert (finding["code"], finding["step_id"], finding["tokens"]) == (
        "plan.precondition_unsatisfied",
        "fix",
        ["nobody_makes_this"],
    )


FORBIDDEN = {
    "tools": {"kind": "must_avoid", "text": "no G", "quote": "never use g", "source": "problem", "tools": ["G"]},
    "a token that is made": {
        "kind": "must_avoid",
        "text": "x",
        "quote": "x",
        "source": "problem",
        "tokens": ["unknown"],
    },
    "a token that must stay": {
        "kind": "must_keep",
        "text": "y",
        "quote": "y",
        "source": "problem",
        "tokens": ["known"],
    },
}


@pytest.mark.parametrize("requirement", FORBIDDEN.values(), ids=FORBIDDEN)
@pytest.mark.parametrize("level", ["minimal", "medium", "expansive"])
def test_a_plan_that_does_what_its_own_requirement_forbids_is_rejected(replan, tmp_path, requirement, level):
    """It was valid here, and not proved where it was to be executed."""
    steps = [{**step} for step in PLAN["steps"]]
    if requirement["kind"] == "must_keep":
        steps[-1]["delete_effects"] = ["known"]
    elif "tokens" in requirement:
        steps[0]["effects"] = [*steps[0]["effects"], "unknown"]
    (tmp_path / "plan.json").write_text(json.dumps({**PLAN, "steps": steps, "requirements": [requirement]}))
    result = replan("check", tmp_path / "plan.json", "--level", level, "--json")
    shown = json.loads(result.stdout)
    errors = [each["code"] for each in shown["findings"] if each["severity"] == "error"]
    assert (result.exit_code, shown["valid"]) == (3, False)
    assert set(errors) == {"requirement.violated"}


def test_the_expansive_level_reports_assurance_and_escalations(replan, plans):
    shown = json.loads(replan("check", plans / "good.json", "--level", "expansive", "--json").stdout)
    assert shown["assurance"] == "strong"
    assert shown["escalations"] == ["ask", "fix"]


def test_the_expansive_level_says_what_is_undone_and_what_cannot_be(replan, tmp_path):
    steps = [
        {**PLAN["steps"][0], "undo": "irreversible"},
        *({**each, "undo": "nothing", "on_failure": "undo"} for each in PLAN["steps"][1:]),
    ]
    (tmp_path / "undo.json").write_text(json.dumps({**PLAN, "steps": steps}))
    result = replan("check", tmp_path / "undo.json", "--level", "expansive")
    assert "may undo all steps after a failure of: ask, fix" in result.stdout
    assert "these steps cannot be undone: find" in result.stdout
    shown = json.loads(replan("check", tmp_path / "undo.json", "--level", "expansive", "--json").stdout)
    assert (shown["undoes"], shown["irreversible"], shown["escalations"]) == (["ask", "fix"], ["find"], [])
    steps[0].pop("undo")
    (tmp_path / "gap.json").write_text(json.dumps({**PLAN, "steps": steps}))
    (finding,) = json.loads(replan("check", tmp_path / "gap.json", "--level", "expansive", "--json").stdout)["findings"]
    assert (finding["code"], finding["step_id"]) == ("plan.no_undo", "find")


def test_a_dead_end_comes_with_its_trace(replan, tmp_path):
    plan = {**PLAN, "steps": [{**PLAN["steps"][0], "failure_effects": []}, PLAN["steps"][2]]}
    (tmp_path / "dead.json").write_text(json.dumps(plan))
    result = replan("check", tmp_path / "dead.json", "--level", "expansive", "--json")
    (finding,) = json.loads(result.stdout)["findings"]
    assert result.exit_code == 3
    assert (finding["code"], finding["trace"]) == ("plan.dead_end", ["find:fail"])
    weak = replan("check", tmp_path / "dead.json", "--level", "expansive", "--assurance", "weak")
    assert weak.exit_code == 0


def test_a_line_of_a_jsonl_file_is_a_plan_or_has_the_key_plan(replan, plans):
    result = replan("check", plans / "many.jsonl", "--jsonl")
    rows = [json.loads(row) for row in result.stdout.splitlines()]
    assert result.exit_code == 3
    assert [(row["line"], row.get("case_id"), row["valid"]) for row in rows] == [
        (1, None, True),
        (3, "c2", False),
        (5, None, True),
    ]


def test_several_files_are_an_array(replan, plans):
    result = replan("check", plans / "good.json", plans / "bad.json", "--json")
    assert [item["valid"] for item in json.loads(result.stdout)] == [True, False]
    assert isinstance(json.loads(replan("check", plans / "many.jsonl", "--json").stdout), list)


def test_an_array_is_printed_item_by_item(replan, plans, monkeypatch):
    """F12: the reports on a file of 256 MiB would all be in memory before the first is printed."""
    printed = []
    array = plain.JsonArray
    monkeypatch.setattr(
        array, "add", lambda self, value, add=array.add: (printed.append(len(printed)), add(self, value))
    )
    result = replan("check", plans / "many.jsonl", plans / "good.json", "--json")
    reports = json.loads(result.stdout)
    assert len(printed) == len(reports) == 4
    assert result.stdout == json.dumps(reports, ensure_ascii=False, indent=2) + "\n"
    assert replan("check", plans / "missing.json", plans / "missing.json", "--json").stdout == "[]\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("plan.json", "a note", "The file holds no JSON; a plan is one JSON object of at most 4 MiB."),
        ("plan.json", " ", "The file is empty; a plan is one JSON object of at most 4 MiB."),
        ("plans.jsonl", "a note\n", "The line holds no JSON; a plan is one JSON object of at most 4 MiB."),
        ("plan.json", '{"steps": [}', "The file is not valid JSON: Expecting value at line 1, column 12"),
    ],
)
def test_a_file_is_not_called_a_reply(replan, tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    (finding,) = json.loads(replan("check", tmp_path / name, "--jsonl").stdout)["findings"]
    assert finding["message"].startswith(said)


def test_an_unreadable_file_is_exit_2_and_the_others_are_still_checked(replan, plans):
    result = replan("check", plans / "malformed.json", plans / "missing.json", plans / "good.json", "--jsonl")
    rows = [json.loads(row) for row in result.stdout.splitlines()]
    assert result.exit_code == 2
    assert [row["valid"] for row in rows] == [False, True]
    assert rows[0]["findings"][0]["code"].startswith("reply.")
    assert "missing.json: no such file" in result.stderr


def test_the_default_output_is_text(replan, plans):
    result = replan("check", plans / "good.json", plans / "bad.json")
    assert "good.json: valid at level medium" in result.stdout
    assert "bad.json: rejected at level medium" in result.stdout
    assert "- plan.precondition_unsatisfied at fix: " in result.stdout


def test_the_result_of_a_run_can_be_checked(replan, problem, scripted):
    shown = replan("run", problem, "-m", scripted({"g_plan": [PLAN]}), "-w", "single", "--json").stdout
    assert replan("check", "-", input=shown).exit_code == 0


def test_options_are_passed_to_the_guards(replan, plans, tmp_path):
    assert replan("check", plans / "good.json", "--r-max", "5").exit_code == 3
    odd = {**PLAN, "steps": [{**step, "guard": "my_guard"} for step in PLAN["steps"]]}
    (tmp_path / "odd.json").write_text(json.dumps(odd))
    assert replan("check", tmp_path / "odd.json").exit_code == 3
    assert replan("check", tmp_path / "odd.json", "--guard", "my_guard").exit_code == 0


def test_flags_that_contradict_each_other_are_refused(replan, plans):
    assert_refused(replan("check", plans / "good.json", "--assurance", "weak"), "--level expansive")
    assert replan("check", plans / "good.json", "--json", "--jsonl").exit_code == 2
    assert replan("check", plans / "good.json", "--level", "large").exit_code == 2


def test_a_file_without_a_plan_is_exit_2(replan, tmp_path):
    (tmp_path / "none.jsonl").write_text("\n\n")
    result = replan("check", tmp_path / "none.jsonl")
    assert result.exit_code == 2
    assert "none.jsonl: the file has no plan" in result.stderr


def test_the_result_of_a_run_without_a_plan_is_exit_2(replan, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"run_id": "r", "status": "waiting", "plan": None}))
    result = replan("check", tmp_path / "run.json")
    assert result.exit_code == 2
    assert "run.json: the run has no plan: waiting" in result.stderr


def test_text_output_merges_equal_findings_of_several_steps(replan, tmp_path):
    guards = {"find": "ours", "ask": "ours", "fix": "syntx"}
    steps = [{**step, "guard": guards[step["step_id"]]} for step in PLAN["steps"]]
    (tmp_path / "own.json").write_text(json.dumps({**PLAN, "steps": steps}))
    result = replan("check", tmp_path / "own.json")
    _, first, second, *advice = result.stdout.splitlines()
    assert result.exit_code == 3
    assert first.startswith("- plan.unknown_guard at ask, find: unknown guard 'ours'; choose one of 'all_tests_pass', ")
    assert second == "- plan.unknown_guard at fix: unknown guard 'syntx'."
    assert advice == ["- did you mean 'syntax' for 'syntx'?", "- to allow your own guards, add: --guard ours"]
    assert replan("check", tmp_path / "own.json", "--guard", "ours", "--guard", "syntx").exit_code == 0
    shown = json.loads(replan("check", tmp_path / "own.json", "--json").stdout)
    assert [item["step_id"] for item in shown["findings"]] == ["ask", "find", "fix"]


def test_text_output_counts_the_steps_that_it_does_not_name(replan, tmp_path):
    step = PLAN["steps"][0]
    steps = [{**step, "step_id": f"s{number:02}", "retry_budget": 0} for number in range(20)]
    (tmp_path / "many.json").write_text(json.dumps({**PLAN, "steps": steps}))
    line = next(row for row in replan("check", tmp_path / "many.json").stdout.splitlines() if "bad_budget" in row)
    assert line.startswith("- plan.bad_budget at s00, s01, ")
    assert "s11 and 8 more: retry_budget must be" in line


def test_a_file_that_is_not_json_is_called_unreadable(replan, plans):
    """Exit 2, as the help says, and not exit 3 as for a rejected plan."""
    result = replan("check", plans / "malformed.json")
    assert result.exit_code == 2
    assert result.stdout.splitlines()[0] == f"{plans / 'malformed.json'}: unreadable"


@pytest.mark.parametrize("value", ["a text", "", json.dumps(PLAN), 3, None, [], True])
def test_json_that_is_not_an_object_is_rejected(replan, tmp_path, value):
    """A JSON string is not parsed again, whatever its content."""
    for name, content in (("plan.json", value), ("plans.jsonl", value), ("held.json", {"plan": value})):
        (tmp_path / name).write_text(json.dumps(content))
        result = replan("check", tmp_path / name, "--jsonl")
        shown = json.loads(result.stdout)
        assert (result.exit_code, [item["code"] for item in shown["findings"]]) == (3, ["field.not_object"])


def test_a_plan_is_not_read_beyond_the_limit_of_a_reply(replan, tmp_path):
    for name in ("giant.json", "giant.jsonl"):
        for extra in range(3):
            path = tmp_path / name
            path.write_bytes(b" " * extra + "é".encode() * (BYTES_MAX // 2 + 2))
            result = replan("check", path, "--jsonl")
            shown = json.loads(result.stdout)
            assert (result.exit_code, shown["findings"][0]["code"]) == (2, "reply.too_large")


def test_a_line_that_is_too_long_does_not_hide_the_next_ones(replan, tmp_path):
    path = tmp_path / "plans.jsonl"
    path.write_bytes(b"x" * (3 * BYTES_MAX) + b"\n" + json.dumps(PLAN).encode() + b"\n")
    rows = [json.loads(row) for row in replan("check", path, "--jsonl").stdout.splitlines()]
    assert [(row["line"], row["valid"]) for row in rows] == [(1, False), (2, True)]


def test_a_file_of_many_lines_has_a_limit(replan, tmp_path, monkeypatch):
    monkeypatch.setattr("replan.cli.commands.check.FILE_BYTES_MAX", 10)
    path = tmp_path / "plans.jsonl"
    path.write_bytes(b"\n" * 11)
    assert_refused(replan("check", path), str(path))


def test_characters_of_a_plan_count_as_they_are_written(replan, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({**PLAN, "goal": "计" * (BYTES_MAX // 4)}, ensure_ascii=False), encoding="utf-8")
    assert replan("check", path).exit_code == 0


def test_a_long_name_of_a_file_is_cut(replan):
    """F11: it was printed whole."""
    result = replan("check", "x" * 20_000)
    assert result.exit_code == 2
    assert max(map(len, result.stderr.splitlines())) < 1_100
