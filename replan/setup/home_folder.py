"""The home folder (`$REPLAN_HOME`, or the platform's data folder), and the database that may hold its journal."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.core.errors import UsageProblem
from runtime.core.extras import how_to_install
from runtime.journal.folder import prepare_folder

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from runtime.host.wakeup import Dispatcher, WakeUp


NETWORK_FILESYSTEMS = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "fuse.glusterfs", "fuse.sshfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}
)
"""File systems on which SQLite's write-ahead log is not safe, because the log's index is in the memory of one machine.
"""

MOUNTS = Path("/proc/mounts")

NAME_BYTES_MAX, PATH_BYTES_MAX = 255, 4000
"""The largest number of bytes in one name of the home's path, and in the whole path. Within these limits, the paths of
the home's files are short enough for the system.
"""


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one user's runs and settings."""

    folder: Path

    @property
    def journal(self) -> Path:
        """The path of the journal's file."""
        return self.folder / "journal.sqlite3"

    @property
    def config(self) -> Path:
        """The path of the config file."""
        return self.folder / "config.yaml"

    @property
    def servers(self) -> Path:
        """The path of the file about the servers of models, such as their rate limits."""
        return self.folder / "servers.json"

    @property
    def model_profiles(self) -> Path:
        """The path of the file with measured profiles of models."""
        return self.folder / "model_profiles.yaml"

    @property
    def hosts(self) -> Path:
        """The folder with the sockets of the home's hosts."""
        return self.folder / "hosts"


USE_ANOTHER_HOME = "set REPLAN_HOME to another folder"


def locate_home(environment: Mapping[str, str] = os.environ) -> Home:
    """Return the home, without reading the disk: the folder `$REPLAN_HOME`, or the platform's data folder.

    The data folder is used if the variable is unset or empty. Raises `UsageProblem` for a path that no folder can have.
    """
    configured = environment.get("REPLAN_HOME")
    try:
        folder = (Path(configured).expanduser() if configured else _platform_folder()).absolute()
        longest = max(len(part.encode()) for part in folder.parts)
        whole = len(str(folder).encode())
    except UnicodeEncodeError:
        raise UsageProblem("the path is not UTF-8 text", place="REPLAN_HOME", hint=USE_ANOTHER_HOME) from None
    except (OSError, RuntimeError) as error:
        raise UsageProblem(f"no such folder: {error}", place="REPLAN_HOME", hint=USE_ANOTHER_HOME) from None
    if longest > NAME_BYTES_MAX or whole > PATH_BYTES_MAX:
        raise UsageProblem("the path is too long", place="REPLAN_HOME", hint=USE_ANOTHER_HOME)
    return Home(folder)


def _platform_folder() -> Path:
    from platformdirs import user_data_path  # noqa: PLC0415 -- only where no home is named

    return user_data_path("replan")


def prepare_home(environment: Mapping[str, str] = os.environ, *, mounts: Path = MOUNTS, write: bool = True) -> Home:
    """Create the home if it is missing (with mode 0700), check it, and return it.

    Without `write`, the home must exist, but need not be writable.

    Raises `UsageProblem` if the home cannot be written, is not safe from other users, or is on a network file system.
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
    """Return the type of the file system at an absolute path. `mounts` is a table in the format of `/proc/mounts`."""
    depth, kind = -1, None
    for line in mounts.splitlines():
        _, point, type_name, *_ = [*line.split(" "), "", "", ""]
        mounted = Path(_unescape(point))
        # A later line for the same mount point hides an earlier line.
        if point and path.is_relative_to(mounted) and len(mounted.parts) >= depth:
            depth, kind = len(mounted.parts), type_name
    return kind


def _unescape(point: str) -> str:
    # The kernel writes blanks, tabs, line ends and backslashes as three octal digits.
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), point)


JOURNAL, DIRECT = "REPLAN_JOURNAL", "REPLAN_JOURNAL_DIRECT"

LEASE_SECONDS = 8.0
"""The length of a lease in a database, in seconds. After this time, another machine can claim a run whose driver was
killed.

A driver renews its lease every 2 seconds, so it keeps its run after a pause of 5 seconds. On the driver's own machine,
other processes recognise at once that the driver was killed.
"""


def database_url(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the URL of the journal's database; None if the journal is a file in the home. Raises `UsageProblem`."""
    url = environment.get(JOURNAL) or None
    if url is not None and not _has_scheme(url):
        hint = how_to_install("journals", url.partition("://")[0])
        cause = (
            "this journal needs a package that is not installed"
            if hint
            else "this is not the URL of a Postgres database"
        )
        hint = hint or "set it to postgresql://…, or unset it to use the SQLite journal in REPLAN_HOME"
        raise UsageProblem(cause, place=JOURNAL, hint=hint)
    return url


def _has_scheme(url: str) -> bool:
    from runtime.open_journal import scheme_of  # noqa: PLC0415 -- as below

    return scheme_of(url) is not None


def journal_url(environment: Mapping[str, str] = os.environ) -> str:
    """Return the URL of the journal in use, in a database or in the home. Raises `UsageProblem`."""
    return database_url(environment) or f"sqlite:{locate_home(environment).journal}"


def database_place(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the database's URL without its secrets; None if there is no database. Raises `UsageProblem`."""
    url = database_url(environment)
    if url is None:
        return None
    from runtime.open_journal import shown_url  # noqa: PLC0415 -- commands that only read a file need no event loop

    return shown_url(url, JOURNAL)


def database_wakeup(environment: Mapping[str, str]) -> "WakeUp | None":
    """Return the signal that wakes hosts through the database; None if hosts only poll. Raises `UsageProblem`."""
    url = environment.get(DIRECT) or None
    if url is None:
        return None
    from runtime.open_journal import open_wakeup  # noqa: PLC0415 -- as above

    return open_wakeup(url, DIRECT)


def database_dispatcher(environment: Mapping[str, str] = os.environ) -> "AbstractAsyncContextManager[Dispatcher]":
    """Return a context that opens the dispatcher, which assigns runs to workers.

    Raises `UsageProblem` if there is no database.
    """
    url = database_url(environment)
    if url is None:
        hint = "set it to postgresql://…, or use `replan host`, which serves the journal in a file"
        raise UsageProblem("workers need a journal in a Postgres database", place=JOURNAL, hint=hint)
    from runtime.open_journal import open_dispatcher  # noqa: PLC0415 -- as above

    return open_dispatcher(url, JOURNAL)
