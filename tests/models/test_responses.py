"""The client of the Responses API: what its requests are, and what responses say, over a real socket."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from runtime.core.ledger import Usage
from runtime.models.open_models import open_openai
from runtime.models.port import Fault, FaultKind, Reply
from runtime.models.providers import PROVIDERS
from runtime.models.replies import BYTES_MAX
from runtime.models.responses import KEPT_BYTES_MAX, KeptReasoning, ResponseReader
from tests.contracts.model import TEXT, request
from tests.models.wired import KEY, responding
from tests.support import responses_api as api
from tests.support.openai_server import Answer

COMMON = "The parser fails. " * 40
FEEDBACK = "\n\nRejected: it has no steps."
FORMAT = {"type": "json_schema", "name": "analysis", "schema": {"type": "object"}, "strict": False}


def said(*items, **more):
    return Answer.json(api.response(*items, **more))


def thought(number=1, words=TEXT, **more):
    """A response with encrypted reasoning, that took 20 and 12 tokens."""
    items = api.reasoning(f"gAAAA-{number}", name=f"rs_{number}"), api.message(api.text(words), id=f"msg_{number}")
    return api.response(*items, usage=api.usage(20, 12, reasoning=8), **more)


async def answered(answer, **more):
    async with responding(answer) as (server, model):
        reply = await model.complete(request(**more))
        assert len(server.seen) == 1
    return reply


async def sent(*, setting="off", **more):
    async with responding(Answer.say(TEXT), prompt_cache=setting) as (server, model):
        assert isinstance(await model.complete(request(**more)), Reply)
    return server.seen[0].body


async def test_what_goes_out():
    """The server is asked to store nothing, and to give its reasoning in encrypted form."""
    async with responding(Answer.say(TEXT)) as (server, model):
        reply = await model.complete(request("g_plan/v2.a1.t3", material={"secret": "material"}))
    assert reply == Reply(TEXT, Usage(input_tokens=10, output_tokens=5), "test-model", "stop", "json_schema")
    [seen] = server.seen
    assert seen.body == {
        "model": "test-model",
        "input": [
            {"role": "system", "content": "You analyse."},
            {"role": "user", "content": "The parser fails."},
        ],
        "max_output_tokens": 500,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "text": {"format": FORMAT},
        "stream": True,
    }
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.request_id == "run-1/g_plan/v2.a1.t3"


async def test_without_schema_or_system():
    body = await sent(schema=None, system="")
    assert body.keys() == {"model", "input", "max_output_tokens", "store", "include", "stream"}


async def test_settings_are_sent_in_the_words_of_the_api():
    fields = {"reasoning_effort": "low", "verbosity": "high", "reasoning": {"summary": "auto"}, "temperature": 0.5}
    body = await sent(fields=fields)
    assert body["reasoning"] == {"summary": "auto", "effort": "low"}
    assert body["text"] == {"verbosity": "high", "format": FORMAT}
    assert body["temperature"] == 0.5


async def test_what_the_user_says_about_storing_goes_first():
    assert (await sent(fields={"store": True}))["store"] is True


async def test_openai_itself_is_asked_for_the_tier_of_the_price_list():
    async with open_openai("gpt-6", api_key=KEY, responses=True) as model:
        assert model._body(request(), "text", stream=True, cache=False)["service_tier"] == "default"


@pytest.mark.parametrize("name", ["stop", "seed"])
async def test_a_setting_that_the_api_does_not_have_is_refused_by_name_and_not_sent(name):
    async with responding(Answer.say(TEXT)) as (server, model):
        fault = await model.complete(request(fields={name: 7}))
        assert server.seen == []
    assert (fault.kind, fault.kind.refunded) == (FaultKind.BAD_REQUEST, True)
    assert fault.message == f"OpenAI's Responses API does not take the setting {name} (leave it out)"


async def test_a_refusal_says_which_setting_to_leave_out():
    refusal = Answer.fault(400, "Unsupported parameter: 'reasoning.effort' is not supported with this model.")
    fault = await answered(refusal, fields={"reasoning_effort": "low"})
    assert fault.message.endswith("(leave out the setting reasoning_effort)")


async def test_a_server_that_refuses_a_schema_is_asked_for_less():
    def handle(body, _headers, _n):
        if body.get("text", {}).get("format", {}).get("type", "text") != "text":
            return Answer.fault(400, "Invalid parameter: 'text.format' is not supported with this model.")
        return Answer.say(TEXT)

    async with responding(handle) as (server, model):
        modes = [(await model.complete(request())).mode for _ in range(2)]
    assert modes == ["text", "text"]
    assert len(server.seen) == 4


async def test_marks_of_the_prompt_cache_end_what_later_requests_repeat():
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    async with responding(Answer.say(TEXT), prompt_cache="on") as (server, model):
        model._name = "gpt-6"
        await model.complete(request(user=COMMON + FEEDBACK, repeated=(len(COMMON),)))
    [body] = [seen.body for seen in server.seen]
    assert (body["prompt_cache_key"], body["prompt_cache_options"]) == ("run-1", {"mode": "explicit"})
    assert body["input"] == [
        {"role": "system", "content": [{"type": "input_text", "text": "You analyse.", **mark}]},
        {
            "role": "user",
            "content": [{"type": "input_text", "text": COMMON, **mark}, {"type": "input_text", "text": FEEDBACK}],
        },
    ]


CALL = {"type": "function_call", "id": "fc_1", "call_id": "c_1", "name": "reply", "arguments": '{"a": 1}'}
OUTPUTS = [
    ([api.message(api.text("hello"))], "hello"),
    ([api.message(api.text("a"), api.text("b"))], "ab"),
    ([api.message(api.text("a")), api.message(api.text("b"))], "ab"),
    ([api.reasoning(), api.message(api.text("{}"))], "{}"),
    (
        [
            api.message(api.text("I look at it."), phase="commentary"),
            api.message(api.text("{}"), phase="final_answer"),
        ],
        "{}",
    ),
    ([api.message(api.text("Only this."), phase="commentary")], "Only this."),
    ([api.message(api.refusal("I will not."))], "I will not."),
    ([CALL], '{"a": 1}'),
    ([CALL, CALL], ""),
    ([api.reasoning()], ""),
    ([api.message(api.text("\\ud800 é"))], "\\ud800 é"),
]


@pytest.mark.parametrize("streamed", [False, True])
async def test_json_that_lies_in_the_reasoning_is_the_reply(streamed):
    """A server with a reasoning parser may leave the message empty (vllm #41132)."""
    item = {**api.reasoning(None), "content": [{"type": "reasoning_text", "text": TEXT}]}
    response = api.response(item, api.message(api.text("")))
    reply = await answered(api.stream(response) if streamed else Answer.json(response))
    assert (reply.text, len(reply.notices)) == (TEXT, 1)


@pytest.mark.parametrize(("items", "text"), OUTPUTS)
@pytest.mark.parametrize("streamed", [False, True])
async def test_what_a_response_says(streamed, items, text):
    reply = await answered(api.stream(api.response(*items)) if streamed else said(*items))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason, reply.model) == (text, "stop", "test-model")
    assert reply.usage == Usage(input_tokens=10, output_tokens=5)


CREATED = {"type": "response.created", "response": api.response(status="in_progress", usage=None)}
DELTA = {"type": "response.output_text.delta", "delta": "{}"}
MESSAGE = api.message(api.text("{}"))


def failed(code, **more):
    return api.response(status="failed", error={"code": code, "message": "no"}, usage=None, **more)


def end(name, **more):
    return {"type": f"response.{name}", "response": api.response(**more)}


BEHAVIOURS = [
    ("[DONE] without an end (9router #1648)", [CREATED, DELTA, b"data: [DONE]\n\n"], FaultKind.CUT),
    ("the stream only stops (openclaw #109133)", [CREATED, DELTA], FaultKind.CUT),
    ("it stops before the first text", [CREATED], FaultKind.CUT),
    ("an end named completed says incomplete (apfel #412)", [
        CREATED, DELTA, end("completed", status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    ], "length"),
    ("an end named completed is still in progress", [CREATED, DELTA, end("completed", status="in_progress")], "stop"),
    ("the end has an empty output (ChatGPT's own server)", [CREATED, DELTA, end("completed")], "stop"),
    ("the end has no text, the items before had", [
        CREATED, {"type": "response.output_item.done", "item": MESSAGE}, end("completed")
    ], "stop"),
    ("the items have only the reasoning", [
        CREATED, DELTA, {"type": "response.output_item.done", "item": api.reasoning()}, end("completed")
    ], "stop"),
    ("only the end comes", [{"type": "response.completed", "response": api.response(MESSAGE)}], "stop"),
    ("[DONE] comes after the end", [CREATED, DELTA, end("completed"), b"data: [DONE]\n\n"], "stop"),
    ("events of unknown types", [{"type": "response.steer", "response": 7}, CREATED, DELTA, end("completed")], "stop"),
    ("an error event with its code (OpenAPI)", [
        CREATED, {"type": "error", "code": "rate_limit_exceeded", "message": "slower", "param": None}
    ], FaultKind.RATE_LIMITED),
    ("an error event with an object", [
        CREATED, {"type": "error", "error": {"type": "x", "code": "server_error", "message": "no"}}
    ], FaultKind.SERVER_ERROR),
    ("an incomplete response without a reason", [CREATED, DELTA, end("incomplete", status="incomplete")], "incomplete"),
    ("a filter stops it (OpenSwarm #557)", [
        CREATED, end("incomplete", status="incomplete", incomplete_details={"reason": "content_filter"})
    ], "content_filter"),
    ("a cancelled response", [CREATED, end("cancelled", status="cancelled")], FaultKind.SERVER_ERROR),
    ("a delta that is no text", [CREATED, {**DELTA, "delta": 7}, end("completed")], FaultKind.BAD_REPLY),
    ("a response that is no object", [CREATED, DELTA, {"type": "response.completed", "response": 7}], "stop"),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), [row[1:] for row in BEHAVIOURS], ids=[row[0] for row in BEHAVIOURS])
async def test_how_a_stream_ends(events, expected):
    """Behaviours of servers with the API, from their public reports."""
    reply = await answered(Answer.events([e if isinstance(e, bytes) else api.event(e) for e in events]))
    assert expected == (reply.kind if isinstance(reply, Fault) else reply.finish_reason)
    if expected == "stop":
        assert reply.text == "{}"


@pytest.mark.parametrize(
    ("code", "expected", "status"),
    [
        ("server_error", FaultKind.SERVER_ERROR, 500),
        ("rate_limit_exceeded", FaultKind.RATE_LIMITED, 429),
        ("invalid_prompt", FaultKind.CONTENT_REFUSED, 400),
        ("bio_policy", FaultKind.CONTENT_REFUSED, 400),
        ("misalignment_policy_violation", FaultKind.CONTENT_REFUSED, 400),
        ("data_residency_mismatch", FaultKind.BAD_REQUEST, 400),
        ("context_length_exceeded", FaultKind.PROMPT_TOO_LONG, 400),
        ("insufficient_quota", FaultKind.AUTH, 429),
        ("vector_store_timeout", FaultKind.SERVER_ERROR, 504),
        ("a_code_to_come", FaultKind.SERVER_ERROR, 200),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_failed_response_is_the_fault_that_its_code_names(streamed, code, expected, status):
    fault = await answered(api.stream(failed(code)) if streamed else Answer.json(failed(code)))
    assert (fault.kind, fault.status) == (expected, status)
    assert fault.message == "the reply broke off: no"


@pytest.mark.parametrize("more", [{"output": [MESSAGE]}, {"usage": api.usage(10, 5)}])
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_failure_after_the_model_has_written_is_charged(streamed, more):
    response = {**failed("rate_limit_exceeded"), **more}
    fault = await answered(api.stream(response) if streamed else Answer.json(response))
    assert (fault.kind, fault.kind.refunded) == (FaultKind.SERVER_ERROR, False)


@pytest.mark.parametrize("status", ["queued", "in_progress", "cancelled"])
async def test_an_answer_that_is_no_end_is_a_fault(status):
    fault = await answered(said(status=status))
    assert fault.message == f"the reply broke off: the response is {status}"


async def test_a_chat_completion_is_no_response():
    fault = await answered(Answer.json({"choices": [{"message": {"content": "{}"}}]}))
    assert fault.kind is FaultKind.BAD_REPLY


@pytest.mark.parametrize(
    ("reported", "usage"),
    [
        (
            api.usage(9, 7, cached=4, written=2, reasoning=3),
            Usage(input_tokens=9, output_tokens=7, cache_read_tokens=4, cache_write_tokens=2, reasoning_tokens=3),
        ),
        ({"input_tokens": 3, "output_tokens": 4}, Usage(input_tokens=3, output_tokens=4)),
        ({"prompt_tokens": 3, "completion_tokens": 4}, Usage(input_tokens=3, output_tokens=4)),
        (api.usage(3, 4, cached=5), Usage(input_tokens=8, output_tokens=4, contradictory=True)),
        ({"input_tokens": 3, "output_tokens": 4, "total_tokens": 9}, Usage(input_tokens=3, output_tokens=6)),
        ({"input_tokens": -3, "output_tokens": 4}, None),
        ({"input_tokens": 2**63, "output_tokens": 4}, None),
        ({"output_tokens": 4}, None),
        (None, None),
        ("none", None),
    ],
)
async def test_usage_is_believed_only_if_it_makes_sense(reported, usage):
    assert (await answered(said(MESSAGE, usage=reported))).usage == usage


async def conversation(answers, *requests, **more):
    async with responding(answers, **more) as (server, model):
        for number, asked in enumerate(requests, 1):
            assert isinstance(await model.complete(request(f"g_plan/v1.a{number}", **asked)), Reply)
        return [seen.body["input"] for seen in server.seen]


def attempt(number, *, visit="g_plan/v1", common=COMMON, feedback=FEEDBACK, **more):
    text = feedback * (number - 1)
    return {"user": common + text, "repeated": (len(common),), "visit": visit, **more}


async def test_the_next_attempt_of_a_visit_gets_the_reasoning_back():
    answers = [api.stream(thought(1)), Answer.json(thought(2)), api.stream(thought(3))]
    first, second, third = await conversation(answers, attempt(1), attempt(2), attempt(3))
    system = {"role": "system", "content": "You analyse."}
    prompt = {"role": "user", "content": COMMON}
    [one, two] = [thought(number)["output"] for number in (1, 2)]
    assert first == [system, prompt]
    assert second == [system, prompt, *one, {"role": "user", "content": FEEDBACK}]
    assert third == [system, prompt, *one, *two, {"role": "user", "content": FEEDBACK * 2}]


@pytest.mark.parametrize(
    "other",
    [
        attempt(2, visit="g_plan/v2"),
        attempt(2, visit=""),
        attempt(2, common="Another problem. " * 40),
        attempt(2, system="You plan."),
        attempt(2, run="run-2"),
        attempt(1),
        {"user": COMMON + FEEDBACK, "visit": "g_plan/v1"},
    ],
    ids=["visit", "no visit", "problem", "system", "run", "same prompt", "unknown feedback"],
)
async def test_another_request_does_not_get_it(other):
    _, second = await conversation([Answer.json(thought())] * 2, attempt(1), other)
    assert all("role" in item and item["role"] != "assistant" for item in second)


async def test_another_process_asks_without_it():
    for _ in range(2):
        [only] = await conversation([Answer.json(thought())], attempt(2))
        assert len(only) == 2


async def test_reasoning_that_may_cost_more_than_was_reserved_is_not_sent():
    dear = {**thought(), "usage": api.usage(20, 5_000, reasoning=4_900)}
    _, second = await conversation([Answer.json(dear)] * 2, attempt(1), attempt(2))
    assert len(second) == 2


@pytest.mark.parametrize(
    "response",
    [
        api.response(api.reasoning(None), MESSAGE),
        api.response(MESSAGE),
        api.response(api.reasoning(), CALL),
        api.response(api.reasoning()),
        thought(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
        {**thought(), "usage": None},
        {**thought(), "usage": api.usage(3, 4, cached=5)},
    ],
    ids=["not encrypted", "no reasoning", "a call", "only reasoning", "incomplete", "no usage", "contradictory usage"],
)
async def test_what_cannot_be_sent_back_is_not_kept(response):
    _, second = await conversation([Answer.json(response)] * 2, attempt(1), attempt(2))
    assert len(second) == 2


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "The encrypted content gAAA... could not be verified. Reason: organization_id did not match."),
        (404, "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false."),
        (400, "Unknown parameter: 'input[2].encrypted_content'."),
    ],
)
async def test_a_server_that_does_not_take_the_reasoning_back_is_asked_without_it_at_once(status, message):
    """A gateway may send the next attempt to another deployment, which cannot read it."""

    def handle(body, _headers, _n):
        kept = any(item.get("type") == "reasoning" for item in body["input"])
        return Answer.fault(status, message) if kept else Answer.json(thought())

    first, second, again = await conversation(handle, attempt(1), attempt(2))
    assert (len(first), len(second), len(again)) == (2, 5, 2)


async def test_a_model_without_reasoning_is_asked_without_the_encrypted_form_from_then_on():
    def handle(body, _headers, _n):
        refusal = api.error("Encrypted content is not supported with this model.", param="include")
        return refusal if "include" in body else Answer.say(TEXT)

    async with responding(handle) as (server, model):
        for _ in range(2):
            assert isinstance(await model.complete(request()), Reply)
    assert ["include" in seen.body for seen in server.seen] == [True, False, False]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 900), st.integers(0, 900)), max_size=12)
)
def test_no_request_can_cost_more_than_its_bytes_whatever_came_before(replies):
    kept, last = KeptReasoning(), dict[str, Usage]()
    for number, (visit, rejections, input_tokens, output_tokens) in enumerate(replies):
        asked = request(**attempt(rejections + 1, visit=visit, common="A problem. " * 30))
        items = kept.items_for(asked)
        if items:
            most = last[visit].tokens + len(FEEDBACK) * rejections
            assert most <= len(asked.system) + len(asked.user)
            assert {item["visit"] for item in items} == {visit}
        last[visit] = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
        kept.add(asked, ({"type": "reasoning", "visit": visit, "number": number},), last[visit])


def test_the_oldest_is_dropped_where_too_much_is_kept():
    kept, size = KeptReasoning(), KEPT_BYTES_MAX // 3
    for visit in "abcd":
        item = {"type": "reasoning", "encrypted_content": "x" * size}
        kept.add(request(**attempt(1, visit=visit)), (item,), Usage(input_tokens=1, output_tokens=1))
    assert [bool(kept.items_for(request(**attempt(2, visit=visit)))) for visit in "abcd"] == [False, False, True, True]
    for visit in "abcd":
        kept.forget(request(**attempt(1, visit=visit)))
    assert kept._size == 0


def read(body, *, at=()):
    """Return the reply or fault for a body that is split at some places, and the reader."""
    reader = ResponseReader(asked="asked-model", mode="text", bytes_max=BYTES_MAX)
    for first, last in pairwise([0, *sorted(at), len(body)]):
        reader.feed(body[first:last])
    return reader.result(), reader


WORDS = '{"plan_id": "p1", "name": "naïve 😀"}'
GOOD = b"".join(api.stream(thought(words=WORDS)).pieces)
DECLARED = Reply(WORDS, Usage(input_tokens=20, output_tokens=12, reasoning_tokens=8), "test-model")


@given(st.lists(st.integers(0, len(GOOD))))
def test_a_stream_reads_the_same_however_its_bytes_are_cut(places):
    reply, reader = read(GOOD, at=places)
    assert reply == DECLARED
    assert (reader.streamed, reader.done, reader.characters) == (True, True, len(WORDS))
    assert len(reader.output_to_keep()) == 2


@given(st.integers(0, len(GOOD)))
def test_a_stream_that_is_cut_anywhere_is_whole_or_a_fault(place):
    result, _ = read(GOOD[:place])
    assert isinstance(result, Fault) or result == DECLARED


ANY = st.recursive(st.none() | st.integers() | st.text(), lambda e: st.lists(e) | st.dictionaries(st.text(), e))


@given(ANY, ANY)
def test_no_event_and_no_answer_of_any_form_raises(value, other):
    kinds = ("created", "output_text.delta", "refusal.delta", "output_item.done", "failed", "incomplete", "completed")
    names = ("response", "delta", "item", "error")
    events = [api.event({"type": f"response.{kind}", name: value}) for kind in kinds for name in names]
    fields = ("status", "output", "usage", "model", "error", "incomplete_details")
    for name in fields:
        response = api.response(MESSAGE) | {name: value}
        bodies = [json.dumps(response).encode(), api.event({"type": "response.completed", "response": response})]
        item = {"type": "message", "content": [{"type": "output_text", "text": value}, other]}
        bodies.append(json.dumps(api.response(item, other) | {name: value}).encode())
        assert all(isinstance(read(body)[0], Reply | Fault) for body in bodies)
    assert isinstance(read(b"".join(events))[0], Reply | Fault)


def test_the_loopback_server_gives_what_the_published_types_say():
    """What the tests rely on is what the official package reads."""
    from openai.types.responses import Response, ResponseStreamEvent

    of_stream = TypeAdapter(ResponseStreamEvent)
    for items, _ in OUTPUTS:
        Response.model_validate(api.response(*items))
        for value in api.events(api.response(*items)):
            of_stream.validate_python(value)


@pytest.mark.parametrize(
    ("name", "interface"),
    [
        ("gpt-5", "chat"),
        ("gpt-5.5-mini", "chat"),
        ("gpt-5.6", "responses"),
        ("gpt-6.1-sol", "responses"),
        ("gpt-5-pro", "responses"),
        ("o3-pro-2025-06-10", "responses"),
        ("gpt-5.1-codex-max", "responses"),
        ("gpt-4o", "chat"),
        ("o4-mini", "chat"),
    ],
)
def test_openais_own_models_that_need_it_are_asked_by_the_responses_api(name, interface):
    """On another server the same name may be anything."""
    assert PROVIDERS["openai"].interface_of(name, {}) == interface
    assert PROVIDERS["openai"].interface_of(name, {"OPENAI_BASE_URL": "https://gateway.example.org/v1"}) == "chat"
    assert PROVIDERS["openai-responses"].interface_of(name, {"OPENAI_BASE_URL": "http://localhost:1/v1"}) == "responses"
