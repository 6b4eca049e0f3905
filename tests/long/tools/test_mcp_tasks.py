"""Tools of MCP servers that go on as tasks, with real processes: each end of a task, and what stops one."""

import json
import sys
from pathlib import Path

import pytest

from actors.run.tools import ToolOutcome
from actors.tools.mcp_talk import POLL_SECONDS, _pause

ERROR = "the server answered with an error: "
PROGRAM = Path(__file__).parents[2] / "tools" / "mcp_task_program.py"


def tasks(bench, status):
    words = json.dumps([sys.executable, str(PROGRAM), status, str(bench.folder / "cancelled")])
    return bench.pin(
        f"""
        mcp_servers: {{s: {{command: {words}}}}}
        tools:
          t:
            mcp: {{server: s, tool: code}}
            parameters: {{task: {{type: string, pattern: ".*"}}}}
        """
    )


@pytest.mark.parametrize(
    ("status", "outcome", "output", "reason"),
    [
        ("completed", ToolOutcome.SUCCEEDED, "done after a while", ""),
        ("said_no", ToolOutcome.FAILED, "done after a while", "the server reports that the tool failed"),
        ("failed", ToolOutcome.BROKEN, "", f"{ERROR}the tracker is closed"),
        ("cancelled", ToolOutcome.FAILED, "", "the server has cancelled the task"),
        ("input_required", ToolOutcome.FAILED, "", "the task asks for input, which no step can give"),
        (
            "empty",
            ToolOutcome.BROKEN,
            "",
            "the server answered with an error: the task is completed, but has no result",
        ),
        ("done_at_once", ToolOutcome.SUCCEEDED, "done after a while", ""),
        ("strange", ToolOutcome.FAILED, "", "the server reports a task status that the protocol does not define"),
    ],
)
async def test_a_task_is_polled_to_its_end(bench, status, outcome, output, reason):
    done = await bench.call(tasks(bench, status), task="x")
    assert (done.outcome, done.output, done.reason) == (outcome, output, reason)
    assert (bench.folder / "cancelled").exists() is (status == "input_required")


def test_a_long_task_is_polled_ever_more_rarely_whatever_the_server_wishes():
    least, most = POLL_SECONDS
    assert _pause(None, 0.0) == _pause(-5, 0.0) == least
    assert _pause(1_000, 0.0) == 1.0
    assert _pause(1, 100.0) == 5.0
    assert _pause(10**9, 0.0) == _pause(1, 10**6) == most
