"""Finds configuration files by a shipped name or a path.

A name with a path separator or one of the suffixes `.yaml`, `.yml`, `.json` is a path. Any other is a shipped name; a
file of that name in the current folder is used only if nothing is shipped under it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from actors.files.document import Document
from actors.files.suggestions import nearest
from runtime.core.errors import UsageProblem

RELATIVE_PATH_HINT = "a path counts from the folder of this file"
"""Hint for a missing file that a workflow names."""

_SUFFIXES = (".yaml", ".yml", ".json")


def find_shipped(
    wanted: str, shipped: Path, kind: str, others: Mapping[str, str] | tuple[()], folder: Path = Path()
) -> Path:
    """Return the file of a name or path; a relative path counts from `folder`.

    `others` are further valid names, for the hint. A path is returned whether or not the file exists.

    Raises:
        UsageProblem: no file of this name is shipped.
    """
    if os.sep in wanted or "/" in wanted or wanted.endswith(_SUFFIXES):
        return folder / Path(wanted).expanduser()
    path = shipped / f"{wanted}.yaml"
    if path.is_file():
        return path
    if (folder / wanted).is_file():
        return folder / wanted
    names = [*(file.stem for file in shipped.glob("*.yaml")), *others]
    raise UsageProblem(f"unknown {kind} {wanted!r}", hint=nearest(wanted, names, kind="shipped"))


def find_named(wanted: str, shipped: Path, kind: str, document: Document) -> Path:
    """Return the existing file that a workflow's key `kind` names.

    Raises:
        UsageProblem: there is no such file; its place is the key.
    """
    try:
        path = find_shipped(wanted, shipped, kind, (), Path(document.source).parent)
    except UsageProblem as problem:
        raise document.problem(problem.cause, (kind,), problem.hint) from None
    if not path.exists():
        raise document.problem(f"no such file {str(path)!r}", (kind,), RELATIVE_PATH_HINT)
    return path
