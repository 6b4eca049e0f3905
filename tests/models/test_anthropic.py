"""The Anthropic client: what its requests are, and what the messages of the Messages API say, over a real socket."""

import json
import re
from pathlib import Path

import pytest

from runtime.core.errors import UsageProblem
from runtime.core.ledger import Usage
from runtime.models.context_window import ContextWindow
from runtime.models.open_models import open_anthropic
from runtime.models.port import FaultKind, Reply
from runtime.models.prices import find_price
from runtime.models.providers import ANTHROPIC_URL, PROVIDERS
from tests.contracts.model import TEXT, request
from tests.models.wired import KEY, claude
from tests.support.messages_api import VERSION, event
from tests.support.openai_server import Answer

ROOT = Path(__file__).resolve().parents[2]
USAGE = {"input_tokens": 10, "output_tokens": 5}
USER = "The parser fails.\n\nRejected."
COMMON = len("The parser fails.")
MARK = {"cache_control": {"type": "ephemeral"}}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}


def message(*blocks, reason="end_turn", usage=USAGE, **more):
    body = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": list(blocks)}
    return Answer.json({**body, "stop_reason": reason, "usage": usage, **more})


def tool(value=None, **more):
    return {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "analysis",
        "input": {"a": 1} if value is None else value,
        **more,
    }


def text(words):
    return {"type": "text", "text": words}


def stream(*events, then="end", usage=USAGE):
    started = {"id": "msg_1", "model": "claude-x", "content": [], "usage": {"input_tokens": 10, "output_tokens": 1}}
    first = {"type": "message_start", "message": started | ({"usage": usage} if usage is not USAGE else {})}
    return Answer.events([event(each) for each in (first, {"type": "ping"}, *events)], then=then)


def block(index, kind, *deltas, **more):
    return [
        {"type": "content_block_start", "index": index, "content_block": {"type": kind, **more}},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def ended(reason="end_turn", usage=USAGE):
    delta = {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    return [delta, {"type": "message_stop"}]


def written(*pieces):
    return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


async def answered(answer, **more):
    async with claude(answer) as (server, model):
        reply = await model.complete(request(**more))
        assert len(server.seen) == 1
    return reply


async def sent(*, name="test-model", setting="on", **more):
    async with claude(Answer.say(TEXT), prompt_cache=setting) as (server, model):
        assert isinstance(await model.complete(request(**more)), Reply)
    return server.seen[0].body, server.seen[0].headers


async def test_what_goes_out():
    body, headers = await sent(request_id="g_plan/v2.a1.t3", material={"secret": "material"})
    assert body == {
        "model": "test-model",
        "max_tokens": 500,
        "system": "You analyse.",
        "messages": [{"role": "user", "content": "The parser fails."}],
        "stream": True,
        "tools": [
            {
                "name": "analysis",
                "description": "Takes the whole reply. Call it once, with all that was asked for.",
                "input_schema": {"type": "object"},
            }
        ],
        "tool_choice": {"type": "tool", "name": "analysis", "disable_parallel_tool_use": True},
    }
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["anthropic-version"] == VERSION
    assert headers["x-client-request-id"] == "run-1/g_plan/v2.a1.t3"
    assert headers["accept-encoding"] == "identity"
    assert headers["x-stainless-retry-count"] == "0"


async def test_without_schema_or_system():
    body, _ = await sent(schema=None, system="")
    assert body.keys() == {"model", "max_tokens", "messages", "stream"}


async def test_the_address_may_end_with_the_version():
    for address in ("https://api.anthropic.com", "https://api.anthropic.com/v1", "https://api.anthropic.com/v1/"):
        async with open_anthropic("claude-x", base_url=address) as model:
            assert model._address == ANTHROPIC_URL


async def test_anthropic_itself_is_asked_for_the_tier_of_the_price_list():
    async with open_anthropic("claude-haiku-4-5", api_key=KEY) as model:
        body = model._body(request(), "text", stream=True, cache=False)
        window = await model.context_window()
    assert body["service_tier"] == "standard_only"
    assert window == ContextWindow(200_000, "the price list")


async def test_settings_are_sent_in_the_words_of_the_api():
    fields = {"stop": ["END"], "reasoning_effort": "low", "output_config": {"x": 1}, "metadata": {"user_id": "u"}}
    async with open_anthropic("claude-x", base_url="http://localhost:1") as model:
        body = model._body(request(fields=fields), "text", stream=True, cache=False)
    assert (body["stop_sequences"], body["output_config"]) == (["END"], {"x": 1, "effort": "low"})
    assert body["metadata"] == {"user_id": "u"}
    assert not {"stop", "reasoning_effort"} & body.keys()


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"seed": 7, "stop": ["x"]}, "seed"),
        ({"temperature": 0.0, "top_p": 1.0}, "temperature and top_p"),
        ({"verbosity": "low"}, "verbosity"),
        ({"reasoning_effort": "minimal"}, "reasoning_effort=minimal"),
    ],
)
async def test_a_setting_that_the_api_does_not_have_is_refused_by_name_and_not_sent(fields, named):
    async with claude(Answer.say(TEXT)) as (server, model):
        fault = await model.complete(request(fields=fields))
        assert server.seen == []
    assert (fault.kind, fault.kind.final, fault.kind.refunded) == (FaultKind.BAD_REQUEST, True, True)
    assert fault.message == f"Anthropic does not take the setting {named} (leave it out)"
    assert PROVIDERS["anthropic"].refused_settings({"stop": ["x"], "reasoning_effort": "max"}) == []


async def test_a_refusal_says_which_setting_to_leave_out():
    refusal = Answer.fault(400, "output_config.effort: this model does not support effort")
    fault = await answered(refusal, fields={"reasoning_effort": "low"})
    assert fault.message.endswith("(leave out the setting reasoning_effort)")


@pytest.mark.parametrize(
    ("blocks", "reason", "said"),
    [
        ([text("hello")], "stop_sequence", ("hello", "stop")),
        ([text("a"), text("b")], "end_turn", ("ab", "stop")),
        ([tool()], "tool_use", ('{"a": 1}', "stop")),
        ([text("I call it."), tool({"a": "é\ud800"})], "tool_use", ('{"a": "é\\ud800"}', "stop")),
        ([text("prose"), tool(), tool()], "tool_use", ("prose", "stop")),
        ([tool({})], "tool_use", ("{}", "stop")),
        ([{"type": "thinking", "thinking": "hm", "signature": "s"}, text("{}")], "end_turn", ("{}", "stop")),
        ([{"type": "redacted_thinking", "data": "x"}, text("{}")], "end_turn", ("{}", "stop")),
        ([text("half")], "max_tokens", ("half", "length")),
        ([text("half")], "model_context_window_exceeded", ("half", "length")),
        ([], "refusal", ("", "content_filter")),
        ([], "end_turn", ("", "stop")),
        ([text("x")], "pause_turn", ("x", "pause_turn")),
    ],
)
async def test_what_a_message_says(blocks, reason, said):
    reply = await answered(message(*blocks, reason=reason))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason) == said
    assert (reply.model, reply.mode, reply.usage) == ("claude-x", "tool", Usage(input_tokens=10, output_tokens=5))


THOUGHT = block(
    0, "thinking", {"type": "thinking_delta", "thinking": "hm"}, {"type": "signature_delta", "signature": "s"}
)


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ([*block(0, "text", {"type": "text_delta", "text": "hel"}, {"type": "text_delta", "text": "lo"})], "hello"),
        ([*block(0, "tool_use", *written("", '{"a":', " 1}"), input={})], '{"a": 1}'),
        ([*block(0, "tool_use", input={"a": 1})], '{"a": 1}'),
        ([*block(0, "tool_use", *written(""), input={})], "{}"),
        ([*THOUGHT, *block(1, "text", {"type": "text_delta", "text": "ok"})], "ok"),
        ([*block(0, "text", {"type": "text_delta", "text": "I call"}), *block(1, "tool_use", *written("{}"))], "{}"),
        ([*block(0, "tool_use", *written("{}")), *block(1, "tool_use", *written('{"b": 2}'))], ""),
        ([{"type": "something_new", "index": []}, *block(0, "text", {"type": "text_delta", "text": "ok"})], "ok"),
        ([*block(0, "text", {"type": "text_delta", "text": "\ud83d"}, {"type": "text_delta", "text": "\ude00"})], "😀"),
    ],
)
async def test_what_a_stream_says(events, said):
    reply = await answered(stream(*events, *ended()))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason, reply.model) == (said, "stop", "claude-x")
    assert reply.usage == Usage(input_tokens=10, output_tokens=5)


async def test_a_tool_shaped_reply_is_told_while_it_is_written_and_thoughts_are_only_counted():
    heard = []
    events = [*THOUGHT, *block(1, "tool_use", *written('{"a":', " 1}"), input={})]
    await answered(stream(*events, *ended("tool_use")), heard=lambda count, words: heard.append((count, words())))
    assert heard[-1] == (10, '{"a": 1}')


async def test_what_is_no_text_in_a_stream_is_a_bad_reply():
    for kind, delta in (("text", {"type": "text_delta", "text": 7}), ("tool_use", {"type": "input_json_delta"})):
        fault = await answered(stream(*block(0, kind, delta), *ended()))
        assert (fault.kind, fault.kind.refunded) == (FaultKind.BAD_REPLY, False)


@pytest.mark.parametrize(
    ("kind", "expected", "status"),
    [
        ("overloaded_error", FaultKind.SERVER_ERROR, 529),
        ("api_error", FaultKind.SERVER_ERROR, 500),
        ("timeout_error", FaultKind.SERVER_ERROR, 504),
        ("rate_limit_error", FaultKind.RATE_LIMITED, 429),
        ("billing_error", FaultKind.AUTH, 402),
        ("permission_error", FaultKind.AUTH, 403),
        ("invalid_request_error", FaultKind.BAD_REQUEST, 400),
        ("an_error_to_come", FaultKind.SERVER_ERROR, 200),
    ],
)
async def test_an_error_of_a_stream_is_that_of_its_status_until_the_model_has_written(kind, expected, status):
    failed = {"type": "error", "error": {"type": kind, "message": f"no {KEY}"}, "request_id": "req_1"}
    fault = await answered(stream(failed))
    assert (fault.kind, fault.status) == (expected, status)
    assert fault.message == "the reply broke off: no [key]"
    late = await answered(stream(*block(0, "text", {"type": "text_delta", "text": "ha"})[:2], failed))
    assert (late.kind, late.kind.refunded) == (FaultKind.SERVER_ERROR, False)


async def test_an_account_without_credit_is_final():
    assert (await answered(Answer.fault(402, "Your credit balance is too low"))).kind is FaultKind.AUTH


CACHED = {
    "input_tokens": 3,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 20,
    "cache_creation": {"ephemeral_5m_input_tokens": 8, "ephemeral_1h_input_tokens": 12},
    "output_tokens": 1,
}


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        (USAGE, Usage(input_tokens=10, output_tokens=5)),
        (
            {**CACHED, "output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}},
            Usage(
                input_tokens=123,
                output_tokens=9,
                cache_read_tokens=100,
                cache_write_tokens=20,
                cache_write_1h_tokens=12,
                reasoning_tokens=4,
            ),
        ),
        ({**USAGE, "cache_read_input_tokens": None, "cache_creation": None}, Usage(input_tokens=10, output_tokens=5)),
        (
            {"input_tokens": 1, "output_tokens": 2, "cache_read_input_tokens": -5},
            Usage(input_tokens=1, output_tokens=2, contradictory=True),
        ),
        (
            {"input_tokens": 1, "output_tokens": 2, "cache_creation": {"ephemeral_1h_input_tokens": 5}},
            Usage(input_tokens=6, output_tokens=2, contradictory=True),
        ),
        (
            {"input_tokens": 1, "output_tokens": 2, "output_tokens_details": {"thinking_tokens": 5}},
            Usage(input_tokens=1, output_tokens=5, contradictory=True),
        ),
        ({"input_tokens": -1, "output_tokens": 2}, None),
        ({"input_tokens": 2**63, "output_tokens": 2}, None),
        ({"output_tokens": 2}, None),
        ({}, None),
        (None, None),
    ],
)
async def test_usage_is_believed_only_if_it_makes_sense(reported, usage):
    reply = await answered(message(text("{}"), usage=reported))
    assert isinstance(reply, Reply)
    assert reply.usage == usage


async def test_the_usage_of_a_stream_is_its_last_with_what_only_its_first_says():
    last = {"output_tokens": 9, "cache_read_input_tokens": None, "output_tokens_details": {"thinking_tokens": 4}}
    reply = await answered(
        stream(*block(0, "text", {"type": "text_delta", "text": "{}"}), *ended(usage=last), usage=CACHED)
    )
    assert reply.usage == Usage(
        input_tokens=123,
        output_tokens=9,
        cache_read_tokens=100,
        cache_write_tokens=20,
        cache_write_1h_tokens=12,
        reasoning_tokens=4,
    )
    price = find_price("claude-haiku-4-5", base_url=ANTHROPIC_URL, at=1_790_000_000.0)
    assert price is not None
    expected = (3 * 1 + 100 * 0.1 + 8 * 1.25 + 12 * 2 + 9 * 5) / 1e6
    assert price.usd(reply.usage) == pytest.approx(expected)


async def test_usage_that_only_the_start_of_a_stream_reports_is_not_that_of_the_reply():
    reply = await answered(stream(*block(0, "text", {"type": "text_delta", "text": "{}"}), *ended(usage={})))
    assert isinstance(reply, Reply)
    assert reply.usage is None


def modes(server):
    return [seen.body.get("tool_choice", {"type": "text"})["type"] for seen in server.seen]


async def test_with_thinking_the_tool_is_offered_and_not_demanded():
    async with claude(Answer.say(TEXT)) as (server, model):
        thought = await model.complete(request(fields=THINKING))
        plain = await model.complete(request())
    assert (thought.mode, plain.mode) == ("tool_offered", "tool")
    assert modes(server) == ["auto", "tool"]
    assert server.seen[0].body["thinking"] == THINKING["thinking"]


async def test_a_model_that_thinks_unasked_is_offered_the_tool_from_then_on():
    def handle(body, _headers, _n):
        demanded = body["tool_choice"]["type"] == "tool"
        refusal = Answer.fault(400, "Thinking may not be enabled when tool_choice forces tool use.")
        return refusal if demanded else Answer.say(TEXT)

    async with claude(handle) as (server, model):
        replies = [await model.complete(request()) for _ in range(2)]
    assert [reply.mode for reply in replies] == ["tool_offered"] * 2
    assert modes(server) == ["tool", "auto", "auto"]


async def test_a_server_without_tools_is_asked_for_text_from_then_on():
    def handle(body, _headers, _n):
        return Answer.fault(400, "tools are not supported by this model") if "tools" in body else Answer.say(TEXT)

    async with claude(handle) as (server, model):
        replies = [await model.complete(request()) for _ in range(2)]
    assert [reply.mode for reply in replies] == ["text"] * 2
    assert modes(server) == ["tool", "auto", "text", "text"]


async def test_a_schema_that_no_tool_can_have_is_asked_for_in_text():
    async with claude(Answer.say(TEXT)) as (server, model):
        reply = await model.complete(request(schema={"anyOf": [{"type": "object"}, {"type": "array"}]}))
        again = await model.complete(request())
    assert (reply.mode, again.mode) == ("text", "tool")
    assert modes(server) == ["text", "tool"]


async def test_marks_end_the_system_message_and_what_later_requests_may_repeat():
    body, _ = await sent(user=USER, repeated=(COMMON,))
    assert body["system"] == [{"type": "text", "text": "You analyse.", **MARK}]
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "The parser fails.", **MARK},
        {"type": "text", "text": "\n\nRejected."},
    ]


async def test_at_most_four_marks_are_set_and_a_part_of_white_space_is_none():
    user = "a\n\nb c d e\n"
    body, _ = await sent(user=user, repeated=(1, 3, 5, 7, 9, 10))
    parts = body["messages"][0]["content"]
    assert "".join(part["text"] for part in parts) == user
    assert [part["text"] for part in parts if "cache_control" in part] == ["a\n\nb c ", "d ", "e\n"]


@pytest.mark.parametrize("setting", ["auto", "off"])
async def test_another_server_is_told_nothing_of_the_cache_unless_it_is_wished(setting):
    body, _ = await sent(setting=setting, user=USER, repeated=(COMMON,))
    assert "cache_control" not in json.dumps(body)
    async with open_anthropic("claude-x", prompt_cache=setting) as model:
        assert model._cache is (setting == "auto")


async def test_a_server_that_refuses_the_marks_is_asked_at_once_without_and_from_then_on():
    def handle(body, _headers, _n):
        marked = "cache_control" in json.dumps(body)
        return Answer.fault(400, "cache_control: Extra inputs are not permitted") if marked else Answer.say(TEXT)

    async with claude(handle, prompt_cache="on") as (server, model):
        for _ in range(2):
            assert isinstance(await model.complete(request(user=USER, repeated=(COMMON,))), Reply)
    assert ["cache_control" in json.dumps(seen.body) for seen in server.seen] == [True, False, False]


async def test_the_list_of_models_is_asked_for_as_a_whole():
    async with claude(Answer.say(TEXT)) as (server, model):
        server.models = lambda headers: Answer.json({"data": [{"id": "claude-x"}], "has_more": False})
        assert await model.ask_models() == frozenset({"claude-x"})


async def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr("runtime.models.open_models.find_spec", lambda _: None)
    with pytest.raises(
        UsageProblem, match=r"need the extra anthropic \(install it: pip install '.*\[anthropic\]"
    ) as told:
        async with open_anthropic("claude-x"):
            pytest.fail("opened")
    assert "\n" not in str(told.value)


async def test_the_headers_that_the_client_adds_are_documented():
    page = (ROOT / "docs" / "reference" / "models.md").read_text(encoding="utf-8")
    known = {name.lower() for name in re.findall(r"`(X-Stainless-[\w-]+)`", page)}
    _, headers = await sent()
    assert {name for name in headers if name.startswith("x-stainless-")} == known
    others = set(headers) - known - {"host", "connection", "content-length", "content-type", "accept"}
    assert others == {"accept-encoding", "authorization", "user-agent", "x-client-request-id", "anthropic-version"}
