"""A model behind a provider's HTTP interface. One request, sent with the provider's SDK, returns a reply or a fault.

This module contains what all providers share: limits of time and size, faults, streams, and the repetition of a request
without a refused parameter. A subclass builds the request's body, and names the class that reads its answers.

If a reply has no text, its JSON may be in the model's reasoning. If JSON is broken, the library json-repair repairs
commas, comments, quotes and line ends in strings. Because the library also guesses, the words and brackets before and
after the repair are compared, and a repair that changes them is rejected.

The retries of the SDK are switched off, because each try must be reserved before it is sent. Importing this module
loads the HTTP client (0.4 s).
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import httpx2
import trio

from runtime.core.clock import Clock
from runtime.models.answer_reader import AnswerReader
from runtime.models.completion import read_model_list
from runtime.models.context_window import (
    ASK_SECONDS,
    ASKED_FROM_TOKENS,
    ContextWindow,
    least_tokens,
    parse_answer,
    too_long,
)
from runtime.models.faults import is_unresolved, provider_text, status_fault
from runtime.models.http_client import RejectedAnswer
from runtime.models.port import NO_COMPLETION, Fault, FaultKind, ModelRequest, Reply
from runtime.models.provider_state import PROBE_SECONDS, Listed
from runtime.models.providers import PROVIDERS, ProviderName
from runtime.models.refusals import CACHE, STREAM, WITHOUT, Asking
from runtime.models.replies import (
    Parsed,
    ReplyCode,
    Unreadable,
    as_reasoning,
    candidates,
    is_whole,
    read_reply,
    respell,
)
from runtime.models.servers import Servers

REPAIR_MAX = 128 * 1024
"""The largest size, in characters, of a broken JSON text that the program tries to repair."""
THREAD_MIN = 8 * 1024
"""A broken JSON text with at least this many characters is repaired in a thread, because its repair takes 20 ms or
more."""
THOUGHTS_KEPT = 2_000
"""The largest number of characters of a model's reasoning that are kept if its reply has nothing else."""

# The parts of a broken JSON text. A comment or string without an end is not a part.
_PARTS = {
    "double": r'"[^"\\]*+(?:\\.[^"\\]*+)*+"',
    "single": r"'[^'\\]*+(?:\\.[^'\\]*+)*+'",
    "number": r"-?\d[\d.]*+(?:[eE][+-]?\d++)?",
    "word": r"[A-Za-z_$][\w$]*+",
    "bracket": r"[\[\]{}]",
    "gap": r"[\s,:]++|//[^\n]*+|/\*.*?\*/|#[^\n]*+",
}
_PART = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _PARTS.items()), re.DOTALL)
_KEY_FOLLOWS = re.compile(r"\s*+:")
_NAMES = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}


async def find_json(reply: Reply, thoughts: str) -> Reply:
    """Return the reply with the requested JSON as its text; return it unchanged if no JSON is found.

    `thoughts` is the model's reasoning. If the reply's text is empty, the reasoning replaces it, because some servers
    put the JSON into the reasoning. If the reasoning has no JSON either, only its end is kept, and is marked as
    reasoning.
    """
    if not reply.text.strip() and thoughts.strip():
        if not is_whole(thoughts) and await trio.to_thread.run_sync(_mend, thoughts.strip()) is None:
            return replace(reply, text=as_reasoning(thoughts[-THOUGHTS_KEPT:]))
        reply = replace(
            reply, text=thoughts, notices=(*reply.notices, "the server sent the reply in the field for reasoning")
        )
    found = read_reply(reply.text)
    if not isinstance(found, Unreadable) or found.code is not ReplyCode.NOT_JSON:
        return reply
    repaired = await _repaired(reply.text)
    if repaired is None:
        return reply
    notice = "the JSON of the reply was broken, but was repaired"
    return replace(reply, text=repaired, original=reply.text, notices=(*reply.notices, notice))


async def _repaired(text: str) -> str | None:
    if len(text) < THREAD_MIN:
        return repair(text)
    return await trio.to_thread.run_sync(repair, text)


def repair(text: str) -> str | None:
    """Return the repaired JSON of a broken reply; None if there is no JSON, or if a repair would need to guess."""
    found = (_mend(candidate) for candidate in candidates(text))
    return next((value for value in found if value is not None), None)


def _mend(text: str) -> str | None:
    """Return a broken object or array as json-repair repairs it; None if the repair changes words or brackets."""
    if len(text) > REPAIR_MAX or not text.startswith(("{", "[")):
        return None
    words = _words(text)
    if words is None:
        return None
    import json_repair  # noqa: PLC0415 -- few replies are broken

    try:
        mended = json.dumps(json_repair.loads(text, skip_json_loads=True), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    return mended if _words(mended) == words and isinstance(read_reply(mended), Parsed) else None


def _words(text: str) -> list[tuple[str, Any]] | None:
    """Return the strings, numbers, names and brackets of a text, without commas, colons, blanks and comments.

    Return None if the text contains anything else, such as a bare word that is neither a key nor a JSON value.
    """
    words: list[tuple[str, Any]] = []
    at = 0
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            return None
        at = part.end()
        kind = part.lastgroup or ""
        try:
            match kind:
                case "gap":
                    pass
                case "double":
                    words.append(("text", json.loads(part[kind], strict=False)))
                case "single":
                    words.append(("text", json.loads(f'"{respell(part[kind][1:-1])}"', strict=False)))
                case "number":
                    words.append(("number", json.loads(part[kind])))
                case "word" if _KEY_FOLLOWS.match(text, at):
                    words.append(("text", part[kind]))
                case "word" if part[kind] in _NAMES:
                    words.append(("name", _NAMES[part[kind]]))
                case "bracket":
                    words.append(("bracket", part[kind]))
                case _:
                    return None
        except ValueError:
            return None
    return words


CONNECT_SECONDS_MAX = 10.0
"""The longest time, in seconds, to wait for a server to accept a connection. After this time, the connection counts as
refused."""

STALL_SECONDS = 60.0
"""The longest silence in a stream after the model has written something. Before its first characters, the model may
think for longer. If half of the call's time limit is longer than this number of seconds, the longest silence is half of
the time limit. The reason is that slow servers get long limits.
"""

_CLOSE_SECONDS_MAX = 2.0
_CONTENT_TYPE_MAX = 40
_NO_PATH = frozenset({404, 405})
_AFTER_END_SECONDS_MAX = 0.25
_WORD = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Sdk:
    """The parts of a provider's SDK that `HttpModel` uses. The SDKs of OpenAI and Anthropic both have them."""

    client: Any
    """The asynchronous client of the SDK, without retries."""
    status_error: type[Any]
    """The exception for an answer with a status outside 200-299."""
    connection_error: type[Any]
    """The SDK's exception for a request without an answer. The cause of this exception is the HTTP client's exception.
    """
    error: type[Exception]
    stream_class: type[Any]
    """The type of a streamed answer whose body has not been read yet."""


class HttpModel(ABC):
    """A model behind the HTTP interface of a provider.

    A request first asks for a structured reply in the strongest of the interface's `modes`. If the server refuses this
    mode or another parameter that `runtime.models.refusals` lists, the same call to `complete` sends the request again
    in another way. A refusal costs nothing, so both requests count as one try. `Servers` remembers which ways worked.

    A request asks for a stream, because a stream shows a dead connection earlier than a whole answer. If the stream
    reports no usage, later requests to the server do not ask for a stream. The reason: a call without usage is charged
    at its reservation. A server may also answer with JSON although a stream was requested.
    """

    modes: ClassVar[tuple[str, ...]]
    """The ways to ask for a structured reply, the strongest first. The last way is `text`, which asks for plain text.
    """
    interface: ClassVar[str]
    """The name of the interface in the table of refusals: `chat`, `responses` or `messages`."""
    path: ClassVar[str]
    reader: ClassVar[type[AnswerReader]]
    path_of_models: ClassVar[str]
    sent_names: ClassVar[Mapping[str, str]] = {}
    """The interface's name for each setting whose name differs from Replan's."""
    provider: ClassVar[ProviderName]
    """The provider's name. Its entry in `PROVIDERS` says in `not_taken` which settings the interface refuses."""

    def __init__(
        self,
        name: str,
        sdk: Sdk,
        *,
        base_url: str,
        secret: str,
        clock: Clock,
        reply_bytes_max: int,
        stall_seconds: float | None,
        cache: bool,
        servers: Servers,
    ) -> None:
        """Store the model's name and connection. `cache` tells whether requests use the fields for the prompt cache."""
        self._name, self._sdk, self._secret, self._clock = name, sdk, secret, clock
        self._reply_bytes_max, self._stall_seconds = reply_bytes_max, stall_seconds
        self._address, self._cache, self._servers = base_url, cache, servers
        self._rate_limiter = servers.rate_limiter(base_url, secret)
        self._window: ContextWindow | None = None
        self._window_asked, self._asking = False, trio.Lock()

    @abstractmethod
    async def context_window(self) -> ContextWindow | None:
        """Return the context window of the model; None if it is unknown after `ASK_SECONDS`."""

    @abstractmethod
    def _body(self, request: ModelRequest, mode: str, *, stream: bool, cache: bool) -> dict[str, Any]:
        """Return the body of a request."""

    def _first_mode(self, request: ModelRequest) -> str:
        if request.schema is None:
            return "text"
        return self._servers.ways(self._address, self._name, self._clock.now()).get(self._structure, self.modes[0])

    @property
    def _structure(self) -> str:
        """The parameter that asks for a structured reply; empty if the table of refusals has no such parameter."""
        return next((name for name, row in self._servers.refusals(self.interface).items() if row.weaker), "")

    @property
    def name(self) -> str:
        """The model's name, as the server knows it."""
        return self._name

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Send one request, and return the reply or the fault, within `request.timeout_seconds`.

        A request is not sent if its prompt cannot fit into the context window, or if the interface does not accept one
        of its settings.
        """
        provider = PROVIDERS[self.provider]
        if refused := provider.refused_settings(request.fields):
            text = f"{provider.title} does not take the setting {' and '.join(refused)} (leave it out)"
            return Fault(kind=FaultKind.BAD_REQUEST, message=text)
        answer: Reply | Fault | None = None
        with trio.move_on_after(request.timeout_seconds):
            answer = await self._too_long(request) or await self._complete(request)
        if answer is None:
            text = f"no reply within {request.timeout_seconds:g} seconds"
            answer = Fault(kind=FaultKind.TIMEOUT, message=text)
        return answer

    async def ask_models(self) -> Listed:
        """Ask the server for a list of its models, within `PROBE_SECONDS`. The request costs nothing."""
        with trio.move_on_after(PROBE_SECONDS):
            return await self._list_models()
        return Fault(kind=FaultKind.TIMEOUT, message=f"no answer within {PROBE_SECONDS:g} seconds")

    async def aclose(self) -> None:
        """Close the connections. A second call does nothing. Takes at most two seconds."""
        with trio.move_on_after(_CLOSE_SECONDS_MAX, shield=True):
            await self._sdk.client.close()

    async def _too_long(self, request: ModelRequest) -> Fault | None:
        """Return a fault if the prompt exceeds the context window; None if the prompt may fit or the window is unknown.

        The server is asked for the window once. Before a prompt is refused, the server is asked again, because its
        model may have changed.
        """
        if request.context_window is not None:
            return too_long(request, ContextWindow(request.context_window, "context_window"))
        if least_tokens(request.system) + least_tokens(request.user) < ASKED_FROM_TOKENS:
            return None
        async with self._asking:
            if not self._window_asked:
                self._window, self._window_asked = await self.context_window(), True
            elif self._window is not None and too_long(request, self._window) is not None:
                self._window = await self.context_window()
        return None if self._window is None else too_long(request, self._window)

    async def _ask(self, url: str, body: Any) -> Any:
        """Return the JSON value of the server's answer; None if there is no answer or it is not JSON.

        The request costs nothing.
        """
        options: Any = {"headers": {"Accept-Encoding": "identity"}, "timeout": httpx2.Timeout(ASK_SECONDS)}
        try:
            if body is None:
                response = await self._sdk.client.get(url, cast_to=httpx2.Response, options=options)
            else:
                response = await self._sdk.client.post(url, cast_to=httpx2.Response, body=body, options=options)
        except (self._sdk.error, httpx2.HTTPError, RejectedAnswer):
            return None
        return parse_answer(response.content)

    async def _list_models(self) -> Listed:
        timeout = httpx2.Timeout(PROBE_SECONDS, connect=PROBE_SECONDS)
        headers = {"Accept-Encoding": "identity"}
        try:
            response = await self._sdk.client.get(
                self.path_of_models, cast_to=httpx2.Response, options={"headers": headers, "timeout": timeout}
            )
        except self._sdk.status_error as error:
            status, headers_of = error.status_code, error.response.headers
            fault = status_fault(status, headers_of, error.response.content, now=self._clock.now(), secret=self._secret)
            # Not every server has the path. A 404, a 405 or another 4xx says that the server is up.
            return frozenset() if status in _NO_PATH or fault.kind is FaultKind.BAD_REQUEST else fault
        except self._sdk.connection_error as error:
            return self._connection_fault(error.__cause__ or error)
        except RejectedAnswer as rejected:
            return rejected.fault
        return read_model_list(response.content)

    async def _complete(self, request: ModelRequest) -> Reply | Fault:
        known = self._servers.ways(self._address, self._name, self._clock.now())
        own = {*request.fields, *request.headers}
        own |= {self.sent_names.get(name, name) for name in own}
        asking = Asking(self._servers.refusals(self.interface), dict(known), own)
        structure, first = self._structure, self._first_mode(request)
        while True:
            mode = max(first, asking.ways.get(structure, first), key=self.modes.index) if first != "text" else first
            stream, cache = STREAM not in asking.ways, self._cache and CACHE not in asking.ways
            body = asking.shape(self._body(request, mode, stream=stream, cache=cache))
            answer = await self._send(request, body, mode)
            if isinstance(answer, Reply):
                break
            sent = {*body, CACHE} if cache else {*body}
            sent = sent - {structure} if mode == "text" else sent
            if not asking.change_ways(answer, sent, mode):
                break
        if isinstance(answer, Fault):
            answer = self._servers.with_charge(answer, self._address)
            return self._name_refused(answer, request, asking.refused)
        changes: dict[str, str | None] = {name: None for name in known if name not in asking.ways}
        changes |= {name: way for name, way in asking.ways.items() if known.get(name) != way}
        if changes:
            self._servers.learn(self._address, self._name, changes, self._clock.now())
        return replace(answer, notices=(*answer.notices, *asking.notices)) if asking.notices else answer

    async def _send(self, request: ModelRequest, body: dict[str, Any], mode: str) -> Reply | Fault:
        sent_at = self._clock.now()
        tokens = least_tokens(request.system) + least_tokens(request.user) + request.output_tokens_max

        def heard(answer: httpx2.Response) -> None:
            now = self._clock.now()
            self._rate_limiter.learn(answer.headers, answer.status_code, sent_at=sent_at, tokens=tokens, now=now)

        try:
            opened = await self._sdk.client.post(
                self.path,
                cast_to=object,
                body=body,
                options={
                    "headers": {
                        **request.headers,
                        "X-Client-Request-Id": request.client_request_id,
                        "Accept-Encoding": "identity",
                    },
                    "timeout": httpx2.Timeout(
                        request.timeout_seconds, connect=min(CONNECT_SECONDS_MAX, request.timeout_seconds)
                    ),
                },
                # The client leaves the body to `_read`, whether it turns out to be a stream or not.
                stream=True,
                stream_cls=self._sdk.stream_class,
            )
            async with opened:
                heard(opened.response)
                return await self._read(opened.response, request, mode)
        except self._sdk.status_error as error:
            heard(error.response)
            headers, text = error.response.headers, error.response.content
            return status_fault(error.status_code, headers, text, now=self._clock.now(), secret=self._secret)
        except self._sdk.connection_error as error:
            return self._connection_fault(error.__cause__ or error)
        except httpx2.HTTPError as error:
            return _connection_fault(error, self._secret)
        except RejectedAnswer as rejected:
            return self._with_address(rejected.fault, rejected.content_type)
        except UnicodeEncodeError:
            return Fault(
                kind=FaultKind.BAD_REQUEST, message="the prompt or a header has characters that cannot be sent"
            )

    def _connection_fault(self, cause: BaseException) -> Fault:
        """Return the fault for an error that the SDK reports as `connection_error`."""
        if isinstance(cause, RejectedAnswer):
            return self._with_address(cause.fault, cause.content_type)
        return _connection_fault(cause, self._secret)

    async def _read(self, response: httpx2.Response, request: ModelRequest, mode: str) -> Reply | Fault:
        """Read the body of an answer with status 200.

        A silent server is a fault only after the model has written something.
        """
        reader = self.reader(
            asked=self._name,
            mode=mode,
            secret=self._secret,
            bytes_max=self._reply_bytes_max,
            tokens_max=request.output_tokens_max,
        )
        ended, stall = False, self._stall_seconds
        if stall is None:
            stall = max(STALL_SECONDS, request.timeout_seconds / 2)
        with trio.CancelScope() as silence:
            async with aclosing(response.aiter_raw()) as pieces:
                try:
                    async for piece in pieces:
                        before = reader.characters
                        reader.feed(piece)
                        if reader.characters > before and request.heard is not None:
                            request.heard(reader.characters, reader.written)
                        if reader.done and not ended:
                            # A connection can be used again only if its answer was read to the end.
                            ended, silence.deadline = True, trio.current_time() + _AFTER_END_SECONDS_MAX
                        elif reader.characters and not ended:
                            silence.deadline = trio.current_time() + stall
                except (httpx2.HTTPError, RejectedAnswer):
                    if not reader.done:
                        raise
        if silence.cancelled_caught and not reader.done:
            text = f"the server sent nothing for {stall:g} s after {reader.characters:,} characters"
            return Fault(kind=FaultKind.TIMEOUT, message=text)
        answer = reader.result()
        if isinstance(answer, Fault):
            return self._with_address(answer, response.headers.get("content-type", ""))
        if reader.streamed and answer.usage is None:
            self._servers.learn(self._address, self._name, {STREAM: WITHOUT}, self._clock.now())
        if request.schema is not None:
            answer = await find_json(answer, reader.reasoning())
        self._keep(request, reader, answer)
        return answer

    def _keep(self, _request: ModelRequest, _reader: AnswerReader, _reply: Reply) -> None:
        """Keep those parts of a reply that later requests need.

        A subclass may implement this; this class keeps nothing.
        """
        return

    def _with_address(self, fault: Fault, content_type: str) -> Fault:
        """Return the fault.

        If the answer cannot come from a model's API, add the server's address and the content type.
        """
        if fault.kind not in NO_COMPLETION:
            return fault
        shown_type = provider_text(content_type, self._secret)[:_CONTENT_TYPE_MAX] or "no content type"
        text = f"{self._address} answers with {fault.message} ({shown_type}); is this the API's address?"
        return fault.model_copy(update={"message": text})

    def _name_refused(self, fault: Fault, request: ModelRequest, refused: Sequence[str]) -> Fault:
        """Add to a fault the user's settings that it names, and the parameters that the server refused earlier."""
        if fault.kind is not FaultKind.BAD_REQUEST:
            return fault
        words = set(_WORD.findall(fault.message.lower()))
        names = (*request.fields, *request.headers)
        own = [name for name in names if words & {name.lower(), self.sent_names.get(name, name).lower()}]
        added = f" (leave out the setting {', '.join(own)})" if own else ""
        added += f" (the server has already refused {' and '.join(refused)})" if refused else ""
        return fault.model_copy(update={"message": f"{fault.message}{added}"}) if added else fault


def _connection_fault(cause: BaseException, secret: str) -> Fault:
    """Return the fault for a failed connection. Its kind tells whether the request may have been sent."""
    text = provider_text(str(cause), secret) or type(cause).__name__
    if isinstance(cause, httpx2.ConnectError):
        if is_unresolved(cause):
            return Fault(kind=FaultKind.UNRESOLVED_HOST, message=f"the server's name does not resolve: {text}")
        return Fault(kind=FaultKind.REFUSED_CONNECTION, message=f"no connection: {text}")
    if isinstance(cause, httpx2.ProxyError):
        return Fault(kind=FaultKind.REFUSED_CONNECTION, message=f"no connection through the proxy: {text}")
    if isinstance(cause, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
        return Fault(kind=FaultKind.BAD_REQUEST, message=f"the request cannot be sent: {text}")
    if isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return Fault(kind=FaultKind.REFUSED_CONNECTION, message="the server did not accept the connection in time")
    if isinstance(cause, httpx2.TimeoutException):
        return Fault(kind=FaultKind.TIMEOUT, message="the server stopped answering")
    return Fault(kind=FaultKind.CUT, message=f"the connection broke: {text}")
