"""Opens a journal by its URL: `sqlite:PATH` or `memory:`."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from runtime.core.clock import Clock
from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec
from runtime.journal.folder import USE_ANOTHER
from runtime.journal.kinds import Codecs
from runtime.journal.memory import open_memory
from runtime.journal.port import Journal
from runtime.journal.sqlite.journal import open_sqlite

FORMS = "sqlite:PATH or memory:"


def open_journal(
    url: str,
    codecs: Codec[Any] | Codecs,
    clock: Clock,
    *,
    budget: HomeBudget | None = None,
    use_another: str = USE_ANOTHER,
) -> AbstractAsyncContextManager[Journal[Any]]:
    """Return the journal with this URL, as a context to enter.

    `codecs` are those of the kinds of runs that can be read; `clock` is the journal's, where its store has none of its
    own; `use_another` says how the user chooses another folder, for messages. Raises `UsageProblem` for a URL that is
    no journal's; entering raises as `open_sqlite` does.
    """
    scheme, colon, rest = url.partition(":")
    match scheme:
        case "sqlite" if rest:
            return open_sqlite(Path(rest), codecs, clock, budget=budget, use_another=use_another)
        case "memory" if colon and not rest:
            return open_memory(codecs, clock, budget=budget)
        case "sqlite" | "memory":
            raise UsageProblem(f"a journal's URL is {FORMS}", place=url)
        case _ if colon:  # The rest is not shown: it may hold a password.
            raise UsageProblem(f"there is no journal of the form {scheme}:", hint=FORMS)
        case _:
            raise UsageProblem("this is not the URL of a journal", place=url, hint=FORMS)
