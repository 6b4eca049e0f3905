"""Reads the responses of OpenAI's Responses API, in JSON or as a stream, and keeps their reasoning in memory."""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.core.ledger import Usage
from runtime.models.answer_reader import AnswerReader, join_pieces
from runtime.models.faults import error_fault
from runtime.models.port import Fault, ModelRequest, Reply
from runtime.models.usage import fields_of, read_response_usage

_REASONS = {"max_output_tokens": "length"}
"""The Responses API's reasons for incomplete responses, each with the word that chat completions use. Any other reason
stays unchanged."""
_FAILED = frozenset({"incomplete", "failed", "cancelled"})


class ResponseReader(AnswerReader):
    """Reads a response.

    The reply is the text of the final messages. Messages that comment on the work are ignored. If there is no text, the
    reply is the arguments of the only function call, or else the model's refusal. Reasoning is counted, but is not a
    part of the reply. A stream is complete only after the event that contains the whole response. Invalid usage counts
    as not reported.
    """

    called = "response"
    places = ("", "the arguments of a function call", "")

    def __init__(self, **limits: Any) -> None:
        super().__init__(**limits)
        self._text: list[str] = []
        self._arguments: list[str] = []
        self._refusal: list[str] = []
        self._items: list[Any] = []
        self._usage: Any = None

    def output_to_keep(self) -> tuple[Mapping[str, Any], ...]:
        """Return the items of the output that the next request can send back; empty without encrypted reasoning."""
        items = [fields_of(item) for item in self._items]
        types = {item.get("type") for item in items}
        encrypted = any(item.get("type") == "reasoning" and item.get("encrypted_content") for item in items)
        if not encrypted or types != {"reasoning", "message"} or self._reason != "stop":
            return ()  # Reasoning must come before a whole message, and a call of a function needs its result.
        return tuple({name: value for name, value in item.items() if value is not None} for item in items)

    def _texts(self) -> Sequence[list[str]]:
        return self._text, self._arguments, self._refusal

    def _reported_usage(self) -> Usage | None:
        return read_response_usage(self._usage)

    def _read(self, body: bytes) -> Reply | Fault:
        try:
            response = fields_of(json.loads(body))
        except RecursionError:
            raise ValueError("nested too deep") from None
        if not isinstance(response.get("output"), list):
            raise ValueError("no output")  # noqa: TRY004 - what `_read` raises for another interface
        self._end(response, "completed" if response.get("status") is None else str(response["status"]))
        if self._broken:
            raise ValueError(self._broken)
        if self._error is not None:
            return error_fault(self._error, begun=self.characters > 0, secret=self._secret)
        return self._build_reply(
            [join_pieces(pieces) if pieces else None for pieces in self._texts()],
            reason=self._reason,
            usage=self._reported_usage(),
            model=join_pieces([self._model]),
        )

    def _event(self, data: bytes) -> bool:
        """Process the data of an event.

        `[DONE]`, which some gateways send, is ignored, because a response does not end with it.
        """
        return data == b"[DONE]" or super()._event(data)

    def _take(self, event: Mapping[str, Any]) -> None:
        name = str(event.get("type"))
        match name:
            case "response.created" | "response.in_progress":
                self._begun = True
                self._name(fields_of(event.get("response")))
            case "response.output_text.delta":
                self._grow_if_text(self._text, event.get("delta"))
            case "response.refusal.delta":
                self._grow_if_text(self._refusal, event.get("delta"))
            case "response.reasoning_text.delta" | "response.reasoning_summary_text.delta":
                self._add_reasoning(event.get("delta"))
            case "response.output_item.done":
                self._items.append(event.get("item"))
            case "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled":
                response = fields_of(event.get("response"))
                status = str(response.get("status"))
                self._begun = self.done = True
                self._end(response, status if status in _FAILED else name.partition(".")[2])
            case "error":
                self._error, self.done = event, True
            case _:  # Parts of items, and events that the API may add.
                pass

    def _end(self, response: Mapping[str, Any], status: str) -> None:
        """Process the final state of a response. The texts in its output replace the pieces that were streamed."""
        self._name(response)
        self._usage = response.get("usage")
        output = response.get("output")
        if isinstance(output, list) and len(output) > len(self._items):
            self._items = output
        for thought in () if self._thoughts else _thoughts_of(self._items):
            self._add_reasoning(thought)
        texts = _texts_of(self._items)
        if any(texts):
            written, self.characters, self._size = self.characters, 0, 0
            for pieces, parts in zip(self._texts(), texts, strict=True):
                pieces.clear()
                for part in parts:
                    self._grow_if_text(pieces, part)
            self.characters = max(written, self.characters)
        match status:
            case "completed":
                self._reason = "stop"
            case "incomplete":
                reason = fields_of(response.get("incomplete_details")).get("reason")
                self._reason = _REASONS.get(str(reason), str(reason or status))
            case _:
                self._error = response.get("error") or {"message": f"the response is {status}"}
                usage = self._reported_usage()
                if usage is not None and usage.output_tokens:
                    self.characters = max(1, self.characters)  # What was written is charged, whatever the error says.

    def _name(self, response: Mapping[str, Any]) -> None:
        model = response.get("model")
        self._model = model if isinstance(model, str) else self._model

    def _grow_if_text(self, pieces: list[str], piece: Any) -> None:
        if not isinstance(piece, str):
            self._broken = "a response whose text is not a string"
        elif piece:
            self._append_text(pieces, piece)


def _thoughts_of(items: Sequence[Any]) -> list[Any]:
    """Return the reasoning in the items of an output, if the server sends it as text."""
    return [part.get("text") for part in _parts([item for item in items if fields_of(item).get("type") == "reasoning"])]


def _parts(items: Sequence[Any]) -> list[Mapping[str, Any]]:
    contents = [fields_of(item).get("content") for item in items]
    return [fields_of(part) for content in contents if isinstance(content, list) for part in content]


def _texts_of(items: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the texts, the arguments of the only function call, and the refusals in the items of an output."""
    plain = [fields_of(item) for item in items]
    messages = [item for item in plain if item.get("type") == "message"]
    parts = _parts([item for item in messages if item.get("phase") != "commentary"] or messages)
    calls = [item.get("arguments") for item in plain if item.get("type") == "function_call"]
    return (
        [part.get("text") for part in parts if part.get("type") == "output_text"],
        calls if len(calls) == 1 else [],
        [part.get("refusal") for part in parts if part.get("type") == "refusal"],
    )


KEPT_BYTES_MAX = 64 * 1024 * 1024
"""The largest number of bytes of reasoning that are kept for all runs of a model together. The oldest reasoning is
dropped first."""
_FRAMING_TOKENS = 64
"""The largest number of tokens that a server adds for the output items that a request returns to it. The reservation
for a prompt includes as many tokens."""


@dataclass(frozen=True, slots=True)
class _Kept:
    prompt: tuple[str, str]
    feedback: str
    items: tuple[Mapping[str, Any], ...]
    tokens: int
    size: int


class KeptReasoning:
    """The output of earlier attempts, for each visit.

    The next attempt sends it back with its encrypted reasoning. The output is only in memory, so the first attempt
    after a restart is sent without it. The output is also not sent if it may have more tokens than the prompt has
    bytes. So no call costs more than was reserved for it.
    """

    def __init__(self) -> None:
        self._visits: OrderedDict[tuple[str, str], _Kept] = OrderedDict()
        self._size = 0

    def items_for(self, request: ModelRequest) -> tuple[Mapping[str, Any], ...]:
        """Return the kept items to send between a request's prompt and feedback; empty if the prompt has changed."""
        kept = self._visits.get((request.run, request.visit))
        if kept is None or not request.repeated:
            return ()
        prompt, feedback = split_prompt(request)
        added = kept.tokens + len(feedback.encode(errors="replace")) + _FRAMING_TOKENS
        fits = added <= len(f"{request.system}{request.user}".encode(errors="replace"))
        return kept.items if fits and feedback and kept.prompt == prompt and kept.feedback != feedback else ()

    def add(self, request: ModelRequest, output: tuple[Mapping[str, Any], ...], usage: Usage | None) -> None:
        """Keep the output of a reply, together with the kept items that its request contained.

        A reply without usage is not kept.
        """
        earlier = self.items_for(request)
        self.forget(request)
        if not (output and usage and request.run and request.visit and request.repeated) or usage.contradictory:
            return
        items = (*earlier, *output)
        prompt, feedback = split_prompt(request)
        kept = _Kept(prompt, feedback, items, usage.tokens, len(json.dumps(items)))
        self._visits[request.run, request.visit] = kept
        self._size += kept.size
        while self._size > KEPT_BYTES_MAX:
            self._size -= self._visits.popitem(last=False)[1].size

    def forget(self, request: ModelRequest) -> None:
        """Drop the kept items of a request's visit."""
        kept = self._visits.pop((request.run, request.visit), None)
        self._size -= 0 if kept is None else kept.size


def split_prompt(request: ModelRequest) -> tuple[tuple[str, str], str]:
    """Split a prompt into the part that the attempts of a visit share (system and user message), and the feedback."""
    common = request.repeated[-1] if request.repeated else len(request.user)
    return (request.system, request.user[:common]), request.user[common:]
