"""The journal in SQLite keeps the contract, refuses what is not a journal, and notices damage."""

import itertools
import os
import stat
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import apsw
import pytest
import trio

from runtime.errors import (
    JournalDamaged,
    JournalError,
    JournalNewer,
    ReplanError,
    RunNotFound,
    StorageFull,
    UsageProblem,
)
from runtime.journal import schema, statements
from runtime.journal.port import Fact, RunFilter
from runtime.journal.sqlite import open_sqlite
from runtime.machine import Summary
from tests.contracts.journal import CODEC, RUNNING, Counted, HandClock, JournalContract, Noted, counted, driven, events


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "journal.sqlite3"


@pytest.fixture
def open_journal(path, clock):
    return partial(open_sqlite, path, CODEC, clock)


@pytest.fixture
async def written(open_journal):
    """A journal of one run with three records, a text and a posted message, closed."""
    async with open_journal() as journal:
        epoch = await driven(journal, "a")
        await journal.post("a", "key", "the message")
        facts = [*counted(1), Fact(Noted(text="the text"), inbox=1), *counted(3)]
        await journal.append("a", after=0, epoch=epoch, facts=facts, summary=RUNNING)


class TestSqlite(JournalContract):
    """The contract."""


def change(path, statement, *bindings):
    """Change the file behind the journal's back."""
    connection = apsw.Connection(str(path))
    connection.execute(statement, bindings)
    connection.close()


def query(path, statement):
    connection = apsw.Connection(str(path))
    rows = list(connection.execute(statement))
    connection.close()
    return rows


def open_files():
    targets = []
    for entry in Path("/dev/fd").iterdir():
        try:
            targets.append(str(entry.readlink()))
        except OSError:
            continue
    return sorted(target for target in targets if "journal" in target)


# Where it lives and how it is opened.


@pytest.mark.parametrize("umask", [0o000, 0o077])
async def test_all_its_files_are_private(open_journal, path, umask):
    before = os.umask(umask)
    try:
        async with open_journal() as journal:
            await journal.create("a", "")
            modes = {found.name: stat.S_IMODE(found.stat().st_mode) for found in path.parent.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"journal.sqlite3": 0o600, "journal.sqlite3-wal": 0o600, "journal.sqlite3-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


async def test_an_unsafe_folder_is_refused_before_anything_is_made(open_journal, path):
    path.parent.mkdir()
    path.parent.chmod(0o777)
    with pytest.raises(UsageProblem, match="other users may write"):
        async with open_journal():
            pass
    assert list(path.parent.iterdir()) == []


async def test_a_home_that_is_a_file_is_refused(open_journal, path):
    path.parent.write_text("not a folder")
    with pytest.raises(UsageProblem, match="not a folder"):
        async with open_journal():
            pass


async def test_a_read_only_home_is_refused_in_one_clear_line(open_journal, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UsageProblem, match="cannot be written") as caught:
        async with open_journal():
            pass
    assert "REPLAN_HOME" in str(caught.value)


async def test_a_symbolic_link_to_a_journal_is_refused(written, path, clock):
    link = path.parent / "link.sqlite3"
    link.symlink_to(path)
    with pytest.raises(UsageProblem, match="symbolic link"):
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


async def test_a_journal_of_a_newer_release_is_refused_and_left_alone(written, open_journal, path):
    change(path, f"PRAGMA user_version = {schema.VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(JournalNewer) as caught:
        async with open_journal():
            pass
    assert (caught.value.found, caught.value.known) == (schema.VERSION + 1, schema.VERSION)
    assert path.read_bytes() == before


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


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER theirs AFTER INSERT ON events BEGIN DELETE FROM runs; END",
        "CREATE TABLE theirs (x)",
        "DROP INDEX consumed",
    ],
)
async def test_a_journal_with_other_tables_is_refused(written, open_journal, path, statement):
    change(path, statement)
    with pytest.raises(JournalDamaged, match="the tables"):
        async with open_journal():
            pass


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


# Damage.


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET seq = 9 WHERE seq = 2",
        "UPDATE events SET at = at + 1 WHERE seq = 2",
        "UPDATE events SET epoch = epoch + 1 WHERE seq = 2",
        "UPDATE events SET inbox = NULL WHERE seq = 2",
        "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'noted', 'moted') AS BLOB) WHERE seq = 2",
        "UPDATE events SET hash = zeroblob(32) WHERE seq = 2",
        "DELETE FROM events WHERE seq = 2",
        "UPDATE texts SET text = CAST('a text' AS BLOB)",
        "DELETE FROM texts",
    ],
)
async def test_a_changed_record_is_named(written, open_journal, path, statement):
    change(path, statement)
    async with open_journal() as journal:
        with pytest.raises(JournalDamaged, match="run 'a', record 2"):
            await journal.read("a")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events WHERE seq = 3",
        "UPDATE events SET hash = zeroblob(32) WHERE seq = 3",
        "UPDATE runs SET last_seq = 2",
        "UPDATE runs SET last_hash = zeroblob(32)",
        "UPDATE runs SET last_hash = zeroblob(31)",
        "UPDATE runs SET run = 'b'",
    ],
)
async def test_a_cut_tail_or_a_changed_status_row_is_noticed(written, open_journal, path, statement):
    change(path, statement)
    async with open_journal() as journal:
        (row,) = await journal.runs(RunFilter())
        for after in (0, 1, 2):
            with pytest.raises(JournalDamaged, match=f"run {row.run!r}"):
                await journal.read(row.run, after)


@pytest.mark.parametrize("column", ["key", "body", "at", "seal"])
async def test_a_changed_message_is_noticed(written, open_journal, path, column):
    value = {"at": "at + 1", "seal": "zeroblob(32)"}.get(column, f"{column} || 'x'")
    change(path, f"UPDATE inbox SET {column} = {value}")
    async with open_journal() as journal:
        with pytest.raises(JournalDamaged, match="run 'a', posted message 1"):
            await journal.inbox("a")


async def test_every_flipped_byte_of_every_record_is_noticed(written, open_journal, path):
    whole = path.read_bytes()
    columns = [*query(path, "SELECT body, hash FROM events"), *query(path, "SELECT text FROM texts")]
    for value in itertools.chain(*columns):
        start = whole.index(value)
        for place in range(start, start + len(value)):
            path.write_bytes(_flipped(whole, place, 0x01 << place % 8))
            async with open_journal() as journal:
                with pytest.raises(JournalDamaged, match="run 'a', record"):
                    await journal.read("a")


async def test_a_flipped_byte_anywhere_never_gives_other_records(written, open_journal, path):
    """Whatever is flipped, what is read is the truth or a typed error; the step is prime, to hit all places."""
    whole = path.read_bytes()
    async with open_journal() as journal:
        truth = await journal.read("a")
    noticed = 0
    for place in range(0, len(whole), 61):
        path.write_bytes(_flipped(whole, place, 0xFF))
        try:
            async with open_journal() as journal:
                assert await journal.read("a") == truth
        except ReplanError:
            noticed += 1
        for beside in path.parent.glob("journal.sqlite3-*"):
            beside.unlink()
    assert noticed


def _flipped(whole, place, bits):
    changed = bytearray(whole)
    changed[place] ^= bits
    return bytes(changed)


# Space.


async def test_a_text_is_stored_once(open_journal, path):
    async with open_journal() as journal:
        for run in ("a", "b"):
            epoch = await driven(journal, run)
            facts = [Fact(Noted(text="the same")), Fact(Noted(text="the same")), Fact(Noted(text=f"own of {run}"))]
            await journal.append(run, after=0, epoch=epoch, facts=facts, summary=RUNNING)
    assert sorted(query(path, "SELECT text FROM texts")) == [(b"own of a",), (b"own of b",), (b"the same",)]


@pytest.mark.parametrize("runs", [1, 20])
async def test_storage_grows_with_the_events_and_by_few_bytes_each(open_journal, path, runs):
    sizes = {}
    async with open_journal() as journal:
        epochs = {f"run-{number}": await driven(journal, f"run-{number}") for number in range(runs)}
        for last in range(2_000 // runs):
            for run, epoch in epochs.items():
                event = Counted(number=last, label="x" * 160)
                await journal.append(run, after=last, epoch=epoch, facts=[Fact(event)], summary=RUNNING)
            sizes[(last + 1) * runs] = _pages(path)
    assert sizes[400] <= 2.1 * sizes[200]
    assert len(CODEC.encode(event).body) >= 200
    assert (sizes[2_000] - sizes[200]) / 1_800 <= 400


def _pages(path):
    ((count,),), ((size,),) = query(path, "PRAGMA page_count"), query(path, "PRAGMA page_size")
    return count * size


# A disk that fails, by way of a file system in Python.


class Disk(apsw.VFS):
    """The system's own files, but writing may find no room, syncing may fail, and any one operation may go wrong."""

    def __init__(self):
        self.opened, self.full, self.broken = set(), False, False
        self.operations, self.fail_at = 0, None
        super().__init__("test-disk", "")

    def xOpen(self, name, flags):  # noqa: N802
        self.opened.add(Path(name if isinstance(name, str) else name.filename()).name)
        return DiskFile(self, name, flags)

    def operate(self):
        """Count an operation, and fail if it is the one that shall."""
        self.operations += 1
        if self.operations == self.fail_at:
            raise apsw.IOError("this one goes wrong")


class DiskFile(apsw.VFSFile):
    def __init__(self, disk, name, flags):
        self.disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data, offset):  # noqa: N802
        if self.disk.full:
            raise apsw.FullError("no room")
        self.disk.operate()
        super().xWrite(data, offset)

    def xSync(self, flags):  # noqa: N802
        if self.disk.broken:
            raise apsw.IOError("the disk is gone")
        self.disk.operate()
        super().xSync(flags)


@pytest.fixture
def disk():
    disk = Disk()
    yield disk
    disk.unregister()


@pytest.fixture
async def on_disk(path, clock, disk):
    path.parent.mkdir()
    async with open_sqlite(path, CODEC, clock, vfs="test-disk") as journal:
        yield journal


async def test_another_file_system_can_be_named(on_disk, disk):
    epoch = await driven(on_disk, "a")
    await on_disk.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
    assert await events(on_disk, "a") == [Counted(number=1)]
    assert disk.opened >= {"journal.sqlite3", "journal.sqlite3-wal"}


async def test_an_unknown_file_system_is_an_error(path, clock):
    with pytest.raises(ReplanError, match="no-such-disk"):
        async with open_sqlite(path, CODEC, clock, vfs="no-such-disk"):
            pass


async def test_a_full_disk_is_named_and_nothing_is_half_written(on_disk, disk):
    epoch = await driven(on_disk, "a")
    facts = [Fact(Noted(text="x" * 1_000_000)), *counted(2)]
    disk.full = True
    with pytest.raises(StorageFull, match=r"journal\.sqlite3"):
        await on_disk.append("a", after=0, epoch=epoch, facts=facts, summary=Summary("finished"))
    with pytest.raises(StorageFull):
        await on_disk.post("a", "key", "body")
    disk.full = False
    assert await on_disk.read("a") == []
    assert (await on_disk.row("a")).summary == RUNNING
    assert await on_disk.inbox("a") == []
    await on_disk.append("a", after=0, epoch=epoch, facts=facts, summary=RUNNING)
    assert len(await on_disk.read("a")) == 2


async def test_a_disk_that_does_not_sync_acknowledges_nothing(on_disk, disk):
    epoch = await driven(on_disk, "a")
    disk.broken = True
    with pytest.raises(JournalError):
        await on_disk.append("a", after=0, epoch=epoch, facts=counted(1), summary=RUNNING)
    disk.broken = False
    last = (await on_disk.row("a")).last_seq
    await on_disk.append("a", after=last, epoch=epoch, facts=counted(2), summary=RUNNING)
    assert (await events(on_disk, "a"))[-1] == Counted(number=2)


async def test_whichever_write_or_sync_fails_what_was_acknowledged_is_kept(tmp_path, clock, disk):
    """Every operation on the disk fails once, each in a journal of its own."""
    failures = 0
    for fail_at in itertools.count(1):
        path = tmp_path / f"journal-{fail_at}.sqlite3"
        disk.operations, disk.fail_at = 0, fail_at
        acknowledged = await _work_until_it_fails(path, clock)
        if disk.operations < fail_at:
            break
        failures += 1
        async with open_sqlite(path, CODEC, clock, vfs="test-disk") as journal:
            try:
                stored = [event.number for event in await events(journal, "a")]
            except RunNotFound:
                stored = []
        assert stored[: len(acknowledged)] == acknowledged
        # A commit whose sync failed is neither promised nor denied, and no more than one can be in doubt.
        assert len(stored) - len(acknowledged) in {0, 2}
    assert failures > 20


async def _work_until_it_fails(path, clock):
    """Append pairs of numbers, two commits' worth; return those that were acknowledged."""
    acknowledged = []
    with suppress(JournalError):
        async with open_sqlite(path, CODEC, clock, vfs="test-disk") as journal:
            epoch = await driven(journal, "a")
            for last in (0, 2):
                facts = counted(last, last + 1)
                await journal.append("a", after=last, epoch=epoch, facts=facts, summary=RUNNING)
                acknowledged += [last, last + 1]
    return acknowledged


async def test_a_journal_that_another_process_keeps_busy_says_so(path, clock):
    async with open_sqlite(path, CODEC, clock, busy_seconds=0.01) as journal:
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalError, match="another process"):
            await journal.create("a", "")
        assert await journal.runs(RunFilter()) == []
        other.execute("ROLLBACK")
        other.close()
        await journal.create("a", "")


async def test_while_the_log_is_repaired_the_version_stays_and_other_faults_are_typed(open_journal):
    class Watching:
        error = apsw.BusyError("repairing")

        def pragma(self, _name):
            raise self.error

    async with open_journal() as journal:
        seen = await journal.version()
        journal._watching = Watching()
        await journal.create("a", "")
        assert await journal.version() == seen
        Watching.error = apsw.IOError("the disk is gone")
        with pytest.raises(JournalError, match="the disk is gone"):
            await journal.version()


def test_a_log_index_without_room_is_a_full_disk_and_another_fault_is_not(path):
    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_SHMSIZE
    assert isinstance(statements.explain(path, error), StorageFull)
    error.extendedresult = apsw.SQLITE_IOERR_FSYNC
    assert not isinstance(statements.explain(path, error), StorageFull)
