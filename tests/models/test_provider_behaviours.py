"""Thirty behaviours of providers from public reports: how a run with one step ends against each.

Each row says what a run comes to, the calls and tokens that it is charged, and the requests that it took.
"""

import json
from collections.abc import Callable

import pytest

from actors.run.calls import CallFailed, Replied
from tests.support.answers import Answer, chunk
from tests.support.artifacts import GOOD
from tests.wire.test_search import FastBackOffClock, run_against

PLAN = json.dumps(GOOD["g_plan"])
USAGE = {"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200}
OF_LAST = {"object": "chat.completion.chunk", "choices": [], "usage": USAGE}
DONE = "[DONE]"


def parts(text, name="content"):
    return [chunk({name: text[at : at + 40]}) for at in range(0, len(text), 40)]


def stream(text=PLAN, *, first=(), name="content", finish="stop", usage=USAGE, done=True):
    last = [] if usage is None else [{**OF_LAST, "usage": usage}]
    events = [*first, chunk({"role": "assistant"}), *parts(text, name), chunk({}, finish), *last]
    return Answer.events([*events, *([DONE] if done else [])])


def say(text=PLAN, finish="stop", usage=USAGE, **message):
    return Answer.say(text, usage=usage, finish_reason=finish, **message)


def first(answer, *more):
    """These answers first, then the plan."""
    answers = (answer, *more)
    return lambda _body, _headers, n: answers[n - 1] if n <= len(answers) else stream()


def always(answer):
    return lambda *_: answer


def refusing(refuses: Callable, answer):
    return lambda body, *_: answer if refuses(body) else stream()


def error(status, message, **more):
    return Answer.json({"error": {"message": message, "type": "invalid_request_error", **more}}, status=status)


CALL = {"id": "t", "type": "function", "function": {"name": "plan", "arguments": PLAN}}
BROKEN = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}
BROKEN_OFF = {**BROKEN, "error": {"code": 502, "message": "Provider returned error"}}
FINAL = (
    "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."
)
PARTIAL_USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 500,
    "total_tokens": 1500,
    "prompt_tokens_details": {"cached_tokens": 900},
    "completion_tokens_details": {"reasoning_tokens": 300},
}
BAD_TEXT = PLAN.replace("Fix", "\\ud83d Fix", 1).replace(
    '"total_retry_budget": ', '"total_retry_budget": NaN, "x": ', 1
)
THOUGHT = '<think>\nLet me think {"a": 1}\n</think>\n```json\n' + PLAN + "\n```"

CASES = {
    "max_tokens is refused": (
        refusing(
            lambda body: "max_tokens" in body, error(400, "Unsupported parameter: 'max_tokens'", param="max_tokens")
        ),
        ("success", 1, 1200, 2),
    ),
    "choices are null in a chunk": (
        always(stream(first=[{**OF_LAST, "choices": None, "usage": None}])),
        ("success", 1, 1200, 1),
    ),
    "a filter's results come first": (
        always(stream(first=[{"id": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}])),
        ("success", 1, 1200, 1),
    ),
    "the JSON is in reasoning_content": (always(stream(name="reasoning_content")), ("success", 1, 1200, 1)),
    "the JSON is in reasoning, without a stream": (always(say(None, reasoning=PLAN)), ("success", 1, 1200, 1)),
    "thoughts are in tags": (always(stream(THOUGHT)), ("success", 1, 1200, 1)),
    "thoughts have only the last tag": (
        always(stream('I consider {"steps": []} first.\n</think>\n' + PLAN)),
        ("success", 1, 1200, 1),
    ),
    "an error is in a 200": (first(Answer.json({"error": {"code": 429, "message": "no"}})), ("success", 1, 1200, 2)),
    "an error is in mid-stream": (
        first(Answer.events([*parts(PLAN[:50]), BROKEN_OFF, DONE])),
        ("success", 2, None, 2),
    ),
    "the finish reason is error": (first(stream(PLAN[:50], finish="error")), ("success", 2, 2400, 2)),
    "a 200 is empty": (first(stream("", usage={"prompt_tokens": 0, "completion_tokens": 0})), ("success", 2, 1200, 2)),
    "no usage at all": (always(stream(usage=None)), ("success", 1, None, 1)),
    "usage is in every chunk": (
        always(Answer.events([{**each, "usage": USAGE} for each in [*parts(PLAN), chunk({}, "stop")]] + [DONE])),
        ("success", 1, 1200, 1),
    ),
    "usage has cached and reasoning tokens": (always(stream(usage=PARTIAL_USAGE)), ("success", 1, 1500, 1)),
    "the end mark is missing": (always(stream(done=False)), ("success", 1, 1200, 1)),
    "the connection is cut": (first(Answer.events(parts(PLAN[:80]), then="cut")), ("success", 2, None, 2)),
    "comments and CRLF": (
        always(
            Answer.events(
                [b": OPENROUTER PROCESSING\r\n\r\n"]
                + [f"data: {json.dumps(each)}\r\n\r\n".encode() for each in [*parts(PLAN), chunk({}, "stop"), OF_LAST]]
                + [b"data: [DONE]\r\n\r\n"]
            )
        ),
        ("success", 1, 1200, 1),
    ),
    "a tool call in place of content": (
        always(Answer.events([chunk({"tool_calls": [{"index": 0, **CALL}]}), chunk({}, "tool_calls"), OF_LAST, DONE])),
        ("success", 1, 1200, 1),
    ),
    "a refusal in words": (
        first(Answer.events([chunk({"refusal": "I can't help with that."}), chunk({}, "stop"), OF_LAST, DONE])),
        ("success", 2, 2400, 2),
    ),
    "content in parts": (always(say([{"type": "text", "text": PLAN}])), ("success", 1, 1200, 1)),
    "content in parts of a stream, with thoughts": (
        always(
            Answer.events(
                [
                    chunk({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "so {"}]}]}),
                    *(chunk({"content": [{"type": "text", "text": part}]}) for part in (PLAN[:50], PLAN[50:])),
                    chunk({}, "stop"),
                    OF_LAST,
                    DONE,
                ]
            )
        ),
        ("success", 1, 1200, 1),
    ),
    "temperature is refused": (
        refusing(lambda body: "temperature" in body, error(400, FINAL, param="temperature")),
        ("parked", 0, 0, 1),
    ),
    "json_schema is refused": (
        refusing(
            lambda body: body.get("response_format", {}).get("type") == "json_schema",
            error(400, "response_format type json_schema is not supported."),
        ),
        ("success", 1, 1200, 2),
    ),
    "stream_options are refused": (
        lambda body, *_: (
            Answer.json({"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs"}]}, status=422)
            if "stream_options" in body
            else say()
        ),
        ("success", 1, 1200, 2),
    ),
    "a lone surrogate and NaN": (first(stream(BAD_TEXT)), ("success", 2, 2400, 2)),
    "a byte order mark": (always(stream("\ufeff" + PLAN)), ("success", 1, 1200, 1)),
    "a trailing comma and a comment": (always(stream(PLAN[:-1] + ",}  // done")), ("success", 1, 1200, 1)),
    "one word for ever": (always(stream("plan " * 4000, finish="length")), ("parked", 2, 2400, 2)),
    "too many requests": (first(error(429, "slow down")), ("success", 1, 1200, 2)),
    "a gateway's page, twice": (first(Answer.html(502), Answer.html(502)), ("success", 1, 1200, 3)),
    "moderation": (
        always(Answer.json({"error": {"code": 403, "message": "flagged"}}, status=403)),
        ("parked", 0, 0, 1),
    ),
    "the prompt is too long": (
        always(error(400, "maximum context length is 2048 tokens", code="context_length_exceeded", param="messages")),
        ("parked", 0, 0, 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_run_ends_as_it_should(name):
    handler, (end, calls, tokens, requests) = CASES[name]
    settings = {"limits": {"model_settings": {"temperature": 0.2}}} if "temperature" in name else {}
    async with run_against(handler, FastBackOffClock(), workflow="single", **settings) as (result, server, events):
        found = (result.outcome or result.status, result.calls, result.tokens, len(server.seen))
        assert found == (end, calls, result.tokens if tokens is None else tokens, requests)
        if tokens is None:  # What is not known is charged at its reservation.
            assert result.tokens > 10_000
        for event in events:
            if isinstance(event, CallFailed | Replied):
                assert event.model_dump_json()


def test_there_are_thirty():
    assert len(CASES) >= 30
