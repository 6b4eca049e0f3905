"""A write-ahead log that was removed or cut is noticed: a run whose tail is missing is damaged, and no other."""

import os
import shutil
from contextlib import asynccontextmanager

import pytest

from runtime.core.errors import JournalDamaged, JournalError, RunNotFound
from runtime.journal.chain import Tip
from runtime.journal.port import RunFilter, codecs_by_kind
from runtime.journal.sqlite.anchors import NUMBERS_MAX, SLOT_BYTES, SUFFIX, Anchors, open_anchors
from runtime.journal.sqlite.journal import open_sqlite
from runtime.journal.sqlite.raw import open_inspection
from runtime.journal.sqlite.reading import open_to_read, run_without_loop
from tests.contracts.toy_events import CODEC, RUNNING, ManualClock, counted, events

HASH = bytes(range(32))
LOST = (
    r"the run's last 2 records are missing, because the write-ahead log beside the journal \(-wal\) was removed or cut;"
    " restore a"
)


@asynccontextmanager
async def opened(path):
    async with open_sqlite(path, CODEC, ManualClock()) as journal:
        yield journal


async def write(journal, run, number):
    """Append a record to a run that was admitted with one."""
    epoch = await journal.claim(run, "driver", 60.0)
    await journal.append(run, after=number - 1, epoch=epoch, facts=counted(number), summary=RUNNING)
    await journal.release(run, epoch)


async def leave_behind(path, target, *, wal=0.0):
    """Write to the journal, and copy it as it is then with only this share of its write-ahead log."""
    async with opened(path) as journal:
        for run in ("whole", "cut"):
            await journal.create(run, "", facts=counted(1))
    async with opened(path) as journal:  # What was written before is not in the log any more.
        for number in (2, 3):
            await write(journal, "cut", number)
        await journal.post("cut", "key", "body")
        await journal.create("gone", "", facts=counted(1))
        target.mkdir(mode=0o700)
        for suffix in ("", SUFFIX, "-wal"):
            shutil.copy(f"{path}{suffix}", target / f"{path.name}{suffix}")
    log = target / f"{path.name}-wal"
    if wal:
        os.truncate(log, int(log.stat().st_size * wal))
    else:
        log.unlink()
    return target / path.name


@pytest.fixture
async def behind(tmp_path):
    """A journal whose write-ahead log was removed."""
    return await leave_behind(tmp_path / "journal", tmp_path / "copy")


async def test_a_run_without_its_tail_is_damaged_and_never_claimed(behind):
    async with opened(behind) as journal:
        for call in (journal.read("cut"), journal.read("cut", 1), journal.claim("cut", "driver", 60.0)):
            with pytest.raises(JournalDamaged, match=LOST):
                await call
        assert (await journal.row("cut")).owner is None


async def test_the_other_runs_go_on(behind):
    async with opened(behind) as journal:
        await write(journal, "whole", 2)
        assert len(await events(journal, "whole")) == 2
        assert {row.run for row in await journal.runs(RunFilter())} == {"whole", "cut"}
        await journal.create("new", "", facts=counted(1))
        await write(journal, "new", 2)
    async with opened(behind) as journal:
        with pytest.raises(JournalDamaged, match=LOST):
            await journal.read("cut")


async def test_a_run_that_is_gone_is_not_admitted_again(behind):
    for place in range(2):
        async with opened(behind) as journal:
            with pytest.raises(RunNotFound):
                await journal.read("gone")
            with pytest.raises(JournalDamaged, match="all of its records are missing"):
                await journal.create("gone", "", facts=counted(1))
            await journal.create(
                f"new{place}", "", facts=counted(1)
            )  # It does not take the place of the run that is gone.


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
async def test_a_log_that_was_cut_is_noticed(tmp_path, share):
    path = await leave_behind(tmp_path / "journal", tmp_path / "copy", wal=share)
    async with opened(path) as journal:
        assert len(await events(journal, "whole")) == 1
        damaged = 0
        for call in (journal.read("cut"), journal.create("gone", "", facts=counted(1))):
            try:
                await call
            except JournalError:
                damaged += 1
        assert damaged > 0


async def test_a_tail_that_was_written_anew_is_noticed(tmp_path, behind):
    without = tmp_path / "without" / "journal"
    without.parent.mkdir(mode=0o700)
    shutil.copy(behind, without)
    async with open_sqlite(without, CODEC, ManualClock()) as journal:
        for number in (20, 30):
            epoch = await journal.claim("cut", "driver", 60.0)
            await journal.append("cut", after=number // 10 - 1, epoch=epoch, facts=counted(number), summary=RUNNING)
            await journal.release("cut", epoch)
    shutil.copy(f"{behind}{SUFFIX}", f"{without}{SUFFIX}")
    async with opened(without) as journal:
        with pytest.raises(JournalDamaged, match="the record differs from the one that was written"):
            await journal.claim("cut", "driver", 60.0)


async def test_without_its_anchors_the_earlier_state_is_accepted(behind):
    """For a user who has no copy, and knows that request ids are used again."""
    behind.with_name(behind.name + SUFFIX).unlink()
    async with opened(behind) as journal:
        await write(journal, "cut", 2)
        assert len(await events(journal, "cut")) == 2


async def test_anchors_that_cannot_be_kept_do_not_hold_a_journal_up(tmp_path, caplog):
    (tmp_path / f"journal{SUFFIX}").mkdir()
    async with opened(tmp_path / "journal") as journal:
        await journal.create("a", "", facts=counted(1))
        await write(journal, "a", 2)
    assert "journal.no_anchors" in caplog.text


async def deleted(path):
    async with opened(path) as journal:
        for run in ("kept", "deleted"):
            await journal.create(run, "", facts=counted(1))
            await journal.post(run, "key", "body")
        await journal.delete({"deleted": 1})


def anchored(path):
    with open_anchors(path, write=False) as anchors:
        return [anchor.run for anchor in anchors.without(()).values()]


async def test_a_deleted_run_has_no_anchor_and_can_be_admitted_again(tmp_path):
    path = tmp_path / "journal"
    await deleted(path)
    assert anchored(path) == ["kept"]
    async with opened(path) as journal:
        await journal.create("deleted", "", facts=counted(1))
        await write(journal, "deleted", 2)
        assert len(await events(journal, "deleted")) == 2
    assert anchored(path) == ["kept", "deleted"]
    with open_inspection(path, 0.0, "") as inspection:
        assert inspection.lost == []


async def test_a_process_that_dies_before_the_commit_of_a_deletion_leaves_the_run_readable(tmp_path, monkeypatch):
    """Its anchor is cleared first; the next records write it anew."""
    path = tmp_path / "journal"

    def cleared(anchors, numbers):
        clear(anchors, numbers)
        raise OSError("killed")

    clear = Anchors.clear
    monkeypatch.setattr(Anchors, "clear", cleared)
    with pytest.raises(JournalError, match="killed"):
        await deleted(path)
    assert anchored(path) == ["kept"]
    async with opened(path) as journal:
        assert len(await events(journal, "deleted")) == 1
        await write(journal, "deleted", 2)
    assert anchored(path) == ["kept", "deleted"]


async def test_a_reader_without_threads_notices_a_tail_that_is_missing(behind):
    with open_to_read(behind, codecs_by_kind(CODEC), lambda: 0.0) as reader:
        assert len(run_without_loop(reader.read("whole"))) == 1
        with pytest.raises(JournalDamaged, match=LOST):
            run_without_loop(reader.read("cut"))


@pytest.mark.parametrize("content", [b"another file", b"x" * 1_000])
async def test_a_file_of_another_form_is_left_as_it_is(tmp_path, content, caplog):
    path = tmp_path / f"journal{SUFFIX}"
    path.write_bytes(content)
    async with opened(tmp_path / "journal") as journal:
        await journal.create("a", "", facts=counted(1))
    assert path.read_bytes() == content
    assert "journal.no_anchors" in caplog.text


async def test_a_symbolic_link_is_not_followed(tmp_path):
    target = tmp_path / "precious"
    (tmp_path / f"journal{SUFFIX}").symlink_to(target)
    async with opened(tmp_path / "journal") as journal:
        await journal.create("a", "", facts=counted(1))
    assert not target.exists()


async def test_the_file_of_anchors_is_made_private(tmp_path):
    (tmp_path / f"journal{SUFFIX}").touch(mode=0o644)
    async with opened(tmp_path / "journal") as journal:
        await journal.create("a", "", facts=counted(1))
    assert (tmp_path / f"journal{SUFFIX}").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("place", [0, 7, 8, 39, 40, 41, 60, 104, 105, 108])
def test_a_torn_slot_says_nothing(tmp_path, place):
    with open_anchors(tmp_path / "journal") as anchors:
        anchors.note(3, "k7m2x9qa", Tip(5, HASH))
        anchors.note_message(3, 2)
        assert anchors.get(3, "k7m2x9qa") == ("k7m2x9qa", Tip(5, HASH), 2)
        content = bytearray((tmp_path / f"journal{SUFFIX}").read_bytes())
        content[3 * SLOT_BYTES + place] ^= 0xFF
        (tmp_path / f"journal{SUFFIX}").write_bytes(content)
        assert anchors.get(3, "k7m2x9qa") is None
        assert anchors.without(()) == {}


def test_the_slot_of_another_run_says_nothing(tmp_path):
    with open_anchors(tmp_path / "journal") as anchors:
        anchors.note(1, "k7m2x9qa", Tip(5, HASH))
        assert anchors.get(1, "another0") is None
        assert anchors.get(2, "k7m2x9qa") is None


@pytest.mark.parametrize("number", [0, -1, NUMBERS_MAX + 1, 2**62])
def test_a_number_that_no_run_has_gets_no_slot(tmp_path, number):
    with open_anchors(tmp_path / "journal") as anchors:
        anchors.note(number, "a", Tip(5, HASH))
        assert anchors.get(number, "a") is None
        assert anchors.count == 0


def test_the_longest_id_of_a_run_fits(tmp_path):
    with open_anchors(tmp_path / "journal") as anchors:
        anchors.note(1, "a" * 64, Tip(2**63, HASH))
        assert anchors.get(1, "a" * 64) == ("a" * 64, Tip(2**63, HASH), 0)
