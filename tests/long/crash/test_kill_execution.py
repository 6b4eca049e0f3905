"""`kill -9` of an execution at every labelled point and at random times: real processes, real tools, a real server.

A tool that is not repeatable never runs twice, at once or one after the other, without a person's word. The questions
are answered truthfully; then the run comes to the same end as without a kill.
"""

import contextlib
import json
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from actors.run.questions import FAILED, NOT_RUN, SUCCEEDED
from runtime.core.hooks import LABELS
from tests.long.crash.cli_case import Case
from tests.support.answers import Answer
from tests.support.commands import Commands
from tests.support.openai_server import serve

TOOL_LABELS = ("tool.prepared", "tool.started", "tool.after")
"""The labelled points around the call of a tool."""
TTL = 0.06
"""Length of the lease in seconds: short, so that it is renewed during a run."""
RANDOM_KILLS = int(os.environ.get("REPLAN_KILLS", "3"))
ANSWERS_MAX = 6
TOOLS = """
tools:
  book: {command: [/bin/sh, BOOK, LOG, book], timeout_seconds: 20, environment: [PATH]}
  finish: {command: [/bin/sh, BOOK, LOG, finish], timeout_seconds: 20, environment: [PATH]}
  writer: {model: {file: note.txt, instructions: Write the note.}}
  booked: {command: [/bin/grep, -q, end book, LOG], repeatable: true}
  good: {command: [/bin/grep, -q, good, note.txt], repeatable: true}
  never: {command: [/bin/false], repeatable: true}
generators: {Book: book, Write: writer, Never: never, Finish: finish}
guards: {booked: booked, good: good, human: booked}
"""
# A killed process stays as a zombie (Z) until the machine's first process takes note of its end.
BOOK = """
other=$(grep "^begin $2 " "$1" 2>/dev/null | while read -r _ _ pid; do
  grep -qs '^State:.[^ZX]' "/proc/$pid/status" && echo "$pid"
done)
[ -n "$other" ] && echo "overlap $2 $other" >> "$1"
echo "begin $2 $$" >> "$1"
sleep 0.04
echo "end $2 $$" >> "$1"
"""


def step(name: str, needs: str, makes: str, generator: str, guard: str, **more: Any) -> dict[str, Any]:
    return {
        "step_id": name,
        "name": name,
        "generator": generator,
        "guard": guard,
        "retry_budget": 2,
        "preconditions": [needs],
        "effects": [makes],
        **more,
    }


PLAN = {
    "plan_id": "kills",
    "goal": "book, write and finish",
    "initial_state": ["start"],
    "goal_state": ["done"],
    "total_retry_budget": 12,
    "steps": [
        step("a", "start", "t1", "Book", "booked"),
        step("b", "t1", "t2", "Write", "good", dependencies=["a"]),
        step("c", "t2", "done", "Never", "booked", dependencies=["b"], retry_budget=1),
    ],
}
NEW = {**PLAN, "plan_id": "new", "initial_state": ["t2"], "steps": [step("d", "t2", "done", "Finish", "booked")]}
"""The plan that replaces it: it books nothing again, and finishes."""


@dataclass
class Execution:
    """An execution with its home, its workspace and its log of what the tools did."""

    case: Case
    folder: Path

    def __post_init__(self) -> None:
        (self.folder / "workspace").mkdir()
        (self.folder / "plan.json").write_text(json.dumps(PLAN))
        (self.folder / "book.sh").write_text(BOOK)
        text = TOOLS.replace("BOOK", str(self.folder / "book.sh")).replace("LOG", str(self.folder / "log"))
        (self.folder / "tools.yaml").write_text(text)

    def begin(self, **more: Any) -> tuple[int, Any]:
        """Start the execution, and wait for the end of the process."""
        words = ("execute", str(self.folder / "plan.json"), "--tools", str(self.folder / "tools.yaml"))
        words += ("--workspace", str(self.folder / "workspace"), "-m", "test-model", "-w", "single", "--no-input")
        return self.case.replan(*words, "--approve", "none", "--json", **more)

    def done(self, name: str) -> list[str]:
        """Return what a tool has written to the log: `begin` or `end`, each time."""
        log = self.folder / "log"
        words = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [word for word, tool, *_ in words if tool == name]

    def truth(self, text: str) -> tuple[str, str]:
        """Return the tool that a question is about, and what has become of its call, once no process of it is left."""
        name = "book" if "'book'" in text else "finish"
        wait_for_exit(self.folder / "book.sh")
        done = self.done(name)
        return name, NOT_RUN if not done else SUCCEEDED if done[-1] == "end" else FAILED

    def finish(self, code: int, result: Any) -> dict[str, int]:
        """Resume and answer until the run has ended; return how often each tool was allowed to run again."""
        allowed = {"book": 0, "finish": 0}
        for _ in range(ANSWERS_MAX):
            if code == 0:
                break
            if code == 6:
                question = result["question"]
                name, answer = self.truth(question["text"])
                allowed[name] += answer != SUCCEEDED
                assert self.case.replan("answer", question["id"], answer)[0] == 0
            code, result = self.case.replan("resume", "--last", "--json", "--no-input")
        assert (code, (result or {}).get("outcome")) == (0, "success"), self.case.error()
        assert sorted(result["missing"]) == []
        return allowed

    def check(self, allowed: dict[str, int]) -> None:
        """Check what the tools have done: each once, and once more for each time that a person allowed it."""
        for name, times in allowed.items():
            done = self.done(name)
            assert "overlap" not in done, f"two calls of {name} ran at once"
            assert 1 <= done.count("begin") <= 1 + times, f"{name} ran again without a person's word"
            assert done[-1] == "end"


def wait_for_exit(script: Path) -> None:
    """Wait until no process runs a script. A call outlives the runtime that was killed."""
    for _ in range(3000):
        if not any(str(script).encode() in command for command in commands_of_processes()):
            return
        time.sleep(0.01)
    raise AssertionError(f"{script} still runs")


def commands_of_processes() -> Iterator[bytes]:
    """Yield the command line of each process of this machine."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # The process has just ended.
            yield path.read_bytes()


def answers() -> Any:
    """Return a handler: the model's first note is wrong, the second one right; the planner brings the new plan."""

    def handle(_: Any, headers: Any, __: int) -> Answer:
        request = headers["x-client-request-id"]
        if "/b/" in request:
            return Answer.say("a note" if ".a1.act" in request else "a good note")
        return Answer.value(NEW)

    return handle


@pytest.fixture
def execution(tmp_path: Path, commands: Commands) -> Iterator[Execution]:
    with serve(answers()) as server:
        yield Execution(Case(tmp_path, commands, server), tmp_path)


def test_every_label_is_reached_by_an_execution_that_replans(execution):
    code, result = execution.begin(ttl=TTL)
    assert (code, result["outcome"], result["revision"]) == (0, "success", 2), execution.case.error()
    execution.check({"book": 0, "finish": 0})
    reached = set(json.loads((execution.folder / "count").read_text()))
    assert reached == {*LABELS, *TOOL_LABELS}


@pytest.mark.parametrize(
    ("label", "nth"),
    [(label, 1) for label in (*LABELS, *TOOL_LABELS)]
    + [(label, 3) for label in ("append.before", "append.after", *TOOL_LABELS)],
)
def test_a_kill_where_a_label_is_reached(label, nth, execution):
    code, _ = execution.begin(kill={"label": label, "nth": nth}, ttl=TTL)
    if code >= 0:
        assert nth > 1
        return
    resumed = (code, None) if execution.case.events_exist() else execution.begin()
    execution.check(execution.finish(*resumed))


@pytest.mark.parametrize("seed", range(RANDOM_KILLS))
def test_two_kills_at_random_times_of_an_execution(seed, execution):
    """Also while a tool sleeps."""
    chance = random.Random(seed)
    seconds = chance.uniform(0.001, 0.8), chance.uniform(0.001, 0.5)
    execution.check(execution.finish(*execution.case.killed_twice(execution.begin, seconds)))
