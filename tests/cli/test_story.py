"""What people see while runs go: the story of the shipped example, and the limits of progress in lines and columns."""

import importlib.util
import re

import pytest
from rich.cells import cell_len

from tests.cli.conftest import ROOT
from tests.cli.samples import ANALYSIS, LOST, RECON, STRATEGY, distinct

LINES_MAX = 45
"""The most lines of `make run` on a terminal of 80 columns, with the line of the Makefile."""
PROGRESS_MAX = 40
"""The most lines that a run of 30 calls prints."""
OURS = ("fix_reviewed", "asked for", "tokens", "$", "analysis_valid", "plan_medium", "score", "r1.v1", "initial_state")
"""Words that a stranger to the program does not know, and costs where there are none."""


@pytest.fixture(scope="module")
def screen():
    """The function that returns the lines that are left on a terminal; the recording of the README uses it too."""
    spec = importlib.util.spec_from_file_location("docs_recording", ROOT / "docs" / "recording.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return lambda text: [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", row) for row in module.screen(text)]


def in_order(texts, lines):
    rows = iter(lines)
    return all(any(text in row for row in rows) for text in texts)


def test_the_story_of_the_example_fits_a_screen_and_needs_no_word_of_ours(in_terminal, tmp_path, screen):
    """The issue, a rejected plan and why, the better plan, a fix that fails, a better fix, the commit, the demands."""
    terminal = in_terminal("do", "--example", "repair", "--workspace", tmp_path / "work", COLUMNS="80", LINES="50")
    assert terminal.end() == 0, terminal.text
    lines = screen(terminal.text)
    rows = [row for row in lines[:-1] if str(tmp_path.name) not in row and "recorded" not in row]
    assert len(rows) + 2 <= LINES_MAX, "\n".join(rows)
    assert not [row for row in rows if cell_len(row) > 80]
    assert not [word for word in OURS if word in "\n".join(rows)]
    story = (
        "# A voucher worth more than the basket is paid out",
        "- Commit the fix.",
        "plan  rejected",
        "The goal needs 'committed', but no step makes it",
        "plan, second attempt  accepted",
        "4. commit  Commit the fix",
        "Finished: success",
        "✗ write_fix",
        "the check 'tests' failed (1 failed, 2 passed",
        "✓ write_better_fix",
        "✓ commit",
        "4, all met",
        "met: Commit the fix",
        "kept: Do not change the tests",
    )
    assert in_order(story, rows), "\n".join(rows)


def test_the_line_of_the_makefile_fits_a_terminal():
    said = re.findall(r'@echo "(Next: .*)" >&2', (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert len(said) == 1
    assert len(said[0].replace("$(BIN)", ".venv/bin")) <= 80


def long_script(count):
    """Return a script whose plans all lack something else, so that the search goes back again and again."""
    steps = {"g_analysis": ANALYSIS, "g_recon": RECON, "g_strategy": STRATEGY}
    said = {"g_analysis": "rationale", "g_recon": "constraints_mentioned", "g_strategy": "rationale"}
    replies = {
        step: [
            {**value, said[step]: [f"Way {number}."] if step == "g_recon" else f"Way {number}."}
            for number in range(count)
        ]
        for step, value in steps.items()
    }
    plans = [
        {**plan, "steps": [*plan["steps"][:2], {**plan["steps"][2], "preconditions": [f"lack_{number}"]}]}
        for number, plan in enumerate(distinct(LOST, count))
    ]
    return {**replies, "g_plan": plans}


@pytest.mark.parametrize("search", ["depth_first", "beam:2", "blind"])
def test_a_run_of_30_calls_prints_at_most_40_lines(replan, problem, scripted, tmp_path, search):
    workflow = tmp_path / "mine.yaml"
    shipped = (ROOT / "configs" / "workflows" / "search.yaml").read_text(encoding="utf-8")
    workflow.write_text(shipped.replace("policy: belief", f"policy: default\nsearch: {search}"))
    result = replan("run", problem, "-m", scripted(long_script(40)), "-w", workflow, "--max-calls", "30", "--no-input")
    assert re.search(r": (29|30) model calls\.", result.stdout), result.stdout + result.stderr
    printed = result.stderr.splitlines() + result.stdout.splitlines()
    assert len(printed) <= PROGRESS_MAX, "\n".join(printed)
    assert "$" not in result.stdout + result.stderr
    assert "0 tokens" not in result.stdout + result.stderr


def test_quiet_says_only_what_a_person_must_act_on(replan, problem, planned, tmp_path):
    done = replan("do", "--example", "repair", "--workspace", tmp_path / "work", "-q")
    assert (done.exit_code, done.stderr) == (0, "")
    (tmp_path / "vague.md").write_text("Make it better, please.")
    waits = replan("run", tmp_path / "vague.md", "-m", "template:bug", "-q", "--no-input")
    assert waits.exit_code == 6
    assert [row.split(" ")[1:3] for row in waits.stderr.splitlines()] == [["answer", "with:"], ["then", "go"]]


def test_costs_are_shown_where_there_are_costs(replan, problem, scripted):
    run = replan("run", problem, "-m", "template:bug", "--max-cost", "2")
    assert re.search(r"^Run \w+: 4 model calls\.$", run.stdout, re.MULTILINE)


def test_the_list_of_runs_ends_at_the_width_of_the_terminal_and_keeps_ids_and_titles(in_terminal, replan, tmp_path):
    assert replan("do", "--example", "repair", "--workspace", tmp_path / "work").exit_code == 0
    terminal = in_terminal("runs", COLUMNS="80", NO_COLOR="1")
    assert terminal.end() == 0
    rows = terminal.text.replace("\r", "").splitlines()
    assert all(cell_len(row) <= 80 for row in rows)
    assert in_order(("RUN ", "execution: A voucher worth more than", "A voucher worth more than"), rows)


def test_the_details_are_in_the_log(replan, tmp_path):
    assert replan("do", "--example", "repair", "--workspace", tmp_path / "work").exit_code == 0
    rows = replan("runs", "--json").stdout
    planning = re.findall(r'"run_id": "(\w+)"', rows)[-1]
    log = replan("log", planning).stdout
    for text in ("g_plan/v1.a1 requested", "tokens at most", "rejected by plan_medium", "=> local_retry"):
        assert text in log
