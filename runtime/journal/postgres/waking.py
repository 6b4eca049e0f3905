"""Waking hosts through Postgres: a connection that listens, and calls back when a transaction says that there is work.

The notices carry nothing, and the ones that are lost cost a polling interval. The connection must not go through a
pooler, which would hand its session to others.
"""

from collections.abc import Callable

import psycopg
import trio

from runtime.journal.postgres.address import Address
from runtime.journal.postgres.connecting import Connection, connect
from runtime.journal.postgres.transaction import CHANNEL
from runtime.logs import log

RETRY_SECONDS = 5.0
"""The pause before another try to listen."""


class Listening:
    """Wakes the hosts of a journal; committed transactions notify, so that `wake` has nothing left to do."""

    def __init__(self, address: Address) -> None:
        """Take the address of the server itself."""
        self._address = address

    def wake(self) -> None:
        """Do nothing: the transaction that made the work has notified every host."""

    async def listen(
        self, callback: Callable[[], object], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Call `callback` at every notice, until this is cancelled; meanwhile hosts poll where nothing can be heard."""
        task_status.started()
        reported = False
        while True:
            try:
                await self._listen_on_one(callback)
            except (psycopg.Error, OSError) as error:
                if not reported:
                    reason = self._address.shown(str(error))
                    log.get_logger("host").warning("journal.not_listening", reason=reason)
                reported = True
            await trio.sleep(RETRY_SECONDS)

    async def _listen_on_one(self, callback: Callable[[], object]) -> None:
        """Listen on one connection until it breaks. Raises `psycopg.Error`, `OSError`."""
        connection = await trio.to_thread.run_sync(self._connect)
        try:
            while True:
                callback()  # Also at first, for what was notified before.
                await trio.lowlevel.wait_readable(connection.pgconn.socket)
                connection.pgconn.consume_input()
                while connection.pgconn.notifies() is not None:
                    pass
        finally:
            connection.close()

    def _connect(self) -> Connection:
        connection = connect(self._address)
        try:
            connection.execute(f"LISTEN {CHANNEL}")
        except BaseException:
            connection.close()
            raise
        return connection
