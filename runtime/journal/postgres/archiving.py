"""Reading the runs of a Postgres journal part by part, and deleting them, to archive them (`runtime.journal.archive`).

Each part is a transaction of its own: what was appended does not change, and no transaction waits while a file is
written.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from runtime.core.crash_points import reached
from runtime.core.daily_budget import HomeBudget
from runtime.core.errors import SequenceConflict
from runtime.journal.archive.store import PART, RunHead
from runtime.journal.chain import Stored
from runtime.journal.port import Dead, Deleted, InboxItem
from runtime.journal.postgres import reading, schema
from runtime.journal.postgres.address import Address
from runtime.journal.postgres.committing import Committer
from runtime.journal.postgres.connecting import Cursor, Link
from runtime.journal.postgres.deletion import delete_runs
from runtime.journal.postgres.failures import explain
from runtime.journal.postgres.group import Group, Work
from runtime.journal.postgres.rows import COLUMNS, held_row
from runtime.journal.postgres.transaction import snapshot

_RECORDS = (
    "SELECT seq, at, epoch, inbox, body, hash, last FROM replan.records"
    " WHERE run = (SELECT id FROM replan.runs WHERE runs.run = %s) AND seq > %s ORDER BY seq LIMIT %s"
)
_MESSAGES = (
    "SELECT id, key, body, at, seal FROM replan.inbox"
    " WHERE run = (SELECT id FROM replan.runs WHERE runs.run = %s) AND id > %s ORDER BY id LIMIT %s"
)
_SIZE = (
    "SELECT (SELECT coalesce(sum(octet_length(body)), 0) FROM replan.records WHERE records.run = runs.id)"
    " + (SELECT coalesce(sum(octet_length(key) + octet_length(body)), 0) FROM replan.inbox WHERE inbox.run = runs.id)"
    " + (SELECT coalesce(sum(octet_length(text)), 0) FROM replan.named_texts JOIN replan.texts USING (hash)"
    " WHERE named_texts.run = runs.id) FROM replan.runs WHERE run = %s"
)


class PostgresStore:
    """A database that runs are archived from (`runtime.journal.archive.store.Store`)."""

    def __init__(self, link: Link) -> None:
        """Take a link whose tables have been checked."""
        self._link, self._committer = link, Committer(HomeBudget())

    def head(self, run: str) -> RunHead:
        """As `Store.head`."""
        with snapshot(self._link) as (cursor, now):
            held, row = reading.held(cursor, run), reading.run_row(cursor, run, now)
        fields = row.title, row.kind, row.format, row.created, row.updated, row.summary, held.epoch
        return RunHead(run, *fields, held.account, held.tip, held.last_posted, held.placement)

    def size(self, run: str) -> int:
        """As `Store.size`."""
        ((size,),) = self._select(_SIZE, (run,)) or [(0,)]
        return int(size)

    def records(self, run: str, after: int) -> tuple[list[Stored], frozenset[int]]:
        """As `Store.records`."""
        found = self._select(_RECORDS, (run, after, PART))
        rows = [
            Stored(seq, at, epoch, inbox, bytes(body), bytes(digest))
            for seq, at, epoch, inbox, body, digest, _ in found
        ]
        return rows, frozenset(row[0] for row in found if row[6])

    def messages(self, run: str, after: int) -> list[InboxItem]:
        """As `Store.messages`."""
        return [reading.message(run, row) for row in self._select(_MESSAGES, (run, after, PART))]

    def text(self, digest: bytes) -> bytes | None:
        """As `Store.text`."""
        for (text,) in self._select("SELECT text FROM replan.texts WHERE hash = %s", (digest,)):
            return bytes(text)
        return None

    def remove(self, heads: Sequence[RunHead], dead: Dead) -> Deleted:
        """As `Store.remove`."""
        (outcome,) = self._committer.commit(
            self._link, [Work(_undecided, alone=lambda cursor, now: _remove(cursor, heads, now, dead))]
        )
        if outcome.error is not None:
            raise outcome.error
        deleted: Deleted = outcome.result
        return deleted

    def close(self) -> None:
        """Forget the writer, and close the connection."""
        self._committer.forget(self._link)
        self._link.close()

    def _select(self, statement: str, values: Sequence[Any]) -> list[Any]:
        with snapshot(self._link) as (cursor, _):
            return cursor.execute(statement, values).fetchall()


def _undecided(_: Group) -> Deleted:
    raise AssertionError("a job of its own does not decide in a group")


def _remove(cursor: Cursor, heads: Sequence[RunHead], now: float, dead: Dead) -> Deleted:
    """Delete runs that are as their heads say; the lock of their rows lasts until the deletion."""
    names = {head.run: head for head in heads}
    statement = f"SELECT {COLUMNS} FROM replan.runs WHERE run = ANY(%s) ORDER BY id FOR UPDATE"
    for row in map(held_row, cursor.execute(statement, ([*names],)).fetchall()):
        head = names[row.run]
        if (row.tip, row.last_posted) != (head.tip, head.last_posted):
            raise SequenceConflict(row.run, head.tip.seq, row.tip.seq)
    deleted = delete_runs(cursor, {head.run: head.tip.seq for head in heads}, now, dead)
    reached("archive.removing")
    return deleted


@contextmanager
def open_store(address: Address) -> Iterator[PostgresStore]:
    """Open a database to archive runs from; its role may delete records. Raises as `open_postgres`."""
    try:
        with closing(Link(address)) as link:
            schema.check(link.connection(), address.place)
            with closing(PostgresStore(link)) as store:
                yield store
    except psycopg.Error as error:
        raise explain(address, error) from error
