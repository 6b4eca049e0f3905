"""The OpenAI hand over a real socket: what the requests are, and what completions say."""

import re
from pathlib import Path

import pytest

from runtime.core.ledger import Usage
from runtime.models.port import FaultKind, Reply
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
    """F12: the page on models lists what they tell about this machine."""
    async with wired(Answer.say(TEXT)) as (server, model):
        await model.complete(request())
    page = (ROOT / "docs" / "reference" / "models.md").read_text(encoding="utf-8")
    [seen] = server.seen
    documented = {name.lower() for name in re.findall(r"`(X-Stainless-[\w-]+)`", page)} - {"x-stainless-timeout"}
    assert {name for name in seen.headers if name.startswith("x-stainless-")} == documented
    others = set(seen.headers) - documented - {"host", "connection", "content-length", "content-type", "accept"}
    assert others == {"accept-encoding", "authorization", "user-agent", "x-client-request-id"}


async def test_without_run_schema_or_system():
    async with wired(Answer.say("hello")) as (server, model):
        reply = await model.complete(request(run="", schema=None, system=""))
    assert isinstance(reply, Reply)
    [seen] = server.seen
    assert seen.request_id == "g_analysis/v1.a1"
    assert "response_format" not in seen.body
    assert [message["role"] for message in seen.body["messages"]] == ["user"]


async def test_an_exhausted_quota_is_final():
    fault = await fault_of(Answer.fault(429, "You exceeded your current quota", code="insufficient_quota"))
    assert fault.kind is FaultKind.AUTH


@pytest.mark.parametrize("arguments", ['{"a": 1}', {"a": 1}])
async def test_the_arguments_of_the_only_tool_call_are_the_reply(arguments):
    calls = [{"id": "c1", "type": "function", "function": {"name": "plan", "arguments": arguments}}]
    for content in (None, ""):
        async with wired(Answer.say(content, finish_reason="tool_calls", tool_calls=calls)) as (_, model):
            reply = await model.complete(request())
        usage, notices = Usage(input_tokens=10, output_tokens=5), ("the reply was in the arguments of a tool call",)
        assert reply == Reply('{"a": 1}', usage, "test-model", "tool_calls", "json_schema", notices)


@pytest.mark.parametrize("calls", [None, [], [{"function": {"arguments": "{}"}}] * 2, [{"function": None}], "none"])
async def test_a_completion_without_a_text_that_reports_usage_is_an_empty_reply(calls):
    async with wired(Answer.say(None, finish_reason="tool_calls", tool_calls=calls)) as (_, model):
        reply = await model.complete(request())
    assert reply == Reply("", Usage(input_tokens=10, output_tokens=5), "test-model", "tool_calls", "json_schema")


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
    async with wired(Answer.say(TEXT, usage=reported)) as (_, model):
        reply = await model.complete(request())
    assert isinstance(reply, Reply)
    assert reply.usage == usage
