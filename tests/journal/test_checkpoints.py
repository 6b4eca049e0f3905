"""The log is brought into the file as a whole: readers are waited for, and a failure is told and made good later."""

import threading
from contextlib import closing

import apsw
import pytest

from runtime.journal.sqlite import writer
from runtime.journal.sqlite.writer import Checkpointer


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.pragma("journal_mode", "wal")
        connection.execute("CREATE TABLE numbers (number INTEGER)")
    return path


@pytest.fixture
def writing(path, monkeypatch):
    monkeypatch.setattr(writer, "PAGES_MAX", 3)
    with closing(apsw.Connection(str(path))) as connection:
        yield connection


@pytest.fixture
def reading(path):
    with closing(apsw.Connection(str(path))) as connection:
        yield connection


def grow(connection, commits):
    for number in range(commits):
        connection.execute("INSERT INTO numbers VALUES (?)", (number,))


def look(connection):
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM numbers").fetchall()


def in_the_log(connection):
    """Return how many pages the log has, and how many of them are in the file as well."""
    return connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)


def test_a_log_that_has_grown_is_brought_in(writing):
    checkpointer = Checkpointer(writing)
    grow(writing, 2)
    assert not checkpointer.due
    grow(writing, 1)
    assert checkpointer.due
    checkpointer.run(writing)
    assert not checkpointer.due
    assert in_the_log(writing) == (3, 3)


def test_a_reader_is_waited_for_and_then_the_whole_log_is_in_the_file(writing, reading, monkeypatch):
    checkpointer = Checkpointer(writing)
    grow(writing, 2)
    look(reading)
    grow(writing, 2)
    monkeypatch.setattr(writer, "WAIT_MS", 10_000)
    leaving = threading.Timer(0.2, reading.execute, ["COMMIT"])
    leaving.start()
    checkpointer.run(writing)
    leaving.join()
    assert in_the_log(writing) == (4, 4)


def test_a_reader_that_does_not_leave_is_told_of_and_the_next_try_waits_for_a_longer_log(writing, reading, caplog):
    checkpointer = Checkpointer(writing)
    grow(writing, 2)
    look(reading)
    grow(writing, 2)
    checkpointer.run(writing)
    assert "journal.log_kept" in caplog.text
    assert not checkpointer.due
    grow(writing, 2)
    assert not checkpointer.due
    grow(writing, 1)
    assert checkpointer.due
    reading.execute("COMMIT")
    checkpointer.run(writing)
    assert in_the_log(writing) == (7, 7)
    assert not checkpointer.due
