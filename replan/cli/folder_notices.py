"""What the commands that delete runs say of the folders that were made for forks."""

from collections.abc import Iterable, Sequence
from typing import Any

from actors.tools.fork_workspace import LeftFolder
from replan.cli.terminal.console import notice


def tell_of_folders(folders: Iterable[LeftFolder]) -> Sequence[dict[str, Any]]:
    """Say in one line each what has become of folders, and return it as plain data."""
    told = []
    for each in folders:
        if each.kept:
            notice(f"the folder {each.folder} is kept: {each.kept}")
        else:
            kept = f"; {each.ref} keeps its last commit" if each.ref else ""
            notice(f"the folder {each.folder} is removed{kept}")
        told.append({"folder": each.folder, "kept": each.kept or None, "ref": each.ref or None})
    return told
