"""Texts of strangers in what each command prints: no escape, control character or mark of direction comes through."""

import json
import re
import subprocess
import sys

import pytest

from tests.cli.conftest import home, replan  # noqa: F401

EVIL = "\x1b]0;pwn\x07\x1b[2J\x1b[31m\u202egnp.exe\u2066\x9b31m\u200f\u2028\x7f"
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
STEP = {"generator": "coder", "guard": "syntax", "retry_budget": 2, "preconditions": ["a"], "effects": ["b"]}
PLAN = {
    "plan_id": "p",
    "initial_state": ["a"],
    "goal_state": ["b"],
    "total_retry_budget": 2,
    "steps": [{"step_id": "s1", "name": f"S {EVIL}", **STEP}],
}
SAYING = f"print({EVIL!r}); open('f' + {EVIL.replace('/', '')!r}, 'w').close(); raise SystemExit({{}})"
VIEWS = (
    *(
        ["show"],
        ["show", "--tree"],
        ["show", "--json"],
        ["show", "--plan"],
        ["show", "--mermaid"],
        ["show", "--events"],
    ),
    *(["log"], ["log", "--json"], ["export"], ["export", "--format", "json"], ["questions"]),
)


@pytest.fixture
def call(replan, tmp_path, monkeypatch):  # noqa: F811
    """Call a command in a folder; neither stream may have a character that a terminal obeys."""
    monkeypatch.chdir(tmp_path)

    def called(*words, **more):
        done = replan(*words, **more)
        for name in ("stdout", "stderr"):
            found = OBEYED.search(getattr(done, name))
            assert found is None, (words, name, getattr(done, name)[: found.end() + 20][-80:])
        assert "internal error" not in done.stderr
        return done

    return called


@pytest.fixture
def files(tmp_path):
    """A plan and tools whose output and files have hostile texts, and a workspace that is a repository."""
    tools = {
        "say": {"risk": "none", "command": [sys.executable, "-c", SAYING.format(0)]},
        "no": {"risk": "none", "repeatable": True, "command": [sys.executable, "-c", SAYING.format(1)]},
    }
    (tmp_path / "plan.json").write_text(json.dumps(PLAN))
    bound = {"tools": tools, "generators": {"coder": "say"}, "guards": {"syntax": "no"}}
    (tmp_path / "tools.yaml").write_text(json.dumps(bound))
    subprocess.run(["git", "init", "-q", str(tmp_path / "work")], check=True)
    return ["plan.json", "--tools", "tools.yaml", "--workspace", "work", "-m", "template:bug"]


def shown(call):
    """Show every run in every view."""
    for row in json.loads(call("runs", "--json").stdout)["runs"]:
        for view, *options in VIEWS:
            call(view, row["run_id"], *options)
    call("runs")
    call("questions", "--json")


def test_an_execution_whose_tools_print_what_a_terminal_obeys(call, files):
    for option in ("--dry-run", "--json", "-v", "--no-input"):
        call("execute", *files, "--no-input", option)
    shown(call)


def test_problems_that_have_what_a_terminal_obeys(call, tmp_path):
    (tmp_path / "bad.md").write_text(f"# Title {EVIL}\n\nThe export {EVIL} in `shop/{EVIL}.py` raises ValueError.\n")
    call("run", "bad.md", "-m", "template:bug", "--no-input")
    call("run", "-", "-m", "template:bug", "--no-input", input=f"Make it {EVIL} better, please.")
    shown(call)


def test_arguments_and_files_that_have_what_a_terminal_obeys(call, files, tmp_path):
    refused = [
        *(("show", EVIL.replace("\x00", "")), (f"x{EVIL}",), ("answer", f"q{EVIL}", "x"), ("tell", f"r{EVIL}", "x")),
        *(("token", "add", f"n{EVIL}"), ("resume", f"z{EVIL}"), ("execute", "plan.json", "--tools", f"{EVIL}.yaml")),
        ("execute", *files[:3], "--workspace", f"d{EVIL}"),
    ]
    (tmp_path / "evil.yaml").write_text(json.dumps({"tools": {EVIL: {"command": [EVIL]}}, EVIL: 1}))
    refused.append(("execute", "plan.json", "--tools", "evil.yaml", "--workspace", "work"))
    for words in refused:
        assert call(*words).exit_code in (2, 8), words
    assert call("check", "-", input=EVIL).exit_code in (2, 3)
