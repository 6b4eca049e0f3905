"""A journal of an earlier release is upgraded in place, and its runs are shown and resumed as before."""

from contextlib import asynccontextmanager, closing
from dataclasses import replace
from itertools import chain

import apsw
import pytest
import trio

from actors.handlers.generators import FunctionGenerator
from actors.handlers.registry import Registry
from actors.planning.events import EVENTS
from actors.planning.kind import CODEC, PLANNING
from replan.runs.engine import Engine
from replan.runs.options import DriveOptions
from replan.setup.kinds import Kinds
from runtime.core.clock import SystemClock
from runtime.core.events import Codec
from runtime.drive.options import Stop
from runtime.journal.chain import GENESIS, Tip
from runtime.journal.kinds import FIRST_FORMAT
from runtime.journal.port import RunFilter
from runtime.journal.sqlite import schema, statements
from runtime.journal.sqlite.journal import open_sqlite
from runtime.journal.sqlite.packing import unpack
from runtime.journal.versions import FIRST_CODEC
from tests.host.fake_home import FakeHome, run_request
from tests.journal.behind import change, query

RUNS = ("done", "asks", "silent", "parked", "going", "admitted")
"""Finished; waiting with an unread answer; waiting; parked; interrupted by a kill; only admitted."""
STATUS = ["finished", "waiting", "waiting", "parked", "running", "running"]
DUE = ("asks", "going", "admitted")
COPIED = {
    "runs": "id, run, title, created, updated, last_seq, last_hash, status, detail, waiting_since, next_wake, owner,"
    " lease_end, epoch",
    "inbox": "run, id, key, body, at, seal",
    "texts": "hash, text",
}
PACKED = 3
"""The first version with rows that hold several records."""
BUDGET_COLUMNS = "calls, tokens, micro_usd, day, calls_before, micro_usd_before"


@asynccontextmanager
async def open_engine(path, home, kinds=()):
    """Open an engine over the file, with the generator and the guard of the fake home."""
    registry = Registry(guards={"toy": lambda _: home.judge}, generators={"made": FunctionGenerator(home.make, "made")})
    async with open_sqlite(path, CODEC, SystemClock()) as journal:
        yield Engine(journal=journal, registry=registry, kinds=Kinds(kinds), threads=False, environment={})


async def make_runs(engine, home):
    """Create a run in each of the six situations."""
    await engine.begin(run_request("a", "b"), run="done")
    await engine.journal.post("done", "late", "{}")
    for run in ("asks", "silent"):
        home.reject.append("requirements.missing")
        await engine.begin(run_request("a", "b"), run=run)
    await engine.answer("asks/q1", "the version is 3.12", via="cli")
    await interrupt(engine, "parked", lambda stop, _: stop.requested.set())
    await interrupt(engine, "going", lambda _, scope: scope.cancel())
    await engine.admit(run_request("a", "b"), run="admitted")


async def interrupt(engine, run, act):
    """Begin a run, and call `act` with its stop and cancel scope at its first request."""
    stop = Stop()
    with trio.CancelScope() as scope:

        def on_record(record, _):
            if record.event.kind == "generation_requested":
                act(stop, scope)

        await engine.begin(run_request("a", "b"), DriveOptions(stop, on_record), run=run)


def write_as(version, source, target):
    """Write a journal's content in an earlier schema version; the first versions have one row per record."""
    with closing(apsw.Connection(str(source))) as new, closing(apsw.Connection(str(target))) as old, old:
        for statement in chain.from_iterable(schema.CHANGES[:version]):
            old.execute(statement)
        old.pragma("application_id", schema.APPLICATION_ID)
        old.pragma("user_version", version)
        later = {"agenda": "run, at", "unread": "run", "spending": "day, calls, micro_usd"} if version > 1 else {}
        names = COPIED | {"runs": f"{COPIED['runs']}, {BUDGET_COLUMNS}"} if version > 1 else COPIED
        for table, columns in (names | later).items():
            copy(old, table, columns, new.execute(f"SELECT {columns} FROM {table}"))
        old.execute("UPDATE runs SET owner = NULL, lease_end = 0.0")
        for number, run in new.execute("SELECT id, run FROM runs"):
            packed = statements.rows_after(new, number, 0)
            rows = packed if version >= PACKED else unpack(run, Tip(0, GENESIS), packed)
            copy(old, "events", "run, seq, at, epoch, inbox, body, hash", [(number, *row) for row in rows])
    target.chmod(0o600)


def copy(connection, table, columns, rows):
    """Insert rows into a table."""
    places = ", ".join("?" * len(columns.split(",")))
    connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", list(rows))


async def content(journal):
    """Return the status, the verified records and the inbox of each run."""
    rows = {row.run: row for row in await journal.runs(RunFilter())}
    return {run: (rows[run].summary.status, await journal.read(run), await journal.inbox(run)) for run in RUNS}


async def serve_until_finished(engine, home, runs):
    """Run a host until these runs have finished."""
    async with home.hosting(engine):
        with trio.fail_after(20):
            for run in runs:
                while (await engine.journal.row(run)).summary.status != "finished":  # noqa: ASYNC110
                    await trio.sleep(0.01)


@pytest.mark.parametrize("version", range(1, schema.VERSION))
async def test_the_runs_of_an_earlier_journal_go_on_where_they_stopped(tmp_path, version):
    home, new, old = FakeHome(seconds=0.0), tmp_path / "new.sqlite3", tmp_path / "old.sqlite3"
    first_format = replace(PLANNING, codec=Codec(EVENTS, format=FIRST_FORMAT))  # Earlier journals know no other.
    schema.open_writer(new, None, 1.0).close()
    new.chmod(0o600)
    change(new, "UPDATE journal SET floor = ?", FIRST_CODEC)  # As in a file that an earlier release has made.
    async with open_engine(new, home, [first_format]) as engine:
        await make_runs(engine, home)
        contents = await content(engine.journal)
    assert [status for status, _, _ in contents.values()] == STATUS
    write_as(version, new, old)

    async with open_engine(old, home) as engine:
        assert await content(engine.journal) == contents
        assert (await engine.journal.due(10)).runs == DUE
        await serve_until_finished(engine, home, DUE)
        await engine.answer("silent/q1", "3.12", via="cli")
        assert all([(await engine.resume(run)).succeeded for run in ("silent", "parked")])
        result = await content(engine.journal)
        for run, (_, records, _) in result.items():
            for place in range(len(records)):
                assert await engine.journal.read(run, place) == records[place:]

    assert query(old, "PRAGMA user_version") == [(schema.VERSION,)]
    for run, (status, records, _) in result.items():
        before = contents[run][1]
        assert status == "finished"
        assert records[: len(before)] == before, "existing records do not change"
        nodes = [record.event.node for record in records if record.event.kind == "artifact_produced"]
        assert len(nodes) == len(set(nodes)), "no recorded artifact is requested again"
    for run in set(RUNS) - {"done"}:
        [(number,)] = query(old, f"SELECT id FROM runs WHERE run = '{run}'")
        packed = query(old, f"SELECT instr(body, x'0a') > 0 FROM events WHERE run = {number}")
        row_kinds = {bool(several) for (several,) in packed}
        # Rows of one record, and rows of several.
        assert True in row_kinds if version >= PACKED else row_kinds == {True, False}, (
            "rows of one record, and rows of several"
        )
