"""A home whose journal an earlier release has written: it is brought up to date, and its runs go on where they were."""

from contextlib import asynccontextmanager, closing
from itertools import chain

import apsw
import pytest
import trio

from actors.handlers.generators import FunctionGenerator
from actors.handlers.registry import Registry
from actors.planning.kind import CODEC
from replan.runs.engine import Engine
from replan.runs.options import DriveOptions
from runtime.core.clock import SystemClock
from runtime.drive.options import Stop
from runtime.journal.chain import GENESIS, Tip
from runtime.journal.port import RunFilter
from runtime.journal.sqlite import schema, statements
from runtime.journal.sqlite.journal import open_sqlite
from runtime.journal.sqlite.packing import unpack
from tests.host.stage import Stage, job
from tests.journal.behind import query

RUNS = ("done", "asks", "silent", "parked", "going", "admitted")
"""Finished; waiting, its answer not yet read; waiting; parked; left by a killed process; untouched."""
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
BOOKS = "calls, tokens, micro_usd, day, calls_before, micro_usd_before"


@asynccontextmanager
async def opened(path, stage):
    """Open an engine over the file; its steps are the stage's."""
    registry = Registry(
        guards={"toy": lambda _: stage.judge}, generators={"made": FunctionGenerator(stage.make, "made")}
    )
    async with open_sqlite(path, CODEC, SystemClock()) as journal:
        yield Engine(journal=journal, registry=registry, threads=False, environment={})


async def begun(engine, stage):
    """Have runs of all kinds."""
    await engine.begin(job("a", "b"), run="done")
    await engine.journal.post("done", "late", "{}")
    for run in ("asks", "silent"):
        stage.reject.append("requirements.missing")
        await engine.begin(job("a", "b"), run=run)
    await engine.answer("asks/q1", "the version is 3.12")
    await interrupted(engine, "parked", lambda stop, _: stop.requested.set())
    await interrupted(engine, "going", lambda _, scope: scope.cancel())
    await engine.admit(job("a", "b"), run="admitted")


async def interrupted(engine, run, act):
    """Begin a run, and stop it in some way when its first step has been asked for."""
    stop = Stop()
    with trio.CancelScope() as scope:

        def on_record(record, _):
            if record.event.kind == "generation_requested":
                act(stop, scope)

        await engine.begin(job("a", "b"), DriveOptions(stop, on_record), run=run)


def write_as(version, source, target):
    """Write a journal's content as a release of an earlier version did: at first each record in its own row."""
    with closing(apsw.Connection(str(source))) as new, closing(apsw.Connection(str(target))) as old, old:
        for statement in chain.from_iterable(schema.CHANGES[:version]):
            old.execute(statement)
        old.pragma("application_id", schema.APPLICATION_ID)
        old.pragma("user_version", version)
        later = {"agenda": "run, at", "unread": "run", "spending": "day, calls, micro_usd"} if version > 1 else {}
        names = COPIED | {"runs": f"{COPIED['runs']}, {BOOKS}"} if version > 1 else COPIED
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
    """Return what is to be read of each run: its row but for its driver, its records, verified, and its mail."""
    rows = {row.run: row for row in await journal.runs(RunFilter())}
    return {run: (rows[run].summary.status, await journal.read(run), await journal.inbox(run)) for run in RUNS}


async def served(engine, stage, runs):
    """Serve the home until these runs have finished."""
    async with stage.hosting(engine):
        with trio.fail_after(20):
            for run in runs:
                while (await engine.journal.row(run)).summary.status != "finished":  # noqa: ASYNC110
                    await trio.sleep(0.01)


@pytest.mark.parametrize("version", range(1, schema.VERSION))
async def test_the_runs_of_an_earlier_journal_go_on_where_they_were(tmp_path, version):
    stage, new, old = Stage(seconds=0.0), tmp_path / "new.sqlite3", tmp_path / "old.sqlite3"
    async with opened(new, stage) as engine:
        await begun(engine, stage)
        written = await content(engine.journal)
    assert [status for status, _, _ in written.values()] == STATUS
    write_as(version, new, old)

    async with opened(old, stage) as engine:
        assert await content(engine.journal) == written
        assert (await engine.journal.due(10)).runs == DUE
        await served(engine, stage, DUE)
        await engine.answer("silent/q1", "3.12")
        assert all([(await engine.resume(run)).succeeded for run in ("silent", "parked")])
        result = await content(engine.journal)
        for run, (_, records, _) in result.items():
            for place in range(len(records)):
                assert await engine.journal.read(run, place) == records[place:]

    assert query(old, "PRAGMA user_version") == [(schema.VERSION,)]
    for run, (status, records, _) in result.items():
        before = written[run][1]
        assert status == "finished"
        assert records[: len(before)] == before, "what was written stays as it was"
        made = [record.event.node for record in records if record.event.kind == "artifact_produced"]
        assert len(made) == len(set(made)), "what had come in was not asked for again"
    for run in set(RUNS) - {"done"}:
        [(number,)] = query(old, f"SELECT id FROM runs WHERE run = '{run}'")
        packed = query(old, f"SELECT instr(body, x'0a') > 0 FROM events WHERE run = {number}")
        found = {bool(several) for (several,) in packed}
        assert True in found if version >= PACKED else found == {True, False}, "rows of one record, and rows of several"
