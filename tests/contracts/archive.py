"""What archiving promises whatever the journal: a fixture `url` names an empty one."""

import gzip
import json
import shutil
import tracemalloc
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from runtime.core.clock import SystemClock
from runtime.core.crash_points import install
from runtime.core.errors import (
    JournalDamaged,
    JournalNewer,
    RunExists,
    RunNotFound,
    UsageProblem,
)
from runtime.core.ledger import Amount
from runtime.core.machine import Summary
from runtime.journal.archive.reading import SUFFIX, ArchiveReader, verify_archive
from runtime.journal.archive.steps import archive_runs
from runtime.journal.port import Fact, RunFilter, nobody
from runtime.open_journal import open_journal
from runtime.open_offline import open_raw
from tests.contracts.toy_events import CODEC, Counted, Noted, counted

CODECS = {"planning": CODEC}
DONE = Summary("finished", "success", committed=Amount(3, 30, 300))
FAMILY = {"a": None, "a.child": "a"}
SHARED = "a text that two runs name"


def opened(url):
    return open_journal(url, CODEC, SystemClock())


async def filled(url):
    """Make a run with records, messages and texts, the run of a step of it, and another run."""
    async with opened(url) as journal:
        facts = [Fact(Noted(text="a text of its own \x1f\u2028")), Fact(Noted(text=SHARED)), *counted(3)]
        await journal.create("a", "the title", facts=facts, owner="driver", ttl=60.0)
        await journal.post("a", "key", 'body with "quotes" and é')
        await journal.append("a", after=3, epoch=1, facts=[Fact(Counted(number=4), inbox=1)], summary=DONE)
        await journal.release("a", 1)
        await journal.create("a.child", "below", facts=counted(1), summary=Summary("finished", "success"))
        await journal.create("b", "another", facts=[Fact(Noted(text=SHARED))])
        return await shown(journal, *FAMILY), await journal.spent_today()


async def shown(journal, *runs):
    """Return all that a reader sees of runs."""
    return [(await journal.row(run), await journal.read(run), await journal.inbox(run)) for run in runs]


async def ids(url):
    async with opened(url) as journal:
        return [row.run for row in await journal.runs(RunFilter())]


def archive(url, into, *families, dead=nobody):
    with open_raw(url) as store:
        return list(archive_runs(store, families or (FAMILY,), into, CODECS, dead=dead, release="0"))


def restore(url, path, codecs=CODECS):
    reader = ArchiveReader(path, codecs)
    with open_raw(url, make=True) as journal:
        return journal.add([(reader.copy(head.run), None) for head in reversed(reader.contents.runs)])


@contextmanager
def crash(label):
    """Raise at a crash point."""

    class Crash(BaseException):
        pass

    def reached(name):
        if name == label:
            raise Crash

    install(reached)
    try:
        with pytest.raises(Crash):
            yield
    finally:
        install(None)


def lines_of(path):
    return gzip.decompress(path.read_bytes()).splitlines(keepends=True)


def edited(path, edit):
    """Write the file with its lines changed, and a sum that fits them."""
    import hashlib

    lines = [json.loads(line) for line in lines_of(path)[:-1]]
    written = [json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in edit(lines)]
    end = {"line": "end", "lines": len(written), "sha256": hashlib.sha256(b"".join(written)).hexdigest()}
    path.write_bytes(gzip.compress(b"".join([*written, json.dumps(end).encode() + b"\n"])))


def of(lines, kind):
    return next(line for line in lines if line["line"] == kind)


def changing(line, /, **values):
    def edit(lines):
        of(lines, line).update(values)
        return lines

    return edit


def without(kind):
    return lambda lines: [line for line in lines if line is not of(lines, kind)]


EDITS = {
    "a record's time": (changing("record", at=5.0), "does not match its hash"),
    "a record's body": (changing("record", body='{"kind":"counted","number":9}'), "does not match its hash"),
    "a message": (changing("message", body="another"), "the message does not match its hash"),
    "a text": (changing("text", text="another"), "the text does not match its hash"),
    "no text": (without("text"), "its text"),
    "no record": (without("record"), "the record is missing"),
    "no message": (without("message"), "parts of the run are missing"),
    "no end of a run": (without("run_end"), "a run begins where none may begin"),
    "no beginning of a run": (without("run"), "a line is outside of a run"),
    "another end": (changing("run", last_seq=3), "the records do not lead to the run's last one"),
    "another kind": (changing("run", kind="other"), "does not match its hash"),
    "a key that is not known": (changing("record", more=1), "the line is not one of an archive"),
    "a value of another type": (changing("record", seq="1"), "the line is not one of an archive"),
    "other runs": (changing("archive", runs=["a"]), "runs are missing"),
    "only half of it": (lambda lines: lines[: len(lines) // 2], "are missing"),
}


class ArchiveContract:
    """The suite."""

    @pytest.fixture
    def into(self, tmp_path):
        return tmp_path / "archive"

    @pytest.fixture
    def path(self, into):
        return into / f"a{SUFFIX}"

    async def test_archived_runs_are_read_as_before_and_are_gone_from_the_journal(self, url, into, path):
        before, spent = await filled(url)
        [done] = archive(url, into)
        assert (done.run, done.runs, done.path, done.size, done.problem) == ("a", 2, path, path.stat().st_size, "")
        reader = ArchiveReader(path, CODECS)
        assert await shown(reader, *FAMILY) == before
        assert [row.run for row in await reader.runs(RunFilter())] == ["a", "a.child"]
        assert await reader.hosts() == []
        assert [record.seq for record in await reader.read("a", 3)] == [4]
        assert [item.inbox for item in await reader.inbox("a", 1)] == []
        with pytest.raises(RunNotFound):
            await reader.row("b")
        async with opened(url) as journal:
            assert [row.run for row in await journal.runs(RunFilter())] == ["b"]
            assert [record.event.text for record in await journal.read("b")] == [SHARED]
            assert await journal.spent_today() == spent
        assert (path.stat().st_mode & 0o777, into.stat().st_mode & 0o777) == (0o600, 0o700)

    async def test_restored_runs_are_as_before_and_are_not_paid_twice(self, url, into, path):
        before, spent = await filled(url)
        archive(url, into)
        assert restore(url, path) == [True, True]
        assert restore(url, path) == [False, False]
        async with opened(url) as journal:
            assert await shown(journal, *FAMILY) == before
            assert await journal.spent_today() == spent
            epoch = await journal.claim("a", "another", 60.0)
            await journal.append("a", after=4, epoch=epoch, facts=counted(5), summary=DONE)
            await journal.release("a", epoch)
        assert restore(url, path) == [False, False]
        async with opened(url) as journal:
            assert len(await journal.read("a")) == 5
            await journal.delete({"a": 5})
            await journal.create("a", "a new run of the old name", facts=counted(9), summary=DONE)
        received, refused = restore(url, path)
        assert received is False
        assert isinstance(refused, RunExists)

    async def test_a_run_restored_elsewhere_is_counted_on_its_day(self, url, into, path, tmp_path):
        _, spent = await filled(url)
        archive(url, into)
        elsewhere = f"sqlite:{tmp_path / 'elsewhere' / 'journal.sqlite3'}"
        restore(elsewhere, path)
        async with opened(elsewhere) as journal:
            assert await journal.spent_today() == spent
        copied = into / "copied.gz"
        archive(elsewhere, into / "again")
        shutil.copy(into / "again" / path.name, copied)
        assert restore(url, copied) == [True, True]

    async def test_a_run_that_goes_on_meanwhile_stays(self, url, into, path, monkeypatch):
        """What is posted or appended between the reading and the deletion is not lost, and no old file is left."""
        await filled(url)
        with open_raw(url) as store:
            head, remove = store.head("a"), store.remove
            stale = [head._replace(last_posted=head.last_posted - 1)]
            monkeypatch.setattr(store, "remove", lambda heads, dead: remove(stale, dead))
            [done] = archive_runs(store, [FAMILY], into, CODECS, dead=nobody, release="0")
        assert "append after 4" in done.problem
        assert not path.exists()
        assert await ids(url) == ["b", "a.child", "a"]

    async def test_a_driven_run_stays(self, url, into, path):
        await filled(url)
        async with opened(url) as journal:
            await journal.claim("a.child", "somebody", 600.0)
        [done] = archive(url, into)
        assert "is driven by somebody" in done.problem
        assert not path.exists()

    async def test_one_that_cannot_be_archived_stops_no_other(self, url, into):
        await filled(url)
        done = archive(url, into, {"gone": None}, {"b": None}, FAMILY)
        assert [(each.run, each.problem) for each in done] == [("gone", "no run 'gone'"), ("b", ""), ("a", "")]
        assert await ids(url) == []

    async def test_an_old_file_of_the_same_run_is_written_anew(self, url, into, path):
        await filled(url)
        archive(url, into)
        old = path.read_bytes()
        restore(url, path)
        async with opened(url) as journal:
            epoch = await journal.claim("a", "another", 60.0)
            await journal.append("a", after=4, epoch=epoch, facts=counted(5), summary=DONE)
            await journal.release("a", epoch)
        [done] = archive(url, into)
        assert done.problem == ""
        assert path.read_bytes() != old
        assert [head.tip.seq for head in verify_archive(path, CODECS).runs] == [5, 1]

    async def test_the_archive_of_another_run_is_never_overwritten(self, url, into, path):
        await filled(url)
        archive(url, into)
        old = path.read_bytes()
        async with opened(url) as journal:
            await journal.create("a", "a new run of the old name", facts=counted(9), summary=DONE)
        [done] = archive(url, into, {"a": None})
        assert "an archive of another run 'a'" in done.problem
        assert path.read_bytes() == old
        assert await ids(url) == ["a", "b"]

    async def test_a_damaged_file_of_the_name_is_not_overwritten(self, url, into, path):
        await filled(url)
        into.mkdir(mode=0o700)
        path.write_bytes(gzip.compress(b'{"line":"archive","version":1,"release":"0","runs":["a"]}\n'))
        [done] = archive(url, into)
        assert "its end is missing" in done.problem
        assert len(await ids(url)) == 3

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (b"notes", "this is no archive"),
            (gzip.compress(b'{"line":"archive","version":99}\n'), "written by a newer release"),
        ],
        ids=["notes", "newer release"],  # Not the content: gzip writes the time into it.
    )
    async def test_another_file_of_the_name_is_kept_and_stops_no_other_run(self, content, problem, url, into, path):
        await filled(url)
        into.mkdir(mode=0o700)
        path.write_bytes(content)
        refused, done = archive(url, into, FAMILY, {"b": None})
        assert (refused.run, done.run, done.problem) == ("a", "b", "")
        assert problem in refused.problem
        assert path.read_bytes() == content
        assert await ids(url) == ["a.child", "a"]

    @pytest.mark.parametrize(
        "label", ["archive.written", "archive.verified", "archive.named", "archive.removing", "archive.removed"]
    )
    async def test_interrupted_anywhere_nothing_is_lost_and_a_repeat_finishes_it(self, label, url, into, path):
        before, _ = await filled(url)
        with crash(label):
            archive(url, into)
        if "a" in await ids(url):
            async with opened(url) as journal:
                assert await shown(journal, *FAMILY) == before
            assert [done.problem for done in archive(url, into)] == [""]
        assert await ids(url) == ["b"]
        assert await shown(ArchiveReader(path, CODECS), *FAMILY) == before
        assert sorted(each.name for each in into.iterdir()) == [".lock", path.name]

    async def test_a_long_run_needs_no_more_memory_than_a_part_of_it(self, url, into):
        """Archiving and verifying 40 MB takes a few MB: a part of the records, and one text."""
        text = "".join(chr(32 + number % 90) for number in range(500_000))
        async with opened(url) as journal:
            await journal.create("a", "long", facts=counted(0), owner="driver", ttl=600.0)
            for place in range(1, 81):
                facts = [Fact(Noted(text=f"{place}{text}")), *counted(*range(100))]
                after = 1 + (place - 1) * 101
                await journal.append("a", after=after, epoch=1, facts=facts, summary=DONE)
            await journal.release("a", 1)
        tracemalloc.start()
        try:
            [done] = archive(url, into, {"a": None})
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert done.problem == ""
        assert peak < 16_000_000

    async def test_only_one_process_archives_into_a_folder(self, url, into):
        await filled(url)
        with open_raw(url) as store:
            first = archive_runs(store, [{"b": None}, FAMILY, {"none": None}], into, CODECS, dead=nobody, release="0")
            assert next(first).run == "none"
            with pytest.raises(UsageProblem, match="another process is archiving into this folder"):
                archive(url, into)
            list(first)

    async def test_a_folder_that_others_may_write_is_refused(self, url, into):
        await filled(url)
        into.mkdir(mode=0o777)
        into.chmod(0o777)
        with pytest.raises(UsageProblem, match="other users may write"):
            archive(url, into)

    @pytest.mark.parametrize("edit", EDITS)
    async def test_a_file_that_was_edited_is_refused(self, edit, url, into, path):
        """Also with a sum that fits: the chain, the seals and the counts say so."""
        await filled(url)
        archive(url, into)
        change, cause = EDITS[edit]
        edited(path, change)
        with pytest.raises(JournalDamaged, match=cause) as caught:
            verify_archive(path, CODECS)
        assert str(caught.value).startswith((str(path), "run 'a'"))

    async def test_no_byte_of_a_file_can_change_unnoticed(self, url, into, path):
        await filled(url)
        archive(url, into)
        whole, before = path.read_bytes(), verify_archive(path, CODECS)
        for place in range(0, len(whole), 7):
            changed = bytearray(whole)
            changed[place] ^= 0x10
            path.write_bytes(changed)
            with suppress(JournalDamaged, JournalNewer, UsageProblem):
                assert verify_archive(path, CODECS) == before, place  # The header of gzip has a time and a system.
        for length in (0, 1, 11, len(whole) // 2, len(whole) - 1):
            path.write_bytes(whole[:length])
            with pytest.raises((JournalDamaged, UsageProblem)):
                verify_archive(path, CODECS)
        path.write_bytes(whole + gzip.compress(b'{"line":"archive"}\n'))
        with pytest.raises(JournalDamaged, match="there is more after the end"):
            verify_archive(path, CODECS)

    async def test_other_files_are_refused_by_a_line_that_says_what_they_are(self, url, tmp_path, into, path):
        plain = tmp_path / "plain.gz"
        for content in (b"no gzip", gzip.compress(b"text\n"), gzip.compress(b'["line"]\n'), b""):
            plain.write_bytes(content)
            with pytest.raises(UsageProblem, match="no archive"):
                verify_archive(plain, CODECS)
        for missing in (Path(tmp_path / "missing.gz"), tmp_path):
            with pytest.raises(UsageProblem):
                verify_archive(missing, CODECS)
        plain.write_bytes(gzip.compress(b'{"line":"archive","version":2,"more":1}\n'))
        with pytest.raises(JournalNewer, match="upgrade replan"):
            verify_archive(plain, CODECS)

    async def test_a_run_of_an_unknown_kind_stays_and_its_file_is_verified_by_its_chain(self, url, into, path):
        await filled(url)
        with open_raw(url) as store:
            [done] = archive_runs(store, [FAMILY], into, {}, dead=nobody, release="0")
        assert "which is not installed here" in done.problem
        archive(url, into)
        assert len(verify_archive(path, {}).runs) == 2

    async def test_the_size_of_a_run_counts_its_records_messages_and_texts(self, url):
        await filled(url)
        with open_raw(url) as store, store.look() as reader:
            sizes = {run: reader.size(run) for run in (*FAMILY, "b")}
        assert sizes["a"] > sizes["b"] > sizes["a.child"] > 0
        assert sizes["a"] > len(SHARED) + len("a text of its own") + len('body with "quotes" and é')
