"""Streamed replies over a real socket: life, silence, fall-backs, caps, and connections that can be used again."""

import json
from functools import partial

import pytest
import trio

from runtime.core.ledger import Usage
from runtime.models.faults import MARK
from runtime.models.port import HEARD_MAX, Fault, FaultKind, Reply
from tests.contracts.model import TEXT, request
from tests.models.wired import KEY, kept_connections
from tests.support.answers import chunk
from tests.support.openai_server import Answer


def asked_for_streams(server):
    return [seen.body.get("stream", False) for seen in server.seen]


async def test_a_streamed_reply_is_the_same_reply(wired, provider):
    with kept_connections():
        async with wired(Answer.stream(TEXT)) as (server, model):
            replies = [await model.complete(request(f"g_plan/v{visit}.a1")) for visit in (1, 2, 3)]
            assert server.connections == 1
    assert replies == [Reply(TEXT, Usage(input_tokens=10, output_tokens=5), "test-model", "stop", provider.mode)] * 3
    assert asked_for_streams(server) == [True] * 3


async def test_the_characters_are_counted_while_they_arrive(wired):
    """A growing count, before the reply is whole."""
    heard = []
    async with wired(Answer.stream("x" * 40, pieces=4, gap_seconds=0.05)) as (_, model):
        await model.complete(request(heard=lambda count, written: heard.append((count, written()))))
    counts = [count for count, _ in heard]
    assert counts == sorted(set(counts))
    assert counts[-1] == 40
    assert len(counts) > 1
    assert [text for _, text in heard] == ["x" * count for count in counts]


async def test_what_is_told_of_a_reply_in_progress_is_its_end_without_the_key(wired):
    """However long the reply is; what the model thinks is counted and not told."""
    texts, thought = [], chunk({"reasoning_content": "hm"})
    pieces = [thought, *[chunk({"content": "0123456789" * 100})] * 6, chunk({"content": f"the key: {KEY}"}, "stop")]
    async with wired(Answer.events([*pieces, "[DONE]"], gap_seconds=0.01)) as (_, model):
        await model.complete(request(heard=lambda count, written: texts.append((count, written()))))
    assert texts[0] == (2, "")
    assert {len(text) for count, text in texts if count > 5_000} <= {HEARD_MAX, HEARD_MAX - len(KEY) + len(MARK)}
    assert "the key" in texts[-1][1]
    assert KEY not in texts[-1][1]


async def test_a_stalled_stream_times_out(wired):
    answer = Answer.stream(TEXT, finish_reason=None, usage=None, done=False, then="hang")
    async with wired(answer, stall_seconds=0.2) as (server, model):
        with trio.fail_after(300):
            fault = await model.complete(request(timeout_seconds=60.0))
        assert await trio.to_thread.run_sync(server.wait_for, lambda s: s.seen[0].outcome == "gone")
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.kind.refunded) == (FaultKind.TIMEOUT, False)
    assert f"after {len(TEXT)} characters" in fault.message


async def test_a_slow_stream_is_waited_for(wired):
    """As long as something comes; and before the first character a model may think."""
    async with wired(Answer.stream(TEXT * 2, pieces=30, gap_seconds=0.05), stall_seconds=4.0) as (_, model):
        assert isinstance(await model.complete(request()), Reply)
    thinking = [chunk({"role": "assistant"}), chunk({"content": TEXT}, "stop"), "[DONE]"]
    async with wired(Answer.events(thinking, gap_seconds=0.5), stall_seconds=4.0) as (_, model):
        assert isinstance(await model.complete(request()), Reply)
    async with wired(Answer.events(thinking[:2], gap_seconds=1.2), stall_seconds=1.0) as (_, model):
        assert isinstance(await model.complete(request()), Reply)


async def test_a_call_with_a_longer_time_limit_may_be_silent_for_longer(monkeypatch, wired):
    """A slow server, or one that was too slow before, gets half of the call's limit between two pieces."""
    monkeypatch.setattr("runtime.models.http_model.STALL_SECONDS", 0.05)
    async with wired(Answer.stream(TEXT, pieces=2, gap_seconds=0.3)) as (_, model):
        assert isinstance(await model.complete(request(timeout_seconds=60.0)), Reply)
    silent = Answer.stream(TEXT, finish_reason=None, usage=None, done=False, then="hang")
    async with wired(silent) as (_, model):
        fault = await model.complete(request(timeout_seconds=2.0))
    assert isinstance(fault, Fault)
    assert "the server sent nothing for 1 s" in fault.message


async def test_the_time_limit_of_the_call_also_ends_an_active_stream(wired):
    answer = Answer.stream("x" * 100, pieces=100, gap_seconds=0.05)
    async with wired(answer) as (_, model):
        fault = await model.complete(request(timeout_seconds=0.4))
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.TIMEOUT


async def test_a_server_that_leaves_the_connection_open_after_the_end_is_not_waited_for(wired):
    async with wired(Answer.stream(TEXT, then="hang")) as (_, model):
        with trio.fail_after(300):
            assert isinstance(await model.complete(request(timeout_seconds=60.0)), Reply)


@pytest.mark.parametrize("done", [True, False])
async def test_a_broken_stream_is_a_cut_connection_unless_the_reply_was_whole(done, wired):
    """What comes after the end mark has no effect."""
    answer = Answer.stream(TEXT, done=done, finish_reason="stop" if done else None, then="cut")
    async with wired(answer) as (_, model):
        result = await model.complete(request())
    if done:
        assert isinstance(result, Reply)
    else:
        assert isinstance(result, Fault)
        assert result.kind is FaultKind.CUT


async def test_a_stream_that_ends_in_mid_reply_is_a_cut_connection(fault_of):
    """Also where the server ends it in good order."""
    fault = await fault_of(Answer.stream(TEXT, finish_reason=None, usage=None, done=False))
    assert fault.kind is FaultKind.CUT


def refusing(words, status=400):

    def handle(body, _headers, _n):
        return Answer.fault(status, words) if words.split()[0] in body else Answer.say(TEXT)

    return handle


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ("stream is not supported by this model", 400),
        ("stream : extra inputs are not permitted", 422),
        ("stream = true is not implemented", 501),
    ],
)
async def test_a_server_that_refuses_streams_is_asked_without_from_then_on(words, status, wired, provider):
    async with wired(refusing(words, status)) as (server, model):
        replies = [await model.complete(request()), await model.complete(request("g_plan/v1.a1"))]
    assert asked_for_streams(server) == [True, False, False]
    assert "stream_options" not in server.seen[1].body
    assert [reply.mode for reply in replies] == [provider.mode] * 2


async def test_a_server_may_need_both_fallbacks(wired):

    def handle(body, _headers, _n):
        if "stream" in body:
            return Answer.fault(400, "unknown field: stream")
        asked = body.get("response_format") or body.get("tool_choice") or body.get("text", {}).get("format")
        strong = asked["type"] in {"json_schema", "tool"}
        return Answer.fault(400, "json_schema and tool_choice are not known") if strong else Answer.say(TEXT)

    async with wired(handle) as (server, model):
        for visit in (1, 2):
            assert isinstance(await model.complete(request(f"g_plan/v{visit}.a1")), Reply)
    assert asked_for_streams(server) == [True, False, False, False]


async def test_a_refusal_that_holds_without_a_stream_too_is_not_remembered(wired):
    async with wired(Answer.fault(400, "upstream failed")) as (server, model):
        assert isinstance(await model.complete(request()), Fault)
        assert isinstance(await model.complete(request()), Fault)
    assert asked_for_streams(server) == [True, False, True, False]


async def test_a_server_whose_streams_report_no_usage_is_asked_without_from_then_on(wired):

    def handle(body, _headers, _n):
        return Answer.stream(TEXT, usage=None) if body.get("stream") else Answer.say(TEXT)

    async with wired(handle) as (server, model):
        first = await model.complete(request())
        second = await model.complete(request("g_plan/v1.a1"))
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert (first.text, first.usage) == (TEXT, None)
    assert second.usage == Usage(input_tokens=10, output_tokens=5)
    assert asked_for_streams(server) == [True, False]


async def test_a_json_answer_without_usage_changes_nothing(wired):
    async with wired(Answer.say(TEXT, usage={})) as (server, model):
        for visit in (1, 2):
            await model.complete(request(f"g_plan/v{visit}.a1"))
    assert asked_for_streams(server) == [True, True]


async def test_an_error_in_a_stream_shows_its_words_without_the_key(fault_of):
    """One request, one fault."""
    fault = await fault_of(Answer.events([{"error": {"message": f"{KEY} is\nwrong", "code": 401}}]))
    assert (fault.kind, fault.status) == (FaultKind.AUTH, 401)
    assert "[key] is wrong" in fault.message


async def test_a_key_that_is_echoed_in_pieces_does_not_get_through(wired):
    """Each event holds a part of it that is too short to be found."""
    async with wired(Answer.stream(f"the key: {KEY}", pieces=8)) as (_, model):
        reply = await model.complete(request())
    assert isinstance(reply, Reply)
    assert reply.text == "the key: [key]"


async def test_an_endless_stream_is_left_at_the_cap(wired):
    for event in (
        b": " + b"x" * 1000 + b"\n\n",
        chunk({"reasoning_content": "x" * 1000}),
        chunk({"content": "x" * 1000}),
    ):
        async with wired(Answer.events([event] * 1000), reply_bytes_max=10_000) as (server, model):
            fault = await model.complete(request())
            assert await trio.to_thread.run_sync(server.wait_for, lambda s: s.seen[0].outcome != "open")
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TOO_LARGE


async def test_a_stream_may_be_larger_than_its_reply(wired):
    text = json.dumps({"text": "x" * 3000})
    async with wired(Answer.stream(text, pieces=100), reply_bytes_max=4000) as (_, model):
        reply = await model.complete(request())
    assert isinstance(reply, Reply)
    assert reply.text == text


async def test_an_error_page_at_the_cap_leaves_no_connection_open(wired):
    async with wired(Answer(status=500, body=b"x" * 5_000_000), reply_bytes_max=1_000) as (server, model):
        fault = await model.complete(request())
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TOO_LARGE
        assert await trio.to_thread.run_sync(server.wait_for, lambda s: s.connections == 0)


async def test_streams_that_are_cancelled_leave_nothing_behind(wired):
    """Fifty at once, in mid-stream; the model works on."""
    living = Answer.stream("x" * 1000, pieces=100, gap_seconds=0.5)
    async with wired(
        lambda _body, headers, _n: living if ".b" in headers["x-client-request-id"] else Answer.say(TEXT)
    ) as (
        server,
        model,
    ):
        assert isinstance(await model.complete(request()), Reply), "what loads slowly is loaded, and the pace is known"
        heard = trio.Event()
        async with trio.open_nursery() as nursery:
            for branch in range(50):
                ask = partial(model.complete, request(f"g_plan/v1.a1.b{branch}", heard=lambda *_: heard.set()))
                nursery.start_soon(ask)
            await heard.wait()
            nursery.cancel_scope.cancel()
        gone = await trio.to_thread.run_sync(
            server.wait_for, lambda s: all(seen.outcome == "gone" for seen in s.seen[1:])
        )
        assert gone
        assert isinstance(await model.complete(request()), Reply)
        assert await trio.to_thread.run_sync(server.wait_for, lambda s: s.connections == 0)


async def test_each_request_to_a_server_on_this_machine_has_a_connection_of_its_own(wired):
    """The server of llama.cpp closes a connection after a stream without saying so: the next request would be lost."""
    async with wired(Answer.stream(TEXT)) as (server, model):
        for visit in (1, 2, 3):
            assert isinstance(await model.complete(request(f"g_plan/v{visit}.a1")), Reply)
            assert await trio.to_thread.run_sync(server.wait_for, lambda s: s.connections == 0)
