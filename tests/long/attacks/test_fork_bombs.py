"""A tool that starts processes faster than they are ended: none of its group is left after the time limit."""

import trio

from actors.run.tools import ToolOutcome
from runtime.process import group
from runtime.process.identity import end_of_group
from tests.tools.calling import Bench

BOMB = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
ends = time.monotonic() + 25  # Should the test fail, the bomb ends by itself.
for _ in range(24):
    if not os.fork():
        break
while time.monotonic() < ends:
    open(f"alive.{os.getpid()}", "w").close()
    time.sleep(0.02)
    # Its child goes on: none but the tool's own process lives long, and as many as before are there.
    if os.getpid() != os.getpgrp() and os.fork():
        os._exit(0)
"""


async def test_a_tool_whose_processes_replace_each_other_is_ended_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(group, "GRACE_SECONDS", 0.3)
    bench = Bench(tmp_path)
    toolset = bench.program(BOMB)
    done = await bench.call(toolset, seconds=1.0)
    assert done.outcome is ToolOutcome.TRANSIENT
    assert end_of_group(bench.begun[0].process) is True
    made = len(list(bench.workspace.iterdir()))
    assert made > 100, "the tool was no bomb"
    await trio.sleep(0.3)
    assert len(list(bench.workspace.iterdir())) == made, "a process went on"
