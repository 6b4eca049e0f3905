"""Writing runs into an archive's file: part by part, verified by their chains on the way, and durable at the end."""

import gzip
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from runtime.core.errors import JournalDamaged
from runtime.core.events import Codec
from runtime.journal.archive.lines import Beginning, End, Line, RunEnd, Text, message_line, record_line, run_line
from runtime.journal.chain import Tip, verify
from runtime.journal.folder import FILE_MODE
from runtime.journal.head import RunHead
from runtime.journal.kinds import Codecs, codec_of
from runtime.journal.port import InboxItem
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
        self.add(End(lines=self._count, sha256=self._hash.hexdigest()))


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
                    lines.add(Text(hash=digest, text=_text(store, run, row.seq, digest)))
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
