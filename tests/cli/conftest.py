"""Fixtures for the command line: a home, a problem, and calls in this process or in another one."""

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from replan.cli.app import app
from tests.cli.samples import ANALYSIS, PLAN, PROBLEM, RECON, STRATEGY, write_script
from tests.cli.terminal import Terminal

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    monkeypatch.setenv("REPLAN_HOME", str(folder))
    return folder


@pytest.fixture
def problem(tmp_path):
    path = tmp_path / "problem.md"
    path.write_text(PROBLEM, encoding="utf-8")
    return str(path)


@pytest.fixture
def replan(home):

    def call(*arguments, **extra):
        return CliRunner().invoke(app, [str(argument) for argument in arguments], **extra)

    return call


@pytest.fixture
def scripted(tmp_path):
    return lambda script: write_script(tmp_path, script)


SCRIPT = {"g_analysis": [ANALYSIS], "g_recon": [RECON], "g_strategy": [STRATEGY], "g_plan": [PLAN]}


@pytest.fixture
def planned(replan, problem, scripted):
    def call(script=SCRIPT, *more):
        replan("run", problem, "-m", scripted(script), "--no-input", *more)
        return run_id(replan)

    return call


@pytest.fixture
def shell(home, commands):
    """Start `replan` in its own process, with buffered output as for a user."""
    return commands.start


@pytest.fixture
def in_terminal(home, commands):
    """Start `replan` in a terminal; variables are added to the environment."""
    return partial(Terminal, commands)


def read_until(stream, word):
    lines = []
    while not (lines and word in lines[-1]):
        lines.append(stream.readline().decode())
        assert lines[-1], f"the stream ended before {word!r}: {''.join(lines)}"
    return lines


def run_id(replan):
    return json.loads(replan("runs", "--json").stdout)["runs"][0]["run_id"]
