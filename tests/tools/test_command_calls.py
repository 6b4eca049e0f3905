"""Command tools, with real processes: what they see, how their end counts, and programs that behave badly."""

import errno
import os
import signal
import time
from contextlib import suppress

import pytest
import trio

from actors.run.tools import ToolOutcome
from actors.tools.command_calls import cut_output, system_refusal
from actors.tools.workspace import ensure_free, open_workspace
from runtime.core.errors import UsageProblem
from runtime.process import group
from runtime.process.identity import end_of_group


async def test_a_command_sees_the_workspace_the_allowed_variables_and_its_arguments(bench):
    toolset = bench.program(
        # Python adds LC_CTYPE by itself in the C locale.
        "import os, sys; print(os.getcwd(), sorted({*os.environ} - {'LC_CTYPE'}), os.environ['CI'], sys.argv[1:])",
        "environment: [PATH, NOT_SET, CI=1=2]",
    )
    done = await bench.call(toolset)
    assert done.outcome is ToolOutcome.SUCCEEDED
    assert done.output.strip() == f"{bench.workspace} ['CI', 'PATH'] 1=2 []"


async def test_arguments_reach_the_program_as_they_are(bench):
    toolset = bench.pin(
        """
        tools:
          t:
            command: [printf, "%s|", "--file={file}", "{{x}}", "{text}", "{jobs}"]
            wrap: [nice, -n, "1"]
            parameters:
              file: {type: path}
              text: {type: string, pattern: ".*"}
              jobs: {type: integer, minimum: 1, maximum: 4}
        """
    )
    done = await bench.call(toolset, file="a b", text="$(touch x); {file} *", jobs=2)
    assert (done.outcome, done.output) == (ToolOutcome.SUCCEEDED, "--file=a b|{x}|$(touch x); {file} *|2|")
    assert list(bench.workspace.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "outcome", "reason"),
    [
        ("", ToolOutcome.SUCCEEDED, ""),
        ("raise SystemExit(3)", ToolOutcome.FAILED, "exit code 3"),
        ("raise SystemExit(75)", ToolOutcome.TRANSIENT, "exit code 75"),
        ("raise SystemExit(5)", ToolOutcome.BROKEN, "exit code 5"),
        ("import os; os.kill(os.getpid(), 9)", ToolOutcome.BROKEN, "ended by signal 9"),
        ("print('1 FAILED')", ToolOutcome.SUCCEEDED, ""),
        (
            "print('ok'); print('FAILED 1 test')",
            ToolOutcome.FAILED,
            'exit code 0, but a line of the output matches failure_pattern "^FAILED"',
        ),
        ("import time; time.sleep(60)", ToolOutcome.TRANSIENT, "the call took longer than 0.5 s"),
        # A full disk: the tool itself fails.
        ("import os; os.write(os.open('/dev/full', os.O_WRONLY), b'x')", ToolOutcome.FAILED, "exit code 1"),
    ],
)
async def test_how_a_program_ends_is_the_outcome(bench, code, outcome, reason):
    toolset = bench.program(code, "transient_exit_codes: [75]\nbroken_exit_codes: [4, 5]\nfailure_pattern: ^FAILED")
    done = await bench.call(toolset, seconds=0.5 if "sleep" in code else 20.0)
    assert (done.outcome, done.reason) == (outcome, reason)


async def test_a_flood_of_output_is_read_to_its_end_and_cut(bench):
    toolset = bench.program("print('x' * 50_000_000); print('end')", "output_bytes: 1000")
    done = await bench.call(toolset)
    assert done.outcome is ToolOutcome.SUCCEEDED
    assert len(done.output.encode()) <= 1000
    assert done.output.endswith(" more bytes]\n")


async def test_a_program_that_ignores_the_request_to_end_is_ended_with_all_its_children(bench, monkeypatch):
    monkeypatch.setattr(group, "GRACE_SECONDS", 0.3)
    toolset = bench.program(
        """
        import os, signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for _ in range(5):
            if not os.fork():
                break
        open(f"alive.{os.getpid()}", "w")
        time.sleep(60)
        """
    )
    started = time.monotonic()
    done = await bench.call(toolset, seconds=1.0)
    assert done.outcome is ToolOutcome.TRANSIENT
    assert time.monotonic() - started < 10
    assert len(list(bench.workspace.iterdir())) == 6
    assert end_of_group(bench.begun[0].process) is True


async def test_a_child_that_holds_the_output_open_does_not_hold_up_the_call(bench):
    toolset = bench.program("import os, time; print('done', flush=True); os.fork() or time.sleep(60)")
    started = time.monotonic()
    done = await bench.call(toolset)
    assert (done.outcome, done.output) == (ToolOutcome.SUCCEEDED, "done\n")
    assert time.monotonic() - started < 10
    assert end_of_group(bench.begun[0].process) is True


async def test_a_program_that_vanished_after_the_check_is_a_permanent_failure(bench):
    tool = bench.folder / "check.sh"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    toolset = bench.pin("tools: {t: {command: [./check.sh]}}")
    assert (await bench.call(toolset)).outcome is ToolOutcome.SUCCEEDED
    tool.chmod(0o644)
    done = await bench.call(toolset)
    assert (done.outcome, done.reason) == (ToolOutcome.PERMANENT, f"you have no permission to execute '{tool}'")
    tool.unlink()
    done = await bench.call(toolset)
    assert (done.outcome, done.reason) == (ToolOutcome.PERMANENT, f"there is no program '{tool}'")


async def test_a_script_without_an_interpreter_is_a_permanent_failure(bench):
    tool = bench.folder / "check"
    tool.write_text("#!/no/such/interpreter\n")
    tool.chmod(0o755)
    done = await bench.call(bench.pin("tools: {t: {command: [./check]}}"))
    assert (done.outcome, done.reason) == (
        ToolOutcome.PERMANENT,
        "the command cannot be started: no such file or directory",
    )


async def test_a_path_is_checked_again_when_the_tool_is_called(bench):
    toolset = bench.pin(
        "tools: {t: {command: [cat, '{file}'], parameters: {file: {type: path, exists: true}}}}",
    )
    (bench.workspace / "folder").mkdir()
    (bench.workspace / "folder" / "file").write_text("inside")
    (bench.workspace / "link").symlink_to("/etc")
    (bench.workspace / "file_link").symlink_to("folder/file")
    assert (await bench.call(toolset, file="folder/file")).output == "inside"
    for path, outcome, reason in (
        ("link/passwd", "permanent", ": 'link/passwd' leads through 'link', a file or a symbolic link"),
        ("file_link", "permanent", ": 'file_link' is a symbolic link"),
        ("folder/file/x", "permanent", ": 'folder/file/x' leads through 'file', a file or a symbolic link"),
        ("../x", "permanent", " should stay below the workspace, without '..', not '../x'"),
    ):
        done = await bench.call(toolset, file=path)
        assert (done.outcome, done.reason) == (outcome, f"the argument 'file'{reason}")
    done = await bench.call(toolset, file="folder/other")
    assert (done.outcome, done.reason) == (ToolOutcome.FAILED, "there is no 'folder/other' in the workspace")


async def test_a_workspace_that_was_moved_away_is_not_worked_in(bench):
    toolset = bench.program("open('made', 'w')")
    with open_workspace(bench.workspace, bench.home, "r") as workspace:
        bench.workspace.rename(bench.folder / "elsewhere")
        bench.workspace.mkdir()
        done = await bench.call_in(workspace, toolset)
    assert done.outcome is ToolOutcome.PERMANENT
    assert done.reason == f"the workspace '{bench.workspace}' was moved or removed"
    assert list(bench.workspace.iterdir()) == []


async def test_a_cancelled_call_leaves_nothing_running(bench):
    toolset = bench.program("import time; open('begun', 'w'); time.sleep(60)")
    with trio.move_on_after(1.0):
        await bench.call(toolset)
    assert (bench.workspace / "begun").exists()
    assert end_of_group(bench.begun[0].process) is True


async def test_a_process_that_left_the_group_keeps_the_workspace_locked_as_long_as_it_lives(bench):
    toolset = bench.program(
        """
        import os, time
        if not os.fork():
            os.setsid()
            os.closerange(0, 3)
            open("pid.tmp", "w").write(str(os.getpid()))
            os.rename("pid.tmp", "pid")
            time.sleep(60)
        while not os.path.exists("pid"):
            time.sleep(0.01)
        """
    )
    assert (await bench.call(toolset)).outcome is ToolOutcome.SUCCEEDED
    try:
        with pytest.raises(UsageProblem, match="run 'r' works in this workspace"):
            ensure_free(bench.workspace, bench.home)
    finally:
        os.kill(int((bench.workspace / "pid").read_text()), signal.SIGKILL)
    with trio.fail_after(300):
        while True:
            with suppress(UsageProblem):
                ensure_free(bench.workspace, bench.home)
                break
            await trio.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "outcome"), [(errno.ENOSPC, "transient"), (errno.EMFILE, "transient"), (errno.EACCES, "permanent")]
)
def test_what_the_system_refuses_for_the_moment_is_a_transient_failure(number, outcome):
    refused = system_refusal(OSError(number, os.strerror(number)), "the agent cannot be started")
    assert refused.result.outcome == outcome


@pytest.mark.parametrize("output", [b"", b"abc", b"\xff" * 100, "é".encode() * 100, b"x" * 10_000])
@pytest.mark.parametrize("most", [1, 10, 60, 200])
def test_kept_output_never_exceeds_its_limit_and_is_text(output, most):
    for dropped in (0, 5):
        assert len(cut_output(output, dropped, most).encode()) <= most
