"""Notices of `delete` and `prune` about the folders that were made for forks."""

from collections.abc import Iterable, Sequence
from typing import Any

from actors.tools.fork_workspace import LeftFolder
from replan.cli.terminal.console import notice


def tell_of_folders(folders: Iterable[LeftFolder]) -> Sequence[dict[str, Any]]:
    """Print a notice for each folder, whether it was removed or why it is kept; return the same as plain data."""
    rows = []
    for each in folders:
        if each.kept:
            notice(f"the folder {each.folder} is kept: {each.kept}")
        else:
            kept = f"; {each.ref} keeps its last commit" if each.ref else ""
            notice(f"the folder {each.folder} is removed{kept}")
        rows.append({"folder": each.folder, "kept": each.kept or None, "ref": each.ref or None})
    return rows
