"""Narrow and dumb terminals: output is folded, and uses only the terminal's capabilities."""

import fcntl
import json
import os
import re
import struct
import termios

import pytest
from rich.cells import cell_len

from replan.cli.terminal.width import NARROWEST, fold_line, width_of
from tests.cli.samples import ANALYSIS, ASKING, PLAN


@pytest.fixture
def on_terminal(in_terminal):

    def run(*arguments, **variables):
        terminal = in_terminal(*arguments, **variables)
        code = terminal.end()
        return code, terminal.text

    return run


def too_wide(text, columns):
    return [line for line in text.splitlines() if cell_len(line) > columns]


@pytest.fixture
def pseudo_terminal():
    """Return a function that opens a pseudo-terminal's stream with a number of columns."""
    opened = []

    def make(columns):
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        opened.append((ours, os.fdopen(theirs, "w")))
        return opened[-1][1]

    yield make
    for ours, stream in opened:
        stream.close()
        os.close(ours)


@pytest.mark.parametrize(("columns", "width"), [(40, 40), (200, 200), (3, NARROWEST), (0, None)])
def test_the_width_is_that_of_the_window(pseudo_terminal, monkeypatch, columns, width):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert width_of(pseudo_terminal(columns)) == width


def test_columns_overrides_the_window_and_files_have_no_width(pseudo_terminal, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "55")
    assert width_of(pseudo_terminal(40)) == 55
    with (tmp_path / "out").open("w") as file:
        assert width_of(file) is None


def test_lines_are_folded_between_words_and_never_within_a_path(pseudo_terminal, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    path = "/a-rather/long-path/to/some-file-that/nobody-can-break.yaml"
    text = fold_line(f"replan: {path}: there is no such file (name a file)", pseudo_terminal(30))
    assert f"{path}:" in text.split("\n")
    assert " ".join(text.split("\n")) == f"replan: {path}: there is no such file (name a file)"


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_an_error_is_folded_on_a_narrow_terminal_and_one_line_in_a_pipe(home, replan, term, on_terminal):
    code, text = on_terminal("run", "no-such-file.md", TERM=term, COLUMNS="40")
    assert code == 2
    assert not too_wide(text, 40)
    piped = replan("run", "no-such-file.md").stderr
    assert piped.count("\n") == 1
    assert text.split() == piped.split()


@pytest.mark.parametrize("term", ["xterm", "dumb"])
@pytest.mark.parametrize(
    "command", [["workflow", "list"], ["doctor"], ["workflow", "cost", "search", "-m", "template:bug"]]
)
def test_reports_fit_a_narrow_terminal(home, command, term, on_terminal):
    code, text = on_terminal(*command, TERM=term, COLUMNS="60", NO_COLOR="1")
    assert code == 0
    assert not too_wide(text, 60)
    assert not [line for line in text.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize("command", [[], ["run"], ["resume"], ["policy"]])
def test_help_fits_a_narrow_terminal(home, command, on_terminal):
    code, text = on_terminal(*command, "--help", TERM="xterm", COLUMNS="40", NO_COLOR="1")
    assert code == 0
    assert not too_wide(re.split("\n *Examples:|\nmore: ", text.replace("\r", ""))[0], 40)


def test_a_tree_that_is_taller_than_the_screen_says_how_much_is_not_shown(home, problem, scripted, on_terminal):
    """Its title and its newest lines are shown."""
    model = scripted({"g_plan": ["no JSON"] * 3})
    code, text = on_terminal(
        "run", problem, "-m", model, "-w", "single", TERM="xterm", LINES="11", COLUMNS="80", NO_COLOR="1"
    )
    assert code == 3
    tree = text[: text.index("No plan")].rpartition("are not shown")
    assert re.search(r"… \d+ lines $", tree[0]), "the live tree was cut"
    assert "plan, third attempt  rejected" in tree[2]


def test_a_dumb_terminal_gets_only_lines(home, problem, on_terminal):
    code, text = on_terminal("run", problem, "-m", "template:bug", TERM="dumb", COLUMNS="50")
    assert code == 0
    assert "\x1b" not in text
    assert "Consistent, but" in text
    assert "finished: success" in text
    assert not too_wide(text, 50)


def test_a_question_on_a_dumb_terminal_can_be_answered(home, problem, scripted, in_terminal):
    model = scripted({"g_analysis": [ASKING, ANALYSIS], "g_plan": [PLAN]})
    terminal = in_terminal("run", problem, "-m", model, "-w", "option_a", TERM="dumb", COLUMNS="50")
    terminal.read_until("> $")
    terminal.type("3.12\n")
    assert terminal.end() == 0
    assert "Proved at level medium" in terminal.text
    assert "\x1b" not in terminal.text


def test_the_end_of_input_on_a_dumb_terminal_leaves_the_run_waiting(home, problem, scripted, in_terminal):
    model = scripted({"g_analysis": [ASKING]})
    terminal = in_terminal("run", problem, "-m", model, "-w", "option_a", TERM="dumb", COLUMNS="50")
    terminal.read_until("> $")
    terminal.type("\x04")
    assert terminal.end() == 6


def test_a_check_fits_a_terminal_of_80_columns(home, tmp_path, on_terminal):
    plan = {**PLAN, "steps": [{**step, "guard": "our_own_and_rather_long_guard"} for step in PLAN["steps"]]}
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    code, text = on_terminal("check", tmp_path / "plan.json", COLUMNS="80", NO_COLOR="1")
    assert code == 3
    assert not [line for line in too_wide(text, 80) if str(tmp_path) not in line]
    assert text.count("plan.unknown_guard") == 1
