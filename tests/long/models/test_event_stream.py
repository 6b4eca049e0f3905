"""The reader of streamed completions, without a network: bytes split anywhere, and the variants that servers send."""

import json
import time
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.ledger import Usage
from runtime.models.answer_reader import EVENTS_MAX, STREAM_FACTOR
from runtime.models.completion import CompletionReader
from runtime.models.port import Fault, FaultKind, Reply
from runtime.models.replies import BYTES_MAX
from tests.support.answers import USAGE, Answer, chunk

TEXT = '{"plan_id": "p1", "name": "naïve 😀"}'
SECRET = "sk-secret-0123456789abcdef"


def read(body, *, at=(), bytes_max=BYTES_MAX, secret=""):
    """Return the reply or fault for a body that is split at some places, and the reader."""
    reader = CompletionReader(asked="asked-model", mode="text", secret=secret, bytes_max=bytes_max)
    places = [0, *sorted(at), len(body)]
    for first, last in pairwise(places):
        reader.feed(body[first:last])
    return reader.result(), reader


def stream(*events):
    return b"".join(Answer.events(events).pieces)


GOOD = b"".join(Answer.stream(TEXT, pieces=7).pieces)
DECLARED = Reply(TEXT, Usage(input_tokens=10, output_tokens=5), "test-model", "stop", "text")


@given(st.lists(st.integers(0, len(GOOD))))
def test_a_stream_reads_the_same_however_its_bytes_are_cut(places):
    reply, reader = read(GOOD, at=places)
    assert reply == DECLARED
    assert (reader.streamed, reader.done, reader.characters) == (True, True, len(TEXT))


def test_the_arguments_of_a_streamed_tool_call_are_the_reply_and_those_of_two_are_none():
    def piece(index, text, reason=None):
        return chunk({"tool_calls": [{"index": index, "function": {"arguments": text}}]}, reason)

    ended = chunk({}, "tool_calls") | {"usage": USAGE}
    reply, reader = read(stream(piece(0, ""), piece(0, '{"a":'), piece(0, " 1}"), ended, "[DONE]"))
    assert (reply.text, reply.usage, reader.characters) == ('{"a": 1}', Usage(input_tokens=10, output_tokens=5), 8)
    reply, _ = read(stream(piece(0, "{}"), piece(1, "{}"), ended, "[DONE]"))
    assert (reply.text, reply.usage) == ("", Usage(input_tokens=10, output_tokens=5))
    fault, _ = read(stream(piece(0, "x" * 20), ended, "[DONE]"), bytes_max=10)
    assert fault.kind is FaultKind.TOO_LARGE


@given(st.lists(st.integers(0, 400)))
def test_a_completion_in_one_object_is_read_too(places):
    body = Answer.say(TEXT).body
    reply, reader = read(body, at=[place % len(body) for place in places])
    assert reply == DECLARED
    assert (reader.streamed, reader.characters) == (False, 0)


@pytest.mark.parametrize(
    "body",
    [
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(b"data: ", b"data:"),
        GOOD.replace(b"\n\n", b"\n"),
        GOOD.replace(b"data: ", b": keep-alive\n\nevent: message\nid: 7\ndata: "),
        b"\xef\xbb\xbf" + GOOD,
        b"\n\n" + GOOD,
        GOOD.removesuffix(b"\n\n"),
        GOOD.removesuffix(b"data: [DONE]\n\n"),
        GOOD + b"data: {broken\n\n",
        stream({"type": "ping"}) + GOOD,
        GOOD.replace(b"data: ", b"data:\n\ndata: "),
        stream(json.loads(Answer.say(TEXT).body), "[DONE]"),
        b'data: {"choices": [{"delta": {"content": "an other choice"}, "index": 1}]}\n\n' + GOOD,
    ],
    ids=range(13),
)
def test_the_variants_of_servers_give_the_same_reply(body):
    assert read(body)[0] == DECLARED


def test_an_event_may_have_several_lines_of_data():
    lines = json.dumps(chunk({"content": TEXT}, "stop"), indent=1).splitlines()
    reply, _ = read("".join(f"data: {line}\n" for line in lines).encode() + b"\n")
    assert isinstance(reply, Reply)
    assert (reply.text, reply.usage) == (TEXT, None)


def test_a_character_in_two_halves_is_joined():
    reply, _ = read(stream(chunk({"content": "a\ud83d"}), chunk({"content": "\ude00\ud800"}), chunk({}, "stop")))
    assert isinstance(reply, Reply)
    assert reply.text == "a😀\\ud800"


def test_reasoning_counts_as_progress_and_is_not_in_the_reply():
    """Its characters are counted as they arrive; the text does not contain them."""
    events = [chunk({"reasoning_content": "thinking"}), chunk({"content": "{}"}, "stop"), "[DONE]"]
    reply, reader = read(stream(*events))
    assert isinstance(reply, Reply)
    assert (reply.text, reader.characters) == ("{}", 10)


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_a_reply_that_was_cut_before_its_first_character_is_a_reply(reason):
    reply, _ = read(stream(chunk({"role": "assistant"}), chunk({}, reason), "[DONE]"))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason) == ("", reason)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (stream(chunk({"content": "half"})), FaultKind.CUT),
        (GOOD[:-200], FaultKind.CUT),
        (stream("[DONE]"), FaultKind.BAD_REPLY),
        (stream(chunk({"role": "assistant"}, "stop"), "[DONE]"), FaultKind.BAD_REPLY),
        (stream("{broken", chunk({"content": "x"}, "stop")), FaultKind.BAD_REPLY),
        (stream(chunk({"content": [7]}, "stop")), FaultKind.BAD_REPLY),
        (stream("[" * 100_000), FaultKind.BAD_REPLY),
        (b"data: \xff\xfe{\n\n", FaultKind.BAD_REPLY),
        (b"event: ping\n\n", FaultKind.BAD_REPLY),
        (b"error: no such model\n", FaultKind.BAD_REPLY),
        (b"", FaultKind.BAD_REPLY),
    ],
    ids=range(11),
)
def test_an_incomplete_or_invalid_stream_is_a_fault(body, kind):
    """A stream that breaks off counts as a cut connection; the text that arrived is not judged."""
    fault, _ = read(body)
    assert isinstance(fault, Fault), fault
    assert fault.kind is kind
    assert len(fault.message) < 400


@pytest.mark.parametrize(
    ("error", "begun", "kind"),
    [
        ({"message": "overloaded", "code": 503}, False, FaultKind.SERVER_ERROR),
        ({"message": "overloaded"}, False, FaultKind.SERVER_ERROR),
        ("overloaded", False, FaultKind.SERVER_ERROR),
        ({"message": "slow down", "code": 429}, False, FaultKind.RATE_LIMITED),
        ({"message": "slow down", "code": 429}, True, FaultKind.SERVER_ERROR),
        ({"message": "no credit", "code": "insufficient_quota"}, False, FaultKind.AUTH),
        ({"message": "response_format is not known", "code": 400}, False, FaultKind.BAD_REQUEST),
        ({"message": "too odd", "code": 400}, True, FaultKind.SERVER_ERROR),
    ],
    ids=range(8),
)
def test_an_error_in_a_stream_is_a_fault(error, begun, kind):
    fault, reader = read(stream(*([chunk({"content": "x"})] if begun else []), {"error": error}))
    assert isinstance(fault, Fault)
    assert fault.kind is kind
    assert reader.done


@pytest.mark.parametrize("place", range(1, len(SECRET), 5))
def test_a_key_that_the_stream_splits_is_removed(place):
    events = [chunk({"content": f"the key {SECRET[:place]}"}), chunk({"content": SECRET[place:]}, SECRET, model=SECRET)]
    reply, _ = read(stream(*events, "[DONE]"), secret=SECRET)
    assert isinstance(reply, Reply)
    assert reply.text == "the key [key]"
    fault, _ = read(stream({"error": {"message": f"bad {SECRET}"}}), secret=SECRET)
    shown = f"{reply!r} {fault!r} {read(SECRET.encode(), secret=SECRET)!r}"
    assert SECRET[:12] not in shown
    assert SECRET[-12:] not in shown


def test_the_text_is_capped():
    body = stream(*[chunk({"content": "x" * 100})] * 11, chunk({}, "stop"), "[DONE]")
    fault, _ = read(body, bytes_max=1000)
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.TOO_LARGE


@pytest.mark.parametrize(
    "body",
    [
        stream(*[chunk({"content": "x"})] * (4 * 1024 * 1024 // 190)),
        b"data: " + b"x" * (4 * 1024 * 1024),
        b"data: x\n" * (4 * 1024 * 1024 // 8),
        b"\n" * (4 * 1024 * 1024),
        b":" * (4 * 1024 * 1024),
        stream(chunk({"content": "é" * (4 * 1024 * 1024 // 2)}, "stop")),
    ],
    ids=range(6),
)
def test_four_megabytes_of_any_stream_cost_little(body):
    """At most two seconds of processor time in pieces of 4 KiB, and 200 MB of memory in pieces of 64 KiB."""
    started = time.process_time()
    read(body, at=range(0, len(body), 4096))
    assert time.process_time() - started < 2
    tracemalloc.start()
    read(body, at=range(0, len(body), 65536))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000_000


LARGEST = STREAM_FACTOR * BYTES_MAX
"""Bytes of the largest event stream that the client lets through."""
LARGE = {
    "events of two bytes": b"data:{}\n\n",
    "events that are numbers": b"data:0\n\n",
    "events that are not JSON": b'data:{"a":\n\n',
    "events of one character": b'data:{"choices":[{"delta":{"content":"a"}}]}\n',
    "comments": b":\n",
    "empty lines": b"\n",
    "lines of one event": b"data:\n",
    "lines of an event that is not JSON": b'data:"\n',
}
VALUES = {
    "objects": b"{},",
    "lists": b"[],",
    "numbers": b"1.5,",
    "choices": b'{"delta":{"content":"a"}},',
}


@pytest.mark.parametrize("item", LARGE)
def test_a_stream_of_the_largest_size_costs_little(item):
    """Two-byte events took ten seconds, those that are not JSON 24 s, empty lines 5 s."""
    body = b":\n" + LARGE[item] * (LARGEST // len(LARGE[item]))
    started = time.process_time()
    fault, reader = read(body, at=range(0, len(body), 65536))
    assert time.process_time() - started < 2  # At most 0.5 s on a quiet machine.
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.TOO_LARGE
    assert reader.done


def test_white_space_before_a_body_is_read_once():
    started = time.process_time()
    reply, _ = read(b"\n" * (LARGEST - len(GOOD)) + GOOD, at=range(0, LARGEST, 65536))
    assert time.process_time() - started < 2
    assert reply == DECLARED


def test_a_stream_in_tiny_pieces_ends_at_a_limit():
    """A piece costs ten microseconds on its way, whatever it holds."""
    reader = CompletionReader(asked="m", mode="text", bytes_max=BYTES_MAX)
    for _ in range(2 * EVENTS_MAX + 1):
        reader.feed(b":")
    fault = reader.result()
    assert isinstance(fault, Fault)
    assert (fault.kind, reader.done) == (FaultKind.TOO_LARGE, True)


def test_a_reply_that_may_have_more_tokens_may_have_more_events():
    reader = CompletionReader(asked="m", mode="text", bytes_max=BYTES_MAX, tokens_max=EVENTS_MAX)
    reader.feed(stream(*[chunk({"content": "x"})] * (EVENTS_MAX + 1), chunk({}, "stop"), "[DONE]"))
    reply = reader.result()
    assert isinstance(reply, Reply)
    assert len(reply.text) == EVENTS_MAX + 1


@pytest.mark.parametrize("key", ["x", "choices", "usage", "error"])
@pytest.mark.parametrize("item", VALUES)
def test_an_answer_of_many_values_is_not_parsed(item, key):
    """An event of 32 MiB took 1.6 GB, and an answer of 4 MiB that is not a stream 1.2 GB."""
    many = b'{"choices":[{"message":{"content":"a"}}],"' + key.encode() + b'":['
    many += VALUES[item] * ((BYTES_MAX - 200) // len(VALUES[item])) + b"0]}"
    for body in (b"data:" + many + b"\n\n", many):
        fault, _ = read(body, at=range(0, len(body), 65536))
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TOO_LARGE


def test_the_values_in_a_reply_are_not_those_of_its_answer():
    plan = json.dumps([[]] * 300_000)
    for body in (stream(chunk({"content": plan}, "stop")), Answer.say(plan).body):
        reply, _ = read(body)
        assert isinstance(reply, Reply)
        assert reply.text == plan


def test_usage_is_the_last_that_was_reported():
    events = [{**chunk({"content": "{}"}), "usage": {"prompt_tokens": 10, "completion_tokens": 1}}]
    reply, _ = read(stream(*events, {**chunk({}, "stop"), "usage": USAGE}, "[DONE]"))
    assert isinstance(reply, Reply)
    assert reply.usage == Usage(input_tokens=10, output_tokens=5)
