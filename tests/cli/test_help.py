"""The help: complete, with examples and exit codes, and fast, since no heavy module is loaded."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from replan.cli.app import app
from replan.cli.command_table import COMMAND_PLUGINS, COMMANDS, DAILY, rows_below
from replan.cli.exits import MEANING, Exit
from tests.cli.conftest import ROOT
from tests.cli.test_docs import commands

HEAVY = ("trio", "pydantic", "openai", "rich", "structlog", "apsw", "yaml", "genai_prices")
LOADED = """
import json, sys
import replan
from replan.cli import main
found = [("", "import", name) for name in {heavy!r} if name in sys.modules]
for command, names in {commands!r}:
    try:
        main(command.split())
    except SystemExit as end:
        assert not end.code, (command, end.code)
    found += [(command, name) for name in names if name in sys.modules]
sys.stderr.write("\\n" + json.dumps(found))
"""
"""Runs commands after each other, and tells which modules each has loaded that it need not."""


def loaded_by(commands):
    script = LOADED.format(heavy=HEAVY, commands=[*commands.items()])
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(result.stderr.rpartition("\n")[2])  # The command may have remarks of its own.


def test_neither_the_import_nor_the_help_loads_anything_heavy():
    commands = ("--help", "run --help", "workflow --help", "check --help")
    assert loaded_by(dict.fromkeys(commands, HEAVY)) == []


@pytest.fixture(scope="module")
def read_home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("read")
    arguments = ["run", str(ROOT / "configs" / "problems" / "login_timeout.md"), "-m", "template:bug", "--no-input"]
    assert CliRunner().invoke(app, arguments, env={"REPLAN_HOME": str(folder / "home")}).exit_code == 0
    return str(folder / "home")


LOOP = ("trio", "rich.console", "structlog", "openai", "jsonschema", "yaml")
"""Modules that reading does not need, where a pipe is written to: most of a short command's time is imports."""
DECIDING = ("actors.planning.rules", "actors.search.strategies")
"""Modules that only a driven run needs."""
READING = {
    "runs": [*LOOP, *DECIDING, "actors.run.state"],
    "questions": [*LOOP, *DECIDING, "actors.planning.machine"],
    "show --last": [*LOOP, *DECIDING],
    "show --last --tree": [*LOOP, *DECIDING],
    "show --last --prompt g_plan/v1.a1": [*LOOP, *DECIDING],
    "export --last": [*LOOP, *DECIDING],
    "log --last": [*LOOP, *DECIDING],
}


def test_a_command_that_only_reads_loads_no_event_loop(read_home, monkeypatch):
    monkeypatch.setenv("REPLAN_HOME", read_home)
    assert loaded_by(READING) == []


@pytest.mark.parametrize("command", ["show --last --json", "runs --json"])
def test_a_command_that_leaves_at_once_has_written_everything(command, read_home):
    environment = os.environ | {"REPLAN_HOME": read_home}
    call = [sys.executable, "-m", "replan", *command.split()]
    written = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    assert written == CliRunner().invoke(app, command.split(), env={"REPLAN_HOME": read_home}).stdout
    with Path("/dev/full").open("w") as full:
        refused = subprocess.run(
            call, cwd=ROOT, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert refused.returncode == 1
    assert refused.stderr.startswith("replan: stdout: no space left")


def test_every_row_of_the_table_is_a_command_of_its_name(replan):
    for row in COMMANDS.values():
        module, _, function = row.function.partition(":")
        assert getattr(importlib.import_module(module), function).name == row.name.rpartition(" ")[2], row
    shown = json.loads(replan("help", "--json").stdout)["commands"]
    names = [row["name"] for row in shown]
    assert (names[: len(COMMANDS)], sorted(names[len(COMMANDS) :])) == (list(COMMANDS), COMMAND_PLUGINS.names)


def test_the_first_help_fits_forty_lines_and_the_second_one_names_the_other_commands(replan):
    first, second = replan("--help").stdout, replan("help", "more").stdout
    assert replan("help").stdout == first
    assert len(first.splitlines()) <= 40
    assert first.splitlines()[-1] == "more: `replan help more`"
    daily = [name for name, row in rows_below().items() if row.section in DAILY]
    every_day = "init run do execute resume runs show log questions answer tell cancel fork check export"
    assert sorted(daily) == sorted(every_day.split())
    for name in rows_below():
        assert (f"\n  {name} " in first, f"\n  {name} " in f"\n{second}") == (name in daily, name not in daily)


def test_a_help_shows_sixteen_options_at_most_and_help_all_the_rest(replan):
    for path, command in commands(app):
        shown = re.findall(r"^  (?:-\w, )?(--[\w-]+)", replan(*path, "--help").stdout, re.MULTILINE)
        assert len(shown) <= 16, path
        if "--help-all" in shown:
            everything = replan(*path, "--help-all").stdout
            options = {option for param in command.params for option in param.opts if option.startswith("--")}
            assert {option for option in options if option not in everything} == set(), path
            assert replan(*path, "--help").stdout.count("--help-all") == 1


def test_help_of_a_command_is_that_of_the_command_itself(replan):
    assert replan("help", "home", "delete").stdout == replan("home", "delete", "--help").stdout
    assert replan("help", "nonesuch").exit_code == 2


def test_explain_exit_names_every_exit_code(replan):
    shown = replan("explain", "exit").stdout
    for code in Exit:
        assert f"exit {int(code)} (exit code)" in shown
    assert set(MEANING) == set(Exit)


def test_every_command_has_help_with_examples(replan):
    for path, command in commands(app):
        assert "replan " in (command.epilog or ""), path
    result = replan("run", "--help")
    assert result.exit_code == 0
    assert "Usage: replan run" in result.stdout
    assert "Examples:\n" in result.stdout


def test_the_exit_codes_do_not_change():
    codes = {name: int(code) for name, code in Exit.__members__.items()}
    assert codes == {
        "OK": 0,
        "INTERNAL": 1,
        "USAGE": 2,
        "UNSOLVED": 3,
        "PROVIDER": 4,
        "BUDGET": 5,
        "WAITING": 6,
        "CANCELLED": 7,
        "NOT_FOUND": 8,
        "JOURNAL": 9,
        "UNDONE": 10,
        "INTERRUPTED": 130,
        "UNREAD": 141,
        "TERMINATED": 143,
    }


def test_an_invalid_command_line_is_an_object_with_json(replan):
    result = replan("run", "p.md", "--json", "--max-calls", "many")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["error"]["exit_code"] == 2
