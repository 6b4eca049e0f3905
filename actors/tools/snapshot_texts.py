"""Reads and writes texts about the workspace: snapshots, outputs of `workspace:read`, and files in replies of models.

Pure.
"""

import json
import re
from collections.abc import Collection, Mapping
from hashlib import sha256

from actors.tools.uses import ToolUse, built_in_use
from runtime.core.events import Value

WORKSPACE_SNAPSHOT = "workspace:snapshot"
"""The name of the built-in tool that records the state of the workspace."""
SNAPSHOT_SECONDS = 300.0
"""The time limit of a snapshot, in seconds."""
PATHS_BYTES_MAX = 200_000
"""The largest number of bytes in each list of paths in a snapshot."""
_NAME_CHARACTERS_MAX = 80


class WorkspaceSnapshot(Value):
    """A snapshot of the workspace: the result of a call of `workspace:snapshot`."""

    id: str
    """A commit, or `listing:` and a hash of the files' names and contents; empty if there are too many files."""
    ref: str = ""
    """The ref in the workspace's repository that keeps the commit; empty if there is no ref."""
    changed: tuple[str, ...] | None = None
    """The sorted paths that were added, changed or removed since the compared snapshot; None if they are unknown."""
    more: int = 0
    """The number of changed paths that are not in `changed`, because the list would be too long."""
    left_out: tuple[str, ...] = ()
    """Paths that the snapshot does not contain, such as very large files and nested repositories."""
    notice: str = ""
    """Why the changes are unknown, or why there is no commit, in one line; empty if there is no problem."""


def snapshot_use(name: str, since: str = "") -> ToolUse:
    """Return the call that makes a snapshot with a name, and compares it with the snapshot whose id is `since`."""
    return built_in_use(WORKSPACE_SNAPSHOT, {"name": name, "since": since}, SNAPSHOT_SECONDS)


def read_snapshot(output: str) -> WorkspaceSnapshot:
    """Return the snapshot in an output of `workspace:snapshot`. Raises `ValidationError` for any other text."""
    return WorkspaceSnapshot.model_validate_json(output)


def touched_paths(changed: Collection[str], paths: Collection[str]) -> tuple[str, ...]:
    """Return the sorted changed paths that are in `paths` or below a path in `paths`."""
    folded = [path.strip("/").removeprefix("./") for path in paths]
    return tuple(sorted(one for one in changed if any(one == path or one.startswith(f"{path}/") for path in folded)))


def ref_of(run: str, name: str) -> str:
    """Return the ref that keeps a run's snapshot: `refs/replan/RUN/NAME`.

    Characters that a ref cannot have are replaced.
    """
    return f"refs/replan/{_ref_part(run)}/{_ref_part(name)}"


def cut_paths(paths: Collection[str]) -> tuple[tuple[str, ...], int]:
    """Return the sorted paths that fit into `PATHS_BYTES_MAX` bytes, and the number of the other paths."""
    kept: list[str] = []
    left = PATHS_BYTES_MAX
    for path in sorted(paths):
        left -= len(path.encode(errors="replace")) + 4
        if left < 0:
            break
        kept.append(path)
    return tuple(kept), len(paths) - len(kept)


def _ref_part(text: str) -> str:
    """Return a text as one valid part of a ref. If the text had to be changed or cut, the part ends with its hash."""
    fit = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")
    if text and fit == text and len(fit) <= _NAME_CHARACTERS_MAX:
        return fit
    return f"{fit[:_NAME_CHARACTERS_MAX]}-{sha256(text.encode(errors='replace')).hexdigest()[:8]}".lstrip("-")


_FENCE = re.compile(r"\s*(?P<marks>`{3,}|~{3,})[^\n`]*\n(?P<text>.*?)\n?(?P=marks)[ \t]*\s*", re.DOTALL)


def output_of(files: Mapping[str, str | None]) -> str:
    """Return the output of `workspace:read` for a mapping from paths to the texts of files.

    The text of a missing file is None.
    """
    return json.dumps({"files": files}, ensure_ascii=False, separators=(",", ":"))


def read_file_output(output: str) -> dict[str, str | None]:
    """Return a mapping from paths to texts, read from an output of `workspace:read`, in the requested order.

    The text of a missing file is None. Raises `ValueError` for any other text.
    """
    value = json.loads(output)
    files = value.get("files") if isinstance(value, dict) else None
    if not isinstance(files, dict) or not all(text is None or isinstance(text, str) for text in files.values()):
        raise ValueError("the text is not an output of workspace:read")
    return files


def file_in(reply: str) -> str:
    """Return the file in a model's reply: the content if the reply is one code block, or else the whole reply.

    The file ends with one line feed, unless it is empty.
    """
    whole = _FENCE.fullmatch(reply)
    text = whole["text"] if whole and whole["marks"] not in whole["text"] else reply
    body = text.rstrip("\n")
    return f"{body}\n" if body.strip() else ""
