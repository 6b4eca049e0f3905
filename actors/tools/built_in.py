"""The built-in tools of an execution, which read, write, record and merge files.

`open_tools` returns the built-in tools and the user's tools. `workspace:merge` merges the work of an agent into the
workspace, at most once. The result of the merge is recorded as a commit before the first file is written. After a
crash, a repeated call finds this commit, and writes the files that are not merged yet.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, assert_never

import trio

from actors.handlers.tools import PreparedCall, Tool, ToolResult
from actors.run.tools import ToolOutcome
from actors.tools.agent_calls import agent
from actors.tools.agent_work import (
    GIT_SECONDS,
    LINK,
    WORKSPACE_MERGE,
    WORKTREE_DIFF,
    TreeChange,
    changes_in,
    list_paths,
)
from actors.tools.command_calls import CallRefused, check_before_calls, command, system_refusal
from actors.tools.confined import (
    OutOfBounds,
    TooLarge,
    entry_inside,
    files_inside,
    link_inside,
    read_inside,
    remove_inside,
    write_inside,
)
from actors.tools.listing import PREFIX, TooManyFiles, changes, find_listing, keep, take_listing
from actors.tools.mcp_calls import mcp_tool
from actors.tools.preflight import preflight_tool
from actors.tools.python_calls import python
from actors.tools.repository import (
    FILE_BYTES_MAX,
    GitFailed,
    Repository,
    TimeLimit,
    decode_path,
    find_noted_repository,
    find_repository,
)
from actors.tools.snapshot_texts import WORKSPACE_SNAPSHOT, WorkspaceSnapshot, cut_paths, output_of
from actors.tools.specs import AgentSpec, CommandSpec, McpSpec, PluginToolSpec, PythonSpec, ToolSpec
from actors.tools.uses import WORKSPACE_READ, WORKSPACE_WRITE, ToolSet
from actors.tools.workspace import Workspace
from actors.tools.worktrees import RAW, DiffRecorder, contents, prepare_at_commit, refuse_git_errors
from runtime.core.hooks import mark_point
from runtime.logs.redact import Redactor, secrets_in


def merge_work(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    """Merge a commit into the workspace, and return the output of `workspace:merge`. Raises `CallRefused`.

    If there is a conflict, the call fails and changes no file.
    """
    name, base, commit = str(arguments["name"]), str(arguments["base"]), str(arguments["commit"])
    with refuse_git_errors("the agent's work cannot be merged"):
        repository = find_noted_repository(workspace.folder, workspace.home, TimeLimit(GIT_SECONDS))
        merged = _begun_merge(repository, workspace.run, name, commit)
        ours = repository.parents(merged)[0] if merged else ""
        if not merged:
            ours = repository.commit(workspace.run, f"{name}.before", base)[0]
            merged = _merge_commits(repository, ours, commit)
            repository.write_ref(workspace.run, f"{name}.merge", merged)
            mark_point("merge.begun")
        changes = changes_in(repository.ours.run(*RAW, ours, merged))
        if repository.commit_at(workspace.run, f"{name}.merged") != merged:
            _write(workspace, repository, changes)
            repository.write_ref(workspace.run, f"{name}.merged", merged)
    return json.dumps({"commit": merged, "files": sorted(decode_path(change.path) for change in changes)})


def _begun_merge(repository: Repository, run: str, name: str, commit: str) -> str:
    found = repository.commit_at(run, f"{name}.merge")
    return found if found and repository.parents(found)[1:] == [commit] else ""


def _merge_commits(repository: Repository, ours: str, theirs: str) -> str:
    """Return the merge of two commits with the same base, as a commit. Raises `CallRefused` for a conflict."""
    words = ("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs)
    # A clean merge prints only the tree. A conflict adds its paths (if there are any), an empty field, and messages.
    found, _, messages = repository.ours.run(*words, accepted=(0, 1)).partition(b"\0\0")
    tree, *paths = [part for part in found.split(b"\0") if part]
    if paths:
        raise _conflict([decode_path(path) for path in paths], "also changed in the workspace since the agent began")
    if messages:
        why = next((part for part in messages.split(b"\0") if part.startswith(b"CONFLICT (")), b"of no file")
        raise CallRefused(ToolOutcome.FAILED, f"merge conflict: {decode_path(why).removeprefix('CONFLICT ').strip()}")
    return repository.ours.text(
        "commit-tree", tree.decode(), "-p", ours, "-p", theirs, "-m", "merge of an agent's work"
    )


def _conflict(paths: Sequence[str], why: str) -> CallRefused:
    return CallRefused(ToolOutcome.FAILED, f"merge conflict: {list_paths(sorted(paths))} {why}")


def _write(workspace: Workspace, repository: Repository, changes: Sequence[TreeChange]) -> None:
    """Write the changes of a merge that are not in the workspace yet. Raises `CallRefused`, `GitFailed`, `OSError`.

    If at least one file has neither its content from before the merge nor its merged content, no file is written.
    """
    todo: list[TreeChange] = []
    strange: list[str] = []
    paths = {change.path.decode() for change in changes}
    for change in changes:
        path = change.path.decode()
        try:
            entry = _entry(workspace, path, paths)
        except (OutOfBounds, TooLarge):
            strange.append(path)
            continue
        now = ("000000", "") if entry is None else (entry[0], _blob_id(entry[1], len(change.new)))
        if now == (change.new_mode, "" if change.removed else change.new):
            continue
        was = (change.old_mode, "" if change.old_mode == "000000" else change.old)
        if now == was:
            todo.append(change)
        else:
            strange.append(path)
    if strange:
        raise _conflict(strange, "changed in the workspace during the merge, or cannot be replaced")
    try:
        for change in todo:
            if change.removed:
                remove_inside(workspace.handle, change.path.decode())
        added = [change for change in todo if not change.removed]
        for change, content in zip(added, contents(repository, [item.new for item in added]), strict=True):
            path = change.path.decode()
            if change.new_mode == LINK:
                link_inside(workspace.handle, path, content)
            else:
                executable = change.new_mode == "100755"
                write_inside(workspace.handle, path, content, executable=executable, replaces_link=True)
            mark_point("merge.written")
    except OutOfBounds as error:
        raise GitFailed(str(error)) from None


def _entry(workspace: Workspace, path: str, paths: Collection[str]) -> tuple[str, bytes] | None:
    """Return the mode and the content of the file at a changed path; None if there is no file.

    `paths` has the paths of all changes. Return None also for a path below a changed file, and for a folder in which
    all files are changed. Raises `OutOfBounds`, `TooLarge`.
    """
    try:
        return entry_inside(workspace.handle, path, FILE_BYTES_MAX)
    except OutOfBounds:
        parts = path.split("/")
        if any("/".join(parts[:count]) in paths for count in range(1, len(parts))):
            return None
        below = files_inside(workspace.handle, path)
        if below is None or not below <= set(paths):
            raise
        return None


def _blob_id(content: bytes, length: int) -> str:
    """Return git's object id of a file's content. `length` is the number of hex digits of an id."""
    form = hashlib.sha1 if length == 40 else hashlib.sha256
    return form(b"blob %d\0" % len(content) + content).hexdigest()


def _take_snapshot(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    """Return the output of `workspace:snapshot`, a `WorkspaceSnapshot` as JSON. Raises `CallRefused`.

    If git fails, a listing is made instead of a commit, and the snapshot's notice says why. Listings are compared only
    with listings, and commits only with commits.
    """
    name = str(arguments["name"])
    since = str(arguments["since"])
    try:
        return _snapshot(workspace, name, since).model_dump_json(exclude_defaults=True)
    except OSError as error:
        raise system_refusal(error, "no snapshot of the workspace can be made") from None


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
        notice = notice or "the snapshot to compare with no longer exists"
    try:
        listing = take_listing(workspace.handle, before or {})
    except TooManyFiles as error:
        return WorkspaceSnapshot(id="", notice=f"the changes are not known: {error}")
    listing_id = keep(listing, workspace.folder, workspace.home)
    if before is None:
        return WorkspaceSnapshot(id=listing_id, notice=notice)
    changed, more = cut_paths(changes(before, listing))
    return WorkspaceSnapshot(id=listing_id, changed=changed, more=more, notice=notice)


Work = Callable[[Workspace, Mapping[str, Any]], str]
"""A function that does the work of a built-in tool's call in a thread, and returns the output. The function can raise
`CallRefused`."""


@dataclass(frozen=True, slots=True)
class _WorkCall(PreparedCall):
    """A call of a built-in tool. Only one call works in a workspace at a time."""

    work: Work
    workspace: Workspace
    arguments: Mapping[str, Any]

    async def run(self) -> ToolResult:
        """Do the work. A cancellation has no effect before the work has ended."""
        async with self.workspace.writing:
            try:
                output = await trio.to_thread.run_sync(self.work, self.workspace, self.arguments)
            except CallRefused as refused:
                return refused.result
        return ToolResult(ToolOutcome.SUCCEEDED, output)


def _read_files(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    """Return the output of `workspace:read`: the texts of some files. Raises `CallRefused`.

    The text of a missing file is None. But if `missing` is `failure` and the file is not optional, the call is refused.
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
                ToolOutcome.PERMANENT, f"the files up to {path!r} together have more than {limit} bytes (file_bytes)"
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
        raise CallRefused(ToolOutcome.FAILED, "the text has characters that UTF-8 cannot encode") from None
    if len(content) > bytes_max:
        raise CallRefused(
            ToolOutcome.FAILED, f"the text has {len(content):,} bytes, over the limit of {bytes_max:,} (file_bytes)"
        )
    try:
        write_inside(workspace.handle, path, content)
    except OutOfBounds as error:
        raise CallRefused(ToolOutcome.PERMANENT, str(error)) from None
    except OSError as error:
        raise system_refusal(error, f"{path!r} cannot be written") from None
    return json.dumps({"file": path, "bytes": len(content)}, ensure_ascii=False)


def open_tools(toolset: ToolSet, workspace: Workspace, environment: Mapping[str, str]) -> list[Tool]:
    """Return all tools of a run: the user's tools and the built-in tools. `environment` is the driver's environment."""
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
    return [*tools, preflight_tool(toolset, workspace, environment)]


def _with_checkouts(spec: ToolSpec, workspace: Workspace, environment: Mapping[str, str]) -> Tool:
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
