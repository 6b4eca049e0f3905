"""The hash chain: every field counts, and no byte can move to a neighbouring field."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.errors import JournalDamaged
from runtime.journal.chain import GENESIS, Stored, Tip, decode, extend, genesis, link, seal, verify
from runtime.journal.port import Fact, InboxItem
from runtime.journal.validation import encode_facts
from tests.contracts.toy_events import CODEC, Counted, Noted

INTEGERS = st.integers(0, 2**63 - 1)

ROWS = st.builds(
    Stored,
    seq=INTEGERS,
    at=st.floats(allow_nan=False),
    epoch=INTEGERS,
    inbox=st.none() | INTEGERS,
    body=st.binary(max_size=40),
    hash=st.just(b""),
)


def chain(*numbers, run="a"):
    entries = encode_facts(CODEC, [Fact(Counted(number=number)) for number in numbers])
    return extend(run, Tip(0, GENESIS), 1, 1_000.0, entries)


def end_of(rows):
    return Tip(rows[-1].seq, rows[-1].hash)


@given(ROWS, ROWS, st.sampled_from(["a", "b", "ab"]), st.sampled_from(["a", "b", "ab"]))
def test_different_records_have_different_links(one, other, run, other_run):
    same = (run, repr(one)) == (other_run, repr(other))
    assert (link(GENESIS, run, one) == link(GENESIS, other_run, other)) == same


@given(ROWS, st.sampled_from(["seq", "at", "epoch", "inbox", "body"]), st.data())
def test_every_field_counts(row, name, data):
    changed = row._replace(**{name: getattr(data.draw(ROWS), name)})
    same = repr(row) == repr(changed)
    assert (link(GENESIS, "a", row) == link(GENESIS, "a", changed)) == same


def test_the_link_is_what_the_records_were_written_with():
    body = b'{"kind":"counted"}'
    place = b"".join(number.to_bytes(8, "big") for number in (3, 0x408F440000000000, 2, 2**64 - 1, len(body)))
    expected = hashlib.sha256(GENESIS + b"\x01a" + place + body).digest()
    assert link(GENESIS, "a", Stored(3, 1_000.5, 2, None, body, b"")) == expected


def test_the_first_record_follows_the_kind_and_the_format_of_its_run():
    named = bytes(32) + (2).to_bytes(8, "big") + b"\x08planning"
    assert genesis("planning", 2) == hashlib.sha256(named).digest()
    assert len({genesis(kind, format) for kind in ("planning", "other") for format in (1, 2, 300)}) == 6


def test_a_whole_chain_verifies_from_any_record():
    rows = chain(1, 2, 3)
    verify("a", Tip(0, GENESIS), rows, end_of(rows))
    for number, row in enumerate(rows, 1):
        verify("a", Tip(row.seq, row.hash), rows[number:], end_of(rows))


@pytest.mark.parametrize(
    ("spoil", "seq"),
    [
        (lambda rows: rows[:1] + rows[2:], 2),
        (lambda rows: rows[1:], 1),
        (lambda rows: rows[:2], 3),
        (list, 3),
        (lambda rows: [rows[1], rows[0], rows[2]], 1),
        (lambda rows: [rows[0], rows[1]._replace(seq=1), rows[2]], 2),
        (lambda rows: [*rows, rows[2]], 4),
        (lambda rows: chain(1, 2, 4), 3),
        (lambda rows: chain(1, 2, 3, run="b"), 1),
        (lambda rows: [rows[0], rows[1]._replace(body="text"), rows[2]], 2),
        (lambda rows: [rows[0], rows[1]._replace(body=None), rows[2]], 2),
        (lambda rows: [rows[0], rows[1]._replace(at=b"x"), rows[2]], 2),
        (lambda rows: [rows[0], rows[1]._replace(epoch=-1), rows[2]], 2),
        (lambda rows: [rows[0], rows[1]._replace(hash=None), rows[2]], 2),
    ],
)
def test_a_chain_that_was_touched_names_the_record(spoil, seq):
    rows = chain(1, 2, 3)
    spoiled = [] if spoil is list else spoil(rows)
    with pytest.raises(JournalDamaged, match=f"run 'a', record {seq}"):
        verify("a", Tip(0, GENESIS), spoiled, end_of(rows))


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"7", b'"x"', b"{}", b'{"kind":"unheard"}', b'{"kind":"counted"}', b"\xff"]
)
def test_a_body_that_is_no_event_is_damage(body):
    row = Stored(1, 0.0, 1, None, body, b"")
    with pytest.raises(JournalDamaged, match="run 'a', record 1"):
        decode(CODEC, "a", [row], {}.get)


def test_a_text_that_is_missing_or_changed_is_damage():
    (entry,) = encode_facts(CODEC, [Fact(Noted(text="truth"))])
    rows = extend("a", Tip(0, GENESIS), 1, 0.0, [entry])
    (digest,) = entry.texts
    assert decode(CODEC, "a", rows, entry.texts.get)[0].event == Noted(text="truth")
    for texts in ({}, {digest: b"lie"}, {digest: b"trut\xff"}, {digest: "truth"}, {digest: 7}):
        with pytest.raises(JournalDamaged, match="run 'a', record 1"):
            decode(CODEC, "a", rows, texts.get)


def test_an_equal_text_is_looked_up_once():
    entries = encode_facts(CODEC, [Fact(Noted(text="same"))] * 3)
    rows = extend("a", Tip(0, GENESIS), 1, 0.0, entries)
    asked = []

    def text_of(digest):
        asked.append(digest)
        return b"same"

    decode(CODEC, "a", rows, text_of)
    assert asked == [hashlib.sha256(b"same").hexdigest()]


def test_every_field_of_a_message_counts_in_its_seal():
    item = InboxItem(1, "key", "body", 2.0)
    changed = [
        ("a", item),
        ("b", item),
        ("a", item._replace(inbox=2)),
        ("a", item._replace(key="ke", body="ybody")),
        ("a", item._replace(body="bodY")),
        ("a", item._replace(at=2.5)),
    ]
    assert len({seal(run, other) for run, other in changed}) == len(changed)
