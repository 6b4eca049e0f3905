"""Executions that were found wrong or doubtful by hand, from the command line on: what each of them must come to."""

import json
import subprocess

import pytest

WRITE = "{risk: none, repeatable: true, command: [touch, out.txt]}"
SHRED = "{risk: none, repeatable: true, command: [cp, /dev/null, LICENSE]}"
THERE = "{risk: none, repeatable: true, command: [test, -f, out.txt]}"


def step(generator="detour", **more):
    return {
        "step_id": "go",
        "name": "Go",
        "generator": generator,
        "guard": "syntax",
        "retry_budget": 1,
        "preconditions": ["a"],
        "effects": ["b"],
        **more,
    }


def plan(*requirements, generator="detour", **more):
    listed = [{"quote": each["text"], "source": "problem", **each} for each in requirements]
    whole = {"plan_id": "p", "goal": "the file out.txt exists", "initial_state": ["a"], "goal_state": ["b"]}
    return {**whole, "total_retry_budget": 2, "requirements": listed, "steps": [step(generator)], **more}


@pytest.fixture
def execute(replan, tmp_path):
    """Return a function that executes a plan in a repository with a LICENSE, and its folder."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "LICENSE").write_text("L\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], cwd=work, check=True)

    def call(value, *, model="template:bug", check=THERE, **tools):
        named = {"detour": WRITE, "shredder": SHRED} | tools
        lines = [f"  {name}: {spec}" for name, spec in {**named, "chk": check}.items()]
        bound = ", ".join(f"{name}: {name}" for name in named)
        text = "tools:\n" + "\n".join(lines) + f"\ngenerators: {{{bound}}}\nguards: {{syntax: chk}}\n"
        (tmp_path / "tools.yaml").write_text(text)
        (tmp_path / "plan.json").write_text(json.dumps(value))
        words = ["--tools", tmp_path / "tools.yaml", "--workspace", work, "-m", model, "--no-input"]
        return replan("execute", tmp_path / "plan.json", *words)

    return call, work


def asked(replan):
    return json.loads(replan("questions", "--json").stdout)["questions"]


CRASH = "{{risk: none, {more}command: [python3, -c, 'import os; os.kill(os.getpid(), 11)']}}"


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (CRASH.format(more="repeatable: true, "), "the tool 'detour' broke off: ended by signal 11"),
        (
            "{risk: none, repeatable: true, timeout_seconds: 0.3, command: [sleep, '60']}",
            "the tool 'detour' did not finish: the call took longer than 0.3 s",
        ),
        ("{risk: none, repeatable: true, command: ['true']}", "the check 'chk' failed: exit code 1"),
    ],
)
def test_a_question_after_a_failed_tool_shows_the_failure(execute, replan, tool, reason):
    call, _ = execute
    assert call(plan(), detour=tool).exit_code == 6
    (question,) = asked(replan)
    assert reason in question["shown"]


def test_a_workspace_that_a_tool_deletes_is_no_success(execute):
    call, work = execute
    assert call(plan(), detour=f"{{risk: none, repeatable: true, command: [rm, -rf, {work}]}}").exit_code == 6
    assert not work.exists()


def test_a_word_that_only_a_shell_understands_is_refused(execute):
    call, _ = execute
    result = call(plan(), check="{risk: none, repeatable: true, command: [test, -f, out.txt, '&&', rm]}")
    assert result.exit_code == 2
    assert "'&&' means something only to a shell" in result.stderr
