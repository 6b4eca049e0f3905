"""Reads the chat completions of an OpenAI-compatible server, in JSON or as a stream, and its lists of models."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from runtime.core.ledger import Usage
from runtime.models.answer_reader import AnswerReader, escape_surrogates
from runtime.models.port import Fault, Reply
from runtime.models.replies import has_more_values
from runtime.models.usage import read_usage

LISTED_VALUES_MAX = 400_000
"""The largest number of JSON values in a server's list of models. A list of 400 models has about 30,000 values."""
_REASONING = ("reasoning_content", "reasoning")
"""The keys that servers with a compatible interface use for reasoning in a message. The reasoning counts as the reply
only if the message has no other text.
"""


class _Lenient(BaseModel):
    # Servers add fields of their own; only the fields that are read here are checked.
    model_config = ConfigDict(extra="ignore", frozen=True)


def _plain(content: Any) -> Any:
    """If the content is a list of parts, return the joined text of the text parts. Return other content unchanged."""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        return content
    texts = [part.get("text") for part in content if part.get("type") == "text"]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else content


class _Message(_Lenient):
    content: Annotated[str | None, BeforeValidator(_plain)] = None
    refusal: str | None = None
    tool_calls: Any = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(_Lenient):
    message: _Message
    finish_reason: str | None = None


class _Completion(_Lenient):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    model: str | None = None
    usage: Any = None


def _only_arguments(calls: Any) -> str | None:
    """Return the arguments of the only tool call of a message, as text; None if there is not exactly one call."""
    if not isinstance(calls, list) or len(calls) != 1 or not isinstance(calls[0], dict):
        return None
    function = calls[0].get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return json.dumps(arguments) if isinstance(arguments, dict) else arguments if isinstance(arguments, str) else None


def _thought(fields: Mapping[str, Any]) -> str:
    return next((fields[name] for name in _REASONING if isinstance(fields.get(name), str)), "")


def _completion(body: bytes) -> _Completion:
    try:
        return _Completion.model_validate_json(body)
    except ValidationError:
        # A lone surrogate is the model's mistake, not the server's. The escape can be stored and says what was there.
        with suppress(ValueError, RecursionError):
            return _Completion.model_validate(json.loads(body, object_hook=_with_escapes))
        raise


def _with_escapes(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: escape_surrogates(value) if isinstance(value, str) else value for name, value in fields.items()}


def read_model_list(body: bytes) -> frozenset[str]:
    """Return the names of the models in the answer to `GET /models`; empty for an unreadable answer."""
    if has_more_values(body, LISTED_VALUES_MAX):
        return frozenset()
    with suppress(ValueError, RecursionError):
        plain = json.loads(body)
        listed = plain.get("data") if isinstance(plain, dict) else None
        if isinstance(listed, list):
            names = (item.get("id") for item in listed if isinstance(item, dict))
            return frozenset(name for name in names if isinstance(name, str))
    return frozenset()


class CompletionReader(AnswerReader):
    """Reads a chat completion.

    A lone surrogate in a reply is replaced by its escape. A guard later rejects the escape, and the model gets
    feedback. If the answer has no text but exactly one tool call, the arguments of this call are the reply. A refusal
    of the model is also a reply. Invalid usage counts as not reported.
    """

    called = "chat completion"
    places = ("", "the arguments of a tool call", "")

    def __init__(self, **limits: Any) -> None:
        super().__init__(**limits)
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._arguments: list[str] = []
        self._calls = 0
        self._usage: Any = None

    def _texts(self) -> Sequence[list[str]]:
        return self._content, [] if self._calls > 1 else self._arguments, self._refusal

    def _reported_usage(self) -> Usage | None:
        return read_usage(self._usage)

    def _read(self, body: bytes) -> Reply | Fault:
        completion = _completion(body)
        choice = completion.choices[0]
        message = choice.message
        self._add_reasoning(_thought(message.model_dump()))
        return self._build_reply(
            (message.content, _only_arguments(message.tool_calls), message.refusal),
            reason=choice.finish_reason or "",
            usage=read_usage(completion.usage),
            model=completion.model or "",
        )

    def _take(self, event: Mapping[str, Any]) -> None:
        if event.get("usage") is not None:
            self._usage = event["usage"]
        if isinstance(event.get("model"), str):
            self._model = event["model"]
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._begun = True
                self._read_choice(choice)

    def _read_choice(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            for name, pieces in (("content", self._content), ("refusal", self._refusal)):
                piece = _plain(delta.get(name))
                if isinstance(piece, str):
                    self._append_text(pieces, piece)
                elif piece is not None:
                    self._broken = f"a stream whose {name} is not text"
            self._tool_calls(delta.get("tool_calls"))
            self._add_reasoning(_thought(delta))
        if isinstance(choice.get("finish_reason"), str):
            self._reason = choice["finish_reason"]

    def _tool_calls(self, calls: Any) -> None:
        """Store pieces of the arguments of the first tool call. Pieces of further calls are ignored."""
        for call in calls if isinstance(calls, list) else ():
            index = call.get("index", 0) if isinstance(call, dict) else None
            if not isinstance(index, int) or index < 0:
                continue
            self._calls = max(self._calls, index + 1)
            piece = _only_arguments([call])
            if piece and index == 0:
                self._append_text(self._arguments, piece)
