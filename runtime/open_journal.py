"""Opens journals by their URLs (`sqlite:PATH`, `memory:`, `SCHEME://…`).

For databases, it also opens wake-ups and dispatchers.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runtime.core.clock import Clock
from runtime.core.daily_budget import BudgetSource
from runtime.core.entry_points import PluginGroup
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec
from runtime.host.wakeup import Dispatcher, WakeUp
from runtime.journal.folder import USE_ANOTHER
from runtime.journal.memory import open_memory
from runtime.journal.port import Codecs, Journal
from runtime.journal.raw import Inspection, RawStore
from runtime.journal.sqlite.journal import open_sqlite

FORMS = "sqlite:PATH, memory: or postgresql://…"


@dataclass(frozen=True, slots=True)
class JournalScheme:
    """The functions for journals whose URLs have a certain scheme.

    An optional function is None if the scheme does not support it.

    All functions raise `UsageProblem` for a URL that cannot be used. `place` is the name of the setting with the URL,
    for messages.
    """

    open: Callable[[str, Codec[Any] | Codecs, Clock, BudgetSource | None], AbstractAsyncContextManager[Journal[Any]]]
    """A function `open(url, codecs, clock, budget)` that opens the journal with a URL. The arguments are those of
    `open_journal`.
    """
    shown_url: Callable[[str, str], str]
    """A function `shown_url(url, place)` that returns the part of a URL that people may see, without a password."""
    open_wakeup: Callable[[str, str], WakeUp] | None = None
    """A function `open_wakeup(url, place)` that returns the object that wakes the hosts of the journal."""
    open_dispatcher: Callable[[str, str], AbstractAsyncContextManager[Dispatcher]] | None = None
    """A function `open_dispatcher(url, place)` that returns the engine that places runs on workers."""
    open_inspection: Callable[[str], AbstractContextManager[Inspection | None]] | None = None
    """A function that opens one snapshot of the journal with a URL, to check the journal. It yields None if no journal
    exists.
    """
    open_raw: Callable[[str], AbstractContextManager[RawStore]] | None = None
    """A function that opens the journal with a URL, to copy runs from it or to it."""
    upgrade: Callable[[str, Mapping[str, str]], int] | None = None
    """A function `upgrade(url, roles)` that upgrades a journal to this release's version, and returns this version."""


JOURNALS = PluginGroup(
    "replan.journals",
    "a JournalScheme",
    lambda value: isinstance(value, JournalScheme),
    {"sqlite": "", "memory": ""},
)
"""The kinds of journals by the schemes of their URLs. Installed distributions may add kinds."""


def scheme_of(url: str) -> JournalScheme | None:
    """Return the functions for a URL `SCHEME://…`; None for a URL of another form or with an unknown scheme.

    Raises `UsageProblem` if the plug-in for the scheme cannot be used.
    """
    scheme, _, rest = url.partition(":")
    found: JournalScheme | None = JOURNALS.get(scheme) if rest.startswith("//") else None
    return found


def open_journal(
    url: str,
    codecs: Codec[Any] | Codecs,
    clock: Clock,
    *,
    budget: BudgetSource | None = None,
    use_another: str = USE_ANOTHER,
) -> AbstractAsyncContextManager[Journal[Any]]:
    """Return a context manager that opens the journal with this URL.

    `codecs` are the codecs of the kinds of runs that can be read. `clock` is the journal's clock, unless a database
    server has its own. `use_another` is the text with which error messages say how to choose another folder. Raises
    `UsageProblem` if the URL is not that of a journal, or if no installed journal supports it. Entering the context
    manager raises the errors of the journal's own function, such as `open_sqlite`.
    """
    scheme, colon, rest = url.partition(":")
    match scheme:
        case "sqlite" if rest:
            return open_sqlite(Path(rest), codecs, clock, budget=budget, use_another=use_another)
        case "memory" if colon and not rest:
            return open_memory(codecs, clock, budget=budget)
        case "sqlite" | "memory":
            raise UsageProblem(f"a journal's URL has the form {FORMS}", place=url)
        case _ if found := scheme_of(url):
            return found.open(url, codecs, clock, budget)
        case _ if colon:  # The rest is not shown: it may hold a password.
            raise UsageProblem(f"no journal supports URLs that begin with {scheme}:", hint=f"use {FORMS}")
        case _:
            raise UsageProblem("this is not the URL of a journal", place=url, hint=f"use {FORMS}")


def open_wakeup(url: str, place: str) -> WakeUp:
    """Return the object that wakes hosts through the database with this URL. `place` is the URL's name in messages.

    Raises `UsageProblem`.
    """
    found = _database(url, place).open_wakeup
    if found is None:
        raise UsageProblem("a journal with this kind of URL cannot wake hosts", place=place, hint=f"unset {place}")
    return found(url, place)


def open_dispatcher(url: str, place: str) -> AbstractAsyncContextManager[Dispatcher]:
    """Return a context manager that opens the database's engine for placing runs on workers.

    Raises `UsageProblem`. `place` is the URL's name in messages. Entering the context manager raises the errors of the
    database.
    """
    found = _database(url, place).open_dispatcher
    if found is None:
        raise UsageProblem(
            "a journal with this kind of URL has no queue for workers", place=place, hint="use replan host"
        )
    return found(url, place)


def shown_url(url: str, place: str) -> str:
    """Return the part of a database's URL that people may see: its servers and its name. Raises `UsageProblem`."""
    return _database(url, place).shown_url(url, place)


def _database(url: str, place: str) -> JournalScheme:
    found = scheme_of(url)
    if found is None:
        raise UsageProblem("this is not the URL of a database", place=place, hint="such as postgresql://…")
    return found
