"""A tool with `wrap: [isolated]`: what it cannot see, and what is said where the kernel makes no namespaces.

Where this machine isolates no tool, the tests check what is said about that instead.
"""

import json
import os
import re
import socket
import sys

import pytest
import trio

from actors.run.tools import ToolOutcome
from actors.tools import programs
from actors.tools.loader import load_tools
from actors.tools.programs import NoIsolation, sandbox_words
from replan.cli import diagnosis
from runtime.core.errors import UsageProblem
from runtime.process import group
from runtime.process.identity import end_of_group
from tests.tools.calling import ENVIRONMENT, Bench
from tests.tools.test_file_calls import NO_TOOLS, USE

WRAP = "wrap: [isolated]"
WRAPPED = f"`{WRAP}`"
FORBIDDEN = "unshare: unshare failed: Operation not permitted"
LOOK = """
import json, os, pathlib, socket, sys
seen = {"processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit())}
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
    seen["network"] = True
except OSError:
    seen["network"] = False
seen["interfaces"] = [name for _, name in socket.if_nameindex()]
seen["secret"] = os.environ.get("SECRET")
pathlib.Path("written").write_text("here")
print(json.dumps(seen))
sys.exit(7)
"""
LEAVE = """
import os, time
if os.fork():
    time.sleep(0.5)
    os._exit(0)
os.setsid()
ends = time.monotonic() + 20  # Should the test fail, it ends by itself.
while time.monotonic() < ends:
    open(f"alive.{time.monotonic()}", "w").close()
    time.sleep(0.05)
"""


def pinned(bench, code, keys, *arguments):
    """Pin a program with arguments; where this machine cannot isolate it, check what is said, and return None."""
    (bench.folder / "code.py").write_text(code)
    words = json.dumps([sys.executable, "-I", "-S", str(bench.folder / "code.py"), *map(str, arguments)])
    text = f"tools:\n  t:\n    command: {words}\n    {keys or 'risk: risky'}\n"
    try:
        sandbox_words(ENVIRONMENT)
    except NoIsolation as error:
        with pytest.raises(UsageProblem, match=re.escape(f"this machine cannot isolate tools: {error}")):
            bench.pin(f"tools:\n  t:\n    command: [ls]\n    {WRAP}\n")
        return None if keys else bench.pin(text)
    return bench.pin(text)


async def test_a_wrapped_tool_sees_neither_other_processes_nor_the_network(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port, seen = server.getsockname()[1], {}
        for number, keys in enumerate(("", WRAP)):
            (folder := tmp_path / str(number)).mkdir()
            bench = Bench(folder)
            toolset = pinned(bench, LOOK, keys, port)
            if toolset is None:
                return
            done = await bench.call(toolset)
            assert (done.outcome, done.reason) == (ToolOutcome.FAILED, "exit code 7"), done
            assert (bench.workspace / "written").read_text() == "here"
            seen[keys] = json.loads(done.output)
    assert seen[""]["network"], "the server of the test is not reached without the sandbox either"
    assert os.getpid() in seen[""]["processes"]
    inside = seen[WRAP]
    assert not inside["network"]
    assert inside["interfaces"] == ["lo"]
    assert os.getpid() not in inside["processes"]
    assert max(inside["processes"]) < 10, "more than the tool's own processes"
    assert inside["secret"] is None


async def test_what_leaves_its_process_group_ends_with_a_wrapped_tool(tmp_path):
    bench = Bench(tmp_path)
    toolset = pinned(bench, LEAVE, WRAP)
    if toolset is None:
        return
    done = await bench.call(toolset)
    assert done.outcome is ToolOutcome.SUCCEEDED, done
    made = len(list(bench.workspace.iterdir()))
    assert made, "the process that left its group has done nothing"
    await trio.sleep(0.3)
    assert len(list(bench.workspace.iterdir())) == made, "it went on"


async def test_a_wrapped_tool_that_takes_too_long_is_ended_whole(tmp_path):
    bench = Bench(tmp_path)
    toolset = pinned(bench, LEAVE.replace("time.sleep(0.5)", "time.sleep(20)"), WRAP)
    if toolset is None:
        return
    done = await bench.call(toolset, seconds=1.0)
    assert done.outcome is ToolOutcome.TRANSIENT, done
    made = len(list(bench.workspace.iterdir()))
    await trio.sleep(0.3)
    assert len(list(bench.workspace.iterdir())) == made, "it went on"


def fake(folder, name, script):
    """Write a program for PATH, beside one that does nothing."""
    for each, text in ((name, script), ("true", "exit 0")):
        (folder / each).write_text(f"#!/bin/sh\n{text}\n")
        (folder / each).chmod(0o755)
    return {"PATH": str(folder)}


def test_where_the_kernel_forbids_namespaces_the_tools_file_is_refused_and_doctor_says_so_in_one_line(tmp_path):
    environment = fake(tmp_path, "unshare", f'echo "{FORBIDDEN}" >&2\nexit 1')
    (tmp_path / "tools.yaml").write_text(f"tools:\n  t:\n    command: [ls]\n    {WRAP}\n")
    with pytest.raises(UsageProblem) as raised:
        load_tools(tmp_path / "tools.yaml", environment=environment)
    line = str(raised.value)
    assert f"this machine cannot isolate tools: unshare fails: {FORBIDDEN}" in line
    assert "tools.t.wrap" in line
    assert "\n" not in line
    found = diagnosis._describe_isolation(environment)
    assert found == f"none, so `wrap: [isolated]` is refused: unshare fails: {FORBIDDEN}"


def test_where_there_is_no_program_for_it_that_is_said(tmp_path):
    with pytest.raises(NoIsolation, match="the folders of PATH have no bwrap and no unshare"):
        sandbox_words({"PATH": str(tmp_path)})


def test_bubblewrap_is_preferred_and_gets_a_whole_command(tmp_path):
    environment = fake(tmp_path, "bwrap", f'echo "$@" > {tmp_path}/words')
    words = sandbox_words(environment)
    assert words == (str(tmp_path / "bwrap"), *programs.SANDBOXES["bwrap"])
    assert (tmp_path / "words").read_text().split() == [*words[1:], str(tmp_path / "true")]


def test_doctor_names_what_isolates_tools_on_this_machine_or_why_nothing_does():
    found = diagnosis._describe_isolation(os.environ)
    try:
        expected = (
            f"a PID and a network namespace for each call of a tool with {WRAPPED} ({sandbox_words(os.environ)[0]})"
        )
    except NoIsolation as error:
        expected = f"none, so {WRAPPED} is refused: {error}"
    assert found == expected


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
    assert made > 24, "the tool was no bomb"  # 24 processes begin, and each replaces itself again and again.
    await trio.sleep(0.3)
    assert len(list(bench.workspace.iterdir())) == made, "a process went on"


async def test_a_file_outside_of_the_workspace_is_not_changed_through_a_hard_link(tmp_path):
    bench = Bench(tmp_path)
    outside, inside = tmp_path / "outside.py", bench.workspace / "src" / "login.py"
    outside.write_text("kept\n")
    inside.parent.mkdir()
    os.link(outside, inside)
    done = await bench.call(NO_TOOLS, USE.writing("new\n"))
    assert done.outcome is ToolOutcome.SUCCEEDED
    assert (outside.read_text(), inside.read_text()) == ("kept\n", "new\n")
    assert outside.stat().st_nlink == inside.stat().st_nlink == 1
