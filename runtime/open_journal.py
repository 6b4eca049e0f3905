"""Opens a journal by its URL, `sqlite:PATH`, `postgresql://…` or `memory:`, and what belongs to one in a database."""

from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from runtime.core.clock import Clock
from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec
from runtime.core.extras import install_command
from runtime.dispatch.port import Dispatcher
from runtime.host.wakeup import WakeUp
from runtime.journal.folder import USE_ANOTHER
from runtime.journal.kinds import Codecs
from runtime.journal.memory import open_memory
from runtime.journal.port import Journal
from runtime.journal.sqlite.journal import open_sqlite

FORMS = "sqlite:PATH or memory: or postgresql://…"

POSTGRES = ("postgresql", "postgres")
"""The schemes of the URLs of databases."""


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
    no journal's, and for one of a database where the extra `postgres` is missing; entering raises as `open_sqlite` and
    `open_postgres` do.
    """
    scheme, colon, rest = url.partition(":")
    match scheme:
        case "sqlite" if rest:
            return open_sqlite(Path(rest), codecs, clock, budget=budget, use_another=use_another)
        case _ if scheme in POSTGRES and rest.startswith("//"):
            return _postgres(url, codecs, budget)
        case "memory" if colon and not rest:
            return open_memory(codecs, clock, budget=budget)
        case "sqlite" | "memory":
            raise UsageProblem(f"a journal's URL is {FORMS}", place=url)
        case _ if colon:  # The rest is not shown: it may hold a password.
            raise UsageProblem(f"there is no journal of the form {scheme}:", hint=FORMS)
        case _:
            raise UsageProblem("this is not the URL of a journal", place=url, hint=FORMS)


def open_wakeup(url: str, place: str) -> WakeUp:
    """Return what wakes hosts through the database with this URL, for messages named `place`.

    Raises `UsageProblem`.
    """
    check_extra()
    from runtime.journal.postgres.address import parse_address  # noqa: PLC0415
    from runtime.journal.postgres.transaction import Listening  # noqa: PLC0415

    return Listening(parse_address(url, place))


def open_dispatcher(url: str, place: str) -> AbstractAsyncContextManager[Dispatcher]:
    """Return the engine that places runs on workers, in the database with this URL, for messages named `place`.

    Raises `UsageProblem`; entering raises the errors of `runtime.dispatch.procrastinate.open_dispatcher`.
    """
    if find_spec("procrastinate") is None:
        raise UsageProblem("workers need the extra worker", hint=install_command("worker"))
    from runtime.dispatch import procrastinate  # noqa: PLC0415 -- an optional extra, and slow to load
    from runtime.journal.postgres.address import parse_address  # noqa: PLC0415

    return procrastinate.open_dispatcher(parse_address(url, place))


def shown_url(url: str, place: str) -> str:
    """Return the part of a database's URL that may be shown: its servers and its name.

    Raises the errors of `open_wakeup`.
    """
    check_extra()
    from runtime.journal.postgres.address import parse_address  # noqa: PLC0415

    return parse_address(url, place).place


def _postgres(
    url: str, codecs: Codec[Any] | Codecs, budget: HomeBudget | None
) -> AbstractAsyncContextManager[Journal[Any]]:
    check_extra()
    from runtime.journal.postgres.address import parse_address  # noqa: PLC0415
    from runtime.journal.postgres.journal import open_postgres  # noqa: PLC0415

    return open_postgres(parse_address(url, "the journal's URL"), codecs, budget=budget)


def check_extra() -> None:
    """Raise `UsageProblem` if the extra that a database needs is missing."""
    try:
        import psycopg  # noqa: F401, PLC0415 -- an optional extra, and slow to load
    except ImportError:
        hint = install_command("postgres")
        raise UsageProblem("a journal in Postgres needs the extra postgres", hint=hint) from None
