"""The journal in SQLite on a disk that is small, full or failing."""

import itertools
from contextlib import closing, suppress
from pathlib import Path

import apsw
import pytest

from runtime.core.errors import (
    JournalError,
    JournalUnreadable,
    ReplanError,
    RunNotFound,
    StorageFull,
)
from runtime.core.machine import Summary
from runtime.journal.folder import USE_ANOTHER
from runtime.journal.port import Fact, RunFilter
from runtime.journal.sqlite import schema
from runtime.journal.sqlite.journal import open_sqlite
from tests.contracts.toy_events import CODEC, RUNNING, Counted, Noted, counted, driven, events
from tests.journal.behind import query


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
        for last in range(800 // runs):
            for run, epoch in epochs.items():
                event = Counted(number=last, label="x" * 160)
                await journal.append(run, after=last, epoch=epoch, facts=[Fact(event)], summary=RUNNING)
            sizes[(last + 1) * runs] = _pages(path)
    assert sizes[400] <= 2.1 * sizes[200]
    assert len(CODEC.encode(event).body) >= 200
    assert (sizes[800] - sizes[200]) / 600 <= 400


def _pages(path):
    ((count,),), ((size,),) = query(path, "PRAGMA page_count"), query(path, "PRAGMA page_size")
    return count * size


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
        with closing(apsw.Connection(str(path))) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(JournalError, match="another process"):
                await journal.create("a", "")
            assert await journal.runs(RunFilter()) == []
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
        with pytest.raises(JournalUnreadable, match="the disk is gone"):
            await journal.version()


def test_a_log_index_without_room_is_a_full_disk_and_another_fault_is_not(path):
    error = apsw.IOError("disk I/O error")
    error.extendedresult = apsw.SQLITE_IOERR_SHMSIZE
    assert isinstance(schema.explain(path, USE_ANOTHER, error), StorageFull)
    error.extendedresult = apsw.SQLITE_IOERR_FSYNC
    assert not isinstance(schema.explain(path, USE_ANOTHER, error), StorageFull)


@pytest.mark.parametrize("kind", [apsw.CantOpenError, apsw.PermissionsError, apsw.AuthError, apsw.ReadOnlyError])
def test_what_sqlite_may_not_open_is_told_with_its_place_and_what_to_do(path, kind):
    meaning = schema.explain(path, USE_ANOTHER, kind("unable to open"))
    assert isinstance(meaning, JournalUnreadable)
    assert str(meaning).startswith(f"{path}: unable to open (make the file and the files beside it writable")


async def test_a_journal_whose_log_cannot_be_opened_is_unreadable(written, open_journal, path):
    path.with_name(f"{path.name}-wal").mkdir()
    before = path.read_bytes()
    with pytest.raises(JournalUnreadable, match="unable to open"):
        async with open_journal():
            pass
    assert path.read_bytes() == before
