"""The database that holds the journal instead of the home's file: `REPLAN_JOURNAL`, and the way around a pooler.

The home keeps the settings and the log. No message shows the URL, which may hold a password.
"""

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from replan.setup.home_folder import locate_home
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from runtime.dispatch.port import Dispatcher
    from runtime.host.wakeup import WakeUp

JOURNAL, DIRECT = "REPLAN_JOURNAL", "REPLAN_JOURNAL_DIRECT"

LEASE_SECONDS = 8.0
"""The length of a lease in a database: another machine takes over at most this long after a driver was killed.

It is renewed every 2 seconds, so that a pause of 5 seconds costs no driver its run. On one machine a killed process is
recognised at once.
"""


def database_url(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the URL of the database; None where the journal is the home's file. Raises `UsageProblem`."""
    url = environment.get(JOURNAL) or None
    if url is not None and not url.startswith(("postgresql://", "postgres://")) and not _is_plugged_in(url):
        hint = "postgresql://…, or unset it: REPLAN_HOME names the folder of the journal in SQLite"
        raise UsageProblem("this is not the URL of a Postgres database", place=JOURNAL, hint=hint)
    return url


def _is_plugged_in(url: str) -> bool:
    from runtime.open_journal import scheme_of  # noqa: PLC0415 -- as below

    return scheme_of(url) is not None


def journal_url(environment: Mapping[str, str] = os.environ) -> str:
    """Return the URL of the journal in use: the database's, or that of the home's file. Raises `UsageProblem`."""
    return database_url(environment) or f"sqlite:{locate_home(environment).journal}"


def database_place(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the part of the database's URL that may be shown; None where there is none. Raises `UsageProblem`."""
    url = database_url(environment)
    if url is None:
        return None
    from runtime.open_journal import shown_url  # noqa: PLC0415 -- commands that only read a file need no event loop

    return shown_url(url, JOURNAL)


def database_wakeup(environment: Mapping[str, str]) -> "WakeUp | None":
    """Return what wakes hosts through the database; None where they only poll it. Raises `UsageProblem`."""
    url = environment.get(DIRECT) or None
    if url is None:
        return None
    from runtime.open_journal import open_wakeup  # noqa: PLC0415 -- as above

    return open_wakeup(url, DIRECT)


def database_dispatcher(environment: Mapping[str, str] = os.environ) -> "AbstractAsyncContextManager[Dispatcher]":
    """Return the engine that places runs on workers. Raises `UsageProblem` where the journal is in no database."""
    url = database_url(environment)
    if url is None:
        hint = "set it to postgresql://…, or use replan host, which serves the journal in a file"
        raise UsageProblem("workers need a journal in a Postgres database", place=JOURNAL, hint=hint)
    from runtime.open_journal import open_dispatcher  # noqa: PLC0415 -- as above

    return open_dispatcher(url, JOURNAL)
