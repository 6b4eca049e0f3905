"""Plan text becomes no command, argument, variable or path: every text of a plan that is executed is hostile."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import replan

TEXTS = (
    "$(touch pwned) `touch pwned`; touch pwned",
    "--upload-pack=touch pwned",
    "-c core.hooksPath=.",
    "/tmp/pwned/../../pwned",
    "a\nb\r\nc\u202e\x1b]0;x\x07",
    "{workspace} {0.__class__} %(x)s ${HOME} '\"",
    "refs/heads/main",
)
"""Texts that do harm to a shell, to git's options and refs, to a path, to a format string or to a terminal."""
PROGRAM = """
import json, os, sys
with open("calls.jsonl", "a") as file:
    print(json.dumps([sys.argv[1:], sorted(os.environ), os.getcwd()]), file=file)
"""
TOOLS = """
tools:
  note: {{risk: none, repeatable: true, command: {command}, environment: [PATH, ONLY=this]}}
  made: {{risk: none, repeatable: true, python: ./checks.py:made}}
generators: {{maker: note}}
guards: {{dynamic_test: made}}
"""
ARGUMENTS = ["write", "--exactly=this", "a b"]


def hostile_plan(text):
    """Return a plan of which every text that an author chooses is hostile."""
    first = {
        "step_id": text,
        "name": text,
        "description": text,
        "generator": "maker",
        "guard": "dynamic_test",
        "retry_budget": 1,
        "preconditions": ["start"],
        "effects": [f"{text} done"],
    }
    second = {
        **first,
        "step_id": f"{text} 2",
        "dependencies": [text],
        "preconditions": [f"{text} done"],
        "effects": ["end"],
    }
    return {
        "plan_id": text,
        "goal": text,
        "initial_state": ["start"],
        "goal_state": ["end"],
        "total_retry_budget": 4,
        "steps": [first, second],
    }


def git(folder, *arguments):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("text", TEXTS)
def test_a_tool_gets_the_arguments_of_the_tools_file_whatever_the_plan_says(text, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q", "-b", "main")
    git(work, "commit", "-q", "--allow-empty", "-m", "first")
    before = git(work, "for-each-ref", "refs/heads"), (work / ".git" / "config").read_text()
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "checks.py").write_text("def made(workspace):\n    return True\n")
    command = json.dumps([sys.executable, "-I", "-S", str(tmp_path / "program.py"), *ARGUMENTS])
    (tmp_path / "tools.yaml").write_text(TOOLS.format(command=command))
    result = replan.execute(
        hostile_plan(text),
        tools=tmp_path / "tools.yaml",
        workspace=work,
        home=tmp_path / "home",
        model="template:bug",
        approve="none",
    )
    assert result.succeeded
    calls = [json.loads(line) for line in (work / "calls.jsonl").read_text().splitlines()]
    assert [(arguments, folder) for arguments, _, folder in calls] == [(ARGUMENTS, str(work))] * 2
    assert all({*names} - {"LC_CTYPE"} == {"PATH", "ONLY"} for _, names, _ in calls)
    assert not [path for path in tmp_path.rglob("*") if "pwned" in path.name]
    assert not Path("/tmp/pwned").exists()
    assert (git(work, "for-each-ref", "refs/heads"), (work / ".git" / "config").read_text()) == before
    kept = git(work, "for-each-ref", "--format=%(refname)").split()
    assert all(name.startswith(("refs/heads/main", "refs/replan/")) for name in kept)
    assert len(kept) > 1, "no snapshot was made"
