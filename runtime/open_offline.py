"""Opens a journal by its URL for work that needs no event loop: to check, copy or upgrade it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from runtime.core.errors import UsageProblem
from runtime.journal.folder import USE_ANOTHER
from runtime.journal.raw import Inspection, RawStore
from runtime.open_journal import JournalScheme, scheme_of

HINT = "sqlite:PATH or postgresql://…"


def shown_url(url: str) -> str:
    """Return the part of a journal's URL that people may see.

    The mark of a moved run contains it. Raises `UsageProblem`.
    """
    kept = _find(url)
    return f"sqlite:{kept}" if isinstance(kept, Path) else kept.shown_url(url, "the journal's URL")


@contextmanager
def open_inspection(url: str, use_another: str = USE_ANOTHER) -> Iterator[Inspection | None]:
    """Open one snapshot of a journal, to check it. Yields None if no journal exists."""
    kept = _find(url)
    if isinstance(kept, JournalScheme):
        if kept.open_inspection is None:
            raise _no_way("checked", url)
        with kept.open_inspection(url) as found:
            yield found
        return
    from runtime.journal.sqlite import raw as sqlite  # noqa: PLC0415 -- few commands need it

    if not kept.exists():
        yield None
        return
    with sqlite.open_inspection(kept, time.time(), use_another) as stored:
        yield stored


@contextmanager
def open_raw(url: str, *, make: bool = False, use_another: str = USE_ANOTHER) -> Iterator[RawStore]:
    """Open a journal to copy runs from or to it. With `make`, the file is created if it is missing.

    Raises the errors of opening a journal, and `UsageProblem` if the file is missing.
    """
    kept = _find(url)
    if isinstance(kept, JournalScheme):
        if kept.open_raw is None:
            raise _no_way("copied", url)
        with kept.open_raw(url) as database:
            yield database
        return
    from runtime.journal.sqlite import raw as sqlite  # noqa: PLC0415 -- as above

    with sqlite.open_raw(kept, time.time(), use_another, make=make) as file:
        yield file


def upgrade(
    url: str,
    roles: Mapping[str, str],
    use_another: str = USE_ANOTHER,
) -> int:
    """Upgrade a journal to this release's version, and return this version.

    `roles` has the names of database roles by their purpose; each role gets its rights. Raises the errors of opening a
    journal, and `UsageProblem` if the journal is a file and roles are given.
    """
    kept = _find(url)
    if isinstance(kept, JournalScheme):
        if kept.upgrade is None:
            raise _no_way("upgraded", url)
        return kept.upgrade(url, roles)
    if roles:
        raise UsageProblem(
            "a journal in a file has no roles", place=shown_url(url), hint="name roles only for a database"
        )
    from runtime.journal.sqlite import raw as file  # noqa: PLC0415 -- as above

    return file.upgrade(kept, use_another)


def _find(url: str) -> Path | JournalScheme:
    """Return the path of a journal file, or the functions for the scheme of another journal's URL.

    Raises `UsageProblem` for a URL of neither sort, such as `memory:`.
    """
    if found := scheme_of(url):
        return found
    scheme, _, rest = url.partition(":")
    if scheme != "sqlite" or not rest:
        raise UsageProblem("this is not the URL of a stored journal", place="URL", hint=HINT)
    return Path(rest).absolute()


def _no_way(done: str, url: str) -> UsageProblem:
    return UsageProblem(
        f"a journal with a URL of the form {url.partition(':')[0]}: cannot be {done}", place=shown_url(url)
    )
