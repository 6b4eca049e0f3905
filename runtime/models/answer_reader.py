"""Reads the body of a response with status 200: server-sent events, or one JSON value."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, ClassVar

from runtime.core.ledger import Usage
from runtime.models.faults import PART_MIN, error_fault, error_of, provider_text, status_named_by, without_key
from runtime.models.port import HEARD_MAX, Fault, FaultKind, Reply
from runtime.models.replies import has_more_values

VALUES_MAX = 100_000
"""The largest number of JSON values in a server's answer, or in one event of a stream. Values within the text of the
reply do not count."""
STREAM_FACTOR = 8
"""How many times larger than the size limit of an answer an event stream may be. Each event of a stream adds a frame to
a few characters of the reply.
"""

EVENTS_MAX = 64_000
"""The largest number of events that are read from a stream. If twice the token limit of the reply is larger, that
number is used instead."""
LINES_MAX = 1_000_000
"""The largest number of lines in a stream, including comments and empty lines."""

_ENDED_EARLY = frozenset({"length", "content_filter"})
_HEAD_BYTES = 4096
_FIRST_BYTES = b"deir:"
"""The first bytes of lines in an event stream: the first letters of `data`, `event`, `id` and `retry`, and
the colon of a comment."""


class AnswerReader(ABC):
    """Reads one answer. `feed` accepts the body in pieces of any size. `result` returns the reply or the fault.

    The work is linear in the length of the body. The first byte decides whether the body is an event stream, because
    some servers send a wrong content type. A subclass reads the answers of one interface: its events, and its answers
    without a stream.
    """

    called: ClassVar[str]
    """The interface's name for an answer, such as `chat completion`, for messages."""
    places: ClassVar[tuple[str, ...]] = ()
    """For each text of `_texts`, the name of its place in the answer, for notices; empty for the usual place."""

    def __init__(self, *, asked: str, mode: str, secret: str = "", bytes_max: int, tokens_max: int = 0) -> None:
        """Create a reader for the answer to one request.

        `asked` is the name of the requested model, and `mode` the way in which a structured reply was requested.
        `bytes_max` is the largest number of characters in the reply's text, and `tokens_max` the largest number of
        tokens. The caller limits the bytes of the body. `secret` is the API key, which is removed from texts. The key
        is removed from the model's own words only if it has at least `PART_MIN` characters, because a shorter key is a
        placeholder.
        """
        self._asked, self._mode, self._secret = asked, mode, secret
        self._bytes_max = bytes_max
        self._events_max = max(EVENTS_MAX, 2 * tokens_max)  # Most servers send an event for each token.
        self._whole: list[bytes] = []
        self._head = b""
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._size = self._thought_size = self._pieces = self._lines = self._events = 0
        self._over = ""
        self._model = ""
        self._reason = ""
        self._error: Any = None
        self._broken = ""
        self._begun = False
        self.streamed: bool | None = None
        """Whether the body is an event stream; None until a byte that is not white space has arrived."""
        self.characters = 0
        """How many characters the model has written, including its reasoning; 0 if there is no stream."""
        self._thoughts: list[str] = []
        self.done = False
        """Whether nothing more is read, because the stream has said that it ends or has passed a limit."""

    @abstractmethod
    def _take(self, event: Mapping[str, Any]) -> None:
        """Process an event of the stream that is not an error."""

    @abstractmethod
    def _texts(self) -> Sequence[list[str]]:
        """Return the texts that have been read so far, each as a list of its pieces.

        The first text that is not empty becomes the reply.
        """

    @abstractmethod
    def _reported_usage(self) -> Usage | None:
        """Return the usage that the stream has reported; None if the usage is missing or impossible."""

    @abstractmethod
    def _read(self, body: bytes) -> Reply | Fault:
        """Return the reply or the fault in a body that is one JSON value.

        Raises `ValueError` for a body that is not an answer of this interface.
        """

    def feed(self, data: bytes) -> None:
        """Process the next piece of the body."""
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
            self._stop_at_limit(f"more than {2 * self._events_max:,} pieces")
        elif not self.done:
            self._rest.append(data)
        if self._rest and b"\n" in data:  # A long line is joined once, when its end has come.
            *lines, rest = b"".join(self._rest).split(b"\n")
            self._rest = [rest]
            for line in lines:
                self._read_line(line.removesuffix(b"\r").removeprefix(b"\xef\xbb\xbf"))
                if self.done:
                    break
            self._lines += len(lines)
            if self._lines > LINES_MAX and not self.done:
                self._stop_at_limit(f"more than {LINES_MAX:,} lines")

    def written(self) -> str:
        """Return the last `HEARD_MAX` characters of the reply's text so far, without its reasoning and the key."""
        pieces = next(filter(None, self._texts()), [])
        start, size = len(pieces), 0
        while start and size < HEARD_MAX:
            start -= 1
            size += len(pieces[start])
        tail = join_pieces(pieces[start:])
        return without_key(tail, self._secret_in_text)[-HEARD_MAX:]

    def reasoning(self) -> str:
        """Return the model's reasoning without the key; empty if the server does not send it as text."""
        return without_key(join_pieces(self._thoughts), self._secret_in_text)

    def result(self) -> Reply | Fault:
        """Return the reply or the fault after the end of the body.

        For a body without a reply, return a fault: `TOO_LARGE` for more than `VALUES_MAX` values, `NO_API` for a web
        page, and `BAD_REPLY` for other content. If the body has an error that names an HTTP status, return the fault
        for this status.
        """
        if not self.streamed:
            return self._whole_answer(b"".join(self._whole))
        self._read_line(b"".join(self._rest))
        if self._data:
            self._event(b"\n".join(self._data))  # A cut connection leaves half an event.
        if self._over:
            return Fault(kind=FaultKind.TOO_LARGE, message=f"the stream has {self._over}", status=200)
        if self._error is not None:
            return error_fault(self._error, begun=self.characters > 0, secret=self._secret)
        if self._broken:
            return Fault(kind=FaultKind.BAD_REPLY, message=self._broken, status=200)
        if self._size > self._bytes_max:
            text = f"the reply is larger than {self._bytes_max} characters"
            return Fault(kind=FaultKind.TOO_LARGE, message=text, status=200)
        if not self._begun:
            text_of_body = provider_text(self._head.decode("utf-8", "replace"), self._secret) or "nothing"
            return Fault(
                kind=FaultKind.BAD_REPLY, message=f"something that is not a {self.called}: {text_of_body}", status=200
            )
        if not self._reason and not self.done:
            text = f"the stream ended after {self.characters:,} characters, before the reply was complete"
            return Fault(kind=FaultKind.CUT, message=text, status=200)
        texts = [join_pieces(pieces) if pieces else None for pieces in self._texts()]
        return self._build_reply(
            texts, reason=self._reason, usage=self._reported_usage(), model=join_pieces([self._model])
        )

    @property
    def _secret_in_text(self) -> str:
        """The API key to remove from a reply's text; empty if the key is shorter than `PART_MIN`."""
        return self._secret if len(self._secret) >= PART_MIN else ""

    def _whole_answer(self, body: bytes) -> Reply | Fault:
        if has_more_values(body, VALUES_MAX):
            text = f"the answer has more than {VALUES_MAX:,} values"
            return Fault(kind=FaultKind.TOO_LARGE, message=text, status=200)
        try:
            return self._read(body)
        except ValueError:
            error = _error_in(body)
            if status_named_by(error) is not None:
                return error_fault(error, begun=False, secret=self._secret)
            text_of_body = provider_text(error_of(body)[0], self._secret) or "nothing"
            if body.lstrip()[:1] == b"<":  # A web page comes from something else than the API: no model was asked.
                return Fault(kind=FaultKind.NO_API, message=text_of_body, status=200)
            return Fault(
                kind=FaultKind.BAD_REPLY, message=f"something that is not a {self.called}: {text_of_body}", status=200
            )

    def _build_reply(
        self, texts: Iterable[str | None], *, reason: str, usage: Usage | None, model: str
    ) -> Reply | Fault:
        """Return the reply from the parts of an answer, or a fault if the answer has no content.

        The first text that is not empty becomes the text of the reply. If all texts are empty, the text of the reply is
        empty. If all texts are missing (None), a fault is returned. But the result is an empty reply if the answer was
        probably paid for. This is so if a limit or a filter stopped the model, or if the answer has usage or reasoning.
        """
        reason = reason or "stop"
        found = [(text, place) for text, place in zip_longest(texts, self.places, fillvalue="") if text is not None]
        text, place = next((pair for pair in found if pair[0]), found[0] if found else (None, ""))
        if text is None and reason not in _ENDED_EARLY and usage is None and not self._thoughts:
            return Fault(kind=FaultKind.BAD_REPLY, message=f"a {self.called} without content", status=200)
        return Reply(
            text=without_key(text or "", self._secret_in_text),
            usage=usage,
            model=provider_text(model, self._secret) or self._asked,
            finish_reason=provider_text(reason, self._secret),
            mode=self._mode,
            notices=(f"the reply was in {place}",) if text and place else (),
        )

    def _add_reasoning(self, thought: Any) -> None:
        if isinstance(thought, str) and thought:
            self.characters += len(thought)
            self._thought_size += len(thought)
            if self._thought_size <= self._bytes_max:
                self._thoughts.append(thought)

    def _append_text(self, pieces: list[str], piece: str) -> None:
        """Add a piece to the pieces of a text. Characters beyond `bytes_max` are counted, but not kept."""
        self.characters += len(piece)
        self._size += len(piece)
        if self._size <= self._bytes_max:
            pieces.append(piece)

    def _read_line(self, line: bytes) -> None:
        """Process a line of the stream.

        An event ends at an empty line. It also ends after its first data line if this line is valid JSON.
        """
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
            if len(self._data) == 1 and self._event(self._data[0]):
                self._data = []
        elif not line and self._data:
            if not self._event(b"\n".join(self._data)):
                self._broken = self._broken or "a stream with an event that is not JSON"
            self._data = []

    def _event(self, data: bytes) -> bool:
        """Process the data of an event. Return False if it is not JSON. Ignore events after the end of the stream."""
        if self.done or not data:
            return True
        if data == b"[DONE]":
            self.done = True
            return True
        self._events += 1
        if self._events > self._events_max:
            self._stop_at_limit(f"more than {self._events_max:,} events")
            return True
        if has_more_values(data, VALUES_MAX):
            self._stop_at_limit(f"an event with more than {VALUES_MAX:,} values")
            return True
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            return False
        if isinstance(event, dict) and event.get("error"):
            self._error, self.done = event["error"], True
        elif isinstance(event, dict):
            self._take(event)
        return True

    def _stop_at_limit(self, limit: str) -> None:
        self._over, self.done, self._rest, self._data = limit, True, [], []


def _error_in(body: bytes) -> Any:
    try:
        plain = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return plain.get("error") if isinstance(plain, dict) else None


def escape_surrogates(text: str) -> str:
    """Return a text in which each lone surrogate is replaced by its escape. The result can be stored."""
    return text.encode("utf-8", "backslashreplace").decode()


def join_pieces(pieces: Iterable[str]) -> str:
    """Join the pieces of a text.

    A character beyond the basic plane may be split into two halves (surrogates). Two halves that belong together are
    joined. A lone half is replaced by its escape, as `escape_surrogates` does.
    """
    text = "".join(pieces)
    if text.isascii():
        return text
    return escape_surrogates(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass"))
