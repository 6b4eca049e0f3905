"""The plan in short, in full, and in files: `--full`, and `export` in every form."""

import json

import pytest

from actors.plans.plan_text import escape_markdown, plan_checklist, plan_markdown
from tests.cli.conftest import run_id
from tests.cli.samples import ANALYSIS, LOST, PLAN, RECON, STRATEGY, distinct
from tests.cli.test_bad_input import assert_refused

SCRIPT = {"g_analysis": [ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY], "g_plan": [PLAN]}


@pytest.fixture
def planned(replan, problem, scripted):
    """What `run` has printed about a run with a plan."""
    return replan("run", problem, "-m", scripted(SCRIPT), "--no-input").stdout


def test_a_plan_has_a_line_for_each_step(replan, planned):
    assert planned.splitlines()[:4] == [
        "Plan p1: The login works",
        "1. find  Find the cause  [human]  if it fails: go on",
        "2. ask  Ask somebody  [human]  (only after a failure)",
        "3. fix  Fix it  [syntax]",
    ]
    run = run_id(replan)
    assert f"The whole plan: replan show {run} --full; as Markdown: replan export {run} -o plan.md\n" in planned
    assert replan("show", "--last").stdout == planned


def test_the_short_plan_says_first_what_it_rests_on(replan, problem):
    first, blank, head = replan("run", problem, "-m", "template:bug", "--no-input").stdout.splitlines()[:3]
    assert first.startswith("This plan has the shipped steps of ")
    assert "This plan has the shipped steps of `template:bug`" in first
    assert blank == ""
    assert head.startswith("Plan ")


def without_run(text):
    return [line for line in text.splitlines() if not line.startswith("Run ")]


def test_full_shows_what_each_step_needs_and_makes(replan, planned, problem, scripted):
    shown = replan("show", "--last", "--full").stdout
    assert "   needs  bug\n   makes  known\n   guard  human, 2 attempts\n" in shown
    ran = replan("run", problem, "-m", scripted(SCRIPT), "--no-input", "--full").stdout
    assert without_run(ran) == without_run(shown)
    assert shown.endswith("Demands of the text: 1\n   in step fix: It must take less than 1 s\n")
    assert shown.splitlines()[:20] == replan("show", "--last", "--plan").stdout.splitlines()[:20]


def test_markdown_has_every_fact_of_the_plan(replan, planned):
    text = replan("export", "--last").stdout
    assert text.startswith(f"# The login works\n\nRun {run_id(replan)}: Proved at level medium.\n")
    assert text.endswith("## Demands of the text\n\n- in step fix: It must take less than 1 s\n")
    assert "## 2. Ask somebody (only after a failure)\n\n- Id: `ask`\n- After: `find`\n- Needs: `unknown`\n" in text
    assert "- Guard: `human`, 2 attempts\n- If it fails: go on without it, leaving `unknown`\n" in text


def test_a_checklist_separates_what_only_a_failure_needs(replan, planned):
    text = replan("export", "--last", "--format", "github-checklist").stdout
    tasks = [line for line in text.splitlines() if line.startswith(("- [ ]", "Only"))]
    assert tasks == [
        "- [ ] Find the cause (checked by `human`); if it fails: go on without it",
        "- [ ] Fix it (checked by `syntax`)",
        "Only after a failure:",
        "- [ ] Ask somebody (checked by `human`)",
    ]


@pytest.mark.parametrize(
    ("name", "form"), [("plan.md", "markdown"), ("plan.json", "json"), ("plan.mmd", "mermaid"), ("plan", "markdown")]
)
def test_the_file_name_selects_the_format(replan, planned, tmp_path, name, form):
    path = tmp_path / name
    done = replan("export", "--last", "-o", path)
    assert (done.exit_code, done.stdout) == (0, "")
    assert f"is in {path}" in done.stderr
    assert path.read_text() == replan("export", "--last", "--format", form).stdout
    shown = json.loads(replan("export", "--last", "-o", path, "--json").stdout)
    assert shown == {"run_id": run_id(replan), "format": form, "file": str(path), "bytes": path.stat().st_size}


def test_json_is_the_plan_itself(replan, planned):
    assert json.loads(replan("export", "--last", "--format", "json").stdout) == PLAN
    shown = json.loads(replan("export", "--last", "--json").stdout)
    assert (shown["format"], shown["text"]) == ("markdown", replan("export", "--last").stdout)


def test_a_document_says_whose_template_a_plan_is():
    plan = {**PLAN, "basis": "Template for a bug, by @octocat."}
    assert plan_markdown(plan, "Run a.").splitlines()[2:6] == ["Template for a bug, by @octocat.", "", "Run a.", ""]
    assert plan_checklist(plan).splitlines()[2] == "Template for a bug, by @<!-- -->octocat."


def test_what_cannot_be_written_is_refused(replan, planned, problem, scripted, tmp_path):
    assert_refused(replan("export", "--last", "-o", tmp_path), str(tmp_path), "is a directory")
    replan("run", problem, "-w", "single", "-m", scripted({"g_plan": distinct(LOST, 3)}))
    assert_refused(replan("export", "--last"), "no proved plan")


def test_texts_of_models_are_shown_as_they_are():
    """No heading, no list, no HTML, no link, and no mention of a person can come from a plan."""
    assert escape_markdown("# <b>_x_</b> [a](b)\n\x1b[31m") == "\\# \\<b\\>\\_x\\_\\</b\\> \\[a\\](b)"
    assert escape_markdown("1. first") == "1\\. first"
    steps = [{**PLAN["steps"][0], "name": "Ask @octocat `now`", "on_failure": "escalate", "failure_effects": []}]
    plan = {**PLAN, "goal_state": ["known"], "steps": steps}
    assert "- [ ] Ask @<!-- -->octocat \\`now\\` (checked" in plan_checklist(plan)
    assert "## 1. Ask @octocat \\`now\\`" in plan_markdown(plan)


def test_what_a_terminal_obeys_is_escaped_in_json(replan, problem, scripted):
    hostile = {**PLAN, "goal": "a\x9b31m b\x7f c\u202e d\u2028 e\u2066"}
    replan("run", problem, "-m", scripted({**SCRIPT, "g_plan": [hostile]}), "--no-input")
    text = replan("export", "--last", "--format", "json").stdout
    assert not set(text) & set("\x9b\x7f\u202e\u2028\u2066")
    assert json.loads(text)["goal"] == hostile["goal"]


def test_a_run_without_a_plan_hands_back_a_draft_that_a_person_mends_and_check_reads(
    replan, problem, scripted, tmp_path
):
    report = replan("run", problem, "-m", scripted({"g_plan": distinct(LOST, 3)}), "-w", "single", "--no-input")
    run, path = run_id(replan), tmp_path / "draft.json"
    rows = report.stdout.splitlines()
    place = rows.index("Draft, not proved")
    assert rows[place + 1] == "   g_plan/v1.a3: not proved, 1 finding left; it covers 1 of 1 demand."
    assert rows[place + 2].startswith("   plan.precondition_unsatisfied at fix: ")
    assert any(row.startswith("   Needed: a step that makes 'nobody_makes_this' early enough") for row in rows[place:])
    assert f"replan export {run} --draft -o draft.json, then replan check draft.json" in " ".join(report.stdout.split())
    draft = json.loads(replan("show", run, "--json").stdout)["draft"]
    assert (draft["proved"], draft["plan"]["plan_id"]) == (False, "p2")
    assert [row["standing"] for row in draft["demands"]] == ["in_step"]

    assert replan("export", run, "--draft", "-o", path).stderr == f"replan: the draft of run {run} is in {path}\n"
    assert path.read_text().splitlines()[1].startswith(f'  "not_proved": "A draft of run {run}: not proved, ')
    exported = json.loads(path.read_text())
    assert exported["plan"] == draft["plan"]
    checked = replan("check", path, "--json")
    assert (checked.exit_code, json.loads(checked.stdout)["valid"]) == (3, False)
    exported["plan"] = PLAN
    path.write_text(json.dumps(exported))
    assert replan("check", path).exit_code == 0


def test_a_run_with_a_plan_has_no_draft(replan, planned, tmp_path):
    assert_refused(replan("export", "--last", "--draft"), "--draft", "has no draft: the run has a plan")
    assert_refused(replan("export", "--last", "--draft", "--format", "csv"), "--format csv", "written as JSON")
