"""Opens journals in Postgres, for URLs `postgresql://…`.

The packages of the extras `postgres` and `worker` are imported only when they are needed.
"""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from runtime.core.clock import Clock
from runtime.core.daily_budget import BudgetSource
from runtime.core.errors import UsageProblem
from runtime.core.events import Codec
from runtime.core.extras import install_command
from runtime.host.wakeup import Dispatcher, WakeUp
from runtime.journal.port import Codecs, Journal
from runtime.journal.raw import Inspection, RawStore
from runtime.open_journal import JournalScheme

if TYPE_CHECKING:
    from replan_server.postgres.address import DatabaseAddress


def _address(url: str, place: str = "the journal's URL") -> "DatabaseAddress":
    _check_extra()
    from replan_server.postgres.address import parse_address  # noqa: PLC0415

    return parse_address(url, place)


def _open(
    url: str,
    codecs: Codec[Any] | Codecs,
    clock: Clock,  # noqa: ARG001 -- the database has one of its own
    budget: BudgetSource | None,
) -> AbstractAsyncContextManager[Journal[Any]]:
    address = _address(url)
    from replan_server.postgres.journal import open_postgres  # noqa: PLC0415

    return open_postgres(address, codecs, budget=budget)


def _shown_url(url: str, place: str) -> str:
    return _address(url, place).place


def _open_wakeup(url: str, place: str) -> WakeUp:
    address = _address(url, place)
    from replan_server.postgres.transaction import Listening  # noqa: PLC0415

    return Listening(address)


def _open_dispatcher(url: str, place: str) -> AbstractAsyncContextManager[Dispatcher]:
    """Return a context manager that yields the dispatcher.

    Entering the context raises the errors of `procrastinate.open_dispatcher`.
    """
    if find_spec("procrastinate") is None:
        raise UsageProblem("workers need the packages of the extra `worker`", hint=install_command("server", "worker"))
    from replan_server.workers import procrastinate  # noqa: PLC0415 -- an optional extra, and slow to load

    return procrastinate.open_dispatcher(_address(url, place))


def _open_inspection(url: str) -> AbstractContextManager[Inspection | None]:
    address = _address(url)
    from replan_server.postgres import raw  # noqa: PLC0415 -- of an extra, after its check

    return raw.open_inspection(address)


def _open_raw(url: str) -> AbstractContextManager[RawStore]:
    address = _address(url)
    from replan_server.postgres import raw  # noqa: PLC0415 -- of an extra, after its check

    return raw.open_raw(address)


def _upgrade(url: str, roles: Mapping[str, str]) -> int:
    """Upgrade the tables of the journal. If the extra `worker` is installed, make the tables of the queue too."""
    address = _address(url)
    from replan_server.postgres import raw  # noqa: PLC0415 -- of an extra, after its check

    if find_spec("procrastinate") is None:
        return raw.upgrade(address, roles)
    from replan_server.workers import tables  # noqa: PLC0415 -- of another extra

    return raw.upgrade(address, roles, tables.make)


def _check_extra() -> None:
    """Raise `UsageProblem` if the packages of the extra `postgres` are not installed."""
    try:
        import psycopg  # noqa: F401, PLC0415 -- an optional extra, and slow to load
    except ImportError:
        hint = install_command("server", "postgres")
        raise UsageProblem("a journal in Postgres needs the packages of the extra `postgres`", hint=hint) from None


POSTGRES = JournalScheme(
    open=_open,
    shown_url=_shown_url,
    open_wakeup=_open_wakeup,
    open_dispatcher=_open_dispatcher,
    open_inspection=_open_inspection,
    open_raw=_open_raw,
    upgrade=_upgrade,
)
"""The functions for journals whose URL begins with `postgresql://` or `postgres://`."""
