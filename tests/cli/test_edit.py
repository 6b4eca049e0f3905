"""`edit`: the rest of a plan in an editor, what is rejected opens again, and what two persons do at once."""

import json
import re
import tempfile
from pathlib import Path

import click
import pytest
import yaml

from replan.cli.terminal import prompt
from replan.runs import editing
from runtime.core.errors import JournalBusy
from tests.cli.conftest import SCRIPT
from tests.cli.samples import LOST, distinct
from tests.cli.samples import PLAN as PROVED
from tests.execution.stage import plan, step

TOOLS = """
    tools:
      touch: {command: [touch, "{name}"], parameters: {name: {type: string, pattern: "[a-z]+"}}}
      fine: {command: ["true"], risk: none}
    guards: {syntax: fine}
    generators:
      first: {tool: touch, with: {name: one}}
      second: {tool: touch, with: {name: two}}
"""
AVOIDED = {
    "kind": "must_avoid",
    "text": "never use the shredder",
    "quote": "never use the shredder",
    "tools": ["shredder"],
}
WANTED = {"id": "r2", "kind": "goal", "text": "There is a second file", "quote": "a second file", "tokens": ["goal"]}
PLAN = plan(
    step("a", "start", "one", generator="first"),
    step("b", "one", "goal", generator="second", dependencies="a", satisfies="r2"),
    requirements=[AVOIDED, WANTED],
)


@pytest.fixture
def run(replan, tmp_path):
    """The id of an execution that waits for the approval of its first step."""
    (tmp_path / "tools.yaml").write_text(TOOLS.replace("\n    ", "\n"))
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    (tmp_path / "work").mkdir()
    words = ("--tools", tmp_path / "tools.yaml", "--workspace", tmp_path / "work", "--no-input", "--json")
    result = replan("execute", tmp_path / "plan.json", "--level", "medium", *words)
    assert result.exit_code == 6, result.stderr
    return json.loads(result.stdout)["run_id"]


@pytest.fixture
def editor(monkeypatch, tmp_path):
    """Replace the editor. Return the list of functions that edit the next texts, and the list of texts so far."""
    turns, seen = [], []

    def edit(text, extension):
        assert extension == ".yaml"
        seen.append(text)
        edited = turns.pop(0)(text)
        return None if edited == text else edited

    monkeypatch.setattr(click, "edit", edit)
    monkeypatch.setattr(prompt, "may_ask", lambda *, no_input: not no_input)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return turns, seen


def rest(replan, run):
    result = replan("edit", run, "--print")
    assert result.exit_code == 0, result.stderr
    return yaml.safe_load(result.stdout)


def given(replan, tmp_path, run, value, *words):
    (tmp_path / "edited.yaml").write_text(value if isinstance(value, str) else yaml.safe_dump(value))
    return replan("edit", run, "--file", tmp_path / "edited.yaml", *words)


def shown(replan, run):
    return json.loads(replan("show", run, "--json").stdout)


def test_an_edit_with_an_approval_becomes_the_plan_and_is_shown_as_a_difference(replan, run, editor, tmp_path):
    turns, seen = editor
    turns.append(lambda text: text.replace("name: b", "name: Make the second file"))
    result = replan("edit", run, "--approve")
    assert result.exit_code == 0, result.stderr
    assert "every plan must keep to: never use the shredder" in seen[0].lower()
    ended = replan("resume", run, "--no-input")
    assert ended.exit_code == 6, "the second step waits for its own approval"
    assert (tmp_path / "work" / "one").exists()
    lines = replan("show", run).stdout
    assert re.search(
        r"then edited by \S+ on the command line:\n      - step_id: b\n     -  name: b\n     \+  name: M", lines
    )
    [_, now] = shown(replan, run)["revisions"]
    assert now["changes"] == [" - step_id: b", "-  name: b", "+  name: Make the second file", "   generator: second"]
    assert now["edited_by"].endswith("on the command line")


def test_what_is_rejected_opens_again_with_the_findings_and_the_text_is_kept(replan, run, editor, tmp_path):
    turns, seen = editor
    turns += [
        lambda text: text.replace("generator: second", "generator: third"),
        lambda text: text.replace("generator: third", "generator: second:"),
        lambda text: text,
    ]
    result = replan("edit", run)
    assert result.exit_code == 0, result.stderr
    assert "# > - plan.unbound: no tool implements generator 'third'" in seen[1]
    assert "# > - the edited plan:" in seen[2]
    assert "not YAML" in seen[2]
    assert seen[2].count("# > The edit was rejected") == 1
    assert "is unchanged" in result.stderr
    kept = re.search(r"your text is kept in (\S+)", result.stderr)[1]
    assert "generator: second:" in Path(kept).read_text()
    assert len(shown(replan, run)["revisions"]) == 1


def test_an_editor_that_fails_changes_nothing(replan, run, monkeypatch):
    def fail(*_, **__):
        raise click.ClickException("vi: Editing failed")

    monkeypatch.setattr(click, "edit", fail)
    monkeypatch.setattr(prompt, "may_ask", lambda *, no_input: not no_input)
    result = replan("edit", run)
    assert result.exit_code == 2
    assert "EDITOR: vi: Editing failed (set EDITOR" in result.stderr


def test_a_program_reads_the_rest_of_a_plan_and_edits_it_as_json(replan, run, editor, tmp_path):
    turns, _ = editor
    turns.append(lambda text: text)
    value = json.loads(replan("edit", run, "--print", "--json").stdout)
    assert value == rest(replan, run)
    assert json.loads(replan("edit", run, "--json").stdout) == {"run_id": run, "result": "unchanged"}
    value["steps"][-1]["name"] = "Make it"
    assert json.loads(given(replan, tmp_path, run, value, "--json").stdout) == {"run_id": run, "result": "accepted"}


def test_without_a_terminal_a_file_is_named(replan, run):
    result = replan("edit", run)
    assert (result.exit_code, "--file" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda value: "steps: [", "not YAML"),
        (lambda value: "a plan", "the top level is not a mapping"),
        (lambda value: {**value, "steps": 7}, "steps"),
        (lambda value: {**value, "requirements": [WANTED]}, "leaves out a requirement that every plan must meet"),
        (lambda value: {**value, "steps": value["steps"][1:]}, "plan.unknown_dependency"),
    ],
)
def test_bad_edits_are_one_line_and_change_nothing(replan, run, tmp_path, change, cause):
    result = given(replan, tmp_path, run, change(rest(replan, run)))
    assert result.exit_code == 2
    assert cause in result.stderr
    assert "Traceback" not in result.stderr
    assert len(shown(replan, run)["revisions"]) == 1


def test_a_dropped_demand_is_named_and_needs_a_yes(replan, run, tmp_path):
    value = rest(replan, run)
    value["steps"][1]["satisfies"] = []
    refused = given(replan, tmp_path, run, value)
    assert refused.exit_code == 2
    assert "edit.drops_demand: no step meets this demand any more: a second file" in refused.stderr
    assert given(replan, tmp_path, run, value, "--drop-demands").exit_code == 0


def test_the_second_of_two_editors_sees_what_the_first_has_changed(replan, run, editor, tmp_path):
    turns, _ = editor

    def meanwhile(text):
        value = rest(replan, run)
        value["steps"][1]["name"] = "Of the first person"
        assert given(replan, tmp_path, run, value).exit_code == 0
        return text.replace("name: b", "name: Of the second person")

    turns.append(meanwhile)
    result = replan("edit", run)
    assert result.exit_code == 2
    assert "the plan was changed meanwhile" in result.stderr
    assert "+  name: Of the first person" in result.stderr
    assert "your text is kept in" in result.stderr
    again = given(replan, tmp_path, run, PLAN)
    assert "has edited the plan, and the run does not use the edited plan yet" in again.stderr


REPAIRED = ("nobody_makes_this", "known")
"""A name in the sample plan that nothing makes, and the name that repairs the plan."""


@pytest.fixture
def planned(planned):
    return lambda *plans: planned({**SCRIPT, "g_plan": list(plans)}, "--workflow", "linear")


def test_an_edited_plan_is_the_plan_of_a_planning_run_that_has_ended(replan, planned, editor):
    run = planned(PROVED)
    turns, seen = editor
    turns.append(lambda text: text.replace("name: Fix it", "name: Mend it"))
    result = replan("edit", run)
    assert result.exit_code == 0, result.stderr
    assert f"run {run} has the edited plan\n" in result.stderr
    assert seen[0].startswith(f"# > The plan of run {run}, revision 1.")
    assert "# > Every plan must keep to: less than 1 s" in seen[0]
    lines = replan("show", run).stdout
    assert "3. fix  Mend it" in lines
    assert re.search(r"Edited by \S+ on the command line:\n.*\n     -  name: Fix it\n     \+  name: Mend it", lines)
    value = shown(replan, run)
    assert (value["outcome"], value["proved"], value["plan"]["steps"][2]["name"]) == ("success", True, "Mend it")
    [edit] = value["edits"]
    assert edit["node"] == "g_plan/v1.a1"
    assert edit["changes"] == [" - step_id: fix", "-  name: Fix it", "+  name: Mend it", "   generator: g"]
    assert json.loads(replan("export", run, "--format", "json").stdout)["steps"][2]["name"] == "Mend it"
    assert "edited by" in replan("log", run).stdout
    assert replan("home", "verify").exit_code == 0


def test_an_edited_draft_makes_a_run_without_a_plan_a_success(replan, planned, editor):
    run = planned(*distinct(LOST, 9))
    turns, seen = editor
    turns.append(lambda text: text.replace(*REPAIRED))
    assert shown(replan, run)["outcome"] != "success"
    result = replan("edit", run)
    assert result.exit_code == 0, result.stderr
    assert seen[0].startswith(f"# > The best draft (not proved) of run {run}")
    assert "# > plan.goal_unreachable" in seen[0] or "# > plan.precondition_unsatisfied" in seen[0]
    value = shown(replan, run)
    assert (value["outcome"], value["proved"]) == ("success", True)
    assert "the plan was edited by" in value["why"]
    assert replan("resume", run).exit_code == 0
    assert "success" in replan("runs").stdout
    assert replan("home", "verify").exit_code == 0


def test_the_text_is_kept_if_the_journal_does_not_take_it(replan, planned, editor, monkeypatch):
    async def busy(*_, **__):
        raise JournalBusy("home/journal.db")

    run = planned(PROVED)
    editor[0].append(lambda text: text.replace("name: Fix it", "name: Mend it"))
    monkeypatch.setattr(editing, "post_edit", busy)
    result = replan("edit", run)
    assert result.exit_code != 0
    kept = re.search(r"your text is kept in (\S+)", result.stderr)[1]
    assert "name: Mend it" in Path(kept).read_text()


def test_the_text_is_kept_if_the_question_about_dropped_demands_is_left(replan, run, editor, monkeypatch):
    def leave(*_, **__):
        raise click.Abort

    editor[0].append(lambda text: text.replace("satisfies: [r2]", "").replace("satisfies:\n  - r2\n", ""))
    monkeypatch.setattr(click, "confirm", leave)
    result = replan("edit", run)
    assert result.exit_code != 0
    assert "your text is kept in" in result.stderr
    assert len(shown(replan, run)["revisions"]) == 1


def test_the_guards_of_the_step_judge_the_edit_of_a_planning_run(replan, planned, editor):
    run = planned(PROVED)
    turns, seen = editor
    turns += [
        lambda text: text.replace("- known", "- nobody_makes_this", 1),
        lambda text: text.replace("guard: syntax", "guard: unknown_guard").replace("- nobody_makes_this", "- known", 1),
        lambda text: text,
    ]
    result = replan("edit", run)
    assert result.exit_code == 0, result.stderr
    assert "# > - plan.goal_unreachable" in seen[1]
    assert "# > - plan.unknown_guard" in seen[2]
    assert "is unchanged" in result.stderr
    assert "edits" not in shown(replan, run)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda value: "steps: [", "not YAML"),
        (lambda value: {**value, "steps": 7}, "steps"),
        (lambda value: {**value, "requirements": []}, "leaves out a requirement that every plan must meet"),
    ],
)
def test_bad_edits_of_a_planning_run_are_one_line_and_change_nothing(replan, planned, tmp_path, change, cause):
    run = planned(PROVED)
    result = given(replan, tmp_path, run, change(rest(replan, run)))
    assert (result.exit_code, cause in result.stderr) == (2, True), result.stderr
    assert "Traceback" not in result.stderr
    assert "edits" not in shown(replan, run)


def test_a_demand_that_an_edited_plan_drops_is_named_and_needs_a_yes(replan, home, scripted, tmp_path):
    demand = "The page of orders must have a button for a CSV export"
    problem = tmp_path / "export.md"
    problem.write_text(f"# Export\n\n{demand}. It must take less than 1 s.\n")
    wanted = {**WANTED, "text": demand, "quote": demand, "tokens": ["fixed"]}
    fix = {**PROVED["steps"][2], "satisfies": [*PROVED["steps"][2]["satisfies"], "r2"]}
    value = {**PROVED, "requirements": [*PROVED["requirements"], wanted], "steps": [*PROVED["steps"][:2], fix]}
    replan("run", problem, "-m", scripted({"g_plan": [value]}), "-w", "single", "--no-input")
    run = shown(replan, "--last")["run_id"]
    edited = {**rest(replan, run), "requirements": PROVED["requirements"], "steps": PROVED["steps"]}
    refused = given(replan, tmp_path, run, edited)
    assert refused.exit_code == 2
    assert f"edit.drops_demand: no step meets this demand any more: {demand}" in refused.stderr
    assert given(replan, tmp_path, run, edited, "--drop-demands").exit_code == 0
    assert len(shown(replan, run)["edits"]) == 1


def test_an_edited_plan_is_the_one_that_is_executed(replan, planned, tmp_path):
    run = planned(PROVED)
    value = rest(replan, run)
    value["steps"][2]["name"] = "Mend it"
    assert given(replan, tmp_path, run, value).exit_code == 0
    tools = {"tools": {"fine": {"command": ["true"], "risk": "none"}}, "generators": {"g": "fine"}}
    (tmp_path / "tools.yaml").write_text(yaml.safe_dump({**tools, "guards": {"human": "fine", "syntax": "fine"}}))
    (tmp_path / "work").mkdir()
    words = ("--tools", tmp_path / "tools.yaml", "--workspace", tmp_path / "work")
    assert "fix  Mend it" in replan("execute", run, *words, "--dry-run").stdout


def test_the_second_of_two_editors_of_a_planning_run_sees_what_the_first_has_changed(replan, planned, editor, tmp_path):
    run = planned(PROVED)
    turns, _ = editor

    def meanwhile(text):
        value = rest(replan, run)
        value["steps"][2]["name"] = "Of the first person"
        assert given(replan, tmp_path, run, value).exit_code == 0
        return text.replace("name: Fix it", "name: Of the second person")

    turns.append(meanwhile)
    result = replan("edit", run)
    assert result.exit_code == 2
    assert "the plan was changed meanwhile: it is revision 2 now" in result.stderr
    assert "+  name: Of the first person" in result.stderr
    assert "your text is kept in" in result.stderr
    assert len(shown(replan, run)["edits"]) == 1


def test_a_run_that_has_written_no_plan_has_none_to_edit(replan, home, problem):
    replan("run", problem, "-m", "template:bug", "--max-calls", "1", "--no-input")
    result = replan("edit", "--last")
    assert (result.exit_code, "has ended without writing a plan" in result.stderr) == (2, True), result.stderr


REVIEWED = """
name: house
action_pairs:
  g_plan:
    generator: LLMPlanGenerator
    guard: {all_of: [plan_medium, human_review]}
"""


def test_a_reason_of_several_lines_is_one_comment_above_the_draft(replan, home, problem, scripted, tmp_path):
    (tmp_path / "house.yaml").write_text(REVIEWED)
    words = ("-w", tmp_path / "house.yaml", "--max-calls", "1", "--no-input")
    assert replan("run", problem, "-m", scripted({"g_plan": [PROVED]}), *words).exit_code == 6
    assert replan("answer", "--last", "reject: too long\nsteps: []\x1b[31m").exit_code == 0
    replan("resume", "--last", "--no-input")
    printed = replan("edit", "--last", "--print").stdout
    assert "# > review.rejected: too long steps: []\n" in printed
    assert yaml.safe_load(printed) == PROVED


def test_an_approval_on_the_terminal_may_carry_an_edit(home, problem, scripted, in_terminal, tmp_path):
    (tmp_path / "house.yaml").write_text(REVIEWED)
    editor = tmp_path / "editor"
    editor.write_text(f"""#!/bin/sh
test -e {tmp_path}/tried || {{ touch {tmp_path}/tried; exit 1; }}
sed -i.bak 's/name: Fix it/name: Mend it/' "$1"
""")
    editor.chmod(0o755)
    words = ("run", problem, "-m", scripted({"g_plan": [PROVED]}), "-w", tmp_path / "house.yaml")
    terminal = in_terminal(*words, TERM="dumb", EDITOR=str(editor), VISUAL="")
    terminal.read_until("Type edit to change the plan in your editor[^$]*> $")
    terminal.type("edit\n")
    terminal.read_until(r"Editing\s+failed[^$]*> $")  # A narrow terminal breaks the line anywhere.
    terminal.type("edit\n")
    assert terminal.end() == 0
    assert "+  name: Mend it" in terminal.text
    assert "Proved at level medium" in terminal.text
