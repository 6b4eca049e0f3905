"""Opens a journal by its URL for work that needs no event loop: to check, copy or upgrade it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.core.errors import UsageProblem
from runtime.journal.folder import USE_ANOTHER
from runtime.journal.raw import Inspection, RawStore
from runtime.open_journal import POSTGRES, check_extra

if TYPE_CHECKING:
    from runtime.journal.postgres.address import DatabaseAddress

HINT = "sqlite:PATH or postgresql://…"


def shown_url(url: str) -> str:
    """Return the part of a journal's URL that may be shown, and by which moved runs name it. Raises `UsageProblem`."""
    path = _path(url)
    return _address(url).place if path is None else f"sqlite:{path}"


@contextmanager
def open_inspection(url: str, use_another: str = USE_ANOTHER) -> Iterator[Inspection | None]:
    """Open a journal to check it, in one snapshot; None where there is none. Raises the errors of opening a journal."""
    path = _path(url)
    if path is None:
        from runtime.journal.postgres import raw as postgres  # noqa: PLC0415 -- of an extra, after its check

        with postgres.open_inspection(_address(url)) as found:
            yield found
        return
    from runtime.journal.sqlite import raw as sqlite  # noqa: PLC0415 -- as above

    if not path.exists():
        yield None
        return
    with sqlite.open_inspection(path, time.time(), use_another) as stored:
        yield stored


@contextmanager
def open_raw(url: str, *, make: bool = False, use_another: str = USE_ANOTHER) -> Iterator[RawStore]:
    """Open a journal to copy runs from or to; only with `make` a missing file is made.

    Raises the errors of opening a journal, and `UsageProblem` for a missing file.
    """
    path = _path(url)
    if path is None:
        from runtime.journal.postgres import raw as postgres  # noqa: PLC0415 -- of an extra, after its check

        with postgres.open_raw(_address(url)) as database:
            yield database
        return
    from runtime.journal.sqlite import raw as sqlite  # noqa: PLC0415 -- as above

    with sqlite.open_raw(path, time.time(), use_another, make=make) as file:
        yield file


def upgrade(
    url: str,
    roles: Mapping[str, str],
    use_another: str = USE_ANOTHER,
) -> int:
    """Bring a journal to this release's version and return it.

    Roles of a database, given by their kind, get their rights. Where the extra `worker` is installed, a database gets
    the tables of the queue of workers, too. Raises the errors of opening a journal, and `UsageProblem` for roles where
    there are none.
    """
    path = _path(url)
    if path is None:
        from runtime.journal.postgres import raw  # noqa: PLC0415 -- of an extra, after its check

        if find_spec("procrastinate") is None:
            return raw.upgrade(_address(url), roles)
        from runtime.dispatch import tables  # noqa: PLC0415 -- of another extra

        return raw.upgrade(_address(url), roles, tables.make)
    if roles:
        raise UsageProblem("a file has no roles", place=shown_url(url), hint="roles are for a database")
    from runtime.journal.sqlite import raw as file  # noqa: PLC0415 -- as above

    return file.upgrade(path, use_another)


def _path(url: str) -> Path | None:
    """Return the path of a file; None for a database. Raises `UsageProblem` for the URL of neither."""
    scheme, _, rest = url.partition(":")
    if scheme in POSTGRES and rest.startswith("//"):
        return None
    if scheme != "sqlite" or not rest:
        raise UsageProblem("this is not the URL of a journal that is kept", place="URL", hint=HINT)
    return Path(rest).absolute()


def _address(url: str) -> "DatabaseAddress":
    check_extra()
    from runtime.journal.postgres.address import parse_address  # noqa: PLC0415

    return parse_address(url, "the journal's URL")
