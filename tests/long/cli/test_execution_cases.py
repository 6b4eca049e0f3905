"""Executions that were found wrong or doubtful by hand, from the command line on: what each of them must come to."""

import json
import subprocess

import pytest

from tests.cli.samples import ANALYSIS, RECON, STRATEGY

KEEP = {"id": "k1", "kind": "must_keep", "text": "LICENSE must not change", "paths": ["LICENSE"]}
AVOID = {"id": "k2", "kind": "must_avoid", "text": "never use the shredder", "tools": ["shredder"]}
SCOPE = {"id": "s1", "kind": "scope", "text": "only docs/", "paths": ["docs"]}
FILES = {"id": "b1", "kind": "budget", "text": "at most 1 file", "limit": {"name": "files", "value": "1"}}
LATE = {"id": "d1", "kind": "deadline", "text": "by yesterday"}
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


def test_a_full_replan_keeps_every_prohibition(execute, replan, scripted):
    """After a changed requirement a new plan used the forbidden tool and emptied the protected file, to "success"."""
    call, work = execute
    shred = plan(generator="shredder")
    replies = {"g_analysis": ANALYSIS, "g_recon": RECON, "g_strategy": STRATEGY, "g_plan": shred}
    model = scripted({name: [reply] * 12 for name, reply in replies.items()})
    careful = WRITE.replace("risk: none", "risk: risky")
    assert call(plan(KEEP, AVOID), model=model, detour=careful).exit_code == 6
    replan("tell", "--last", "out.txt is needed by noon", "--as", "requirement")
    result = replan("resume", "--last", "--no-input")
    assert result.exit_code != 0, result.output
    assert (work / "LICENSE").read_text() == "L\n"
    assert "calls shredder" not in replan("log", "--last").stdout


def test_a_tool_that_the_plan_forbids_does_not_start(execute):
    call, work = execute
    result = call(plan({**AVOID, "tools": ["detour"], "text": "never use the detour"}))
    assert result.exit_code == 2
    assert "requirement.violated: must_avoid: never use the detour: the step 'go' uses 'detour'" in result.stderr
    assert not (work / "out.txt").exists()


def test_a_check_that_changes_a_protected_file_is_no_success(execute, replan):
    call, _ = execute
    result = call(plan(KEEP), check=SHRED)
    assert result.exit_code == 6
    (question,) = asked(replan)
    assert "must_keep: LICENSE must not change: LICENSE changed" in question["shown"]
    assert "the check 'syntax' of the step 'go' changed files: LICENSE" in question["shown"]


def test_a_scope_is_compared_and_what_is_not_is_said(execute):
    call, _ = execute
    result = call(plan(SCOPE, FILES, LATE))
    assert result.exit_code == 6
    assert "violated: scope: only docs/: out.txt changed outside of it" in result.stdout
    assert "not checked: deadline: by yesterday" in result.stdout


CRASH = "{{risk: none, {more}command: [python3, -c, 'import os; os.kill(os.getpid(), 11)']}}"


def test_a_tool_that_breaks_off_and_may_not_run_twice_is_a_question_about_what_became_of_it(execute, replan):
    call, _ = execute
    assert call(plan(), detour=CRASH.format(more="")).exit_code == 6
    (question,) = asked(replan)
    assert question["text"] == "What became of the call of the tool 'detour' for the step 'go' (Go)?"
    assert [each["value"] for each in question["choices"]] == [
        "it ran and succeeded",
        "it ran and failed",
        "it did not run",
    ]


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        (CRASH.format(more="repeatable: true, "), "the tool 'detour' broke off: ended by signal 11"),
        (
            "{risk: none, repeatable: true, timeout_seconds: 0.3, command: [sleep, '60']}",
            "the tool 'detour' did not get to its end: it took longer than 0.3 s",
        ),
        ("{risk: none, repeatable: true, command: ['true']}", "the check 'chk' failed: exit code 1"),
    ],
)
def test_a_question_after_a_failed_tool_shows_the_failure(execute, replan, tool, reason):
    """It was a question of the author's alone: "What is wrong or wanted, and where does it show?"."""
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
