"""Reading an archive's file: all of it is verified first, line by line; then its runs can be read as from a journal."""

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, assert_never

import orjson

from runtime.core.errors import JournalDamaged, RunNotFound, UsageProblem
from runtime.core.events import Codec, Record
from runtime.journal import folder
from runtime.journal.archive.lines import (
    LINE,
    LINE_BYTES_MAX,
    Beginning,
    End,
    Line,
    Message,
    Run,
    RunEnd,
    Text,
)
from runtime.journal.archive.lines import Record as RecordLine
from runtime.journal.archive.store import RunHead
from runtime.journal.chain import Stored, Tip, decode, genesis, seal, verify
from runtime.journal.copying import RunCopy
from runtime.journal.kinds import Codecs, codec_of
from runtime.journal.port import Dead, HostRow, InboxItem, RunFilter, RunRow, nobody
from runtime.journal.versions import check_version

SUFFIX = ".replan.gz"
"""What the names of archives end with."""


class Contents(NamedTuple):
    """What a verified file holds."""

    runs: tuple[RunHead, ...]
    """Its runs: first the one that a person has started, then the runs of its steps."""
    records: int
    """How many records they have together."""
    messages: int
    """How many messages they have together."""

    @property
    def top(self) -> str:
        """The run that a person has started."""
        return self.runs[0].run


def verify_archive(path: Path, codecs: Codecs) -> Contents:
    """Verify all of a file: its sum, the chains, seals and texts of its runs, and that no part is missing.

    The memory holds one line at a time. Runs of kinds that are not known here are verified by their chains alone.
    Raises `JournalDamaged`, `JournalNewer`, and `UsageProblem` for a file that is no archive or cannot be read.
    """
    found, named, records, messages = list[RunHead](), tuple[str, ...](), 0, 0
    open_run: _Verified | None = None
    for place, line in _lines(path):
        where = f"{path}, line {place}"
        match line:
            case Beginning():
                named = line.runs
            case Run():
                if open_run is not None or line.run in [head.run for head in found]:
                    raise JournalDamaged(where, "a run begins where none may begin")
                known = codecs.get(line.kind)
                understood = known is not None and known.format >= line.format
                open_run = _Verified(line.head, known if understood else None)
            case Text() | RecordLine() | Message():
                if open_run is None:
                    raise JournalDamaged(where, "a line is outside of a run")
                open_run.add(line, where)
            case RunEnd():
                if open_run is None:
                    raise JournalDamaged(where, "a run ends that did not begin")
                open_run.end(line, where)
                found.append(open_run.head)
                records, messages, open_run = records + line.records, messages + line.messages, None
            case End():
                pass  # `_lines` has verified it.
            case _:
                assert_never(line)
    if open_run is not None or tuple(head.run for head in found) != named or not found:
        raise JournalDamaged(str(path), "runs are missing")
    return Contents(tuple(found), records, messages)


@dataclass
class _Verified:
    """Verifies one run as its lines come."""

    head: RunHead
    codec: Codec[Any] | None
    tip: Tip = field(init=False)
    texts: set[str] = field(default_factory=set)
    records: int = 0
    messages: int = 0

    def __post_init__(self) -> None:
        self.tip = Tip(0, genesis(self.head.kind, self.head.format))

    def add(self, line: Text | RecordLine | Message, where: str) -> None:
        match line:
            case Text():
                if hashlib.sha256(line.text.encode()).hexdigest() != line.hash:
                    raise JournalDamaged(where, "the text does not match its hash")
                self.texts.add(line.hash)
            case RecordLine():
                row = line.stored
                end = Tip(row.seq, row.hash)
                verify(self.head.run, self.tip, [row], end)
                for digest in self._names(row.body, where):
                    if digest not in self.texts:
                        raise JournalDamaged(where, f"its text {digest[:12]} is missing")
                self.tip, self.records = end, self.records + 1
            case Message():
                self.messages += 1
                if line.inbox != self.messages or seal(self.head.run, line.item).hex() != line.seal:
                    raise JournalDamaged(where, "the message does not match its hash")
            case _:
                assert_never(line)

    def end(self, line: RunEnd, where: str) -> None:
        counts = line.records, line.messages, line.texts
        if line.run != self.head.run or counts != (self.records, self.messages, len(self.texts)):
            raise JournalDamaged(where, "parts of the run are missing")
        if self.tip != self.head.tip or self.messages != self.head.last_posted:
            raise JournalDamaged(where, "the records do not lead to the run's last one, or messages are missing")

    def _names(self, body: bytes, where: str) -> list[str]:
        if self.codec is None:
            return []
        try:
            return self.codec.text_hashes(body)
        except (ValueError, KeyError, TypeError) as error:
            raise JournalDamaged(where, "the record is not an event that this release knows") from error


class ArchiveReader:
    """The reading half of a journal, over a file (`runtime.journal.port.Readable`)."""

    def __init__(self, path: Path, codecs: Codecs) -> None:
        """Verify a file. Raises as `verify_archive` does."""
        self._path, self._codecs, self.contents = path, codecs, verify_archive(path, codecs)

    async def row(self, run: str) -> RunRow:
        """As `Journal.row`."""
        return _row(self._head(run))

    async def runs(self, which: RunFilter) -> list[RunRow]:
        """As `Journal.runs`, the run that a person has started first."""
        rows = [_row(head) for head in self.contents.runs]
        before = which.waiting_since_before
        return [
            row
            for row in rows
            if which.status in (None, row.summary.status)
            and not which.asks  # All have finished.
            and row.title.startswith(which.title_start)
            and row.run.startswith(which.run_start)
            and (before is None or (row.summary.waiting_since is not None and row.summary.waiting_since < before))
        ][: max(0, which.limit)]

    async def read(self, run: str, after: int = 0) -> list[Record[Any]]:
        """As `Journal.read`."""
        head = self._head(run)
        copy = self.copy(run)
        codec = codec_of(self._codecs, run, head.kind, head.format)
        rows = copy.records[max(0, after) :]
        return decode(codec, run, rows, lambda digest: copy.texts.get(bytes.fromhex(digest)))

    async def inbox(self, run: str, after: int = 0) -> list[InboxItem]:
        """As `Journal.inbox`."""
        return [item for item in self.copy(run).inbox if item.inbox > after]

    async def hosts(self, *, dead: Dead = nobody) -> list[HostRow]:  # noqa: ARG002 -- the port's signature
        """Return none: nothing drives what is in a file."""
        return []

    def copy(self, run: str) -> RunCopy:
        """Return all of a run, verified. Raises `RunNotFound`, and as `verify_archive` where the file was changed."""
        head, inside = self._head(run), False
        rows, ends, inbox, texts = list[Stored](), set[int](), list[InboxItem](), dict[bytes, bytes]()
        for _, line in _lines(self._path):
            match line:
                case Run():
                    inside = line.run == run
                case RecordLine() if inside:
                    rows.append(line.stored)
                    ends |= {line.seq} if line.last else set()
                case Message() if inside:
                    inbox.append(line.item)
                case Text() if inside:
                    texts[bytes.fromhex(line.hash)] = line.text.encode()
                case _:
                    pass
        verify(run, Tip(0, genesis(head.kind, head.format)), rows, head.tip)
        fields = head.run, head.title, head.kind, head.format, head.created, head.updated, head.summary
        return RunCopy(*fields, head.epoch, head.account, head.placement, rows, frozenset(ends), inbox, texts)

    def _head(self, run: str) -> RunHead:
        for head in self.contents.runs:
            if head.run == run:
                return head
        raise RunNotFound(run, cause=f"{self._path} has no run {run!r}")


def _row(head: RunHead) -> RunRow:
    return RunRow(
        *(head.run, head.title, head.created, head.updated, head.tip.seq, head.summary, None, head.epoch),
        kind=head.kind,
        format=head.format,
        placement=head.placement,
    )


def _lines(path: Path) -> Iterator[tuple[int, Line]]:
    """Yield the lines with their numbers; the last one is verified. Raises as `verify_archive` does."""
    digest, count, ended = hashlib.sha256(), 0, False
    with _explained(path), gzip.open(path) as file:
        while written := file.readline(LINE_BYTES_MAX):
            where = f"{path}, line {count + 1}"
            if ended:
                raise JournalDamaged(where, "there is more after the end")
            line = _begun(path, written) if count == 0 else _parsed(where, written)
            if isinstance(line, Beginning) != (count == 0):
                raise JournalDamaged(where, "the archive begins twice")
            if isinstance(line, End):
                ended = True
                if (line.lines, line.sha256) != (count, digest.hexdigest()):
                    raise JournalDamaged(where, "the lines do not match their sum")
            digest.update(written)
            count += 1
            yield count, line
    if not count:
        raise _no_archive(path)
    if not ended:
        raise JournalDamaged(str(path), "its end is missing")


def _parsed(where: str, written: bytes) -> Line:
    try:
        return LINE.validate_json(written)
    except ValueError:
        raise JournalDamaged(where, "the line is not one of an archive") from None


def _begun(path: Path, written: bytes) -> Line:
    """Return the first line. Raises `UsageProblem` for another file, `JournalNewer` for a later version."""
    try:
        first = orjson.loads(written)
    except ValueError:
        first = None
    if not isinstance(first, dict) or first.get("line") != "archive" or not isinstance(first.get("version"), int):
        raise _no_archive(path)
    check_version(str(path), first["version"])
    return _parsed(f"{path}, line 1", written)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except gzip.BadGzipFile as error:
        if "Not a gzipped file" in str(error):
            raise _no_archive(path) from None
        raise JournalDamaged(str(path), "the file was changed since it was written") from error
    except (EOFError, zlib.error) as error:
        raise JournalDamaged(str(path), "the file is cut off or was changed since it was written") from error
    except OSError as error:
        raise folder.explain(error, path, "name a file that `replan archive` has written") from error


def _no_archive(path: Path) -> UsageProblem:
    return UsageProblem("this is no archive", place=str(path), hint="name a file that `replan archive` has written")
