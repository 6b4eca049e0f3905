"""How rows of the SQLite file hold records: records that were appended together share a row.

A row has the place and the hash of its last record, the time and the epoch that all its records have, the message that
the first one consumes, and the bodies, one per line. The other hashes are not stored: they follow from the chain. A
row with a single record has the same form.
"""

import struct
from collections.abc import Sequence
from typing import Any

from runtime.journal.chain import Stored, Tip, link

BETWEEN = b"\n"
"""Separates two bodies. Stored JSON is a single line: a line feed in a text is written as `\\n`."""


def pack(rows: Sequence[Stored]) -> list[Stored]:
    """Return the records of one append as rows. A record that consumes a message starts a row."""
    packed: list[list[Stored]] = []
    for row in rows:
        if packed and row.inbox is None:
            packed[-1].append(row)
        else:
            packed.append([row])
    return [group[-1]._replace(inbox=group[0].inbox, body=BETWEEN.join(row.body for row in group)) for group in packed]


def unpack(run: str, start: Tip, packed: Sequence[Stored]) -> list[Stored]:
    """Return the records in rows, after the record at `start`. Nothing is verified; every stored hash is kept."""
    rows: list[Stored] = []
    previous = start.hash
    for last in packed:
        bodies = _lines(last.body)
        first = last.seq - len(bodies) + 1
        for place, body in enumerate(bodies):
            row = last._replace(seq=first + place, inbox=None if place else last.inbox, body=body)
            if row.seq < last.seq:
                row = row._replace(hash=_link(previous, run, row))
            rows.append(row)
            previous = row.hash
    return rows


def _lines(body: Any) -> list[Any]:
    # In a damaged file a column may have a value of another type.
    return body.split(BETWEEN) if isinstance(body, bytes) else [body]


def _link(previous: bytes, run: str, row: Stored) -> bytes:
    try:
        return link(previous, run, row)
    except (struct.error, TypeError):
        return b""  # As above; verifying the last record of the row will report it.
