"""The built-in tool `workspace:merge`: it merges the work of an agent into the workspace, once.

The result of the merge is recorded as a commit before the first file is written. After a crash, a repeated call finds
that commit by its name. Then it writes the files that are still as they were before the merge.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from actors.run.tools import ToolOutcome
from actors.tools.agent_work import GIT_SECONDS, LINK, TreeChange, changes_in, list_paths
from actors.tools.command_calls import CallRefused
from actors.tools.confined import (
    OutOfBounds,
    TooLarge,
    entry_inside,
    files_inside,
    link_inside,
    remove_inside,
    write_inside,
)
from actors.tools.repository import FILE_BYTES_MAX, GitFailed, Repository, TimeLimit, decode_path, find_noted_repository
from actors.tools.workspace import Workspace
from actors.tools.worktrees import RAW, contents, refuse_git_errors
from runtime.core.hooks import mark_point


def merge_work(workspace: Workspace, arguments: Mapping[str, Any]) -> str:
    """Merge a commit into the workspace, and return the output of `workspace:merge`. Raises `CallRefused`.

    A conflict is a failure; then no file is changed.
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
    """Return the commit of a merge that an earlier call began; empty if there is none."""
    found = repository.commit_at(run, f"{name}.merge")
    return found if found and repository.parents(found)[1:] == [commit] else ""


def _merge_commits(repository: Repository, ours: str, theirs: str) -> str:
    """Return the merge of two commits that have the same base, as a commit. Raises `CallRefused` for a conflict."""
    words = ("merge-tree", "--write-tree", "-z", "--name-only", ours, theirs)
    # A clean merge prints only the tree. A conflict adds its paths, if it has any, an empty field, and messages.
    found, _, messages = repository.ours.run(*words, accepted=(0, 1)).partition(b"\0\0")
    tree, *paths = [part for part in found.split(b"\0") if part]
    if paths:
        raise _conflict([decode_path(path) for path in paths], "changed in the workspace too, since the agent began")
    if messages:
        why = next((part for part in messages.split(b"\0") if part.startswith(b"CONFLICT (")), b"of no file")
        raise CallRefused(ToolOutcome.FAILED, f"merge conflict: {decode_path(why).removeprefix('CONFLICT ').strip()}")
    return repository.ours.text(
        "commit-tree", tree.decode(), "-p", ours, "-p", theirs, "-m", "merge of an agent's work"
    )


def _conflict(paths: Sequence[str], why: str) -> CallRefused:
    return CallRefused(ToolOutcome.FAILED, f"merge conflict: {list_paths(sorted(paths))} {why}")


def _write(workspace: Workspace, repository: Repository, changes: Sequence[TreeChange]) -> None:
    """Write those changes of a merge that are not yet in the workspace. Raises `CallRefused`, `GitFailed`, `OSError`.

    If any file is neither in its state before the merge nor in its state after it, no file is written.
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
        raise _conflict(strange, "changed in the workspace while the work was merged, or cannot be replaced")
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

    `paths` are the paths of all changes. A path below a changed file counts as no file. So does a folder in which all
    files are changed. Raises `OutOfBounds`, `TooLarge`.
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
