"""The home folder, which holds the journal and settings: `$REPLAN_HOME`, or the platform's data folder."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from runtime.core.errors import UsageProblem
from runtime.journal.folder import prepare_folder

NETWORK_FILESYSTEMS = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}
)
"""File systems on which SQLite's write-ahead log is not safe, since its index is memory shared on one machine."""

MOUNTS = Path("/proc/mounts")

NAME_BYTES_MAX, PATH_BYTES_MAX = 255, 4000
"""The longest name and path of a folder; what is put into it has short names."""


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one user's runs and settings."""

    folder: Path

    @property
    def journal(self) -> Path:
        """The journal's file."""
        return self.folder / "journal.sqlite3"

    @property
    def config(self) -> Path:
        """The user's settings."""
        return self.folder / "config.yaml"

    @property
    def hosts(self) -> Path:
        """The sockets of the hosts that serve it."""
        return self.folder / "hosts"


USE_ANOTHER_HOME = "set REPLAN_HOME to another folder"
"""The next step for a home that cannot be used."""


def locate_home(environment: Mapping[str, str] = os.environ) -> Home:
    """Return the home, without touching the disk: `$REPLAN_HOME`, or the platform's data folder if unset or empty.

    Raises `UsageProblem` for a path that no folder can have.
    """
    configured = environment.get("REPLAN_HOME")
    try:
        folder = (Path(configured).expanduser() if configured else user_data_path("replan")).absolute()
        longest = max(len(part.encode()) for part in folder.parts)
        whole = len(str(folder).encode())
    except UnicodeEncodeError:
        raise UsageProblem("the path is not UTF-8 text", place="REPLAN_HOME", hint=USE_ANOTHER_HOME) from None
    except (OSError, RuntimeError) as error:
        raise UsageProblem(f"no such folder: {error}", place="REPLAN_HOME", hint=USE_ANOTHER_HOME) from None
    if longest > NAME_BYTES_MAX or whole > PATH_BYTES_MAX:
        raise UsageProblem("the path is too long", place="REPLAN_HOME", hint=USE_ANOTHER_HOME)
    return Home(folder)


def prepare_home(environment: Mapping[str, str] = os.environ, *, mounts: Path = MOUNTS, write: bool = True) -> Home:
    """Create the home if it is missing (0700), check it, and return it.

    Without `write`, it must be there, and need not be writable.

    Raises `UsageProblem` if it cannot be written, is not safe from other users, or is on a network file system.
    """
    home = locate_home(environment)
    prepare_folder(home.folder, USE_ANOTHER_HOME, write=write)
    if mounts.exists():
        kind = filesystem_of(home.folder.resolve(), mounts.read_text(errors="surrogateescape"))
        if kind in NETWORK_FILESYSTEMS:
            hint = "set REPLAN_HOME to a folder on a local disk"
            raise UsageProblem(
                f"a journal is not safe on a network file system ({kind})", place=str(home.folder), hint=hint
            )
    return home


def filesystem_of(path: Path, mounts: str) -> str | None:
    """Return the kind of file system that an absolute path is on, by a table in the format of `/proc/mounts`."""
    depth, kind = -1, None
    for line in mounts.splitlines():
        _, point, type_name, *_ = [*line.split(" "), "", "", ""]
        mounted = Path(_unescape(point))
        # A later line of the same point hides the earlier one.
        if point and path.is_relative_to(mounted) and len(mounted.parts) >= depth:
            depth, kind = len(mounted.parts), type_name
    return kind


def _unescape(point: str) -> str:
    # The kernel writes blanks, tabs, line ends and backslashes as three octal digits.
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point)
