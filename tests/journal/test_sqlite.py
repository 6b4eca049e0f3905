"""The journal in SQLite keeps the contract, lives in a private place, and refuses what is not a journal."""

import os
import stat
import threading
from pathlib import Path

import apsw
import pytest
import trio

from runtime.core.clock import SystemClock
from runtime.core.errors import (
    JournalDamaged,
    JournalError,
    JournalNewer,
    JournalUnreadable,
    UsageProblem,
)
from runtime.journal.sqlite import schema
from runtime.journal.sqlite.journal import open_sqlite
from tests.contracts.journal import JournalContract
from tests.contracts.toy_events import CODEC
from tests.journal.behind import change


class TestSqlite(JournalContract):
    """The contract."""


def open_files():
    targets = []
    for entry in Path("/dev/fd").iterdir():
        try:
            targets.append(str(entry.readlink()))
        except OSError:
            continue
    return sorted(target for target in targets if "journal" in target)


@pytest.mark.parametrize("umask", [0o000, 0o077])
async def test_all_its_files_are_private(open_journal, path, umask):
    before = os.umask(umask)
    try:
        async with open_journal() as journal:
            await journal.create("a", "")
            modes = {found.name: stat.S_IMODE(found.stat().st_mode) for found in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {f"journal.sqlite3{suffix}": 0o600 for suffix in ("", "-wal", "-shm", "-anchors")}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_an_unsafe_folder_is_refused_before_anything_is_made(open_journal, path):
    path.parent.mkdir()
    path.parent.chmod(0o777)
    with pytest.raises(UsageProblem, match="other users can write"):
        async with open_journal():
            pass
    assert list(path.parent.iterdir()) == []


async def test_a_read_only_home_is_refused_in_one_clear_line(open_journal, monkeypatch):
    monkeypatch.setattr(os, "access", lambda _, mode: not mode & os.W_OK)
    with pytest.raises(UsageProblem, match="may not write in this folder") as caught:
        async with open_journal(use_another="set HOME_OF_IT to another folder"):
            pass
    assert "(set HOME_OF_IT to another folder)" in str(caught.value)


async def test_a_symbolic_link_to_a_journal_is_refused(written, path, clock):
    link = path.parent / "link.sqlite3"
    link.symlink_to(path)
    with pytest.raises(JournalUnreadable, match="symbolic link"):
        async with open_sqlite(link, CODEC, clock):
            pass


async def test_the_connection_is_durable_and_on_its_guard(written, path):
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "cell_size_check": 1,
        "trusted_schema": 0,
        "mmap_size": 0,
        "busy_timeout": 3_000,
    }
    connection = schema.open_writer(path, None, 3.0)
    assert {name: connection.pragma(name) for name in expected} == expected
    assert connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, -1) == 1
    connection.close()


async def test_a_reader_cannot_write(written, path):
    connection = schema.open_reader(path, None, 1.0)
    with pytest.raises(apsw.ReadOnlyError):
        connection.execute("DELETE FROM runs")
    connection.close()


async def test_a_sqlite_with_the_log_bug_is_refused(open_journal, monkeypatch):
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(UsageProblem, match="too old"):
        async with open_journal():
            pass


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to have a header\n" * 40, b"short"])
async def test_a_file_that_is_no_database_is_refused_and_left_alone(open_journal, path, content):
    path.parent.mkdir(mode=0o700)
    path.write_bytes(content)
    with pytest.raises(JournalDamaged, match=r"journal\.sqlite3"):
        async with open_journal():
            pass
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE theirs (x)", "PRAGMA application_id = 7", "PRAGMA user_version = 1"]
)
async def test_a_database_of_another_program_is_refused_and_left_alone(open_journal, path, statement):
    path.parent.mkdir(mode=0o700)
    change(path, statement)
    before = path.read_bytes()
    with pytest.raises(JournalDamaged, match="not a journal"):
        async with open_journal():
            pass
    assert path.read_bytes() == before


async def test_two_that_open_a_new_file_at_once_both_get_it(open_journal):
    opened = []

    async def use(run):
        async with open_journal() as journal:
            await journal.create(run, "")
            opened.append(run)

    async with trio.open_nursery() as nursery:
        for run in "abcd":
            nursery.start_soon(use, run)
    assert sorted(opened) == list("abcd")


async def test_nothing_is_left_open_whatever_happens_inside(open_journal):
    threads = threading.enumerate()
    async with open_journal() as journal:
        await journal.create("a", "")
        assert open_files()
    with pytest.raises(ZeroDivisionError):
        async with open_journal():
            raise ZeroDivisionError
    with trio.move_on_after(0.02):
        async with open_journal():
            await trio.sleep_forever()
    with trio.CancelScope() as scope:
        scope.cancel()
        async with open_journal() as journal:
            await journal.create("b", "")
    with pytest.raises(JournalError, match="closed"):
        await journal.row("a")
    assert threading.enumerate() == threads
    assert open_files() == []


async def test_an_opening_that_fails_leaves_nothing_open(written, open_journal, path):
    change(path, "PRAGMA user_version = 99")
    threads = threading.enumerate()
    for _ in range(3):
        with pytest.raises(JournalNewer):
            async with open_journal():
                pass
    assert threading.enumerate() == threads
    assert open_files() == []


@pytest.mark.parametrize("failing", ["foreign_keys", "query_only"])
async def test_a_connection_whose_settings_fail_is_closed(path, monkeypatch, failing):
    opened = []

    class Failing(apsw.Connection):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            opened.append(self)

        def pragma(self, name, *value):
            if name == failing:
                raise apsw.IOError("the disk is gone")
            return super().pragma(name, *value)

    monkeypatch.setattr(apsw, "Connection", Failing)
    with pytest.raises(JournalUnreadable, match="the disk is gone"):
        async with open_sqlite(path, CODEC, SystemClock()):
            raise AssertionError("it did not open")
    monkeypatch.undo()
    assert opened
    for connection in opened:
        with pytest.raises(apsw.ConnectionClosedError):
            connection.execute("SELECT 1")
