"""The OpenAI hand over a real socket: every way a server can fail, and what is made of it."""

import re
import socket
import time
from email.utils import formatdate
from pathlib import Path

import pytest
import trio

from runtime.core.ledger import Usage
from runtime.models.openai import open_openai
from runtime.models.port import Fault, FaultKind, Reply
from tests.contracts.model import TEXT, request
from tests.models.wired import KEY, fault_of, wired
from tests.support.openai_server import Answer

ROOT = Path(__file__).resolve().parents[2]


async def test_what_goes_out():
    """The request names itself, asks for the schema, and caps the output; material stays at home."""
    async with wired(Answer.say(TEXT)) as (server, model):
        reply = await model.complete(request("g_plan/v2.a1.t3", material={"secret": "material"}))
    assert reply == Reply(TEXT, Usage(input_tokens=10, output_tokens=5), "test-model", "stop", "json_schema")
    [seen] = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.request_id == "run-1/g_plan/v2.a1.t3"
    assert seen.step == "g_plan"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.headers["accept-encoding"] == "identity"
    assert seen.headers["x-stainless-retry-count"] == "0"
    assert seen.body == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "You analyse."},
            {"role": "user", "content": "The parser fails."},
        ],
        "max_tokens": 500,
        "stream": True,
        "stream_options": {"include_usage": True},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "analysis", "schema": {"type": "object"}, "strict": False},
        },
    }
    assert server.finished == 1


async def test_the_headers_that_the_client_adds_are_documented():
    """F12: the page on model servers lists what they tell about this machine."""
    async with wired(Answer.say(TEXT)) as (server, model):
        await model.complete(request())
    page = (ROOT / "docs" / "how-to" / "use-a-model-server.md").read_text(encoding="utf-8")
    [seen] = server.seen
    documented = {name.lower() for name in re.findall(r"`(X-Stainless-[\w-]+)`", page)}
    assert {name for name in seen.headers if name.startswith("x-stainless-")} == documented
    others = set(seen.headers) - documented - {"host", "connection", "content-length", "content-type", "accept"}
    assert others == {"accept-encoding", "authorization", "user-agent", "x-client-request-id"}


async def test_without_run_schema_or_system():
    """What was not given is not sent."""
    async with wired(Answer.say("hello")) as (server, model):
        reply = await model.complete(request(run="", schema=None, system=""))
    assert isinstance(reply, Reply)
    [seen] = server.seen
    assert seen.request_id == "g_analysis/v1.a1"
    assert "response_format" not in seen.body
    assert [message["role"] for message in seen.body["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FaultKind.BAD_REQUEST),
        (401, FaultKind.AUTH),
        (402, FaultKind.AUTH),
        (403, FaultKind.AUTH),
        (404, FaultKind.NOT_FOUND),
        (408, FaultKind.RATE_LIMITED),
        (409, FaultKind.RATE_LIMITED),
        (413, FaultKind.BAD_REQUEST),
        (422, FaultKind.BAD_REQUEST),
        (425, FaultKind.RATE_LIMITED),
        (429, FaultKind.RATE_LIMITED),
        (500, FaultKind.SERVER_ERROR),
        (502, FaultKind.SERVER_ERROR),
        (503, FaultKind.SERVER_ERROR),
        (529, FaultKind.SERVER_ERROR),
    ],
)
async def test_status_codes_have_kinds(status, kind):
    """One request each, no retry, and the server's words in one line."""
    fault = await fault_of(Answer.fault(status, "because\nof this"))
    assert (fault.kind, fault.status) == (kind, status)
    assert fault.message == f"status {status}: because of this"


async def test_an_exhausted_quota_is_final():
    """OpenAI says 429 for it, but waiting does not help."""
    fault = await fault_of(Answer.fault(429, "You exceeded your current quota", code="insufficient_quota"))
    assert fault.kind is FaultKind.AUTH


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After-Ms": "250", "Retry-After": "7"}, 0.25),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
    ],
)
async def test_retry_after_is_read(headers, seconds):
    """Seconds or milliseconds; nonsense counts as nothing said."""
    assert (await fault_of(Answer.fault(429, headers=headers))).retry_after == seconds


async def test_retry_after_as_a_date_is_relative_to_the_servers_clock():
    """The server's own date goes before this machine's clock."""
    soon = formatdate(time.time() + 3600, usegmt=True)
    wait = (await fault_of(Answer.fault(503, headers={"Retry-After": soon}))).retry_after
    assert wait is not None
    assert 3000 < wait <= 3600, "this machine's clock, which stands in 2023, was not used"
    past = (await fault_of(Answer.fault(503, headers={"Retry-After": formatdate(0, usegmt=True)}))).retry_after
    assert past == 0.0


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_redirects_are_not_followed(status):
    """A redirect could carry the prompt and the key elsewhere."""
    fault = await fault_of(Answer.fault(status, headers={"Location": "/v1/elsewhere"}))
    assert (fault.kind, fault.status) == (FaultKind.NOT_FOUND, status)
    assert "base URL" in fault.message


@pytest.mark.parametrize(
    "answer",
    [
        Answer.no_choices(),
        Answer(body=b""),
        Answer(body=b"\xff\xfe{"),
        Answer(body=b'{"choices": [{"message"'),
        Answer.json({"choices": [{"message": {"content": 7}}]}),
        Answer.json([1, 2]),
        Answer.json(None),
        Answer.json({"choices": [{"message": {"content": None}}]}),
        Answer.json({"choices": [{"message": {"content": None, "tool_calls": []}, "finish_reason": "tool_calls"}]}),
        Answer(body=b"[" * 100_000),
    ],
)
async def test_what_is_not_a_completion_is_a_bad_reply(answer):
    """200 says nothing yet: half bodies and empty choices are faults."""
    fault = await fault_of(answer)
    assert (fault.kind, fault.status) == (FaultKind.BAD_REPLY, 200)
    assert not fault.kind.final
    assert not fault.kind.refunded


async def test_a_web_page_at_status_200_costs_nothing_and_is_said_with_the_address_and_its_content_type():
    """No model was asked there. It may be a gateway's on the way, so another try may help."""
    async with wired(Answer.html()) as (server, model):
        fault = await model.complete(request())
        address = server.base_url
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.kind.final, fault.kind.refunded) == (FaultKind.NO_API, False, True)
    page = "<html><body>Hello</body></html>"
    assert fault.message == f"{address} answers a web page: {page} (text/html); is this the API's address?"


@pytest.mark.parametrize("arguments", ['{"a": 1}', {"a": 1}])
async def test_the_arguments_of_the_only_tool_call_are_the_reply(arguments):
    """Its usage is that of a reply."""
    calls = [{"id": "c1", "type": "function", "function": {"name": "plan", "arguments": arguments}}]
    for content in (None, ""):
        async with wired(Answer.say(content, finish_reason="tool_calls", tool_calls=calls)) as (_, model):
            reply = await model.complete(request())
        assert reply == Reply(
            '{"a": 1}', Usage(input_tokens=10, output_tokens=5), "test-model", "tool_calls", "json_schema"
        )


@pytest.mark.parametrize("calls", [None, [], [{"function": {"arguments": "{}"}}] * 2, [{"function": None}], "none"])
async def test_a_completion_without_a_text_that_reports_usage_is_an_empty_reply(calls):
    """What it cost is known, so it is not charged as unknown."""
    async with wired(Answer.say(None, finish_reason="tool_calls", tool_calls=calls)) as (_, model):
        reply = await model.complete(request())
    assert reply == Reply("", Usage(input_tokens=10, output_tokens=5), "test-model", "tool_calls", "json_schema")


async def test_an_error_behind_status_200_keeps_its_words():
    """Some gateways answer 200 with an error inside."""
    assert "upstream down" in (await fault_of(Answer.json({"error": {"message": "upstream down"}}))).message


@pytest.mark.parametrize("reason", ["length", "content_filter"])
async def test_an_empty_reply_that_was_paid_for_is_a_reply(reason):
    """A model stopped by its token limit has answered: the same request would end the same."""
    async with wired(Answer.say(None, finish_reason=reason)) as (_, model):
        reply = await model.complete(request())
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason) == ("", reason)


async def test_a_refusal_is_the_reply():
    """What the model says when it refuses is what it says."""
    async with wired(Answer.say(None, refusal="I will not.")) as (_, model):
        reply = await model.complete(request())
    assert isinstance(reply, Reply)
    assert reply.text == "I will not."


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(input_tokens=3, output_tokens=4)),
        (  # OpenAI
            {
                "prompt_tokens": 9,
                "completion_tokens": 4,
                "total_tokens": 13,
                "prompt_tokens_details": {"cached_tokens": 6, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(input_tokens=9, output_tokens=4, cache_read_tokens=6, reasoning_tokens=3),
        ),
        (  # A gateway to Anthropic that counts cached tokens within the prompt, and one that counts them beside it.
            {"prompt_tokens": 9, "total_tokens": 9, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3},
            Usage(input_tokens=9, cache_read_tokens=5, cache_write_tokens=3),
        ),
        (  # Nothing says which way it counts: the dearer one.
            {"prompt_tokens": 100, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 30},
            Usage(input_tokens=200, cache_read_tokens=70, cache_write_tokens=30),
        ),
        (
            {"prompt_tokens": 9, "cached_tokens": 4, "prompt_tokens_details": {"cache_creation_tokens": 3}},
            Usage(input_tokens=9, cache_read_tokens=4, cache_write_tokens=3),
        ),
        (  # Reasoning that only the sum shows.
            {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 240},
            Usage(input_tokens=100, output_tokens=140),
        ),
        (
            {
                "prompt_tokens": 1,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 3,
                "cache_creation": {"ephemeral_5m_input_tokens": 1, "ephemeral_1h_input_tokens": 2},
            },
            Usage(input_tokens=9, cache_read_tokens=5, cache_write_tokens=3, cache_write_1h_tokens=2),
        ),
        (  # DeepSeek
            {"prompt_tokens": 9, "prompt_cache_hit_tokens": 6, "prompt_cache_miss_tokens": 3},
            Usage(input_tokens=9, cache_read_tokens=6),
        ),
        (  # xAI: reasoning beside the completion.
            {
                "prompt_tokens": 9,
                "completion_tokens": 4,
                "total_tokens": 16,
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(input_tokens=9, output_tokens=7, reasoning_tokens=3),
        ),
        (
            {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}},
            Usage(input_tokens=8, contradictory=True),
        ),
        (
            {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": -5}},
            Usage(input_tokens=3, contradictory=True),
        ),
        ({"prompt_tokens": 3, "prompt_tokens_details": "none"}, Usage(input_tokens=3)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": None}}, Usage(input_tokens=3)),
        ({"prompt_tokens": -3, "completion_tokens": 4}, None),
        ({"prompt_tokens": 2**63}, None),
        ({"prompt_tokens": None}, None),
        ({}, None),
    ],
)
async def test_usage_is_believed_only_if_it_makes_sense(reported, usage):
    """Negative usage would give budget back, and no journal could hold an absurd one; a missing one is not zero."""
    async with wired(Answer.say(TEXT, usage=reported)) as (_, model):
        reply = await model.complete(request())
    assert isinstance(reply, Reply)
    assert reply.usage == usage


async def test_a_refused_connection():
    """Nobody listens: nothing was sent, nothing is charged, and it may be tried again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        async with open_openai("test-model", base_url=url) as model:
            fault = await model.complete(request())
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.kind.refunded, fault.kind.final) == (FaultKind.REFUSED_CONNECTION, True, False)


async def test_an_unresolvable_host():
    """A name under `.invalid` never resolves (RFC 6761): final at once."""
    async with open_openai("test-model", base_url="https://replan.invalid/v1") as model:
        fault = await model.complete(request())
    assert isinstance(fault, Fault)
    assert fault.kind is FaultKind.UNRESOLVED_HOST
    assert fault.kind.final


@pytest.mark.parametrize("where", ["request", "headers", "body"])
async def test_a_cut_connection(where):
    """Wherever the connection breaks after the request was sent, it may have been paid for."""
    fault = await fault_of(Answer.cut_after(where))
    assert (fault.kind, fault.kind.refunded) == (FaultKind.CUT, False)


async def test_a_hanging_server_is_left():
    """The total timeout holds, and the server sees the client go."""
    async with wired(Answer.hang()) as (server, model):
        fault = await model.complete(request(timeout_seconds=0.5))
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TIMEOUT
        assert await trio.to_thread.run_sync(server.wait_for, lambda s: [seen.outcome for seen in s.seen] == ["gone"])


async def test_a_slow_server_is_waited_for():
    """A delay within the timeout is no fault."""
    async with wired(Answer.say(TEXT).slowly(0.15)) as (_, model):
        assert isinstance(await model.complete(request()), Reply)


async def test_twenty_megabytes_are_not_read():
    """Reading stops at the cap: the server is cut off long before its end."""
    async with wired(Answer.huge(20_000_000)) as (server, model):
        fault = await model.complete(request())
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TOO_LARGE
        assert await trio.to_thread.run_sync(server.wait_for, lambda s: s.seen[0].outcome == "gone")
        # The kernel's buffers on both sides take some megabytes more than the client reads.
        assert server.seen[0].sent < 16_000_000


async def test_the_cap_is_exact():
    """An answer as large as the cap is read; one byte more is not."""
    size = len(Answer.say(TEXT).body)
    async with wired(Answer.say(TEXT), reply_bytes_max=size) as (_, model):
        assert isinstance(await model.complete(request()), Reply)
    async with wired(Answer.say(TEXT), reply_bytes_max=size - 1) as (_, model):
        fault = await model.complete(request())
        assert isinstance(fault, Fault)
        assert fault.kind is FaultKind.TOO_LARGE


async def test_the_cap_holds_for_errors_too():
    """An error page may be huge as well."""
    async with wired(Answer(status=500, body=b"x" * 5_000), reply_bytes_max=1_000) as (_, model):
        fault = await model.complete(request())
    assert isinstance(fault, Fault)
    assert (fault.kind, fault.status) == (FaultKind.TOO_LARGE, 500)


@pytest.mark.parametrize("status", [200, 400])
async def test_an_answer_in_tiny_pieces_is_not_read_to_its_end(status):
    """Four megabytes in chunks of one byte took 40 seconds of processor."""
    pieces, headers = (b"a",) * 25_000, {"Content-Type": "application/json"}
    fault = await fault_of(Answer(kind="stream", status=status, headers=headers, pieces=pieces))
    assert (fault.kind, fault.status) == (FaultKind.TOO_LARGE, status)


async def test_a_compressed_answer_is_refused():
    """It could unpack to gigabytes, and was not asked for."""
    fault = await fault_of(Answer(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}))
    assert fault.kind is FaultKind.BAD_REPLY


async def test_prose_is_a_reply_like_any_other():
    """Whether there is a plan in it is for a guard to say."""
    async with wired(Answer.say("Certainly! Here is my plan…")) as (_, model):
        reply = await model.complete(request())
    assert isinstance(reply, Reply)
    assert reply.text == "Certainly! Here is my plan…"
