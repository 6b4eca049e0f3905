"""Computes the hash chain of a run, and verifies records by the chain. Pure, and the same for every journal.

A record's hash is the SHA-256 of the previous record's hash, the run's id, and the record's fields. The fields are the
number, the time, the epoch, the id of the consumed message, and the event's stored body. Every field has a fixed width
or is preceded by its length, so no byte can move from one field to the next unnoticed. The body has the SHA-256 of each
text in place of the text, so the chain covers the texts too. The hash before the first record is a hash of the run's
kind and format. If the last records are missing, this is noticed, because the run's status row has the number and hash
of the last record.
"""

import hashlib
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from runtime.core.errors import JournalDamaged
from runtime.core.events import Codec, Record
from runtime.journal.port import InboxItem
from runtime.journal.validation import Entry

E = TypeVar("E")

GENESIS = bytes(32)
"""The first bytes of the data whose hash precedes the first record of a run."""

FIRST_EPOCH = 1

_PREVIOUS_AND_RUN = struct.Struct(">32sB")
_PLACE = struct.Struct(">QdQqQ")
_FORMAT_AND_KIND = struct.Struct(">QB")
_SIZES = struct.Struct(">qd3Q")
_NOT_CONSUMING = -1


class Stored(NamedTuple):
    """A stored record. `body` is the JSON of the event, with hashes in place of texts. `hash` has 32 bytes."""

    seq: int
    at: float
    epoch: int
    inbox: int | None
    body: bytes
    hash: bytes


class Tip(NamedTuple):
    """The end of a run's chain: the number and the hash of its last record."""

    seq: int
    hash: bytes


def genesis(kind: str, format: int) -> bytes:
    """Return the hash that precedes the first record of a run of this kind and format."""
    name = kind.encode()
    return hashlib.sha256(GENESIS + _FORMAT_AND_KIND.pack(format, len(name)) + name).digest()


def link(previous: bytes, run: str, row: Stored) -> bytes:
    """Return the hash that a record must have if the record before it has the hash `previous`.

    The record's own `hash` is not read.
    """
    name = run.encode()
    consumed = _NOT_CONSUMING if row.inbox is None else row.inbox
    place = _PLACE.pack(row.seq, row.at, row.epoch, consumed, len(row.body))
    return hashlib.sha256(_PREVIOUS_AND_RUN.pack(previous, len(name)) + name + place + row.body).digest()


def extend(run: str, tip: Tip, epoch: int, at: float, entries: Sequence[Entry[E]]) -> list[Stored]:
    """Return the entries in stored form, numbered and hashed as the records that follow the tip."""
    rows: list[Stored] = []
    seq, previous = tip
    for entry in entries:
        seq += 1
        previous = link(previous, run, Stored(seq, at, epoch, entry.inbox, entry.body, b""))
        rows.append(Stored(seq, at, epoch, entry.inbox, entry.body, previous))
    return rows


def records(run: str, entries: Sequence[Entry[E]], rows: Sequence[Stored]) -> list[Record[E]]:
    """Return the stored rows as records, with the events of `entries`, which has one entry for each row."""
    return [_record(run, row, entry.event) for entry, row in zip(entries, rows, strict=True)]


def verify(run: str, start: Tip, rows: Sequence[Stored], end: Tip) -> None:
    """Check that the rows form an unbroken chain from `start` to `end`.

    Raises `JournalDamaged` at the first bad row.
    """
    seq, previous = start
    for row in rows:
        seq += 1
        if row.seq != seq:
            raise JournalDamaged(_where(run, seq), "the record is missing")
        if not _follows(previous, run, row):
            raise JournalDamaged(_where(run, seq), "the record does not match its hash")
        previous = row.hash
    if (seq, previous) != end:
        raise JournalDamaged(
            _where(run, end.seq), f"the hash chain ends at record {seq} and does not match the status row"
        )


def decode(
    codec: Codec[E], run: str, rows: Sequence[Stored], text_of: Callable[[str], bytes | None]
) -> list[Record[E]]:
    """Return verified rows as records, after checking the hashes of the texts to which the rows refer.

    `text_of` takes the hash of a text in hex, and returns the UTF-8 bytes of the text. Raises `JournalDamaged`.
    """
    texts: dict[str, str] = {}
    decoded: list[Record[E]] = []
    for row in rows:
        try:
            for digest in codec.text_hashes(row.body):
                if digest not in texts:
                    texts[digest] = _verify(text_of(digest), digest, _where(run, row.seq))
            event = codec.decode(row.body, texts)
        except (ValueError, KeyError, TypeError) as error:
            raise JournalDamaged(_where(run, row.seq), "the record is not an event that this release knows") from error
        decoded.append(_record(run, row, event))
    return decoded


def _record(run: str, row: Stored, event: E) -> Record[E]:
    return Record(run, row.seq, row.at, row.epoch, event, row.hash.hex(), row.inbox)


def _where(run: str, seq: int) -> str:
    return f"run {run!r}, record {seq}"


def _follows(previous: bytes, run: str, row: Stored) -> bool:
    try:
        return link(previous, run, row) == row.hash
    except (struct.error, TypeError):
        # In a damaged file a column may have a value of another type.
        return False


def _verify(text: bytes | None, digest: str, where: str) -> str:
    if text is None:
        raise JournalDamaged(where, f"the record's text {digest[:12]} is missing")
    if hashlib.sha256(text).hexdigest() != digest:
        raise JournalDamaged(where, f"the record's text {digest[:12]} does not match its hash")
    return text.decode()


def seal(run: str, item: InboxItem) -> bytes:
    """Return the hash that is stored with a posted message, so that damage to the message is found."""
    fields = (run.encode(), item.key.encode(), item.body.encode())
    sizes = _SIZES.pack(item.inbox, item.at, *map(len, fields))
    return hashlib.sha256(sizes + b"".join(fields)).digest()
