"""Answers of the loopback server of the tests, and scripts that select an answer by the step of a request."""

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

_ID = re.compile(r"(?P<run>[^/]*)/(?P<step>[^/]+)/v(?P<visit>\d+)\.a(?P<attempt>\d+)(?P<rest>.*)")
_DESCRIBED = frozenset({"reply", "stream", "status", "hang", "cut", "huge", "html", "no_choices"})
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


@dataclass(frozen=True)
class Answer:
    """The server's answer to one request. Created by the class methods; `slowly` adds a delay."""

    kind: Literal["send", "hang", "cut", "huge", "stream"] = "send"
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    cut: Literal["request", "headers", "body"] = "request"
    size: int = 0
    pieces: tuple[bytes, ...] = ()
    gap_seconds: float = 0.0
    then: Literal["end", "hang", "cut"] = "end"

    @classmethod
    def say(
        cls,
        text: str | None,
        *,
        usage: Mapping[str, Any] | None = None,
        finish_reason: str | None = "stop",
        model: str = "test-model",
        **message: Any,
    ) -> Self:
        """Answer with a chat completion of 10 and 5 tokens; `message` adds fields such as `refusal`."""
        reported = USAGE if usage is None else usage
        choice = {
            "index": 0,
            "finish_reason": finish_reason,
            "message": {"role": "assistant", "content": text, **message},
        }
        return cls.json(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": model,
                "choices": [choice],
                "usage": reported,
            }
        )

    @classmethod
    def stream(
        cls,
        text: str,
        *,
        pieces: int = 3,
        usage: Mapping[str, Any] | None = USAGE,
        finish_reason: str | None = "stop",
        done: bool = True,
        gap_seconds: float = 0.0,
        then: Literal["end", "hang", "cut"] = "end",
        model: str = "test-model",
    ) -> Self:
        """Answer with the same completion as server-sent events, with a gap before each but the first.

        Without a finish reason and the end mark the stream breaks off in mid-reply; `then` says what follows.
        """
        size = max(1, -(-len(text) // pieces))
        parts = [text[at : at + size] for at in range(0, len(text), size)]
        events = [chunk({"role": "assistant", "content": ""}, model=model)]
        events += [chunk({"content": part}, model=model) for part in parts]
        if finish_reason is not None:
            events.append(chunk({}, finish_reason, model=model))
        if usage is not None:
            events.append({"object": "chat.completion.chunk", "model": model, "choices": [], "usage": usage})
        return cls.events([*events, *(["[DONE]"] if done else [])], gap_seconds=gap_seconds, then=then)

    @classmethod
    def events(
        cls, events: Sequence[Any], *, gap_seconds: float = 0.0, then: Literal["end", "hang", "cut"] = "end"
    ) -> Self:
        lines = [
            each
            if isinstance(each, bytes)
            else f"data: {each if isinstance(each, str) else json.dumps(each)}\n\n".encode()
            for each in events
        ]
        headers = {"Content-Type": "text/event-stream; charset=utf-8"}
        return cls(kind="stream", pieces=tuple(lines), gap_seconds=gap_seconds, then=then, headers=headers)

    @classmethod
    def value(cls, value: Any, **more: Any) -> Self:
        """Answer with a chat completion whose text is this JSON value."""
        return cls.say(json.dumps(value), **more)

    @classmethod
    def json(cls, value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Self:
        return cls(
            status=status,
            body=json.dumps(value).encode(),
            headers={"Content-Type": "application/json", **(headers or {})},
        )

    @classmethod
    def fault(
        cls,
        status: int,
        message: str = "scripted fault",
        *,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Self:
        return cls.json({"error": {"message": message, "code": code}}, status=status, headers=headers)

    @classmethod
    def html(cls, status: int = 200) -> Self:
        return cls(status=status, body=b"<html><body>Hello</body></html>", headers={"Content-Type": "text/html"})

    @classmethod
    def no_choices(cls) -> Self:
        return cls.json({"id": "chatcmpl-1", "object": "chat.completion", "choices": []})

    @classmethod
    def hang(cls) -> Self:
        """Never answer: until the client leaves or the server stops."""
        return cls(kind="hang")

    @classmethod
    def cut_after(cls, what: Literal["request", "headers", "body"]) -> Self:
        """Break the connection: after the request was read, after the response's headers, or in mid-body."""
        return replace(cls.say("half of this arrives"), kind="cut", cut=what)

    @classmethod
    def huge(cls, size: int) -> Self:
        return cls(kind="huge", size=size)

    def slowly(self, seconds: float) -> Self:
        return replace(self, delay_seconds=seconds)


def chunk(delta: Mapping[str, Any], finish_reason: str | None = None, *, model: str = "test-model") -> dict[str, Any]:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [choice]}


Handler = Callable[[dict[str, Any], Mapping[str, str], int], Answer]
"""`(request body, request headers with lower-case names, number of the request from 1) -> Answer`."""


def request_parts(request_id: str) -> dict[str, str]:
    """Return `run`, `step`, `visit`, `attempt` and `rest` of a request id, or nothing if it has another shape."""
    matched = _ID.fullmatch(request_id)
    return matched.groupdict() if matched else {}


def by_step(script: Mapping[str, Any]) -> Handler:
    """Return a handler that answers by the step in the request id, as described in `tests.support.openai_server`."""
    lists = {
        step: [as_answer(item) for item in answers] for step, answers in script.items() if isinstance(answers, list)
    }
    always = {step: as_answer(answer) for step, answer in script.items() if not isinstance(answer, list)}
    used: dict[str, int] = {}
    lock = threading.Lock()

    def handle(_body: dict[str, Any], headers: Mapping[str, str], _n: int) -> Answer:
        step = request_parts(headers.get("x-client-request-id", "")).get("step", "")
        name = step if step in script else "*"
        if name in always:
            return always[name]
        with lock:
            at = used.get(name, 0)
            used[name] = at + 1
        answers = lists.get(name, [])
        return (
            answers[at] if at < len(answers) else Answer.fault(404, f"the script has no answer {at + 1} for {step!r}")
        )

    return handle


def as_answer(item: Any) -> Answer:
    if isinstance(item, Answer):
        return item
    if isinstance(item, str):
        return Answer.say(item)
    if not isinstance(item, dict) or not (_DESCRIBED & item.keys()):
        return Answer.value(item)
    description = dict(item)
    delay = float(description.pop("delay_seconds", 0))
    [kind] = _DESCRIBED & description.keys()
    value = description.pop(kind)
    answer: Answer
    match kind:
        case "reply":
            answer = Answer.say(value if isinstance(value, str) else json.dumps(value), **description)
        case "stream":
            answer = Answer.stream(value if isinstance(value, str) else json.dumps(value), **description)
        case "status":
            answer = Answer.fault(value, **description)
        case "cut":
            answer = Answer.cut_after(value)
        case "huge":
            answer = Answer.huge(value)
        case "hang":
            answer = Answer.hang()
        case "html":
            answer = Answer.html()
        case _:
            answer = Answer.no_choices()
    return answer.slowly(delay)
