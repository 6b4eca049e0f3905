"""The workspace: which folders are refused, and the lock that lets one execution at a time work in a folder."""

import os
import stat
import sys
import textwrap

import pytest
import trio

from actors.run.tools import ToolOutcome
from actors.tools import workspace as module
from actors.tools.workspace import check_workspace, ensure_free, open_workspace
from runtime.core.errors import UsageProblem
from runtime.process.group import end_group
from runtime.process.identity import identity


def refusal(path, home):
    with pytest.raises(UsageProblem) as raised:
        check_workspace(path, home)
    return str(raised.value)


def test_a_folder_is_resolved_once(tmp_path):
    (tmp_path / "real" / "project").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert check_workspace(tmp_path / "link" / "project", tmp_path / "home") == tmp_path / "real" / "project"


def test_what_is_no_fit_folder_is_refused_in_one_line(tmp_path):
    home, project = tmp_path / "home", tmp_path / "project"
    (home / "inside").mkdir(parents=True)
    project.mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(project)
    for path, line in (
        (tmp_path / "none", "no such folder (make the folder, or name another folder)"),
        (tmp_path / "file", "this is not a folder (name another folder with --workspace)"),
        (tmp_path / "file" / "x", "cannot be a workspace: not a directory (name another folder with --workspace)"),
        (tmp_path / "link", f"a symbolic link is not safe as a workspace (name {project})"),
        (home, "this folder is in Replan's home (name another folder with --workspace)"),
        (home / "inside", "this folder is in Replan's home (name another folder with --workspace)"),
        (tmp_path, "this folder contains Replan's home, where runs are kept (name another folder with --workspace)"),
    ):
        assert refusal(path, home) == f"{path}: {line}"
    assert "cannot be a workspace" in refusal("a\0b", home)


def test_a_folder_without_write_access_is_refused(tmp_path, monkeypatch):
    """The test may run as root, for whom every folder is writable; so the system's answer is given here."""
    monkeypatch.setattr(module.os, "access", lambda path, mode: False)
    assert refusal(tmp_path, tmp_path / "home") == (
        f"{tmp_path}: this folder cannot be written (name another folder with --workspace)"
    )


def test_a_second_execution_of_a_workspace_is_refused_at_once_and_the_home_holds_the_lock(bench):
    with open_workspace(bench.workspace, bench.home, "first"):
        with pytest.raises(UsageProblem) as raised:
            ensure_free(bench.workspace, bench.home)
        host, pid = identity().split("/")[0], os.getpid()
        assert str(raised.value) == (
            f"{bench.workspace}: run 'first' works in this workspace, driven by process {pid} on {host} "
            "(wait until it ends, or `replan cancel first`)"
        )
        with pytest.raises(UsageProblem, match="run 'first' works"), open_workspace(bench.workspace, bench.home, "b"):
            pass
        assert list(bench.workspace.iterdir()) == []
    ensure_free(bench.workspace, bench.home)
    with open_workspace(bench.workspace, bench.home, "second"):
        pass
    [lock] = (bench.home / "workspaces").iterdir()
    assert stat.S_IMODE(lock.stat().st_mode) == 0o600
    assert stat.S_IMODE(lock.parent.stat().st_mode) == 0o700


def test_other_folders_are_free_and_a_damaged_lock_file_holds_nothing_up(bench):
    (bench.folder / "other").mkdir()
    with open_workspace(bench.workspace, bench.home, "first"):
        ensure_free(bench.folder / "other", bench.home)
    for lock in (bench.home / "workspaces").iterdir():
        lock.write_bytes(b"\xff[1")
    with open_workspace(bench.workspace, bench.home, "second"):
        pass


KILLED = """
    import os, pathlib, trio
    from actors.tools.workspace import open_workspace
    from runtime.process.group import start_gated

    async def main():
        with open_workspace({workspace!r}, pathlib.Path({home!r}), "first") as workspace:
            async with start_gated(
                ["sleep", "60"], folder=workspace.folder, environment=os.environ, inherited=workspace.lock.inherited
            ) as command:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(command.run)
                    await trio.sleep(0.2)
                    print(command.name, flush=True)
                    os.kill(os.getpid(), 9)

    trio.run(main)
"""


async def test_a_tool_of_a_killed_driver_keeps_the_workspace_until_it_has_ended(bench, monkeypatch):
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.3)
    code = textwrap.dedent(KILLED).format(workspace=str(bench.workspace), home=str(bench.home))
    done = await trio.run_process([sys.executable, "-c", code], capture_stdout=True, capture_stderr=True, check=False)
    process = done.stdout.decode().strip()
    assert process, done.stderr
    try:
        with pytest.raises(UsageProblem, match="run 'first' works"):
            ensure_free(bench.workspace, bench.home)
        toolset = bench.program("print('again')")
        with open_workspace(bench.workspace, bench.home, "first") as workspace:
            early = await bench.call_in(workspace, toolset)
            assert (early.outcome, early.not_made) == (ToolOutcome.TRANSIENT, True)
            assert early.reason.endswith("processes of an earlier driver of this run still work in the workspace")
            assert await end_group(process)
            late = await bench.call_in(workspace, toolset)
            assert (late.outcome, late.output) == (ToolOutcome.SUCCEEDED, "again\n")
            with pytest.raises(UsageProblem, match="run 'first' works"):
                ensure_free(bench.workspace, bench.home)
    finally:
        await end_group(process)
    ensure_free(bench.workspace, bench.home)
