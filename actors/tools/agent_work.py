"""The changes of a coding agent as values: calls that record and merge them, and reasons to refuse them. Pure."""

import posixpath
from collections.abc import Collection, Mapping, Sequence
from itertools import dropwhile
from typing import NamedTuple

from actors.tools.parameters import path_problem
from actors.tools.uses import ToolUse, built_in_use
from runtime.core.events import Value

WORKTREE_DIFF = "worktree:diff"
"""The built-in tool that records what an agent has changed, and removes its worktree."""
WORKSPACE_MERGE = "workspace:merge"
"""The built-in tool that merges what an agent has changed into the workspace."""
GIT_SECONDS = 120.0
"""The time limit, in seconds, of all git commands together that make, record or merge a worktree."""
CALL_SECONDS = 300.0
"""The time limit of a call of `worktree:diff` or `workspace:merge`, in seconds."""
PATHS_SHOWN = 5
"""The largest number of paths that a reason names."""
LINK, SUBMODULE = "120000", "160000"
"""The modes of a symbolic link and of a submodule in a tree of git."""


class AgentWork(Value):
    """The work of a coding agent: the result of a call of `worktree:diff`."""

    base: str
    """The commit with which the agent began."""
    commit: str
    """The commit of the files after the agent's end."""
    files: tuple[str, ...]
    """The paths that the agent has added, changed or removed, sorted."""
    diff: str
    """The agent's changes: the output of `git diff --binary`."""


class TreeChange(NamedTuple):
    """A path that differs between two trees of git."""

    path: bytes
    old_mode: str
    """The file mode before the change, such as `100644`; `000000` if the path did not exist."""
    new_mode: str
    """The file mode after the change; `000000` if the path no longer exists."""
    old: str
    """The object id of the content before the change; zeros if the path did not exist."""
    new: str
    """The object id of the content after the change; zeros if the path no longer exists."""

    @property
    def removed(self) -> bool:
        """Whether the change removes the path."""
        return self.new_mode == "000000"


def diff_use(name: str, base: str, files_max: int, diff_bytes_max: int) -> ToolUse:
    """Return the call that records what an agent has changed since the commit `base` in the worktree of this name."""
    arguments = {"name": name, "base": base, "files_max": files_max, "diff_bytes_max": diff_bytes_max}
    return built_in_use(WORKTREE_DIFF, arguments, CALL_SECONDS)


def merge_use(name: str, base: str, commit: str) -> ToolUse:
    """Return the call that merges the work of an agent; a second call with the same name and commit merges nothing."""
    return built_in_use(WORKSPACE_MERGE, {"name": name, "base": base, "commit": commit}, CALL_SECONDS)


def earlier_attempts(name: str) -> tuple[str, ...]:
    """Return the names of the earlier attempts of a visit. `name` is that of an attempt, and ends with its number."""
    start = name.rstrip("0123456789")
    return tuple(f"{start}{number}" for number in range(1, int(name[len(start) :] or 1)))


def changes_in(output: bytes) -> tuple[TreeChange, ...]:
    """Return the changes that `git diff-tree -r -z --raw --no-renames --no-abbrev` prints."""
    fields = output.split(b"\0")
    changes = []
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = head.decode("ascii").lstrip(":").split(" ")
        changes.append(TreeChange(path, old_mode, new_mode, old, new))
    return tuple(changes)


def refusal(changes: Collection[TreeChange], targets: Mapping[bytes, bytes], files_max: int) -> str:
    """Return why changes are refused, in one line; empty if they may be checked and merged.

    `targets` are the targets of the symbolic links among the changes, by path.
    """
    if len(changes) > files_max:
        return f"it changes {len(changes):,} files, and may change {files_max:,} (max_files)"
    for change in sorted(changes):
        path = change.path.decode("utf-8", "backslashreplace")
        if cause := _path_refusal(change.path, path):
            return cause
        if SUBMODULE in (change.old_mode, change.new_mode) or path == ".gitmodules":
            return f"it changes a submodule: {path!r}"
        if change.new_mode == LINK and _leads_out(change.path, targets.get(change.path, b"/")):
            return f"it adds a symbolic link that leads out of the worktree: {path!r}"
    return ""


def _path_refusal(raw: bytes, path: str) -> str:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return f"the path {path!r} is not UTF-8"
    if any(_is_git(part) for part in path.split("/")):
        return f"it changes files of git: {path!r}"
    cause = path_problem(path)
    return f"the path {path!r} {cause}" if cause else ""


def _is_git(part: str) -> bool:
    """Return whether a file system may treat a name as `.git`."""
    return part.casefold().rstrip(". ") == ".git" or part.casefold() == "git~1"


def _leads_out(path: bytes, target: bytes) -> bool:
    """Return whether a link's target is outside the folder, or in `.git`.

    A target with `..` after a name counts as outside. If that name is a link, the text does not show where it
    leads.
    """
    text = target.decode("utf-8", "surrogateescape")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    names = list(dropwhile(lambda part: part == "..", parts))
    if text.startswith("/") or not text or ".." in names:
        return True
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path.decode("utf-8", "surrogateescape")), text))
    return place == ".." or place.startswith("../") or any(_is_git(part) for part in place.split("/"))


def list_paths(paths: Sequence[str]) -> str:
    """Return paths as a text for a reason: the first few, and how many others there are."""
    more = f" and {len(paths) - PATHS_SHOWN} more" if len(paths) > PATHS_SHOWN else ""
    return f"{', '.join(paths[:PATHS_SHOWN])}{more}"
