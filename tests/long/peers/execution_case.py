"""Executions of small plans with real tools, each of which writes to a log when it begins and when it ends."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from tests.long.crash.cli_case import Case

SCRIPT = """
echo "begin $2" >> "$1"
sleep "$3"
[ -e "$1.$2.fails" ] && exit 1
echo "end $2" >> "$1"
"""
"""Its arguments: the log, the tool's name, and the seconds that it takes. It fails while `LOG.NAME.fails` exists."""


def step(name: str, needs: Sequence[str], makes: Sequence[str], **more: Any) -> dict[str, Any]:
    """Return a step of a plan, which the tool of its name carries out, with one attempt."""
    step = {"step_id": name, "name": name, "generator": name, "guard": "", "retry_budget": 1}
    return {**step, "preconditions": list(needs), "effects": list(makes), **more}


def plan(steps: Sequence[Mapping[str, Any]], goal: Sequence[str], start: Sequence[str] = ("start",)) -> dict[str, Any]:
    return {
        "plan_id": "work",
        "goal": "the work is done",
        "initial_state": list(start),
        "goal_state": list(goal),
        "total_retry_budget": 12,
        "steps": [{**each, "guard": each["guard"] or "looked_at"} for each in steps],
    }


@dataclass
class ExecutionCase:
    case: Case
    plan: Mapping[str, Any]
    tools: Mapping[str, Mapping[str, Any]]
    """The tools by name, each with `seconds`, and with further keys of the tools file."""

    def __post_init__(self) -> None:
        folder = self.case.folder
        (folder / "workspace").mkdir()
        (folder / "plan.json").write_text(json.dumps(self.plan))
        (folder / "work.sh").write_text(SCRIPT)
        (folder / "tools.yaml").write_text(yaml.safe_dump(self._tools_file()))

    def _tools_file(self) -> dict[str, Any]:
        tools = {name: self._tool(name, **more) for name, more in self.tools.items()}
        look = {"command": ["/bin/true"], "repeatable": True, "risk": "none"}
        return {
            "tools": {**tools, "look": look},
            "generators": {name: name for name in tools},
            "guards": {"looked_at": "look"},
        }

    def _tool(self, name: str, seconds: float = 0.0, **more: Any) -> dict[str, Any]:
        words = ["/bin/sh", str(self.case.folder / "work.sh"), str(self.log_path), name, str(seconds)]
        return {"command": words, "timeout_seconds": 30, "environment": ["PATH"], **more}

    @property
    def log_path(self) -> Any:
        return self.case.folder / "log"

    def log(self) -> list[str]:
        """Return what the tools have written so far, a line each."""
        return self.log_path.read_text().splitlines() if self.log_path.exists() else []

    def argv(self, *more: str) -> tuple[str, ...]:
        """Return the command line that starts the execution."""
        folder = self.case.folder
        words = ("execute", str(folder / "plan.json"), "--tools", str(folder / "tools.yaml"))
        words += ("--workspace", str(folder / "workspace"), "-m", "test-model", "-w", "single")
        return (*words, "--no-input", "--json", *(more or ("--approve", "none")))

    def begin(self, *words: str, **faults: Any) -> tuple[int, Any]:
        """Start the execution, and wait for the end of the process; return its exit code and its result."""
        return self.case.replan(*self.argv(*words), **faults)

    def resume(self, **faults: Any) -> tuple[int, Any]:
        """Resume the execution in a new process."""
        return self.case.replan("resume", "--last", "--no-input", "--json", **faults)

    def answer(self, result: Mapping[str, Any], text: str) -> None:
        """Answer the question of a result in a process of its own."""
        code, _ = self.case.replan("answer", result["question"]["id"], text)
        assert code == 0, self.case.error()
