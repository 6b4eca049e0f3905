"""Anchors: the last record and message of each run, in a small file beside the journal and its write-ahead log.

The newest records of a journal are only in its write-ahead log. If this log is removed or cut, SQLite opens an earlier
state of the journal without an error. A driver would then use some request ids twice. So after each commit, the run's
slot in this file is overwritten. The slot has the number and the hash of the run's last record, and the id of its last
posted message. If the last record of a run has a lower number than its anchor, records of the run are missing.

A slot is overwritten after the commit, without `fsync`. After a loss of power, a slot may be older than the journal,
but never newer. A partly written slot fails its checksum and is ignored. The position of a slot is computed from the
run's number, and no later run gets the same number. If the file cannot be written, a warning is logged, and the journal
works without anchors.
"""

import os
import stat
import struct
import zlib
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from runtime.core.errors import JournalDamaged, JournalUnreadable
from runtime.journal.chain import Tip
from runtime.journal.folder import FILE_MODE

SUFFIX = "-anchors"

SLOT_BYTES = 128
NUMBERS_MAX = 10_000_000
"""The highest run number that has a slot in the file of anchors. The number is limited, because a damaged journal can
contain any number."""

_HEADER = b"replan anchors 1".ljust(SLOT_BYTES, b"\0")
_RECORD = struct.Struct(">Q32sB64s")
_MESSAGE = struct.Struct(">Q")
_SUM = struct.Struct(">I")
_MESSAGE_OFFSET = 112


class Anchor(NamedTuple):
    """The last record and the last posted message of a run, as recorded in the file of anchors."""

    run: str
    tip: Tip
    inbox: int


class Anchors:
    """The anchors of one journal. Without a file descriptor, the journal has no anchors, and nothing is written."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = descriptor

    def note(self, number: int, run: str, tip: Tip) -> None:
        """Write the number and the hash of a run's last record, after the record's commit."""
        name = run.encode()
        self._write(number, 0, _RECORD.pack(tip.seq, tip.hash, len(name), name))

    def note_message(self, number: int, inbox: int) -> None:
        """Write the id of a run's last posted message, after the message's commit."""
        self._write(number, _MESSAGE_OFFSET, _MESSAGE.pack(inbox))

    def clear(self, numbers: Iterable[int]) -> None:
        """Clear the slots of runs that will be deleted, durably.

        If the file cannot be written, it is no longer used. A run without a slot gets an empty slot. An empty slot
        shows that its number was used and that the run was deleted.
        """
        if self._descriptor is None:
            return
        try:
            for number in numbers:
                if 0 < number <= NUMBERS_MAX:
                    os.pwrite(self._descriptor, bytes(SLOT_BYTES), number * SLOT_BYTES)
            os.fsync(self._descriptor)
        except OSError as error:
            self._give_up(error)

    def get(self, number: int, run: str) -> Anchor | None:
        """Return the anchor of a run; None if the run has no valid anchor."""
        if self._descriptor is None or not 0 < number <= NUMBERS_MAX:
            return None
        try:
            anchor = _unpack(os.pread(self._descriptor, SLOT_BYTES, number * SLOT_BYTES))
        except OSError:
            return None
        return anchor if anchor is not None and anchor.run == run else None

    def without(self, known: Container[int]) -> dict[int, Anchor]:
        """Return the anchors of all runs except those whose numbers are in `known`, by number."""
        if self._descriptor is None:
            return {}
        content = os.pread(self._descriptor, (self.count + 1) * SLOT_BYTES, 0)
        others = (number for number in range(1, self.count + 1) if number not in known)
        slots = ((number, _unpack(content[number * SLOT_BYTES : (number + 1) * SLOT_BYTES])) for number in others)
        return {number: anchor for number, anchor in slots if anchor is not None}

    @property
    def kept(self) -> bool:
        """Whether the journal has a file of anchors."""
        return self._descriptor is not None

    @property
    def count(self) -> int:
        """The highest number of a run that has a slot."""
        if self._descriptor is None:
            return 0
        return max(
            0, min(NUMBERS_MAX, (os.fstat(self._descriptor).st_size - 1) // SLOT_BYTES)
        )  # The last slot may be incomplete.

    def _write(self, number: int, offset: int, content: bytes) -> None:
        if self._descriptor is None or not 0 < number <= NUMBERS_MAX:
            return
        try:
            os.pwrite(self._descriptor, content + _SUM.pack(zlib.crc32(content)), number * SLOT_BYTES + offset)
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._descriptor = None  # `open_anchors` closes it. An old slot only proves less.
        _warn(str(error))


def is_ahead(anchor: Anchor | None, tip: Tip) -> bool:
    """Return whether the anchor of a run that ends at `tip` proves that records are missing or replaced."""
    return anchor is not None and anchor.tip.seq >= tip.seq and anchor.tip != tip


def check(run: str, anchor: Anchor | None, tip: Tip) -> None:
    """Raise `JournalDamaged` if the anchor of a run that ends at `tip` proves that records are missing or replaced."""
    if anchor is None or not is_ahead(anchor, tip):
        return
    if anchor.tip.seq == tip.seq:
        raise JournalDamaged(f"run {run!r}, record {tip.seq}", "the record differs from the one that was written")
    lost = anchor.tip.seq - tip.seq
    what = "the run's last record is missing" if lost == 1 else f"the run's last {lost} records are missing"
    cause = f"{what}, because the write-ahead log beside the journal (-wal) was removed or cut"
    raise JournalDamaged(f"run {run!r}, record {anchor.tip.seq}", cause)


def check_not_lost(journal: Path) -> None:
    """Raise `JournalUnreadable` if the journal's file is missing or empty although the file of anchors names runs."""
    try:
        size = journal.stat().st_size
    except OSError:
        size = 0
    if size:
        return
    with open_anchors(journal, write=False) as noted:
        count = len(noted.without(()))
    if count:
        runs = "a run was" if count == 1 else f"{count} runs were"
        hint = f"restore a copy of the journal, or remove {journal.name}{SUFFIX} to begin with an empty one"
        raise JournalUnreadable(str(journal), f"the journal is missing or empty, but {runs} written to it", hint)


@contextmanager
def open_anchors(journal: Path, *, write: bool = True) -> Iterator[Anchors]:
    """Open the anchors of a journal for a `with` block.

    Make the file of anchors if it is missing. If the file cannot be opened or has another format, or is missing and
    `write` is false, the journal has no anchors.
    """
    descriptor = _open(journal.with_name(journal.name + SUFFIX), write=write)
    try:
        yield Anchors(descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _open(path: Path, *, write: bool) -> int | None:
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | (os.O_RDWR | os.O_CREAT if write else os.O_RDONLY)
    try:
        descriptor = os.open(path, flags, FILE_MODE)
    except OSError as error:
        if write:
            _warn(str(error))
        return None
    try:
        status = os.fstat(descriptor)
        ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        if ours and write and stat.S_IMODE(status.st_mode) != FILE_MODE:
            os.fchmod(descriptor, FILE_MODE)
        if ours and write and status.st_size == 0:
            os.pwrite(descriptor, _HEADER, 0)  # Another process may do the same at the same time.
        if ours and os.pread(descriptor, SLOT_BYTES, 0) == _HEADER:
            return descriptor
        reason = f"this release does not know the format of {path}"
    except OSError as error:
        reason = str(error)
    os.close(descriptor)
    _warn(reason)
    return None


def _unpack(slot: bytes) -> Anchor | None:
    record = _check(slot, 0, _RECORD.size)
    if record is None:
        return None
    seq, digest, size, name = _RECORD.unpack(record)
    message = _check(slot, _MESSAGE_OFFSET, _MESSAGE.size)
    run = name[:size].decode("ascii", "replace")
    return Anchor(run, Tip(seq, digest), 0 if message is None else _MESSAGE.unpack(message)[0])


def _check(slot: bytes, offset: int, size: int) -> bytes | None:
    """Return the `size` bytes at `offset` of a slot if the checksum after them is correct; otherwise None."""
    content, checksum = slot[offset : offset + size], slot[offset + size : offset + size + _SUM.size]
    whole = len(checksum) == _SUM.size and any(checksum) and _SUM.unpack(checksum)[0] == zlib.crc32(content)
    return content if whole else None


def _warn(reason: str) -> None:
    from runtime.logs import log  # noqa: PLC0415 -- a command that only reads is quick without it

    log.get_logger("journal").warning("journal.no_anchors", reason=reason)
