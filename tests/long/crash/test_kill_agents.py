"""`kill -9` while a coding agent works, and around the merge of its work: real processes, a real repository.

The agent is called again only with a person's word, or where it is said to be repeatable. Its work is merged once.
"""

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from tests.long.crash.cli_case import Case
from tests.support.commands import Commands
from tests.support.openai_server import Answer, serve

AGENT = """
import json, sys, time
from pathlib import Path
log = Path(sys.argv[1])
with log.open("a") as file:
    file.write("begin\\n")
sys.stdin.read()
for name in ("a.txt", "b.txt"):
    path = Path(name)
    path.write_text(path.read_text() + "by the agent\\n")
with log.open("a") as file:
    file.write("end\\n")
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": "ok", "total_cost_usd": 0.25}))
"""
TOOLS = """
tools:
  coder:
    agent:
      command: [PYTHON, -S, AGENT, LOG]
      report: claude
      instructions: Add a line to both files.
      max_cost_usd: 1
      timeout_seconds: 60
      repeatable: REPEATABLE
      writable: [LOG]
  both: {command: [grep, -q, by the agent, a.txt, b.txt], repeatable: true}
generators: {coder: coder}
guards: {both: both}
"""
PLAN = {
    "plan_id": "lines",
    "goal": "a line in both files",
    "initial_state": ["start"],
    "goal_state": ["done"],
    "total_retry_budget": 4,
    "steps": [
        {
            "step_id": "add",
            "name": "Add the lines",
            "generator": "coder",
            "guard": "both",
            "retry_budget": 2,
            "preconditions": ["start"],
            "effects": ["done"],
        }
    ],
}
RANDOM_KILLS = int(os.environ.get("REPLAN_KILLS", "1"))
ACT, MERGE = 4, 7
"""The places of both calls among the calls of tools: a look at the workspace and two snapshots come before, the record
and the check between.
"""


@dataclass
class Execution:
    """An execution whose only step is an agent's."""

    case: Case
    folder: Path
    repeatable: bool = False

    def begin(self, **more: Any) -> tuple[int, Any]:
        """Start it, and wait for the end of the process."""
        workspace = self.folder / "workspace"
        workspace.mkdir(exist_ok=True)
        for name in ("a.txt", "b.txt"):
            (workspace / name).write_text("first\n")
        subprocess.run(["git", "init", "-q", str(workspace)], check=True)
        (self.folder / "plan.json").write_text(json.dumps(PLAN))
        (self.folder / "agent.py").write_text(AGENT)
        (self.folder / "log").touch()
        text = TOOLS.replace("PYTHON", sys.executable).replace("AGENT", str(self.folder / "agent.py"))
        text = text.replace("LOG", str(self.folder / "log")).replace("REPEATABLE", str(self.repeatable).lower())
        (self.folder / "tools.yaml").write_text(text)
        words = ("execute", str(self.folder / "plan.json"), "--tools", str(self.folder / "tools.yaml"))
        words += ("--workspace", str(workspace), "-m", "template:bug")
        return self.case.replan(*words, "--no-input", "--approve", "none", "--json", **more)

    def resume(self) -> tuple[int, Any]:
        return self.case.replan("resume", "--last", "--json", "--no-input")

    def check(self, code: int, result: Any, *, calls: int) -> None:
        """Check the end: the agent was called so often, and its work is in both files once."""
        assert (code, result["outcome"]) == (0, "success"), self.case.error()
        log = self.folder / "log"
        assert log.read_text().splitlines().count("begin") == calls
        for name in ("a.txt", "b.txt"):
            assert (self.folder / "workspace" / name).read_text() == "first\nby the agent\n"
        home = self.folder / "home" / "worktrees"
        assert [path for path in home.rglob("*") if path.is_file()] == [], "a worktree is left"


@pytest.fixture
def execution(tmp_path: Path, commands: Commands) -> Any:
    with serve(lambda *_: Answer.say("not asked")) as server:
        yield Execution(Case(tmp_path, commands, server), tmp_path)


def killed(execution: Execution, label: str, nth: int) -> tuple[int, Any]:
    """Kill the execution where a label is reached, and resume it."""
    code, _ = execution.begin(kill={"label": label, "nth": nth})
    assert code < 0, execution.case.error()
    return execution.resume()


@pytest.mark.parametrize(("label", "nth"), [("merge.begun", 1), ("merge.written", 1), ("tool.after", MERGE)])
def test_a_merge_is_made_once_wherever_it_is_killed(label, nth, execution):
    execution.check(*killed(execution, label, nth), calls=1)


def test_a_repeatable_agent_begins_anew_with_a_new_worktree(execution):
    execution.repeatable = True
    code, result = killed(execution, "tool.after", ACT)
    execution.check(code, result, calls=2)
    assert result["cost_usd"] == 1.25, "the first call is charged with the most that it may cost"


@pytest.mark.parametrize(("answer", "calls"), [(SUCCEEDED, 1), (FAILED, 2)])
def test_a_person_says_what_became_of_any_other_agent(answer, calls, execution):
    code, result = killed(execution, "tool.after", ACT)
    assert code == 6, execution.case.error()
    assert "What became of the call of the tool 'coder'" in result["question"]["text"]
    assert execution.case.replan("answer", result["question"]["id"], answer)[0] == 0
    execution.check(*execution.resume(), calls=calls)


@pytest.mark.parametrize("seed", range(RANDOM_KILLS))
def test_two_kills_at_random_times(seed, execution):
    """Whatever is killed, the work is merged once, and the questions are answered truthfully."""
    chance = random.Random(seed)
    seconds = chance.uniform(0.3, 2.5), chance.uniform(0.3, 1.5)
    code, result = execution.case.killed_twice(execution.begin, seconds)
    asked = 0
    while code < 0 or code == 6:
        if code == 6:
            asked += 1
            begun = (execution.folder / "log").read_text().splitlines()
            answer = NOT_RUN if not begun else SUCCEEDED if begun[-1] == "end" else FAILED
            assert execution.case.replan("answer", result["question"]["id"], answer)[0] == 0
        code, result = execution.resume()
    begun = (execution.folder / "log").read_text().splitlines().count("begin")
    assert 1 <= begun <= 1 + asked, "the agent was called again without a person's word"
    execution.check(code, result, calls=begun)


def test_an_agent_that_had_not_begun_is_called_without_a_question(execution):
    execution.check(*killed(execution, "tool.prepared", ACT), calls=1)
