"""Anthropic's Messages API, as its documentation says, for the loopback server of the tests.

An answer that a test writes as a chat completion is given as the message that says the same, to a request that passes
the checks of the API: so one suite holds for the clients of both. What is no completion is passed on as it is.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.support.answers import Answer

PATH = "/v1/messages"
VERSION = "2026-10-21"
REQUEST_ID = "req_011CSHoEeqs5C35K2UUqR7Fy"

_FIELDS = frozenset(
    {
        *("model", "messages", "max_tokens", "system", "stream", "stop_sequences"),
        *("tools", "tool_choice", "thinking", "output_config", "metadata", "service_tier", "cache_control"),
    }
)
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"}


def error(status: int, message: str, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer.json(
        error_body(status, message), status=status, headers={"request-id": REQUEST_ID, **(headers or {})}
    )


def error_body(status: int, message: str) -> dict[str, Any]:
    """Return the body of an error; the event `error` of a stream has the same."""
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": REQUEST_ID}


def refused(body: Mapping[str, Any], headers: Mapping[str, str]) -> Answer | None:
    """Return why the API refuses a request; None for one that it takes."""
    if headers.get("anthropic-version") != VERSION:
        return error(400, "anthropic-version: header is required")
    if not (headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")):
        return error(401, "x-api-key header is required")
    if unknown := sorted(body.keys() - _FIELDS):
        return error(400, f"{unknown[0]}: Extra inputs are not permitted")
    for name in ("model", "messages", "max_tokens"):
        if name not in body:
            return error(400, f"{name}: Field required")
    blocks = list(_blocks(body))
    if any(not block["text"].strip() for block in blocks):
        return error(400, "messages: text content blocks must contain non-whitespace text")
    if sum("cache_control" in block for block in blocks) > 4:
        return error(400, "A maximum of 4 blocks with cache_control may be provided.")
    for tool in body.get("tools", ()):
        if tool["input_schema"].get("type") != "object":
            return error(400, "tools.0.custom.input_schema.type: Field required")
        if tool["input_schema"].keys() & {"anyOf", "oneOf", "allOf"}:
            message = "input_schema does not support oneOf, allOf, or anyOf at the top level"
            return error(400, f"tools.0.custom.input_schema: {message}")
    thinks = body.get("thinking", {}).get("type", "disabled") != "disabled"
    if thinks and body.get("tool_choice", {}).get("type") in {"any", "tool"}:
        return error(400, "Thinking may not be enabled when tool_choice forces tool use.")
    return None


def _blocks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for content in (body.get("system", ()), *(message["content"] for message in body["messages"])):
        yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


def as_message(answer: Answer, body: Mapping[str, Any]) -> Answer:
    """Return the answer of the API that says what a chat completion says."""
    if answer.kind == "stream" and answer.headers.get("Content-Type", "").startswith("text/event-stream"):
        return replace(answer, pieces=tuple(_streamed(answer.pieces, body)))
    try:
        plain = json.loads(answer.body)
        headers = {**answer.headers, "request-id": REQUEST_ID}
        refusal = answer.status >= 400
        same = error_body(answer.status, plain["error"]["message"]) if refusal else _message(plain, body)
        return replace(answer, body=json.dumps(same).encode(), headers=headers)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return answer


def _message(completion: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    choice = completion["choices"][0]
    said = choice["message"]
    if not isinstance(said["content"], str | None) or said.get("tool_calls") is not None:
        raise TypeError("no text")
    text = said["content"] or said.get("refusal")
    blocks = [] if text is None else [_block(text, body)]
    reason = _REASONS.get(choice["finish_reason"], choice["finish_reason"])
    if blocks and blocks[0]["type"] == "tool_use" and reason == "end_turn":
        reason = "tool_use"
    return {**_frame(completion["model"]), "content": blocks, "stop_reason": reason} | _used(completion.get("usage"))


def _frame(model: str) -> dict[str, Any]:
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "stop_sequence": None}


def _used(usage: Any) -> dict[str, Any]:
    if not usage:
        return {}
    if "prompt_tokens" not in usage:
        return {"usage": usage}
    return {"usage": {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]}}


def _block(text: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the block of a reply: a call of the tool that the request demands, where the text is its input."""
    if body.get("tool_choice", {}).get("type") == "tool":
        try:
            given = json.loads(text)
        except ValueError:
            given = None
        if isinstance(given, dict):
            return {"type": "tool_use", "id": "toolu_1", "name": body["tool_choice"]["name"], "input": given}
    return {"type": "text", "text": text}


def event(value: Mapping[str, Any]) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


def _streamed(pieces: tuple[bytes, ...], body: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the events of a message for those of a streamed completion; what is none of them as it is."""
    chunks = [_chunk(piece) for piece in pieces]
    text = "".join(_delta(chunk).get("content") or "" for chunk in chunks if isinstance(chunk, dict))
    usages = [chunk["usage"] for chunk in chunks if isinstance(chunk, dict) and chunk.get("usage")]
    demanded = body.get("tool_choice", {}).get("type") == "tool" and text.startswith("{")
    frames = _Frames(body, usages[-1] if usages else None, "tool_use" if demanded else "text")
    for piece, chunk in zip(pieces, chunks, strict=True):
        if chunk == "[DONE]":
            yield event({"type": "message_stop"})
        elif not isinstance(chunk, dict) or not chunk.keys() & {"choices", "error"}:
            yield piece
        elif chunk.get("error"):
            code = chunk["error"].get("code")
            yield event(error_body(code if isinstance(code, int) else 500, chunk["error"]["message"]))
        else:
            yield b"".join(map(event, frames.of(chunk))) or event({"type": "ping"})


class _Frames:
    """The events of one message, whose blocks begin and end as its parts come."""

    def __init__(self, body: Mapping[str, Any], usage: Any, reply: str) -> None:
        self._body, self._usage, self._reply = body, usage, reply
        self._begun, self._block, self._number = False, "", -1

    def of(self, chunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the events for a chunk of a completion."""
        if not self._begun:
            self._begun = True
            start = {"input_tokens": (self._usage or {}).get("prompt_tokens", 1), "output_tokens": 1}
            yield {"type": "message_start", "message": _frame(chunk["model"]) | {"usage": start}}
            yield {"type": "ping"}
        delta = _delta(chunk)
        for name, kind in (("reasoning_content", "thinking"), ("content", self._reply)):
            if delta.get(name):
                yield from self._said(kind, delta[name])
        reason = chunk["choices"][0]["finish_reason"] if chunk["choices"] else None
        if reason is not None:
            yield from self._end()
            stop = {"stop_reason": _REASONS.get(reason, reason), "stop_sequence": None}
            yield {"type": "message_delta", "delta": stop, **_used(self._usage)}

    def _said(self, kind: str, text: str) -> Iterator[dict[str, Any]]:
        if kind != self._block:
            yield from self._end()
            self._block, self._number = kind, self._number + 1
            yield {"type": "content_block_start", "index": self._number, "content_block": _empty(kind, self._body)}
        yield {"type": "content_block_delta", "index": self._number, "delta": _piece(kind, text)}

    def _end(self) -> Iterator[dict[str, Any]]:
        if self._block:
            yield {"type": "content_block_stop", "index": self._number}


def _chunk(piece: bytes) -> Any:
    text = piece.decode(errors="replace").removeprefix("data: ").strip()
    try:
        return text if text == "[DONE]" else json.loads(text)
    except ValueError:
        return None


def _delta(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    return (chunk["choices"][0].get("delta") or {}) if chunk.get("choices") else {}


def _empty(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    match kind:
        case "thinking":
            return {"type": "thinking", "thinking": "", "signature": ""}
        case "tool_use":
            return {"type": "tool_use", "id": "toolu_1", "name": body["tool_choice"]["name"], "input": {}}
        case _:
            return {"type": "text", "text": ""}


def _piece(kind: str, text: str) -> dict[str, Any]:
    match kind:
        case "thinking":
            return {"type": "thinking_delta", "thinking": text}
        case "tool_use":
            return {"type": "input_json_delta", "partial_json": text}
        case _:
            return {"type": "text_delta", "text": text}
