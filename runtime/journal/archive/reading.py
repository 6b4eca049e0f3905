"""Reading an archive's file: all of it is verified first, line by line; then its runs can be read as from a journal."""

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, assert_never

from pydantic import ValidationError

from runtime.core.errors import JournalDamaged, RunNotFound, UsageProblem
from runtime.core.events import Codec
from runtime.journal import folder
from runtime.journal.archive.lines import (
    LINE,
    LINE_BYTES_MAX,
    Beginning,
    EndLine,
    Line,
    MessageLine,
    Opening,
    RecordLine,
    RunEnd,
    RunLine,
    TextLine,
)
from runtime.journal.chain import Stored, Tip, seal, verify
from runtime.journal.head import RunHead
from runtime.journal.kinds import Codecs
from runtime.journal.operations import ReadOperations
from runtime.journal.port import InboxItem
from runtime.journal.raw import Part, RunCopy, StoreReader, part_of
from runtime.journal.versions import check_version

T = TypeVar("T")

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
            case RunLine():
                if open_run is not None or line.run in [head.run for head in found]:
                    raise JournalDamaged(where, "a run begins where none may begin")
                known = codecs.get(line.kind)
                understood = known is not None and known.format >= line.format
                open_run = _Verified(line.head, known if understood else None)
            case TextLine() | RecordLine() | MessageLine():
                if open_run is None:
                    raise JournalDamaged(where, "a line is outside of a run")
                open_run.add(line, where)
            case RunEnd():
                if open_run is None:
                    raise JournalDamaged(where, "a run ends that did not begin")
                open_run.end(line, where)
                found.append(open_run.head)
                records, messages, open_run = records + line.records, messages + line.messages, None
            case EndLine():
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
        self.tip = self.head.start

    def add(self, line: TextLine | RecordLine | MessageLine, where: str) -> None:
        match line:
            case TextLine():
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
                self.head = self.head._replace(last_consumed=max(self.head.last_consumed, row.inbox or 0))
            case MessageLine():
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


class ArchiveReader(ReadOperations[Any]):
    """The reading half of a journal, over a file (`runtime.journal.port.Readable`)."""

    def __init__(self, path: Path, codecs: Codecs) -> None:
        """Verify a file. Raises as `verify_archive` does."""
        self._codecs, self.contents = codecs, verify_archive(path, codecs)
        self._file = _File(path, self.contents)

    async def _look(self, read: Callable[[StoreReader], T]) -> T:
        return read(self._file)

    def copy(self, run: str) -> RunCopy:
        """Return all of a run, verified. Raises `RunNotFound`, and as `verify_archive` where the file was changed."""
        return self._file.copy(run)


class _File(StoreReader):
    """What a verified file holds; the run that a person has started comes last, as when its runs are restored."""

    now = 0.0  # Nobody holds a run.

    def __init__(self, path: Path, contents: Contents) -> None:
        self._path, self._heads = path, {head.run: head for head in contents.runs}
        self._last: RunCopy | None = None

    def names(self, *, recorded: bool = False) -> list[str]:
        return [run for run in reversed(self._heads) if not recorded or self._heads[run].tip.seq]

    def head(self, run: str, *, asks: bool = False) -> RunHead:  # noqa: ARG002 -- a run that has ended asks nothing
        if run not in self._heads:
            raise RunNotFound(run, cause=f"{self._path} has no run {run!r}")
        return self._heads[run]

    def part(self, head: RunHead, after: int, rows: int | None = None) -> Part:
        copy = self.copy(head.run)
        return part_of(head, copy.records, copy.ends, after, rows)

    def messages(self, run: str, after: int, limit: int | None = None) -> list[InboxItem]:
        return [item for item in self.copy(run).inbox if item.inbox > after][:limit]

    def text(self, digest: str) -> bytes | None:
        name, copies = bytes.fromhex(digest), chain([self._last], map(self.copy, self._heads))
        return next((copy.texts[name] for copy in copies if copy is not None and name in copy.texts), None)

    def copy(self, run: str) -> RunCopy:
        """Return all of a run from one pass over the file; that of the last run is kept."""
        if self._last is not None and self._last.head.run == run:
            return self._last
        head, inside = self.head(run), False
        rows, ends, inbox, texts = list[Stored](), set[int](), list[InboxItem](), dict[bytes, bytes]()
        for _, line in _lines(self._path):
            match line:
                case RunLine():
                    inside = line.run == run
                case RecordLine() if inside:
                    rows.append(line.stored)
                    ends |= {line.seq} if line.last else set()
                case MessageLine() if inside:
                    inbox.append(line.item)
                case TextLine() if inside:
                    texts[bytes.fromhex(line.hash)] = line.text.encode()
                case _:
                    pass
        verify(run, head.start, rows, head.tip)
        self._last = RunCopy(head, rows, frozenset(ends), inbox, texts)
        return self._last


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
            if isinstance(line, EndLine):
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
        opening = Opening.model_validate_json(written)
    except ValidationError:
        raise _no_archive(path) from None
    check_version(str(path), opening.version)
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
