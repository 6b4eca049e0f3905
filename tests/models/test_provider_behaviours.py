"""Fifty behaviours of providers from public reports: how a run with one step ends against each.

Each row says what a run comes to, the calls and tokens that it is charged, and the requests that it took.
"""

import json
import time
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


def chunks(*events, done=True):
    return Answer.events([*events, *([DONE] if done else [])])


def without(event, name):
    [choice] = event["choices"]
    return {**event, "choices": [{key: value for key, value in choice.items() if key != name}]}


def ending(event, reason):
    return {**event, "choices": [{**event["choices"][0], "finish_reason": reason}]}


def limited(error, status=200):
    return first(chunks({"error": error}) if status == 200 else Answer.json({"error": error}, status=status))


ZEROS = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
EFFORT = error(400, "Unknown parameter: 'reasoning_effort'.", param="reasoning_effort", code="unknown_parameter")
NOT_JSON_OBJECT = "Invalid parameter: 'response_format' of type '{}' is not supported with this model."


def no_structure(body, *_):
    kind = body.get("response_format", {}).get("type")
    return stream() if kind is None else error(400, NOT_JSON_OBJECT.format(kind), param="response_format")


MORE = {
    "sgl-project/sglang#3912: the finish reason is empty until the end": (
        always(chunks(*(ending(each, "") for each in parts(PLAN)), chunk({}, "stop"), OF_LAST)),
        ("success", 1, 1200, 1),
    ),
    "ollama/ollama#4357: the finish reason is empty to the end": (
        always(chunks(*(ending(each, "") for each in parts(PLAN)), OF_LAST)),
        ("success", 1, 1200, 1),
    ),
    "jakobdylanc/llmcord#84: the finish reason has another name": (
        always(chunks(*parts(PLAN), {**chunk({}), "finishReason": "stop"}, OF_LAST)),
        ("success", 1, 1200, 1),
    ),
    "mlflow/mlflow#24111: chunks have no finish reason": (
        always(chunks(*(without(each, "finish_reason") for each in parts(PLAN)), chunk({}, "stop"), OF_LAST)),
        ("success", 1, 1200, 1),
    ),
    "mudler/LocalAI#1194: usage is zero until the end": (
        always(chunks(*({**each, "usage": ZEROS} for each in parts(PLAN)), chunk({}, "stop"), OF_LAST)),
        ("success", 1, 1200, 1),
    ),
    "Mintplex-Labs/anything-llm#1475: the role comes with an empty text, and no usage": (
        always(chunks(chunk({"content": "", "role": "assistant"}), *parts(PLAN), chunk({}, "stop"))),
        ("success", 1, None, 1),
    ),
    "earendil-works/pi#4558: the stream ends without a reason or an end mark": (
        first(chunks(*parts(PLAN[:80]), done=False)),
        ("success", 2, None, 2),
    ),
    "ItzCrazyKns/Vane#959: the JSON is in a fence": (always(stream(f"```json\n{PLAN}\n```")), ("success", 1, 1200, 1)),
    "ROCm/FastFlowLM#554: prose follows the JSON": (
        always(stream(PLAN + "\nThis JSON object contains a plan.")),
        ("success", 1, 1200, 1),
    ),
    "mrwadams/stride-gpt#19: no structure is supported": (no_structure, ("success", 1, 1200, 3)),
    "leookun/devin-2api#3: a limit is told in a chunk": (
        limited({"message": "rate limit", "type": "rate_limit_error"}),
        ("success", 1, 1200, 2),
    ),
    "Wei-Shaw/sub2api#5563: an overload is told in an event": (
        first(
            Answer.events(
                [b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}\n\n']
            )
        ),
        ("success", 1, 1200, 2),
    ),
    "sozercan/vekil#267: an overload has other names": (
        limited({"message": "busy", "code": "engine_overloaded"}),
        ("success", 1, 1200, 2),
    ),
    "pleaseai/shunt#463: a limit is told by its code": (
        limited({"message": "slow", "code": "rate_limit_exceeded"}),
        ("success", 1, 1200, 2),
    ),
    "xorbitsai/xagent#626: the limit of tokens ends the reasoning": (
        always(say("", finish="length", reasoning_content="I consider the")),
        ("parked", 2, 2400, 2),
    ),
    "lmstudio-ai/lmstudio-bug-tracker#1602: the text is empty, the reasoning is the JSON": (
        always(say("", reasoning_content=PLAN)),
        ("success", 1, 1200, 1),
    ),
    "NousResearch/hermes-agent#5278: there is only reasoning": (
        first(say(None, reasoning_content="The fix is in the loop.")),
        ("success", 2, 2400, 2),
    ),
    "unslothai/unsloth#7418: content in parts has only thoughts": (
        first(chunks(chunk({"content": [{"type": "thinking", "thinking": "so"}]}), chunk({}, "stop"), OF_LAST)),
        ("success", 2, 2400, 2),
    ),
    "run-llama/llama_index#17731: reasoning_effort is refused": (
        refusing(lambda body: "reasoning_effort" in body, EFFORT),
        ("parked", 0, 0, 1),
    ),
    "NikkeTryHard/zerogravity#19: a pause is told in milliseconds": (
        first(Answer.fault(429, "slow down", headers={"Retry-After-Ms": "1500"})),
        ("success", 1, 1200, 2),
    ),
    "cloudfoundry/cloud_controller_ng#2544: a pause is told as a time": (
        lambda _body, _headers, n: (
            Answer.fault(429, headers={"Retry-After": str(int(time.time()) + 2)}) if n == 1 else stream()
        ),
        ("success", 1, 1200, 2),
    ),
    "UKGovernmentBEIS/inspect_ai#3687: a 200 is no completion": (
        first(Answer.json({"status": "failed", "detail": "no worker"})),
        ("success", 2, None, 2),
    ),
    "youssefvdel/qwengate#68: a limit is told in a form of its own": (
        first(Answer.json({"success": False, "data": {"code": "RateLimited"}})),
        ("success", 2, None, 2),
    ),
}
"""The same from other public threads, by the thread."""
CASES |= MORE


@pytest.mark.parametrize("name", CASES)
async def test_a_run_ends_as_it_should(name):
    handler, (end, calls, tokens, requests) = CASES[name]
    own = {"temperature": 0.2} if "temperature" in name else {"reasoning_effort": "low"} if "effort" in name else {}
    settings = {"limits": {"model_settings": own}} if own else {}
    async with run_against(handler, FastBackOffClock(), workflow="single", **settings) as (result, server, events):
        found = (result.outcome or result.status, result.calls, result.tokens, len(server.seen))
        assert found == (end, calls, result.tokens if tokens is None else tokens, requests)
        if tokens is None:  # What is not known is charged at its reservation.
            assert result.tokens > 10_000
        for event in events:
            if isinstance(event, CallFailed | Replied):
                assert event.model_dump_json()


def test_there_are_thirty_and_twenty_more():
    assert len(CASES) - len(MORE) >= 30
    assert len(MORE) >= 20
