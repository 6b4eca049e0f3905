"""OpenAI's Responses API, for the loopback server of the tests. Requests are checked with the types of its package.

An answer that a test writes as a chat completion is given as the response that says the same, so that one suite holds
for the clients of all interfaces. What is no completion is passed on as it is.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tests.support.answers import Answer

PATH = "/v1/responses"
OUTPUT_TOKENS_MIN = 16

_CODES = {401: "invalid_api_key", 402: "insufficient_quota", 429: "rate_limit_exceeded"}
_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


@cache
def _requests() -> TypeAdapter[Any]:
    from openai.types.responses.response_create_params import ResponseCreateParams

    return TypeAdapter(ResponseCreateParams)


@cache
def _fields() -> frozenset[str]:
    from openai.types.responses import response_create_params as params

    return frozenset(params.ResponseCreateParamsBase.__annotations__) | {"stream"}


def error(message: str, *, param: str | None = None, code: str | None = None, status: int = 400) -> Answer:
    body = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return Answer.json({"error": body}, status=status)


def refused(body: Mapping[str, Any]) -> Answer | None:
    """Return why the API refuses a request; None for one that it takes."""
    for name in sorted(body.keys() - _fields()):
        return error(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
    try:
        _requests().validate_python(body)
    except ValidationError as wrong:
        place = ".".join(map(str, wrong.errors()[0]["loc"]))
        return error(f"Invalid type for '{place}'.", param=place, code="invalid_type")
    if body.get("max_output_tokens", OUTPUT_TOKENS_MIN) < OUTPUT_TOKENS_MIN:
        text = f"Invalid 'max_output_tokens': integer below minimum value. Expected a value >= {OUTPUT_TOKENS_MIN}."
        return error(text, param="max_output_tokens", code="integer_below_min_value")
    items = body["input"]
    for item, after in zip(items, [*items[1:], {}], strict=True):
        if item.get("type") != "reasoning":
            continue
        name = f"'{item['id']}' of type 'reasoning'"
        if not item.get("encrypted_content"):
            text = f"Item with id '{item['id']}' not found. Items are not persisted when `store` is set to false."
            return error(text, param="input", status=404)
        if after.get("type") not in {"message", "function_call", "reasoning"} or after.get("role") == "user":
            return error(f"Item {name} was provided without its required following item.", param="input")
    return None


def response(*items: Mapping[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    """Return a response with these items of output, and 10 and 5 tokens."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "test-model",
        "output": list(items),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "store": False,
        "usage": usage(10, 5),
        **more,
    }


def usage(prompt: int, completion: int, *, cached: int = 0, written: int = 0, reasoning: int = 0) -> dict[str, Any]:
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": prompt + completion,
    }


def message(*parts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": list(parts)}
    return {**item, **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "output_text", "text": words, "annotations": []}


def refusal(words: str) -> dict[str, Any]:
    return {"type": "refusal", "refusal": words}


def reasoning(encrypted: str | None = "gAAAA-1", *, name: str = "rs_1") -> dict[str, Any]:
    return {"type": "reasoning", "id": name, "summary": [], "encrypted_content": encrypted}


def events(done: Mapping[str, Any], *, pieces: int = 3, last: str = "") -> list[dict[str, Any]]:
    """Return the events of the stream that ends with a response; `last` is another name for the last one."""
    first = {**done, "status": "in_progress", "output": [], "usage": None, "error": None, "incomplete_details": None}
    listed = [{"type": f"response.{name}", "response": first} for name in ("created", "in_progress")]
    for index, item in enumerate(done["output"]):
        listed += _events_of_item(index, item, pieces)
    listed.append({"type": last or f"response.{done['status']}", "response": dict(done)})
    return [{**event, "sequence_number": number} for number, event in enumerate(listed)]


def _events_of_item(index: int, item: Mapping[str, Any], pieces: int) -> Iterator[dict[str, Any]]:
    empty = {**item, "status": "in_progress", **({"content": []} if item["type"] == "message" else {})}
    yield {"type": "response.output_item.added", "output_index": index, "item": empty}
    for number, part in enumerate(item.get("content", ()) if item["type"] == "message" else ()):
        place = {"item_id": item["id"], "output_index": index, "content_index": number}
        name, words = ("refusal", part["refusal"]) if part["type"] == "refusal" else ("output_text", part["text"])
        blank = {**part, "refusal" if name == "refusal" else "text": ""}
        yield {"type": "response.content_part.added", **place, "part": blank}
        more = {} if name == "refusal" else {"logprobs": []}
        size = max(1, -(-len(words) // pieces))
        for at in range(0, len(words), size):
            yield {"type": f"response.{name}.delta", **place, "delta": words[at : at + size], **more}
        yield {"type": "response.content_part.done", **place, "part": part}
    yield {"type": "response.output_item.done", "output_index": index, "item": dict(item)}


def stream(done: Mapping[str, Any], **more: Any) -> Answer:
    """Return the answer that streams a response."""
    return Answer.events([event(value) for value in events(done, **more)])


def event(value: Mapping[str, Any]) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


def as_response(answer: Answer) -> Answer:
    """Return the answer of the API that says what a chat completion says."""
    if answer.kind == "stream" and answer.headers.get("Content-Type", "").startswith("text/event-stream"):
        return replace(answer, pieces=tuple(_streamed(answer.pieces)))
    try:
        same = _response(json.loads(answer.body))
        return replace(answer, body=json.dumps(same).encode())
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return answer


def _response(completion: Mapping[str, Any]) -> dict[str, Any]:
    choice = completion["choices"][0]
    said = choice["message"]
    if not isinstance(said["content"], str | None) or said.get("tool_calls") is not None:
        raise TypeError("no text")
    parts = [] if said["content"] is None else [text(said["content"])]
    parts += [refusal(said["refusal"])] if said.get("refusal") else []
    ended = _ended(choice["finish_reason"], completion["model"], completion.get("usage"))
    return response(*([message(*parts)] if parts else []), **ended)


def _ended(reason: str | None, model: str, reported: Any) -> dict[str, Any]:
    """Return the fields of a response that say how it ended; `reported` is OpenAI's usage, or the API's own."""
    counts = reported or None
    if reported and "prompt_tokens" in reported:
        counts = usage(reported["prompt_tokens"], reported["completion_tokens"])
    cause = {"reason": _REASONS[reason]} if reason in _REASONS else None
    status = "incomplete" if cause else "completed"
    return {"status": status, "incomplete_details": cause, "model": model, "usage": counts}


def _streamed(pieces: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the events of a response for those of a streamed completion; what is none of them as it is."""
    chunks = [_chunk(piece) for piece in pieces]
    usages = [chunk["usage"] for chunk in chunks if isinstance(chunk, dict) and chunk.get("usage")]
    words, begun = "", False
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    for piece, chunk in zip(pieces, chunks, strict=True):
        if not isinstance(chunk, dict) or not chunk.keys() & {"choices", "error"}:
            yield piece
            continue
        if chunk.get("error"):
            code = chunk["error"].get("code")
            known = _CODES.get(code, "server_error") if isinstance(code, int) else code
            yield event({"type": "error", "code": known, "message": chunk["error"]["message"], "param": None})
            continue
        said: list[dict[str, Any]] = []
        if not begun:
            begun, first = True, response(status="in_progress", model=chunk["model"], usage=None)
            said.append({"type": "response.created", "response": first})
        choice = chunk["choices"][0] if chunk["choices"] else {}
        delta = choice.get("delta") or {}
        if delta.get("reasoning_content"):
            said.append({"type": "response.reasoning_text.delta", **place, "delta": delta["reasoning_content"]})
        if delta.get("content"):
            words += delta["content"]
            said.append({"type": "response.output_text.delta", **place, "delta": delta["content"], "logprobs": []})
        if choice.get("finish_reason") is not None:
            ended = _ended(choice["finish_reason"], chunk["model"], usages[-1] if usages else None)
            items = [message(text(words))] if words else []
            said.append({"type": f"response.{ended['status']}", "response": response(*items, **ended)})
        yield b"".join(map(event, said)) or b": nothing\n\n"


def _chunk(piece: bytes) -> Any:
    plain = piece.decode(errors="replace").removeprefix("data: ").strip()
    try:
        return plain if plain == "[DONE]" else json.loads(plain)
    except ValueError:
        return None
