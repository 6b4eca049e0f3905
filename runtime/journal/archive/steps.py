"""The order of the steps in which runs are archived, so that no run is lost whenever the program is killed.

A run and the runs of its steps are written to one file under a preliminary name; the file is made durable, read back
and verified, and gets its name. Only then are the runs deleted from the journal, in one transaction that finds them
as they were read. Killed before that, the program has left the runs in the journal, perhaps with a file: the same
command finds it, verifies it and goes on with the deletion, or writes it anew where the run has gone on meanwhile.
"""

import fcntl
import gzip
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runtime.core.crash_points import reached
from runtime.core.errors import (
    Held,
    JournalDamaged,
    JournalNewer,
    KindUnknown,
    RunExists,
    RunMoved,
    RunNotFound,
    SequenceConflict,
    UsageProblem,
)
from runtime.core.events import Codec
from runtime.journal import folder
from runtime.journal.archive.lines import (
    Beginning,
    EndLine,
    Line,
    RunEnd,
    TextLine,
    message_line,
    record_line,
    run_line,
)
from runtime.journal.archive.reading import SUFFIX, Contents, verify_archive
from runtime.journal.chain import Tip, verify
from runtime.journal.folder import FILE_MODE
from runtime.journal.head import RunHead
from runtime.journal.kinds import Codecs, codec_of
from runtime.journal.port import Dead, InboxItem
from runtime.journal.raw import PART, Part, RawStore

LEVEL = 6
"""How hard gzip tries."""


def write_archive(path: Path, store: RawStore, runs: Mapping[str, str | None], codecs: Codecs, release: str) -> None:
    """Write runs, each with the run that it is a step of, to a file that is durable then; an older file is replaced.

    At any time the memory holds one part of a run's records and one text. Raises `RunNotFound`, `JournalDamaged`,
    `KindUnknown` for a run whose events cannot be understood here, `OSError`.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=file, mtime=0) as packed:
            lines = _Lines(packed)
            lines.add(Beginning(release=release, runs=tuple(runs)))
            for run, parent in runs.items():
                head = store.head(run)
                _write_run(lines, store, head, parent, codec_of(codecs, run, head.kind, head.format))
            lines.end()
        file.flush()
        os.fsync(file.fileno())


class _Lines:
    """Adds lines to a file, and counts and hashes them."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file, self._hash, self._count = file, hashlib.sha256(), 0

    def add(self, line: Line) -> None:
        written = line.model_dump_json().encode() + b"\n"
        self._hash.update(written)
        self._count += 1
        self._file.write(written)

    def end(self) -> None:
        self.add(EndLine(lines=self._count, sha256=self._hash.hexdigest()))


def _write_run(lines: _Lines, store: RawStore, head: RunHead, parent: str | None, codec: Codec[object]) -> None:
    run = head.run
    lines.add(run_line(head, parent))
    messages, records = 0, 0
    while messages < head.last_posted and (items := _messages(store, run, messages)):
        for item in items:
            if item.inbox <= head.last_posted:
                lines.add(message_line(run, item))
        messages = min(items[-1].inbox, head.last_posted)
    tip, named = head.start, set[str]()
    while tip.seq < head.tip.seq:
        _, rows, ends = _part(store, head, tip.seq)
        rows = [row for row in rows if tip.seq < row.seq <= head.tip.seq]  # It may have been reopened just now.
        end = Tip(rows[-1].seq, rows[-1].hash) if rows else head.tip
        verify(run, tip, rows, end)
        for row in rows:
            for digest in _names(codec, run, row.seq, row.body):
                if digest not in named:
                    named.add(digest)
                    lines.add(TextLine(hash=digest, text=_text(store, run, row.seq, digest)))
            lines.add(record_line(row, last=row.seq in ends))
        tip, records = end, records + len(rows)
    if tip != head.tip:
        raise JournalDamaged(f"run {run!r}, record {head.tip.seq}", "the record does not match its hash")
    lines.add(RunEnd(run=run, records=records, messages=messages, texts=len(named)))


def _names(codec: Codec[object], run: str, seq: int, body: bytes) -> list[str]:
    try:
        return codec.text_hashes(body)
    except (ValueError, KeyError, TypeError) as error:
        where = f"run {run!r}, record {seq}"
        raise JournalDamaged(where, "the record is not an event that this release knows") from error


# Each is read in a snapshot of its own: what was appended does not change, and no transaction waits for the file.


def _messages(store: RawStore, run: str, after: int) -> list[InboxItem]:
    with store.look() as reader:
        return reader.messages(run, after, PART)


def _part(store: RawStore, head: RunHead, after: int) -> Part:
    with store.look() as reader:
        return reader.part(head, after, PART)


def _text(store: RawStore, run: str, seq: int, digest: str) -> str:
    where = f"run {run!r}, record {seq}"
    with store.look() as reader:
        text = reader.text(digest)
    if text is None:
        raise JournalDamaged(where, f"its text {digest[:12]} is missing")
    if hashlib.sha256(text).hexdigest() != digest:
        raise JournalDamaged(where, f"its text {digest[:12]} does not match its hash")
    return text.decode()


GROUP = 500
"""How many runs are deleted in one transaction, about: SQLite reads all records once before each."""

_GOES_ON = (Held, RunMoved, SequenceConflict)
_OF_A_RUN = (*_GOES_ON, JournalDamaged, RunExists, RunNotFound, KindUnknown)
"""The errors that are about one run; any other one ends the command."""

Family = Mapping[str, str | None]
"""Runs that are archived together: each with the run that it is a step of, the one without such a run first."""


@dataclass(frozen=True, slots=True)
class Archived:
    """The result of a run and the runs of its steps."""

    run: str
    """The id of the run that a person has started."""
    runs: int
    """How many runs they are together."""
    path: Path
    """The file."""
    size: int = 0
    """The file's size in bytes."""
    problem: str = ""
    """Why they were not archived; empty where they were."""


def archive_runs(
    store: RawStore, families: Iterable[Family], into: Path, codecs: Codecs, *, dead: Dead, release: str
) -> Iterator[Archived]:
    """Archive runs into a folder, and yield the result for each family. One that cannot be archived stops no other.

    Raises `UsageProblem` for a folder that is not safe, cannot be written or is in use, `StorageFull`.
    """
    folder.prepare_folder(into, "name another folder after --to")
    with _locked(into):
        written = list[tuple[Archived, Contents]]()
        for family in families:
            top, path = next(iter(family)), into / f"{next(iter(family))}{SUFFIX}"
            try:
                contents = _file_of(store, family, path, codecs, release)
            except OSError as error:
                raise folder.explain(error, path, "name another folder after --to") from error
            except (*_OF_A_RUN, JournalNewer, UsageProblem) as error:  # The last two are about a file of the name.
                yield Archived(top, len(family), path, problem=str(error))
                continue
            written.append((Archived(top, len(family), path, path.stat().st_size), contents))
            if sum(done.runs for done, _ in written) >= GROUP:
                yield from _removed(store, written, into, dead)
                written.clear()
        yield from _removed(store, written, into, dead)


def _file_of(store: RawStore, family: Family, path: Path, codecs: Codecs, release: str) -> Contents:
    """Return the verified contents of the file of a family; it is written unless it is there. Raises `JournalError`."""
    if os.path.lexists(path):
        contents = verify_archive(path, codecs)
        current = _is_current(store, contents.runs, path)
        if current and [head.run for head in contents.runs] == [*family]:
            return contents
    partial = path.with_name(f".{path.name}.partial")
    write_archive(partial, store, family, codecs, release)
    reached("archive.written")
    contents = verify_archive(partial, codecs)
    reached("archive.verified")
    partial.replace(path)
    return contents


def _is_current(store: RawStore, heads: Sequence[RunHead], path: Path) -> bool:
    """Tell whether runs in a file are as the journal has them. Raises `RunExists` for other runs of their names."""
    current = True
    for head in heads:
        try:
            now = store.head(head.run)
        except RunNotFound:
            raise _OtherRun(head.run, path) from None
        with store.look() as reader:
            rows = reader.part(now, head.tip.seq - 1, 1).rows
        if [row.hash for row in rows if row.seq == head.tip.seq] != [head.tip.hash]:
            raise _OtherRun(head.run, path)
        current &= (now.tip, now.last_posted) == (head.tip, head.last_posted)
    return current


class _OtherRun(RunExists):
    """There is an archive of another run with this id."""

    def __init__(self, run: str, path: Path) -> None:
        super().__init__(run)
        self.args = (f"{path}: this is an archive of another run {run!r}; move it away, or name another folder",)


def _removed(
    store: RawStore, written: Sequence[tuple[Archived, Contents]], into: Path, dead: Dead
) -> Iterator[Archived]:
    """Delete families from the journal whose files are there; yield the result for each."""
    if not written:
        return
    _sync(into)
    reached("archive.named")
    try:
        store.remove([head for _, contents in written for head in contents.runs], dead)
    except _OF_A_RUN as error:
        if len(written) > 1:
            for each in written:
                yield from _removed(store, [each], into, dead)
            return
        ((done, _),) = written
        if isinstance(error, _GOES_ON):
            done.path.unlink(missing_ok=True)  # The run is in the journal, and goes on there.
        yield Archived(done.run, done.runs, done.path, problem=str(error))
        return
    reached("archive.removed")
    yield from (done for done, _ in written)


@contextmanager
def _locked(into: Path) -> Iterator[None]:
    """Keep other processes from archiving into a folder. Raises `UsageProblem` where one does."""
    try:
        handle = os.open(into / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, folder.FILE_MODE)
    except OSError as error:
        raise folder.explain(error, into, "name another folder after --to") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            hint = "wait until it has ended, or name another folder"
            raise UsageProblem("another process is archiving into this folder", place=str(into), hint=hint) from None
        yield
    finally:
        os.close(handle)


def _sync(into: Path) -> None:
    handle = os.open(into, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
