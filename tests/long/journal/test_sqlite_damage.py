"""Damage to a journal in SQLite is noticed, and named."""

import itertools

import pytest

from runtime.core.errors import (
    JournalDamaged,
    ReplanError,
)
from runtime.journal.port import RunFilter
from tests.contracts.toy_events import CODEC, RUNNING, counted
from tests.journal.behind import change, query


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET seq = 9 WHERE seq = 2",
        "UPDATE events SET at = at + 1 WHERE seq = 2",
        "UPDATE events SET epoch = epoch + 1 WHERE seq = 2",
        "UPDATE events SET inbox = NULL WHERE seq = 2",
        "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'noted', 'moted') AS BLOB) WHERE seq = 2",
        "UPDATE events SET hash = zeroblob(32) WHERE seq = 2",
        "DELETE FROM events WHERE seq = 2",
        "UPDATE texts SET text = CAST('a text' AS BLOB)",
        "DELETE FROM texts",
    ],
)
async def test_a_changed_record_is_named(written, open_journal, path, statement):
    change(path, statement)
    async with open_journal() as journal:
        with pytest.raises(JournalDamaged, match="run 'a', record 2"):
            await journal.read("a")


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events WHERE seq = 3",
        "UPDATE events SET hash = zeroblob(32) WHERE seq = 3",
        "UPDATE runs SET last_seq = 2",
        "UPDATE runs SET last_hash = zeroblob(32)",
        "UPDATE runs SET last_hash = zeroblob(31)",
        "UPDATE runs SET run = 'b'",
    ],
)
async def test_a_cut_tail_or_a_changed_status_row_is_noticed(written, open_journal, path, statement):
    change(path, statement)
    async with open_journal() as journal:
        (row,) = await journal.runs(RunFilter())
        for after in (0, 1, 2):
            with pytest.raises(JournalDamaged, match=f"run {row.run!r}"):
                await journal.read(row.run, after)


@pytest.mark.parametrize("records", [0, 1])
@pytest.mark.parametrize("kind", ["planning", "negotiation"])
@pytest.mark.parametrize("statement", ["UPDATE runs SET kind = 'other'", "UPDATE runs SET format = 2"])
async def test_a_changed_kind_or_format_is_noticed(open_journal, path, kind, statement, records):
    codecs = {"planning": CODEC, "negotiation": CODEC, "other": CODEC}
    async with open_journal(codecs=codecs) as journal:
        await journal.create("a", "", kind)
        epoch = await journal.claim("a", "driver", 60.0)
        await journal.append("a", after=0, epoch=epoch, facts=counted(1, 2)[:records], summary=RUNNING)
    change(path, statement)
    async with open_journal(codecs=codecs) as journal:
        with pytest.raises(JournalDamaged, match="run 'a', record"):
            await journal.read("a")


@pytest.mark.parametrize("column", ["key", "body", "at", "seal"])
async def test_a_changed_message_is_noticed(written, open_journal, path, column):
    value = {"at": "at + 1", "seal": "zeroblob(32)"}.get(column, f"{column} || 'x'")
    change(path, f"UPDATE inbox SET {column} = {value}")
    async with open_journal() as journal:
        with pytest.raises(JournalDamaged, match="run 'a', posted message 1"):
            await journal.inbox("a")


async def test_every_flipped_byte_of_every_record_is_noticed(written, open_journal, path):
    whole = path.read_bytes()
    columns = [*query(path, "SELECT body, hash FROM events"), *query(path, "SELECT text FROM texts")]
    for value in itertools.chain(*columns):
        start = whole.index(value)
        for place in range(start, start + len(value)):
            path.write_bytes(_flipped(whole, place, 0x01 << place % 8))
            async with open_journal() as journal:
                with pytest.raises(JournalDamaged, match="run 'a', record"):
                    await journal.read("a")


async def test_a_flipped_byte_anywhere_never_gives_other_records(written, open_journal, path):
    """Whatever is flipped, what is read is the truth or a typed error; the step is prime, to hit all places."""
    whole = path.read_bytes()
    async with open_journal() as journal:
        truth = await journal.read("a")
    noticed = 0
    for place in range(0, len(whole), 181):
        path.write_bytes(_flipped(whole, place, 0xFF))
        try:
            async with open_journal() as journal:
                assert await journal.read("a") == truth
        except ReplanError:
            noticed += 1
        for beside in path.parent.glob("journal.sqlite3-*"):
            beside.unlink()
    assert noticed


def _flipped(whole, place, bits):
    changed = bytearray(whole)
    changed[place] ^= bits
    return bytes(changed)
