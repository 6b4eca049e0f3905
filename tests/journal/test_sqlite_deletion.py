"""Deleting runs from the SQLite file: what is read while other processes have to wait, and what they add meanwhile."""

import itertools

import apsw
import pytest

from runtime.core.clock import SystemClock
from runtime.journal.port import NEW, Fact
from runtime.journal.sqlite.journal import open_sqlite
from runtime.journal.sqlite.raw import delete_runs, open_writer, survey, transaction
from tests.contracts.toy_events import CODEC, Noted

SHARED = "a text that another run comes to name"
OWN = "a text that only the deleted run names"
USE = ""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "journal.sqlite3"


def opened(path):
    return open_sqlite(path, CODEC, SystemClock())


def facts(*texts):
    return [Fact(Noted(text=text)) for text in texts]


async def filled(path, appends):
    """Make a run to delete, and ten others with so many records each."""
    async with opened(path) as journal:
        await journal.create("a", "deleted", facts=facts(OWN, SHARED))
        for number in range(10):
            run = f"other-{number}"
            await journal.create(run, "stays", facts=facts(run), owner="driver", ttl=60.0)
            for after in range(1, appends):
                await journal.append(run, after=after, epoch=1, facts=facts(f"{run}.{after}"), summary=NEW)


def texts(path):
    with open_writer(path, USE) as (connection, _):
        return {bytes(text).decode() for (text,) in connection.execute("SELECT text FROM texts")}


def rows_under_lock(path):
    """Delete the run, and return how many rows statements gave while the lock was held."""
    rows = itertools.count()
    with open_writer(path, USE) as (connection, noted):
        with connection:
            surveyed = survey(connection, ["a"])
        with transaction(connection):
            connection.trace_v2(apsw.SQLITE_TRACE_ROW, lambda _: next(rows))
            deleted = delete_runs(connection, ["a"], lambda _: None, surveyed, anchors=noted)
            connection.trace_v2(0, None)
        assert (deleted.runs, deleted.texts) == (1, 2)
    return next(rows)


async def test_the_rows_read_under_the_lock_do_not_grow_with_the_records_of_other_runs(tmp_path):
    counts = []
    for appends in (1, 40):
        path = tmp_path / str(appends) / "journal.sqlite3"
        await filled(path, appends)
        counts.append(rows_under_lock(path))
    assert counts[0] == counts[1] > 10  # A row for each run is read.


@pytest.mark.parametrize("where", ["a new run", "a run that goes on"])
async def test_a_text_that_another_run_names_after_the_survey_stays(path, where):
    await filled(path, 1)
    with open_writer(path, USE) as (connection, noted):
        with connection:
            surveyed = survey(connection, ["a"])
        async with opened(path) as journal:
            if where == "a new run":
                await journal.create("new", "names it", facts=facts(SHARED))
            else:
                await journal.append("other-3", after=1, epoch=1, facts=facts(SHARED), summary=NEW)
        with transaction(connection):
            deleted = delete_runs(connection, ["a"], lambda _: None, surveyed, anchors=noted)
    assert deleted.texts == 1
    assert SHARED in texts(path)
    assert OWN not in texts(path)


async def test_a_text_stays_that_a_run_names_under_the_number_of_one_that_was_deleted_meanwhile(path):
    async with opened(path) as journal:
        await journal.create("a", "deleted", facts=facts(OWN, SHARED))
        await journal.create("other", "stays", facts=facts("one", "two"))
    with open_writer(path, USE) as (connection, noted):
        with connection:
            surveyed = survey(connection, ["a"])
        with transaction(connection):  # As another run with the number of the one that the survey saw.
            body = next(body for (body,) in connection.execute("SELECT body FROM events WHERE run = 1"))
            connection.execute("UPDATE events SET body = ?, hash = ? WHERE run = 2", (body, bytes(32)))
            connection.execute("UPDATE runs SET last_hash = ? WHERE id = 2", (bytes(32),))
        with transaction(connection):
            deleted = delete_runs(connection, ["a"], lambda _: None, surveyed, anchors=noted)
    assert deleted.texts == 0
    assert {SHARED, OWN} <= texts(path)


async def test_a_journal_deletes_while_another_process_writes_during_the_survey(path, monkeypatch):
    await filled(path, 1)

    def surveying(connection, runs):
        found = survey(connection, runs)
        with open_writer(path, USE) as (other, _), transaction(other):  # It would wait, were the lock held.
            other.execute("UPDATE runs SET title = 'written' WHERE run = 'other-1'")
        return found

    monkeypatch.setattr("runtime.journal.sqlite.journal.survey", surveying)
    async with opened(path) as journal:
        assert (await journal.delete({"a": 2})).texts == 2
        assert (await journal.row("other-1")).title == "written"
