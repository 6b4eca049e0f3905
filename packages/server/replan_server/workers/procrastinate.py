"""Assigns runs to one worker with the job queues of Procrastinate.

Procrastinate's `JobManager` waits only for its connector, and the connector of this module runs its statements on a
thread. So `JobManager` works under trio, without an asyncio event loop. The worker loop of Procrastinate is not used,
because it would fetch more jobs than the worker has free slots.
"""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, TypeVar

import trio
from procrastinate.connector import BaseAsyncConnector
from procrastinate.manager import JobManager
from psycopg.rows import dict_row

from replan_server.postgres import reading
from replan_server.postgres.address import DatabaseAddress
from replan_server.postgres.connecting import NOW, Connection, DatabaseLink, explain, roll_back
from replan_server.postgres.transaction import begin_batch
from replan_server.workers import tables
from runtime.core.errors import JournalError
from runtime.host.wakeup import Job
from runtime.journal.port import Dead, Formats
from runtime.journal.thread import ConnectionThread, open_thread

T = TypeVar("T")

_PATH = f"SELECT set_config('search_path', '{tables.SCHEMA}, pg_catalog', true)"


class OnThread(BaseAsyncConnector):
    """Runs Procrastinate's statements on a thread, each statement in its own transaction."""

    def __init__(self, thread: ConnectionThread[DatabaseLink]) -> None:
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


def in_transaction(work: Callable[[Connection], T], link: DatabaseLink) -> T:
    """Run a function in a transaction that has access to Procrastinate's tables. Raises `psycopg.Error`."""
    connection = link.connection()
    try:
        batch = begin_batch(connection)
        batch.add(_PATH)
        batch.run()
        result = work(connection)
        connection.execute("COMMIT")
        return result
    finally:
        roll_back(connection)


STALLED_SECONDS = 30.0
"""After how many seconds without a heartbeat a worker counts as dead."""

_QUEUES = (
    "SELECT queue_name FROM (SELECT queue_name, max(priority) AS priority, min(id) AS oldest FROM procrastinate_jobs"
    " WHERE status = 'todo' AND task_name = %(task)s GROUP BY queue_name) AS waiting ORDER BY priority DESC,"
    " (SELECT count(*) FROM replan.runs WHERE owner IS NOT NULL AND lease_end > %(now)s"
    " AND queue_name = CASE WHEN tenant = '' THEN %(queue)s ELSE %(queue)s || '/' || tenant END), oldest"
)
_PLACE = (
    "SELECT count(*) FROM (SELECT replan_jobs.place(run, tenant, priority) AS placed FROM (SELECT run, tenant, priority"
    " FROM replan.runs WHERE {due} AND run <> ALL(%(skip)s::text[]) AND NOT EXISTS (SELECT FROM procrastinate_jobs"
    " WHERE queueing_lock = run AND status = 'todo') ORDER BY priority DESC, id LIMIT %(limit)s"
    " FOR NO KEY UPDATE SKIP LOCKED) AS due) AS made WHERE placed"
)


@asynccontextmanager
async def open_dispatcher(address: DatabaseAddress) -> AsyncIterator["ProcrastinateDispatcher"]:
    """Yield the dispatcher of one worker. Make the tables of the queues if they are missing.

    Raises `JournalUnreachable`, `JournalUnreadable`.
    """
    async with open_thread("dispatcher", partial(DatabaseLink, address), partial(explain, address)) as thread:
        await thread.do(lambda link: tables.make(link.connection(), address.place))
        dispatcher = ProcrastinateDispatcher(thread)
        await dispatcher.begin()
        try:
            yield dispatcher
        finally:
            with trio.CancelScope(shield=True), suppress(JournalError):  # Else the others find out after a while.
                await dispatcher.leave()


class ProcrastinateDispatcher:
    """Fetches jobs for one worker from the queues of all tenants."""

    def __init__(self, thread: ConnectionThread[DatabaseLink]) -> None:
        self._thread, self._jobs, self._worker = thread, JobManager(OnThread(thread)), 0

    async def begin(self) -> None:
        """Register this worker."""
        self._worker = await self._jobs.register_worker()

    async def leave(self) -> None:
        """Remove this worker and its remaining jobs."""
        await self._jobs.unregister_worker(self._worker)
        await self._remove_stalled()

    async def fetch(self) -> Job | None:
        for queue in await self._thread.do(partial(in_transaction, _queues)):
            job = await self._jobs.fetch_job([queue], self._worker)
            if job is not None and job.id is not None and job.queueing_lock is not None:
                return Job(job.id, job.queueing_lock)
        return None

    async def finish(self, job: Job) -> None:
        """Implement `Dispatcher.finish`. If the job does not exist any more, nothing happens."""
        await self._thread.do(partial(in_transaction, partial(_delete, job.id)))

    async def sweep(self, limit: int, *, dead: Dead, kinds: Formats | None, skip: Collection[str]) -> int:
        sweep = partial(_sweep, limit=limit, dead=dead, kinds=kinds, skip=list(skip))
        return await self._thread.do(partial(in_transaction, sweep))

    async def beat(self) -> None:
        await self._jobs.update_heartbeat(self._worker)
        if not await self._thread.do(partial(in_transaction, partial(_is_registered, self._worker))):
            await self.begin()  # Others took this worker for dead. Its job is only a hint.
        await self._jobs.prune_stalled_workers(STALLED_SECONDS)
        await self._remove_stalled()

    async def _remove_stalled(self) -> None:
        for job in await self._jobs.get_stalled_jobs(task_name=tables.TASK, seconds_since_heartbeat=STALLED_SECONDS):
            if job.id is not None:
                await self._thread.do(partial(in_transaction, partial(_delete, job.id)))


def _queues(connection: Connection) -> list[str]:
    ((now,),) = connection.execute(NOW).fetchall()
    bindings = {"task": tables.TASK, "queue": tables.QUEUE, "now": now}
    return [queue for (queue,) in connection.execute(_QUEUES, bindings).fetchall()]


def _is_registered(worker: int, connection: Connection) -> bool:
    return connection.execute("SELECT 1 FROM procrastinate_workers WHERE id = %s", (worker,)).fetchone() is not None


def _delete(job: int, connection: Connection) -> None:
    connection.execute("DELETE FROM procrastinate_jobs WHERE id = %s AND status = 'doing'", (job,))


def _sweep(connection: Connection, *, limit: int, dead: Dead, kinds: Formats | None, skip: list[str]) -> int:
    with connection.cursor() as cursor:
        values = reading.due_values(cursor, reading.server_now(cursor), dead, kinds)
        found = cursor.execute(_PLACE.format(due=reading.DUE), {**values, "limit": limit, "skip": skip}).fetchall()
    return int(found[0][0])
