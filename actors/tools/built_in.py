"""The built-in tools of an execution, which read, write, record and merge files; `open_tools` adds the user's."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, assert_never

import trio

from actors.handlers.tools import PreparedCall, Tool, ToolResult
from actors.run.tools import ToolOutcome
from actors.tools.agent_calls import agent
from actors.tools.agent_work import WORKSPACE_MERGE, WORKTREE_DIFF
from actors.tools.command_calls import CallRefused, check_before_calls, command, system_refusal
from actors.tools.confined import OutOfBounds, TooLarge, read_inside, write_inside
from actors.tools.listing import PREFIX, TooManyFiles, changes, find_listing, keep, take_listing
from actors.tools.mcp_calls import mcp_tool
from actors.tools.merging import merge_work
from actors.tools.python_calls import python
from actors.tools.repository import GitFailed, find_repository
from actors.tools.snapshot_texts import WORKSPACE_SNAPSHOT, WorkspaceSnapshot, cut_paths, output_of
from actors.tools.specs import AgentSpec, CommandSpec, McpSpec, PluginToolSpec, PythonSpec, ToolSpec
from actors.tools.uses import WORKSPACE_READ, WORKSPACE_WRITE, ToolSet
from actors.tools.workspace import Workspace
from actors.tools.worktrees import DiffRecorder, prepare_at_commit
from runtime.logs.redact import Redactor, secrets_in


def _take_snapshot(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    """Return the output of `workspace:snapshot`, a `WorkspaceSnapshot` as JSON. Raises `CallRefused`.

    If git fails, a listing is made instead of a commit, and the notice says why. A listing is compared only with a
    listing, and a commit only with a commit.
    """
    name = str(arguments["name"])
    since = str(arguments["since"])
    try:
        return _snapshot(workspace, name, since).model_dump_json(exclude_defaults=True)
    except OSError as error:
        raise system_refusal(error, "the workspace cannot be recorded") from None


def _snapshot(workspace: Workspace, name: str, since: str) -> WorkspaceSnapshot:
    notice = ""
    if not since.startswith(PREFIX):
        try:
            if snapshot := _commit(workspace, name, since):
                return snapshot
        except GitFailed as error:
            notice = f"no commit was made: {error}"
    return _list_snapshot(workspace, since, notice)


def _commit(workspace: Workspace, name: str, since: str) -> WorkspaceSnapshot | None:
    repository = find_repository(
        workspace.folder, workspace.home, workspace.lock.inherited, run=workspace.run, first=not since
    )
    if repository is None:
        return None
    commit, ref, paths_left_out = repository.commit(workspace.run, name, since)
    left_out = cut_paths(paths_left_out)[0]
    if not since:
        return WorkspaceSnapshot(id=commit, ref=ref, left_out=left_out)
    changed, more = cut_paths(repository.changed(since, commit))
    return WorkspaceSnapshot(id=commit, ref=ref, changed=changed, more=more, left_out=left_out)


def _list_snapshot(workspace: Workspace, since: str, notice: str) -> WorkspaceSnapshot:
    before = find_listing(since, workspace.folder, workspace.home)
    if since and before is None:
        notice = notice or "the snapshot to compare with is not there any more"
    try:
        listing = take_listing(workspace.handle, before or {})
    except TooManyFiles as error:
        return WorkspaceSnapshot(id="", notice=f"changes are not known: {error}")
    listing_id = keep(listing, workspace.folder, workspace.home)
    if before is None:
        return WorkspaceSnapshot(id=listing_id, notice=notice)
    changed, more = cut_paths(changes(before, listing))
    return WorkspaceSnapshot(id=listing_id, changed=changed, more=more, notice=notice)


Work = Callable[[Workspace, Mapping[str, Any]], str]
"""What does the work of a call, in a thread, and returns the output. It raises `CallRefused`."""


@dataclass(frozen=True, slots=True)
class _WorkCall(PreparedCall):
    """A call of a built-in tool. In each workspace, only one such call works at a time."""

    work: Work
    workspace: Workspace
    """The workspace in which it works."""
    arguments: Mapping[str, Any]

    async def run(self) -> ToolResult:
        """Do the work. A cancellation takes effect only after the work has ended."""
        async with self.workspace.writing:
            try:
                output = await trio.to_thread.run_sync(self.work, self.workspace, self.arguments)
            except CallRefused as refused:
                return refused.result
        return ToolResult(ToolOutcome.SUCCEEDED, output)


def _read_files(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    """Return the output of `workspace:read`: the texts of some files. Raises `CallRefused`.

    The text of a missing file is None, unless `missing` is `failure` and the file is not optional.
    """
    files: dict[str, str | None] = {}
    bytes_left = int(arguments["bytes_max"])
    for path in arguments["files"]:
        try:
            data = read_inside(workspace.handle, path, bytes_left)
        except OutOfBounds as error:
            raise CallRefused(ToolOutcome.PERMANENT, str(error)) from None
        except TooLarge:
            limit = f"{arguments['bytes_max']:,}"
            raise CallRefused(
                ToolOutcome.PERMANENT, f"the files up to {path!r} have over {limit} bytes (file_bytes)"
            ) from None
        except OSError as error:
            raise system_refusal(error, f"{path!r} cannot be read") from None
        if data is None and arguments["missing"] == "failure" and path not in arguments["optional"]:
            raise CallRefused(ToolOutcome.FAILED, f"there is no {path!r} in the workspace")
        try:
            files[path] = None if data is None else data.decode()
        except UnicodeDecodeError:
            raise CallRefused(ToolOutcome.FAILED, f"{path!r} is not UTF-8 text") from None
        bytes_left -= len(data or b"")
    return output_of(files)


def _write_file(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    """Replace a file, and return the output of `workspace:write`: the file's size in bytes. Raises `CallRefused`."""
    path = arguments["file"]
    bytes_max = int(arguments["bytes_max"])
    try:
        content = arguments["content"].encode()
    except UnicodeEncodeError:
        raise CallRefused(ToolOutcome.FAILED, "the text holds characters that no file can hold") from None
    if len(content) > bytes_max:
        raise CallRefused(
            ToolOutcome.FAILED, f"the text has {len(content):,} bytes, over the {bytes_max:,} allowed (file_bytes)"
        )
    try:
        write_inside(workspace.handle, path, content)
    except OutOfBounds as error:
        raise CallRefused(ToolOutcome.PERMANENT, str(error)) from None
    except OSError as error:
        raise system_refusal(error, f"{path!r} cannot be written") from None
    return json.dumps({"file": path, "bytes": len(content)}, ensure_ascii=False)


def open_tools(toolset: ToolSet, workspace: Workspace, environment: Mapping[str, str]) -> list[Tool]:
    """Return all tools of a run: the user's and the built-in ones. `environment` is the driver's own environment."""
    tools = [_with_checkouts(spec, workspace, environment) for spec in toolset.tools.values()]
    built_in: Mapping[str, Work] = {
        WORKSPACE_READ: _read_files,
        WORKSPACE_WRITE: _write_file,
        WORKSPACE_SNAPSHOT: _take_snapshot,
        WORKTREE_DIFF: DiffRecorder(Redactor(secrets_in(environment))),
        WORKSPACE_MERGE: merge_work,
    }
    tools += [
        check_before_calls(name, workspace, partial(_WorkCall, work, workspace)) for name, work in built_in.items()
    ]
    return tools


def _with_checkouts(spec: ToolSpec, workspace: Workspace, environment: Mapping[str, str]) -> Tool:
    """Return a tool that can work in the workspace and on the files of a commit."""
    opened = partial(_open_tool, spec, environment=environment)
    return replace(opened(workspace), at_commit=prepare_at_commit(workspace, opened))


def _open_tool(spec: ToolSpec, workspace: Workspace, environment: Mapping[str, str]) -> Tool:
    match spec:
        case CommandSpec():
            return command(spec, workspace, environment)
        case PythonSpec() | PluginToolSpec():
            return python(spec, workspace)
        case McpSpec():
            return mcp_tool(spec, workspace, environment)
        case AgentSpec():
            return agent(spec, workspace, environment)
        case _:
            assert_never(spec)
