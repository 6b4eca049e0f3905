"""Reading the body of a 200 from an OpenAI-compatible server: one completion in JSON, or a stream of events."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from runtime.models.faults import PART_MIN, error_of, provider_text, stream_fault, without_key
from runtime.models.port import HEARD_MAX, Fault, FaultKind, Reply
from runtime.models.replies import has_more_values
from runtime.models.usage import read_usage

VALUES_MAX = 100_000
"""The most JSON values of an answer, or of an event of a stream; what is in the reply's text does not count."""
LISTED_VALUES_MAX = 400_000
"""The most JSON values of a list of models; a catalogue of 400 models has 30,000."""
_ENDED_EARLY = frozenset({"length", "content_filter"})


class _Lenient(BaseModel):
    # Servers add fields of their own; only the fields that are read here are checked.
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Message(_Lenient):
    content: str | None = None
    refusal: str | None = None
    tool_calls: Any = None


class _Choice(_Lenient):
    message: _Message
    finish_reason: str | None = None


class _Completion(_Lenient):
    choices: Annotated[list[_Choice], Field(min_length=1)]
    model: str | None = None
    usage: Any = None


def read_completion(body: bytes, *, asked: str, mode: str, secret: str = "") -> Reply | Fault:
    """Return the reply in the body of a 200, or a fault.

    It is `TOO_LARGE` above `VALUES_MAX`, `NO_API` for a web page, else `BAD_REPLY`. `asked` is the model's name in the
    request. `secret` is removed from texts; from the model's own words, if it has `PART_MIN` characters: a shorter one
    is a placeholder. A lone surrogate in a reply becomes its escape, which is rejected later, with feedback. The
    arguments of the only tool call are the text of a reply without one. A refusal in words is a reply. So is an empty
    text, if the model was stopped by the token limit or a filter, or if the server reports usage: it was paid for, and
    what it cost is known. Invalid usage counts as not reported.
    """
    if has_more_values(body, VALUES_MAX):
        text = f"the answer has more than {VALUES_MAX:,} values"
        return Fault(kind=FaultKind.TOO_LARGE, message=text, status=200)
    try:
        completion = _completion(body)
    except ValidationError:
        text_of_body = provider_text(error_of(body)[0], secret) or "nothing"
        if body.lstrip()[:1] == b"<":  # No model writes the frame of an answer, so none was asked.
            return Fault(kind=FaultKind.NO_API, message=f"a web page: {text_of_body}", status=200)
        return Fault(kind=FaultKind.BAD_REPLY, message=f"what is no chat completion: {text_of_body}", status=200)
    choice = completion.choices[0]
    message = choice.message
    return completed(
        first_text(message.content, only_arguments(message.tool_calls), message.refusal),
        reason=choice.finish_reason or "",
        usage=completion.usage,
        model=completion.model or "",
        asked=asked,
        mode=mode,
        secret=secret,
    )


def completed(
    text: str | None, *, reason: str, usage: Any, model: str, asked: str, mode: str, secret: str
) -> Reply | Fault:
    """Return the reply that a completion's parts are, as the server sent them.

    Without a text it is empty where it was paid for (see `read_completion`), else a fault.
    """
    reason = reason or "stop"
    if text is None and reason not in _ENDED_EARLY and read_usage(usage) is None:
        return Fault(kind=FaultKind.BAD_REPLY, message="a chat completion without content", status=200)
    return Reply(
        text=without_key(text or "", secret if len(secret) >= PART_MIN else ""),
        usage=read_usage(usage),
        model=provider_text(model, secret) or asked,
        finish_reason=provider_text(reason, secret),
        mode=mode,
    )


def first_text(*texts: str | None) -> str | None:
    """Return the first text that is not empty, else the first that is there."""
    there = [text for text in texts if text is not None]
    return next(filter(None, there), there[0] if there else None)


def only_arguments(calls: Any) -> str | None:
    """Return the arguments of the only tool call of a message, as text; None for none and for several."""
    if not isinstance(calls, list) or len(calls) != 1 or not isinstance(calls[0], dict):
        return None
    function = calls[0].get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return json.dumps(arguments) if isinstance(arguments, dict) else arguments if isinstance(arguments, str) else None


def _completion(body: bytes) -> _Completion:
    """Return the completion in a body. Raises `ValidationError`."""
    try:
        return _Completion.model_validate_json(body)
    except ValidationError:
        # A lone surrogate is the model's mistake, not the server's. The escape can be stored and says what was there.
        with suppress(ValueError, RecursionError):
            return _Completion.model_validate(json.loads(body, object_hook=_escaped))
        raise


def _escaped(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: _escape(value) if isinstance(value, str) else value for name, value in fields.items()}


def _escape(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def listed_models(body: bytes) -> frozenset[str]:
    """Return the names of the models in the answer to `GET /models`; none where it cannot be read."""
    if has_more_values(body, LISTED_VALUES_MAX):
        return frozenset()
    with suppress(ValueError, RecursionError):
        plain = json.loads(body)
        listed = plain.get("data") if isinstance(plain, dict) else None
        if isinstance(listed, list):
            names = (each.get("id") for each in listed if isinstance(each, dict))
            return frozenset(name for name in names if isinstance(name, str))
    return frozenset()


STREAM_FACTOR = 8
"""How many times larger than a reply its event stream may be: each event repeats the frame around a few characters."""

EVENTS_MAX = 64_000
"""The most events of a stream that are read, unless its reply may have more than half as many tokens."""
LINES_MAX = 1_000_000
"""The most lines of a stream, comments and empty lines included."""

_HEAD_BYTES = 4096
_FIRST_BYTES = b"deir:"
"""What the lines of an event stream begin with: `data`, `event`, `id`, `retry`, or the colon of a comment."""
_REASONING = ("reasoning_content", "reasoning")
"""Where compatible servers put a reasoning model's thoughts, which are no part of its reply."""


class CompletionReader:
    """Reads one answer. `feed` it the body in pieces of any size; `result` gives the reply or the fault.

    Linear in the body. Whether the body is an event stream is told by how it begins, since servers mislabel it.
    """

    def __init__(self, *, bytes_max: int, tokens_max: int = 0) -> None:
        """Take the largest text of a reply, in characters and in tokens; the caller caps the bytes of the body."""
        self._bytes_max = bytes_max
        self._events_max = max(EVENTS_MAX, 2 * tokens_max)  # Most servers send an event for each token.
        self._whole: list[bytes] = []
        self._head = b""
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._content: list[str] = []
        self._refusal: list[str] = []
        self._arguments: list[str] = []
        self._calls = 0
        self._size = self._pieces = self._lines = self._events = 0
        self._model = ""
        self._reason = ""
        self._usage: Any = None
        self._error: Any = None
        self._broken = self._over = ""
        self._begun = False
        self.streamed: bool | None = None
        """Whether the body is an event stream; None until its first byte that is no white space."""
        self.characters = 0
        """Characters that the model has written so far, its reasoning included; 0 where the answer is not streamed."""
        self.done = False
        """Whether nothing more is read: the stream has said that it ends, or it has passed a limit."""

    def feed(self, data: bytes) -> None:
        """Take the next piece of the body."""
        if self.streamed is None:
            data = data.removeprefix(b"\xef\xbb\xbf").lstrip()  # White space before the body has no meaning.
            if not data:
                return
            self._head, self.streamed = data[:_HEAD_BYTES], data[0] in _FIRST_BYTES
        if not self.streamed:
            self._whole.append(data)
            return
        self._pieces += 1
        if self._pieces > 2 * self._events_max:
            self._end_at(f"more than {2 * self._events_max:,} pieces")
        elif not self.done:
            self._rest.append(data)
        if self._rest and b"\n" in data:  # A long line is joined once, when its end has come.
            *lines, rest = b"".join(self._rest).split(b"\n")
            self._rest = [rest]
            for line in lines:
                self._line(line.removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf"))
                if self.done:
                    break
            self._lines += len(lines)
            if self._lines > LINES_MAX and not self.done:
                self._end_at(f"more than {LINES_MAX:,} lines")

    def written(self, secret: str = "") -> str:
        """Return the last `HEARD_MAX` characters of the reply's text so far, without its reasoning and the key."""
        calls = [] if self._calls > 1 else self._arguments
        pieces = self._content or calls or self._refusal
        end, size = len(pieces), 0
        while end and size < HEARD_MAX:
            end -= 1
            size += len(pieces[end])
        return without_key(_joined(pieces[end:]), secret if len(secret) >= PART_MIN else "")[-HEARD_MAX:]

    def result(self, *, asked: str, mode: str, secret: str = "") -> Reply | Fault:
        """Return what the whole body says, once it has ended; the arguments are those of `read_completion`."""
        if not self.streamed:
            return read_completion(b"".join(self._whole), asked=asked, mode=mode, secret=secret)
        self._line(b"".join(self._rest))
        if self._data:
            self._event(b"\n".join(self._data))  # Half an event is what is left of a cut connection.
        if self._over:
            return Fault(kind=FaultKind.TOO_LARGE, message=f"the stream has {self._over}", status=200)
        if self._error is not None:
            return stream_fault(self._error, begun=self.characters > 0, secret=secret)
        if self._broken:
            return Fault(kind=FaultKind.BAD_REPLY, message=self._broken, status=200)
        if self._size > self._bytes_max:
            text = f"the reply is larger than {self._bytes_max} characters"
            return Fault(kind=FaultKind.TOO_LARGE, message=text, status=200)
        if not self._begun:
            text_of_body = provider_text(self._head.decode("utf-8", "replace"), secret) or "nothing"
            return Fault(kind=FaultKind.BAD_REPLY, message=f"what is no chat completion: {text_of_body}", status=200)
        if not self._reason and not self.done:
            text = f"the stream ended after {self.characters:,} characters, before the reply did"
            return Fault(kind=FaultKind.CUT, message=text, status=200)
        calls = [] if self._calls > 1 else self._arguments
        texts = [_joined(pieces) if pieces else None for pieces in (self._content, calls, self._refusal)]
        return completed(
            first_text(*texts),
            reason=self._reason,
            usage=self._usage,
            model=_joined([self._model]),
            asked=asked,
            mode=mode,
            secret=secret,
        )

    def _line(self, line: bytes) -> None:
        """Take a line of the stream. An empty one ends an event, and so does data that is whole by itself."""
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
            if len(self._data) == 1 and self._event(self._data[0]):
                self._data = []
        elif not line and self._data:
            if not self._event(b"\n".join(self._data)):
                self._broken = self._broken or "an event of the stream is not JSON"
            self._data = []

    def _event(self, data: bytes) -> bool:
        """Take an event's data; return whether it is one. What follows the end of the stream is ignored."""
        if self.done or not data:
            return True
        if data == b"[DONE]":
            self.done = True
            return True
        self._events += 1
        if self._events > self._events_max:
            self._end_at(f"more than {self._events_max:,} events")
            return True
        if has_more_values(data, VALUES_MAX):
            self._end_at(f"an event of more than {VALUES_MAX:,} values")
            return True
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return False
        if isinstance(event, dict):
            self._chunk(event)
        return True

    def _end_at(self, limit: str) -> None:
        """Read nothing more, since the stream has passed a limit."""
        self._over, self.done, self._rest, self._data = limit, True, [], []

    def _chunk(self, chunk: Mapping[str, Any]) -> None:
        if chunk.get("error"):
            self._error, self.done = chunk["error"], True
            return
        if chunk.get("usage") is not None:
            self._usage = chunk["usage"]
        if isinstance(chunk.get("model"), str):
            self._model = chunk["model"]
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and choice.get("index") in (0, None):
                self._begun = True
                self._choice(choice)

    def _choice(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            for name, pieces in (("content", self._content), ("refusal", self._refusal)):
                piece = delta.get(name)
                if isinstance(piece, str):
                    self.characters += len(piece)
                    self._size += len(piece)
                    if self._size <= self._bytes_max:
                        pieces.append(piece)
                elif piece is not None:
                    self._broken = f"the stream's {name} is not text"
            self._tool_calls(delta.get("tool_calls"))
            thought = next((delta[name] for name in _REASONING if isinstance(delta.get(name), str)), "")
            self.characters += len(thought)
        if isinstance(choice.get("finish_reason"), str):
            self._reason = choice["finish_reason"]

    def _tool_calls(self, calls: Any) -> None:
        """Take pieces of the arguments of tool calls; only those of the first one are kept."""
        for call in calls if isinstance(calls, list) else ():
            index = call.get("index", 0) if isinstance(call, dict) else None
            if not isinstance(index, int) or index < 0:
                continue
            self._calls = max(self._calls, index + 1)
            piece = only_arguments([call])
            if piece and index == 0:
                self.characters += len(piece)
                self._size += len(piece)
                if self._size <= self._bytes_max:
                    self._arguments.append(piece)


def _joined(pieces: list[str]) -> str:
    """Return the text of some pieces; a character beyond the basic plane may have been cut in two halves.

    A half without its other half becomes its escape, as in a completion that is not streamed.
    """
    text = "".join(pieces)
    if text.isascii():
        return text
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return whole.encode("utf-8", "backslashreplace").decode()
