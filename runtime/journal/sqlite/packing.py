"""How SQLite's rows hold records: those that were appended together share one row.

A row has the place and the hash of its last record, the time and the epoch that all of them have, the message that the
first of them consumes, and their bodies with a line each. The hashes in between are not stored, for the chain gives
them again. A row of a single record, as earlier releases wrote them all, is the same thing.
"""

import struct
from collections.abc import Sequence
from typing import Any

from runtime.journal.chain import Stored, Tip, link

BETWEEN = b"\n"
"""Stands between two bodies. JSON as it is stored here is one line: a line feed in a text is written as `\\n`."""


def pack(rows: Sequence[Stored]) -> list[Stored]:
    """Return records of one append as rows. A record that consumes a message begins a row."""
    packed: list[list[Stored]] = []
    for row in rows:
        if packed and row.inbox is None:
            packed[-1].append(row)
        else:
            packed.append([row])
    return [group[-1]._replace(inbox=group[0].inbox, body=BETWEEN.join(row.body for row in group)) for group in packed]


def unpack(run: str, start: Tip, packed: Sequence[Stored]) -> list[Stored]:
    """Return the records that rows hold, after the one at `start`. Nothing is verified; every stored hash is kept."""
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
    # A damaged file can give a number where bytes were written.
    return body.split(BETWEEN) if isinstance(body, bytes) else [body]


def _link(previous: bytes, run: str, row: Stored) -> bytes:
    try:
        return link(previous, run, row)
    except (struct.error, TypeError):
        return b""  # As above; whoever verifies the last of the row will say so.
