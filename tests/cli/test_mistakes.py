"""What users do wrong: each mistake has its exit code, and one line with the cause, the place and the next step.

`data/mistakes.txt` holds them as a terminal shows them. In its commands and lines `{waiting}` and `{finished}` are
runs, and `{folder}` is the folder of the files below.
"""

import json
import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from replan.cli.app import app
from tests.cli.conftest import SCRIPT
from tests.cli.samples import ANALYSIS, ASKING, LOST, PLAN, PROBLEM

MISTAKES = (Path(__file__).parent / "data" / "mistakes.txt").read_text(encoding="utf-8")


def cases_in(text):
    """Return the commands in a text, each with its exit code and its line."""
    return re.findall(r"^\$ (.*)\n\[(\d+)\] (.*)$", text, re.MULTILINE)


CASES = cases_in(MISTAKES)
ASKS = {**ASKING, "open_questions": [{"question": "Which colour?", "choices": ["red", "blue"]}]}
STEP = "{generator: model, guard: plan_medium, role: plan"
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
FILES = {
    "problem.md": PROBLEM,
    "empty.md": "",
    "binary.md": "\x7fELF\0",
    "plan.json": json.dumps(PLAN),
    "lost.json": json.dumps(LOST),
    "broken.json": '{"plan_id": ',
    "list.json": "[1]",
    "replies.yaml": json.dumps({**SCRIPT, "g_analysis": [ASKS, ANALYSIS]}),
    "no_list.yaml": "g_plan: 5\n",
    "tabs.yaml": "name: mine\n\tsteps: 1\n",
    "no_guard.yaml": "name: mine\naction_pairs:\n  g_plan: {generator: model, role: plan}\n",
    "words.yaml": f"name: mine\naction_pairs:\n  g_plan: {STEP}, rmax: three}}\n",
    "negative.yaml": f"name: mine\naction_pairs:\n  g_plan: {STEP}, rmax: -1}}\n",
    "role.yaml": "name: mine\naction_pairs:\n  g_plan: {generator: model, guard: plan_medium, role: planner}\n",
    "needs.yaml": f"name: mine\naction_pairs:\n  g_plan: {STEP}, requires: [g_recno]}}\n",
    "no_mapping.yaml": "- a\n",
    "shell.yaml": "tools:\n  t: {command: 'pytest -q'}\n",
    "timeout.yaml": "tools:\n  t: {command: [pytest], timeout: 5}\n",
    "program.yaml": "tools:\n  t: {command: [no-such-program]}\n",
    "unbound.yaml": "tools:\n  t: {human: Do it.}\ngenerators: {coder: t}\n",
    "misbound.yaml": "tools:\n  t: {human: Do it.}\ngenerators: {coder: u}\n",
    "syntax.py": "def x(:\n",
    "nothing.py": "x = 1\n",
    "import.py": "import no_such_module\n",
    "homes/key/config.yaml": "modle: rules\n",
    "homes/type/config.yaml": "model: [rules]\n",
    "homes/limit/config.yaml": "home_budget: {calls: -1}\n",
    "homes/list/config.yaml": "- rules\n",
    "homes/twice/config.yaml": "model: template:bug\nmodel: template:bug\n",
    "homes/plugin/config.yaml": "plugins: [mine.py]\n",
    "work/README": "",
}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Make the files and the runs; return what the names in braces stand for."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_text(text, encoding="utf-8")
    replies = f"scripted:{folder / 'replies.yaml'}"
    home = {"REPLAN_HOME": str(folder / "homes" / "good")}

    def call(*arguments):
        return CliRunner().invoke(app, arguments, env=home)

    def planned():
        result = call("run", str(folder / "problem.md"), "-m", replies, "--no-input", "--json")
        return str(json.loads(result.stdout)["run_id"])

    waiting, finished = planned(), planned()
    call("answer", f"{finished}/q1", "red")
    assert call("resume", finished).exit_code == 0
    return {"folder": str(folder), "waiting": waiting, "finished": finished}


@pytest.mark.parametrize(("command", "code", "line"), CASES, ids=[case[0] for case in CASES])
def test_a_mistake_is_one_line_with_cause_place_and_next_step(names, command, code, line, monkeypatch):
    assert made(names, command, monkeypatch) == (int(code), line)


def made(names, command, monkeypatch):
    """Make a mistake; return the exit code, and the one line on standard error with names in braces."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "REPLAN_MODEL", "REPLAN_JOURNAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REPLAN_HOME", str(Path(names["folder"]) / "homes" / "good"))
    monkeypatch.chdir(names["folder"])
    words = shlex.split(command.format(**names))
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        monkeypatch.setenv(name, os.path.abspath(value) if name == "REPLAN_HOME" else value)  # noqa: PTH100 -- text
    result = CliRunner().invoke(app, words[1:], input="")
    text = result.stderr
    for name, value in names.items():
        text = text.replace(value, f"{{{name}}}")
    assert "Traceback" not in text
    return result.exit_code, text.removesuffix("\n")


def test_there_are_fifty_mistakes_and_each_line_ends_with_a_next_step():
    assert len({command for command, _, _ in CASES}) == len(CASES) >= 50
    assert MISTAKES.count("\n$ ") + MISTAKES.startswith("$ ") == len(CASES)
    assert [line for _, _, line in CASES if not re.search(r"\)$|: should be ", line)] == []
