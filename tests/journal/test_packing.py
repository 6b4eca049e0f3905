"""Records that were appended together share a row; the chain gives their hashes back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.errors import JournalDamaged
from runtime.core.events import Codec
from runtime.journal.chain import GENESIS, Stored, Tip, link, verify
from runtime.journal.port import Fact
from runtime.journal.sqlite.rows import pack, unpack
from tests.contracts.toy_events import RUNNING, Noted, counted, driven
from tests.journal.behind import change, query


def chained(appends):
    """Return the records of appends, each a list of (body, inbox)."""
    seq, previous = 0, GENESIS
    appended = []
    for number, entries in enumerate(appends):
        rows = []
        for body, inbox in entries:
            seq += 1
            row = Stored(seq, 10.0 + number, 1, inbox, body, b"")
            previous = link(previous, "a", row)
            rows.append(row._replace(hash=previous))
        appended.append(rows)
    return appended


bodies = st.binary(max_size=6).map(lambda raw: raw.replace(b"\n", b""))
entries = st.tuples(bodies, st.none() | st.integers(1, 9))


@given(st.lists(st.lists(entries, min_size=1, max_size=4), max_size=4))
def test_what_was_packed_is_unpacked_as_it_was(appends):
    appended = chained(appends)
    packed = [row for rows in appended for row in pack(rows)]
    assert unpack("a", Tip(0, GENESIS), packed) == [row for rows in appended for row in rows]


def test_only_a_record_that_consumes_a_message_begins_a_row():
    (rows,) = chained([[(b"1", None), (b"2", None), (b"3", 7), (b"4", None)]])
    assert [(row.seq, row.inbox, row.body) for row in pack(rows)] == [(2, None, b"1\n2"), (4, 7, b"3\n4")]


def test_no_event_has_a_line_feed_in_its_stored_form():
    assert b"\n" not in Codec([Noted]).encode(Noted(text="two\nlines")).body


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), '2', '7') AS BLOB)",
        "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), char(10), ' ') AS BLOB)",
        "UPDATE events SET body = CAST(CAST(body AS TEXT) || char(10) || '{}' AS BLOB)",
        "UPDATE events SET at = at + 1",
        "UPDATE events SET seq = 2",
        "UPDATE events SET seq = 4",
        "UPDATE events SET hash = zeroblob(32)",
    ],
)
async def test_damage_to_a_row_of_several_records_is_noticed(open_journal, path, statement):
    async with open_journal() as journal:
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1, 2, 3), summary=RUNNING)
    change(path, statement)
    async with open_journal() as journal:
        for after in (0, 1, 2):
            with pytest.raises(JournalDamaged, match="run 'a', record"):
                await journal.read("a", after)


async def test_reading_begins_in_the_middle_of_a_row(open_journal, path):
    async with open_journal() as journal:
        epoch = await driven(journal, "a")
        await journal.append("a", after=0, epoch=epoch, facts=counted(1, 2, 3), summary=RUNNING)
        await journal.append("a", after=3, epoch=epoch, facts=[*counted(4), Fact(Noted(text="five"))], summary=RUNNING)
        whole = await journal.read("a")
        for after in range(6):
            assert await journal.read("a", after) == whole[after:]
    assert query(path, "SELECT seq FROM events ORDER BY seq") == [(3,), (5,)]


def test_the_last_record_of_a_row_keeps_the_hash_that_is_stored():
    (rows,) = chained([[(b"1", None), (b"2", None)]])
    (row,) = pack(rows)
    unpacked = unpack("a", Tip(0, GENESIS), [row._replace(hash=bytes(32))])
    with pytest.raises(JournalDamaged, match="record 2"):
        verify("a", Tip(0, GENESIS), unpacked, Tip(2, rows[-1].hash))
