"""A connector of Procrastinate's on a thread of the journal's kind, so that its `JobManager` runs under trio."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from procrastinate.connector import BaseAsyncConnector
from psycopg.rows import dict_row

from runtime.dispatch import tables
from runtime.journal.postgres.connecting import Connection, Link, end
from runtime.journal.postgres.transaction import begun
from runtime.journal.thread import ConnectionThread

T = TypeVar("T")

_PATH = f"SELECT set_config('search_path', '{tables.SCHEMA}, pg_catalog', true)"


class OnThread(BaseAsyncConnector):
    """Runs Procrastinate's statements on a thread, each in a transaction of its own."""

    def __init__(self, thread: ConnectionThread[Link]) -> None:
        self._thread = thread

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        """Run a statement."""
        await self.execute_query_all_async(query, **arguments)

    async def execute_query_one_async(self, query: Any, **arguments: Any) -> dict[str, Any]:
        """Return the first row of a statement."""
        return (await self.execute_query_all_async(query, **arguments))[0]

    async def execute_query_all_async(self, query: Any, **arguments: Any) -> list[dict[str, Any]]:
        """Return the rows of a statement."""

        def work(connection: Connection) -> list[dict[str, Any]]:
            with connection.cursor(row_factory=dict_row) as cursor:
                return cursor.execute(query, arguments).fetchall()

        return await self._thread.do(partial(in_transaction, work))


def in_transaction(work: Callable[[Connection], T], link: Link) -> T:
    """Run a function in a transaction that finds Procrastinate's tables. Raises `psycopg.Error`."""
    connection = link.connection()
    try:
        batch = begun(connection)
        batch.add(_PATH)
        batch.run()
        result = work(connection)
        connection.execute("COMMIT")
        return result
    finally:
        end(connection)
