"""Writes what tuning has found: a file of YAML whose comment says what it rests on."""

from collections.abc import Iterable
from pathlib import Path

from runtime.core.errors import UsageProblem

MARK = "# Made by `replan "
"""The beginning of a file that tuning has written, and may replace."""


def check_target(path: Path) -> None:
    """Check that a file may be written. Raises `UsageProblem` for a file that tuning did not write."""
    try:
        if not path.exists():
            return
        if path.is_file() and path.read_text(encoding="utf-8", errors="replace").startswith(MARK):
            return
    except OSError as error:
        raise UsageProblem(f"cannot be read: {error.strerror}", place=str(path)) from None
    raise UsageProblem("exists, and was not made by Replan", place=str(path), hint="name another --out")


def write_tuned(path: Path, command: str, comments: Iterable[str], text: str) -> None:
    """Write what a command has found as a file of YAML under a comment, whole or not at all. Raises `UsageProblem`."""
    head = "".join(f"# {' '.join(comment.split())}\n" for comment in comments)
    temporary = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(f"{MARK}{command}`.\n{head}{text}", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise UsageProblem(f"cannot be written: {error.strerror}", place=str(path)) from None
