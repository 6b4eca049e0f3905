"""The reader of streamed messages, without a network: bytes split anywhere, and limits."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.ledger import Usage
from runtime.models.answer_reader import EVENTS_MAX, STREAM_FACTOR
from runtime.models.messages import MessageReader
from runtime.models.port import Fault, FaultKind, Reply
from runtime.models.replies import BYTES_MAX
from tests.support.answers import Answer
from tests.support.messages_api import as_message, event

TEXT = '{"plan_id": "p1", "name": "naïve 😀"}'
DEMANDED = {"tool_choice": {"type": "tool", "name": "plan"}}


def read(body, *, at=(), bytes_max=BYTES_MAX, secret=""):
    """Return the reply or fault for a body that is split at some places, and the reader."""
    reader = MessageReader(asked="asked-model", mode="tool", secret=secret, bytes_max=bytes_max)
    for first, last in pairwise([0, *sorted(at), len(body)]):
        reader.feed(body[first:last])
    return reader.result(), reader


def stream(text, request=DEMANDED):
    return b"".join(as_message(Answer.stream(text, pieces=7), request).pieces)


GOOD = stream(TEXT)
DECLARED = Reply(TEXT, Usage(input_tokens=10, output_tokens=5), "test-model", "stop", "tool")


@given(st.lists(st.integers(0, len(GOOD))))
def test_a_stream_reads_the_same_however_its_bytes_are_cut(places):
    reply, reader = read(GOOD, at=places)
    assert reply == DECLARED
    assert (reader.streamed, reader.done, reader.characters) == (True, True, len(TEXT))


@given(st.integers(0, len(GOOD)))
def test_a_stream_that_is_cut_anywhere_is_whole_or_a_fault(place):
    result, _ = read(GOOD[:place])
    assert isinstance(result, Fault) or result == DECLARED


@given(
    st.recursive(st.none() | st.integers() | st.text(), lambda each: st.lists(each) | st.dictionaries(st.text(), each))
)
def test_no_event_of_any_form_raises(value):
    names = ("message", "index", "content_block", "delta", "usage")
    kinds = ("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta")
    events = [event({"type": kind, name: value}) for kind in kinds for name in names]
    nested = [event({"type": "content_block_delta", "delta": {"type": "text_delta", "text": value}})]
    started = [event({"type": "content_block_start", "content_block": {"type": "tool_use", "input": value}})]
    result, _ = read(b"".join([*events, *nested, *started, event({"type": "message_stop"})]))
    assert isinstance(result, Reply | Fault)


def test_a_stream_in_tiny_pieces_ends_at_a_limit():
    reader = MessageReader(asked="m", mode="text", bytes_max=BYTES_MAX)
    for _ in range(2 * EVENTS_MAX + 1):
        reader.feed(b":")
    fault = reader.result()
    assert isinstance(fault, Fault)
    assert (fault.kind, reader.done) == (FaultKind.TOO_LARGE, True)


def test_a_reply_above_the_limit_is_too_large():
    for request in (DEMANDED, {}):
        fault, _ = read(stream('{"a": "' + "x" * 100 + '"}', request), bytes_max=50)
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TOO_LARGE


@pytest.mark.parametrize(
    "item",
    [
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}},
        {"type": "ping"},
    ],
    ids=lambda item: item["type"],
)
def test_a_stream_of_the_largest_size_costs_little(item):
    one, largest = event(item), STREAM_FACTOR * BYTES_MAX
    body = one * (largest // len(one))
    started = time.process_time()
    fault, reader = read(body, at=range(0, len(body), 65536))
    assert time.process_time() - started < 3
    assert isinstance(fault, Fault)
    assert (fault.kind, reader.done) == (FaultKind.TOO_LARGE, True)
