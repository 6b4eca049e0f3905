"""Calls of coding agents, with real processes: what they see, how they end, and what is stored of their output."""

import json
import sys
import time

import pytest

from actors.run.tools import ToolOutcome
from actors.tools import agent_calls
from runtime.process import group
from runtime.process.identity import end_of_group
from tests.long.tools.test_snapshots import git
from tests.tools.agent_case import DONE


async def test_an_agent_sees_its_prompt_the_files_as_they_are_and_the_declared_variables(case):
    case.pin(
        """
        import json, os, subprocess, sys
        log = subprocess.run(["git", "log", "--format=%s"], capture_output=True, text=True).stdout.split()
        status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True).stdout
        print(json.dumps([sys.stdin.read(), sorted(os.listdir()), log[-1], status, "SECRET" in os.environ]))
        """
    )
    done = await case.work(await case.base(), prompt="$(touch x) `y`; Grüße")
    assert json.loads(done.output) == [
        "$(touch x) `y`; Grüße",
        [".git", ".gitignore", "a.py", "new", "sub"],
        "first",
        "",
        False,
    ]


@pytest.mark.parametrize(
    ("code", "report", "end"),
    [
        (f"print('''{DONE % 0.5}''')", "claude", (ToolOutcome.SUCCEEDED, "", 500_000)),
        (
            f"print('''{DONE % 1.5}''')",
            "claude",
            (ToolOutcome.FAILED, "the call cost $1.50, over its limit of $1.00 (max_cost_usd)", 1_500_000),
        ),
        (f"print('''{DONE % 0.5}'''); import sys; sys.exit(3)", "claude", (ToolOutcome.FAILED, "exit code 3", 500_000)),
        ("print('no JSON')", "claude", (ToolOutcome.FAILED, "the agent's output does not fit `report: claude`", None)),
        ("print('Mended.')", "none", (ToolOutcome.SUCCEEDED, "", None)),
        ("import os; os.kill(os.getpid(), 9)", "none", (ToolOutcome.BROKEN, "ended by signal 9", None)),
    ],
)
async def test_how_an_agent_ends_is_the_outcome_and_an_unknown_cost_is_none(case, code, report, end):
    outcome, reason, cost = end
    case.pin(f"open('a.py', 'w').write('two')\n{code}", report)
    done = await case.work(await case.base())
    assert done.outcome is outcome, (done.reason, done.output)
    assert done.reason.startswith(reason)
    assert done.cost.micro_usd == cost
    kept = git(case.folder, "for-each-ref", "--format=%(refname)", "refs/replan/r")
    assert case.worktree.exists() is (outcome is ToolOutcome.SUCCEEDED)
    assert ("unfinished" in kept) is not case.worktree.exists(), "what it has changed is kept"


async def test_an_agent_that_takes_too_long_is_ended_with_all_its_children_and_its_worktree_is_thrown_away(
    case, monkeypatch
):
    monkeypatch.setattr(group, "GRACE_SECONDS", 0.3)
    case.pin(
        """
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open("a.py", "w").write("two")
        os.fork()
        time.sleep(60)
        """
    )
    base = await case.base()
    begun = time.monotonic()
    done = await case.work(base, seconds=1.0)
    assert (done.outcome, done.reason) == (ToolOutcome.TRANSIENT, "the call took longer than 1 s")
    assert time.monotonic() - begun < 20
    assert end_of_group(case.bench.begun[-1].process) is True
    assert not case.worktree.exists()
    kept = git(case.folder, "for-each-ref", "--format=%(refname)", "refs/replan/r/*unfinished*")
    assert git(case.folder, "show", f"{kept}:a.py") == "two"
    assert case.files()["a.py"] == "one\n"


async def test_a_flood_of_output_is_read_to_its_end_and_its_last_part_counts(case, monkeypatch):
    monkeypatch.setattr(agent_calls, "REPORT_BYTES_MAX", 10_000)
    case.pin(
        f"import sys\nprint('x\\n' * 5_000_000)\nsys.stderr.write('e' * 5_000_000)\nprint('''{DONE % 0.5}''')", "claude"
    )
    done = await case.work(await case.base())
    assert (done.outcome, done.output, done.cost.micro_usd) == (ToolOutcome.SUCCEEDED, "Mended.", 500_000)


async def test_the_secrets_of_the_driver_do_not_stand_in_what_is_stored(case, monkeypatch):
    secret = "s3cret-value-of-the-driver"
    monkeypatch.setitem(sys.modules["tests.tools.calling"].ENVIRONMENT, "API_KEY", secret)
    case.pin(f"print('{secret}'); open('a.py', 'w').write('{secret}')")
    base = await case.base()
    done = await case.work(base)
    assert secret not in done.output
    assert secret not in (await case.record(base)).output


async def test_no_part_of_a_secret_stands_in_errors_that_are_cut(case, monkeypatch):
    secret = "s3cret-value-of-the-driver"
    monkeypatch.setitem(sys.modules["tests.tools.calling"].ENVIRONMENT, "API_KEY", secret)
    monkeypatch.setattr(agent_calls, "ERROR_BYTES_MAX", 100)
    for filler in (85, 300):
        case.pin(f"import sys; sys.stderr.write('y' * {filler} + '{secret}\\n' + 'x' * 85 + '\\n'); sys.exit(1)")
        done = await case.work(await case.base())
        assert done.output.strip() == "x" * 85
