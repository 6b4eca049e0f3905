"""The profiles of acquisitions that people have kept on the page: a file `profiles/NAME.yaml` each in the home."""

import os
import re
import tempfile
from pathlib import Path

from actors.acquisition.profile import Profile
from actors.acquisition.profile_check import checked_profile
from actors.files.yaml_document import parse_document
from runtime.core.errors import UsageProblem
from runtime.journal.folder import prepare_folder

FOLDER = "profiles"
"""The folder within the home."""
KEPT_MAX = 500
"""The most profiles of one home."""
TEXT_BYTES_MAX = 64 * 1024
"""Bytes of one profile as YAML."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SOURCE = "profile"


def kept_profiles(home: Path) -> dict[str, str]:
    """Return the absolute paths of the kept profiles by name, sorted."""
    found = sorted((home / FOLDER).glob("*.yaml"))
    return {path.stem: str(path.absolute()) for path in found if _NAME.fullmatch(path.stem)}


def checked_text(text: str) -> Profile:
    """Return the profile that a YAML text is. Raises `UsageProblem`, whose place is `profile:LINE key.path`."""
    if len(text.encode("utf-8", "replace")) > TEXT_BYTES_MAX:
        cause = f"it has more than {TEXT_BYTES_MAX // 1024} KiB"
        raise UsageProblem(cause, place=_SOURCE, hint="leave out fields that no result needs")
    return checked_profile(parse_document(text, _SOURCE))


def keep_profile(home: Path, text: str, taken: frozenset[str], *, replace: bool = False) -> str:
    """Write a profile, as text with its comments, and return its name.

    `taken` are the names of other profiles. A kept one of the same name is changed only with `replace`.

    Raises:
        UsageProblem: the text is no valid profile, its name is in use, or it cannot be written.
    """
    name = checked_text(text).name
    place = f"{_SOURCE}: name"
    if name in taken:
        raise UsageProblem(f"{name!r} is a profile of this server already", place=place, hint="give it another name")
    path = home / FOLDER / f"{name}.yaml"
    known = kept_profiles(home)
    if name in known and not replace and path.read_text(encoding="utf-8", errors="replace") != text:
        hint = "give it another name, or tick the box that replaces the kept one"
        raise UsageProblem(f"another profile is kept as {name!r}", place=place, hint=hint)
    if name not in known and len(known) >= KEPT_MAX:
        hint = f"remove some from {path.parent}"
        raise UsageProblem(f"{KEPT_MAX} profiles are kept, the most of a home", place=_SOURCE, hint=hint)
    prepare_folder(path.parent)
    try:
        _write(path, text)
    except OSError as error:
        cause = (error.strerror or str(error)).lower()
        raise UsageProblem(cause, place=str(path), hint="make the folder yours to write") from None
    return name


def _write(path: Path, text: str) -> None:
    """Write a file as a whole: a reader finds the old one or the new one."""
    descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(made).replace(path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise
