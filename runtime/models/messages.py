"""Reads messages of Anthropic's Messages API, which come as one JSON object or as a stream of pieces."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from runtime.core.ledger import Usage
from runtime.models.answer_reader import AnswerReader, escape_surrogates
from runtime.models.port import Fault, Reply
from runtime.models.usage import fields_of, read_message_usage

_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""Anthropic's reasons for the end of a reply, each with OpenAI's word for it. Any other reason stays unchanged."""


class _Block(BaseModel):
    # Blocks have more fields. Only the fields that are read here are checked.
    model_config = ConfigDict(extra="ignore", frozen=True)
    type: str
    text: str | None = None
    input: Any = None


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)
    content: list[_Block]
    stop_reason: str | None = None
    model: str | None = None
    usage: Any = None


class MessageReader(AnswerReader):
    """Reads a message.

    If the model calls exactly one tool, the tool's input is the reply, because the text may only announce the call.
    Otherwise the text is the reply. Reasoning is counted, but is not part of the reply. Invalid usage counts as not
    reported.
    """

    called = "message"

    def __init__(self, **limits: Any) -> None:
        super().__init__(**limits)
        self._text: list[str] = []
        self._arguments: list[str] = []
        self._calls: dict[int, Any] = {}
        self._usage: dict[str, Any] = {}
        self._usage_is_final = False

    def _texts(self) -> Sequence[list[str]]:
        return self._arguments if len(self._calls) == 1 else [], self._text

    def _reported_usage(self) -> Usage | None:
        return read_message_usage(self._usage) if self._usage_is_final else None

    def _read(self, body: bytes) -> Reply | Fault:
        message = _message(body)
        calls = [block.input for block in message.content if block.type == "tool_use"]
        texts = [block.text for block in message.content if block.type == "text" and block.text is not None]
        return self._build_reply(
            (_as_json(calls[0]) if len(calls) == 1 else None, "".join(texts) if texts else None),
            reason=_reason(message.stop_reason or ""),
            usage=read_message_usage(message.usage),
            model=message.model or "",
        )

    def _take(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                message = fields_of(event.get("message"))
                self._begun = True
                self._model = message["model"] if isinstance(message.get("model"), str) else ""
                self._usage = fields_of(message.get("usage"))
            case "content_block_start":
                self._start(_index(event), fields_of(event.get("content_block")))
            case "content_block_delta":
                self._read_delta(_index(event), fields_of(event.get("delta")))
            case "content_block_stop":
                self._end_block(_index(event))
            case "message_delta":
                reason = fields_of(event.get("delta")).get("stop_reason")
                self._reason = _reason(reason) if isinstance(reason, str) else self._reason
                # The counts are those of the message so far. Only the first event says how long the cache keeps the
                # prompt.
                reported = fields_of(event.get("usage"))
                self._usage |= {name: count for name, count in reported.items() if count is not None}
                self._usage_is_final = self._usage_is_final or bool(reported)
            case "message_stop":
                self.done = True
            case _:  # This is a ping, or a type of event that the API has added.
                pass

    def _start(self, index: int, block: Mapping[str, Any]) -> None:
        match block.get("type"):
            case "text":
                self._grow_if_text(self._text, block.get("text", ""), "text")
            case "tool_use":
                self._calls[index] = block.get("input")
            case _:
                pass

    def _read_delta(self, index: int, delta: Mapping[str, Any]) -> None:
        match delta.get("type"):
            case "text_delta":
                self._grow_if_text(self._text, delta.get("text"), "text")
            case "input_json_delta" if index in self._calls and len(self._calls) == 1:
                self._grow_if_text(self._arguments, delta.get("partial_json"), "input of a tool")
            case "thinking_delta":
                thought = delta.get("thinking")
                self.characters += len(thought) if isinstance(thought, str) else 0
            case _:  # A signature or a citation.
                pass

    def _end_block(self, index: int) -> None:
        """Process the end of a content block.

        If no input for a tool was streamed, the input in the block's first event is used.
        """
        if index in self._calls and len(self._calls) == 1 and not self._arguments:
            self._append_text(self._arguments, _as_json(self._calls[index] or {}))

    def _grow_if_text(self, pieces: list[str], piece: Any, part: str) -> None:
        if not isinstance(piece, str):
            self._broken = f"a stream whose {part} is not text"
        elif piece:
            self._append_text(pieces, piece)


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else -1


def _as_json(value: Any) -> str:
    return escape_surrogates(json.dumps(value, ensure_ascii=False))


def _reason(reason: str) -> str:
    return _REASONS.get(reason, reason)


def _message(body: bytes) -> _Message:
    try:
        return _Message.model_validate_json(body)
    except ValidationError:
        # A lone surrogate is the model's mistake, not the server's. The escape can be stored and says what was there.
        try:
            return _Message.model_validate(json.loads(body, object_hook=_with_escapes))
        except (ValueError, RecursionError):
            pass
        raise


def _with_escapes(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a content block, with lone surrogates escaped if it is a text block."""
    text = fields.get("text")
    return (
        {**fields, "text": escape_surrogates(text)}
        if isinstance(text, str) and fields.get("type") == "text"
        else fields
    )
