"""The order of the steps in which runs are archived, so that no run is lost whenever the program is killed.

A run and the runs of its steps are written to one file under a preliminary name; the file is made durable, read back
and verified, and gets its name. Only then are the runs deleted from the journal, in one transaction that finds them
as they were read. Killed before that, the program has left the runs in the journal, perhaps with a file: the same
command finds it, verifies it and goes on with the deletion, or writes it anew where the run has gone on meanwhile.
"""

import fcntl
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
from runtime.journal import folder
from runtime.journal.archive.reading import SUFFIX, Contents, verify_archive
from runtime.journal.archive.writing import write_archive
from runtime.journal.head import RunHead
from runtime.journal.kinds import Codecs
from runtime.journal.port import Dead
from runtime.journal.raw import RawStore

GROUP = 500
"""How many runs are deleted in one transaction, about: SQLite reads all records once before each."""

_GOES_ON = (Held, RunMoved, SequenceConflict)
_OF_A_RUN = (*_GOES_ON, JournalDamaged, RunExists, RunNotFound, KindUnknown)
"""The errors that are about one run; any other one ends the command."""

Family = Mapping[str, str | None]
"""Runs that are archived together: each with the run that it is a step of, the one without such a run first."""


@dataclass(frozen=True, slots=True)
class Archived:
    """What became of a run and the runs of its steps."""

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
    """Archive runs into a folder, and yield what became of each family. One that cannot be archived stops no other.

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
    """Delete families from the journal whose files are there; yield what became of each."""
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
