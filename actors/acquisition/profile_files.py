"""Reads profiles: a shipped name or the path of a file. An error names the file, the key and the line."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from actors.acquisition.profile import Profile
from actors.acquisition.profile_check import check_profile
from actors.config.shipped_files import find_shipped
from actors.files.document import Document
from actors.files.validation_errors import usage_problem
from actors.files.yaml_document import read_document
from runtime.core.errors import UsageProblem

FOLDER = "acquisition"
"""The folder below `configs/` that holds the shipped profiles."""


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A profile that was read and checked, with where it was found."""

    profile: Profile
    """The profile."""
    source: str
    """The name of a shipped profile, else the absolute path of its file."""
    document: Document
    """The parsed file, for line numbers in later errors."""


def shipped_profiles(root: Path) -> tuple[str, ...]:
    """Return the names of the shipped profiles, sorted."""
    return tuple(sorted(path.stem for path in (root / "configs" / FOLDER).glob("*.yaml")))


def is_profile(name_or_path: str, root: Path) -> bool:
    """Return whether a name is a shipped profile's, or a path that of a file with the key `fields`.

    Raises:
        UsageProblem: there is such a file, and it cannot be read.
    """
    if name_or_path in shipped_profiles(root):
        return True
    path = Path(name_or_path).expanduser()
    if not path.is_file():
        return False
    value = read_document(path).value
    return isinstance(value, dict) and "fields" in value


def load_profile(name_or_path: str, root: Path) -> LoadedProfile:
    """Return a profile.

    Raises:
        UsageProblem: there is no such profile, or it is invalid.
    """
    shipped = root / "configs" / FOLDER
    path = find_shipped(name_or_path, shipped, "profile", ())
    document = read_document(path)
    try:
        profile = Profile.model_validate(document.value)
    except ValidationError as error:
        raise usage_problem(error, document) from None
    check_profile(profile, document)
    is_shipped = path.parent == shipped
    if is_shipped and profile.name != path.stem:
        raise UsageProblem(f"the profile's name is {profile.name!r}", place=document.place(("name",)))
    return LoadedProfile(profile, path.stem if is_shipped else str(path.absolute()), document)
