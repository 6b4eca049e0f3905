"""The OpenAI client: sends one request to an OpenAI-compatible server, and returns a reply or a fault.

It uses the official client without its retries: a try that was not reserved must not be sent. Redirects are not
followed; compressed and oversized answers are not read. Replies are streamed where the server can. Importing this
module loads the client (0.4 s); use `runtime.models.openai.open_openai`.
"""

import re
from collections.abc import AsyncIterator, Collection
from contextlib import aclosing
from functools import partial
from typing import Any, Literal

import httpx2
import openai
import trio

from runtime.core.clock import Clock
from runtime.models.base_url import OPENAI_URL
from runtime.models.completion import STREAM_FACTOR, CompletionReader, listed_models
from runtime.models.context_window import (
    ASK_SECONDS,
    ASKED_FROM_TOKENS,
    ContextWindow,
    learned_window,
    least_tokens,
    parsed,
    too_long,
)
from runtime.models.faults import provider_text, status_fault, unresolved
from runtime.models.port import NO_COMPLETION, Fault, FaultKind, ModelRequest, Reply
from runtime.models.probe import PROBE_SECONDS, Listed
from runtime.models.prompt_cache import PromptCache, matches_marks_only, sends_cache_fields, with_cache_fields
from runtime.models.replies import BYTES_MAX

Mode = Literal["json_schema", "json_object", "text"]

CONNECT_SECONDS_MAX = 10.0
"""The longest that a server may take to accept a connection. Nothing is sent by then, so it counts as a refusal."""

STALL_SECONDS = 60.0
"""The longest silence in a stream, once the model has written something; before that, it may think.

A call that may take more than twice as long may be silent for half of its time limit: a slow server writes slowly.
"""

_CLOSE_SECONDS_MAX = 2.0
_CONTENT_TYPE_MAX = 40
_NO_PATH = frozenset({404, 405})
_AFTER_END_SECONDS_MAX = 0.25
_PIECES_MAX = 20_000  # Of an answer that is not streamed. Chunks of one byte cost ten microseconds each.
_MODES: tuple[Mode, ...] = ("json_schema", "json_object", "text")
_REFUSALS_OF_STREAM = frozenset({400, 405, 415, 422, 501})
_WORD = re.compile(r"[a-z0-9][a-z0-9_-]*")
_REFUSAL_OF_CACHE = "prompt_cache"
_REFUSALS_OF_MODE = ("response_format", "json_schema", "json_object", "structured output", "grammar")


class OpenAIModel:
    """A model behind the chat completions of an OpenAI-compatible server. Use `open_openai`.

    The first request asks for `json_schema`. If the server refuses that (400 or 422, in words about the format), the
    same call asks again at once for `json_object`, then for plain text. A refusal costs nothing, so this is still one
    try; it happens at most twice, and this object remembers the mode that worked.

    Replies are asked for as a stream, so that a dead connection is told from a slow model. A server that refuses that,
    in words about streams, is asked at once without, and from then on; so is one whose stream reports no usage, since
    a call without usage is charged at its reservation. A JSON answer to a request for a stream is taken as it is.

    The fields about the prompt cache go to OpenAI's own address, or where `prompt_cache` says. A server that refuses
    them by name is asked at once without, and from then on.
    """

    def __init__(
        self,
        name: str,
        client: openai.AsyncOpenAI,
        *,
        base_url: str,
        secret: str,
        clock: Clock,
        reply_bytes_max: int = BYTES_MAX,
        stall_seconds: float | None = None,
        prompt_cache: PromptCache = "auto",
    ) -> None:
        self._name, self._client, self._secret, self._clock = name, client, secret, clock
        self._reply_bytes_max, self._stall_seconds = reply_bytes_max, stall_seconds
        self._mode: Mode = "json_schema"
        self._stream = True
        self._cache = sends_cache_fields(prompt_cache, base_url)
        self._marked = matches_marks_only(name)
        self._window: ContextWindow | None = None
        self._window_asked, self._asking = False, trio.Lock()
        # OpenAI's newer models refuse the old name; most compatible servers know only the old one.
        self._address = base_url
        self._limit = "max_completion_tokens" if base_url == OPENAI_URL else "max_tokens"

    @property
    def name(self) -> str:
        """The model's name, as the server knows it."""
        return self._name

    async def complete(self, request: ModelRequest) -> Reply | Fault:
        """Send one try, unless it cannot fit; return its reply or its fault within `request.timeout_seconds`."""
        answer: Reply | Fault | None = None
        with trio.move_on_after(request.timeout_seconds):
            answer = await self._too_long(request) or await self._complete(request)
        if answer is None:
            text = f"no reply within {request.timeout_seconds:g} seconds"
            answer = Fault(kind=FaultKind.TIMEOUT, message=text)
        return answer

    async def context_window(self) -> ContextWindow | None:
        """Ask the server for the context window of the model, within `ASK_SECONDS`; None where it does not say it."""
        return await learned_window(self._address, self._name, self._asked)

    async def listed(self) -> Listed:
        """Ask the server which models it has, within `PROBE_SECONDS`; it costs nothing."""
        with trio.move_on_after(PROBE_SECONDS):
            return await self._listed()
        return Fault(kind=FaultKind.TIMEOUT, message=f"no answer within {PROBE_SECONDS:g} seconds")

    async def aclose(self) -> None:
        """Close the connections; a second call does nothing. Takes at most two seconds."""
        with trio.move_on_after(_CLOSE_SECONDS_MAX, shield=True):
            await self._client.close()

    async def _too_long(self, request: ModelRequest) -> Fault | None:
        """Return the fault for a prompt that cannot fit the context window, where somebody says how large that is.

        The server is asked once, and again before it is said that a prompt is too long: it may be another one by then.
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

    async def _asked(self, url: str, body: Any) -> Any:
        """Return the JSON that the server answers, None for anything else; it costs nothing."""
        options: Any = {"headers": {"Accept-Encoding": "identity"}, "timeout": httpx2.Timeout(ASK_SECONDS)}
        try:
            if body is None:
                response = await self._client.get(url, cast_to=httpx2.Response, options=options)
            else:
                response = await self._client.post(url, cast_to=httpx2.Response, body=body, options=options)
        except (openai.OpenAIError, httpx2.HTTPError, _Rejected):
            return None
        return parsed(response.content)

    async def _listed(self) -> Listed:
        timeout = httpx2.Timeout(PROBE_SECONDS, connect=PROBE_SECONDS)
        headers = {"Accept-Encoding": "identity"}
        try:
            response = await self._client.get(
                "/models", cast_to=httpx2.Response, options={"headers": headers, "timeout": timeout}
            )
        except openai.APIStatusError as error:
            status, headers_of = error.status_code, error.response.headers
            fault = status_fault(status, headers_of, error.response.content, now=self._clock.now(), secret=self._secret)
            # Not every server has the path: a 404, a 405 or another complaint about it says that it is there.
            return frozenset() if status in _NO_PATH or fault.kind is FaultKind.BAD_REQUEST else fault
        except openai.APIConnectionError as error:
            return _connection_fault(error.__cause__ or error, self._secret)
        except _Rejected as rejected:
            return rejected.fault
        return listed_models(response.content)

    async def _complete(self, request: ModelRequest) -> Reply | Fault:
        mode: Mode = self._mode if request.schema is not None else "text"
        stream, cache = self._stream, self._cache
        while True:
            answer = await self._send(request, self._body(request, mode, stream=stream, cache=cache), mode)
            if cache and _refuses(answer, {400, 422}, (_REFUSAL_OF_CACHE,)):
                cache = False
            elif stream and _refuses(answer, _REFUSALS_OF_STREAM, ("stream",)):
                stream = False
            elif mode != "text" and _refuses(answer, {400, 422}, _REFUSALS_OF_MODE):
                mode = _MODES[_MODES.index(mode) + 1]
            else:
                break
        if isinstance(answer, Reply):
            self._stream, self._cache = self._stream and stream, self._cache and cache
            if request.schema is not None:
                self._mode = max(self._mode, mode, key=_MODES.index)  # another call may have fallen back further
        return _naming_settings(answer, request)

    async def _send(self, request: ModelRequest, body: dict[str, Any], mode: Mode) -> Reply | Fault:
        try:
            opened = await self._client.post(
                "/chat/completions",
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
                stream_cls=openai.AsyncStream[object],
            )
            async with opened:
                return await self._read(opened.response, request, mode)
        except openai.APIStatusError as error:
            headers, text = error.response.headers, error.response.content
            return status_fault(error.status_code, headers, text, now=self._clock.now(), secret=self._secret)
        except openai.APIConnectionError as error:
            return _connection_fault(error.__cause__ or error, self._secret)
        except httpx2.HTTPError as error:
            return _connection_fault(error, self._secret)
        except _Rejected as rejected:
            return self._with_address(rejected.fault, rejected.content_type)
        except UnicodeEncodeError:
            return Fault(kind=FaultKind.BAD_REQUEST, message="the prompt or a header holds text that cannot be sent")

    async def _read(self, response: httpx2.Response, request: ModelRequest, mode: Mode) -> Reply | Fault:
        """Read the body of a 200. A silence is a fault only after the model has written something."""
        reader = CompletionReader(bytes_max=self._reply_bytes_max, tokens_max=request.output_tokens_max)
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
                            request.heard(reader.characters, partial(reader.written, self._secret))
                        if reader.done and not ended:
                            # Only what is read to its end leaves a connection that can be used again.
                            ended, silence.deadline = True, trio.current_time() + _AFTER_END_SECONDS_MAX
                        elif reader.characters and not ended:
                            silence.deadline = trio.current_time() + stall
                except (httpx2.HTTPError, _Rejected):
                    if not reader.done:
                        raise
        if silence.cancelled_caught and not reader.done:
            text = f"nothing came for {stall:g} s after {reader.characters:,} characters"
            return Fault(kind=FaultKind.TIMEOUT, message=text)
        answer = reader.result(asked=self._name, mode=mode, secret=self._secret)
        if isinstance(answer, Fault):
            return self._with_address(answer, response.headers.get("content-type", ""))
        if reader.streamed and answer.usage is None:
            self._stream = False
        return answer

    def _with_address(self, fault: Fault, content_type: str) -> Fault:
        """Return a fault, with the address and the type of what came where that is no chat completion."""
        if fault.kind not in NO_COMPLETION:
            return fault
        came = provider_text(content_type, self._secret)[:_CONTENT_TYPE_MAX] or "no content type"
        text = f"{self._address} answers {fault.message} ({came}); is this the API's address?"
        return fault.model_copy(update={"message": text})

    def _body(self, request: ModelRequest, mode: Mode, *, stream: bool, cache: bool) -> dict[str, Any]:
        messages = [{"role": "system", "content": request.system}] if request.system else []
        body: dict[str, Any] = {
            **request.fields,
            "model": self._name,
            "messages": [*messages, {"role": "user", "content": request.user}],
            self._limit: request.output_tokens_max,
        }
        if self._address == OPENAI_URL:
            body["service_tier"] = "default"  # The tier of the price list; a project may have a dearer one as its own.
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if mode == "json_schema":
            # Not strict: that refuses schemas with optional fields, and every reply is validated anyway.
            schema = {"name": request.schema_name, "schema": dict(request.schema or {}), "strict": False}
            body["response_format"] = {"type": mode, "json_schema": schema}
        elif mode == "json_object":
            body["response_format"] = {"type": mode}
        return with_cache_fields(body, request, marked=self._marked) if cache else body


class _Rejected(Exception):
    """Carries a fault out of the client's reading; it never leaves this module."""

    def __init__(self, kind: FaultKind, message: str, status: int, content_type: str = "") -> None:
        self.fault = Fault(kind=kind, message=message, status=status)
        self.content_type = content_type
        super().__init__(message)


class CappedAnswers:
    """A response hook that stops reading at a cap of bytes and pieces. It sees every answer before its body is read."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max

    async def __call__(self, response: httpx2.Response) -> None:
        """Cap the body of a response."""
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # A few kilobytes can expand to gigabytes; plain text was asked for.
            kind = response.headers.get("content-type", "")
            raise _Rejected(FaultKind.BAD_REPLY, "what is compressed, unasked", response.status_code, kind)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        streamed = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        factor = STREAM_FACTOR if streamed and response.status_code == 200 else 1
        pieces_max = _PIECES_MAX if factor == 1 else self._bytes_max  # `CompletionReader` counts those of a stream.
        response.stream = _Capped(response.stream, factor * self._bytes_max, pieces_max, response.status_code)


class _Capped(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, bytes_max: int, pieces_max: int, status: int) -> None:
        self._inner, self._bytes_max, self._pieces_max, self._status = inner, bytes_max, pieces_max, status

    async def __aiter__(self) -> AsyncIterator[bytes]:
        bytes_left, pieces_left = self._bytes_max, self._pieces_max
        async for chunk in self._inner:
            bytes_left -= len(chunk)
            pieces_left -= 1
            if bytes_left < 0 or pieces_left < 0:
                await self.aclose()  # An error's body is read by the client, which would leave it open.
                text = f"the answer is larger than {self._bytes_max} bytes"
                if bytes_left >= 0:
                    text = f"the answer has more than {self._pieces_max:,} pieces"
                raise _Rejected(FaultKind.TOO_LARGE, text, self._status)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _naming_settings(answer: Reply | Fault, request: ModelRequest) -> Reply | Fault:
    """Return an answer; with a refusal of a field or header that a person has set, the name to leave out."""
    if not isinstance(answer, Fault) or answer.kind is not FaultKind.BAD_REQUEST:
        return answer
    words = set(_WORD.findall(answer.message.lower()))
    refused = [name for name in (*request.fields, *request.headers) if name.lower() in words]
    if not refused:
        return answer
    text = f"{answer.message} (leave out the setting {', '.join(refused)})"
    return answer.model_copy(update={"message": text})


def _refuses(answer: Reply | Fault, statuses: Collection[int], words: Collection[str]) -> bool:
    """Tell whether a server refuses one way to ask: with one of these statuses, in one of these words."""
    if not isinstance(answer, Fault) or answer.status not in statuses:
        return False
    text = answer.message.lower()
    return any(word in text for word in words)


def _connection_fault(cause: BaseException, secret: str) -> Fault:
    """Return the fault for a connection that failed, which depends on whether the request can have been sent."""
    text = provider_text(str(cause), secret) or type(cause).__name__
    if isinstance(cause, httpx2.ConnectError):
        if unresolved(cause):
            return Fault(kind=FaultKind.UNRESOLVED_HOST, message=f"the server's name does not resolve: {text}")
        return Fault(kind=FaultKind.REFUSED_CONNECTION, message=f"no connection: {text}")
    if isinstance(cause, httpx2.ProxyError):
        return Fault(kind=FaultKind.REFUSED_CONNECTION, message=f"no connection through the proxy: {text}")
    if isinstance(cause, httpx2.LocalProtocolError | httpx2.UnsupportedProtocol):
        return Fault(kind=FaultKind.BAD_REQUEST, message=f"the request cannot be sent: {text}")
    if isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return Fault(kind=FaultKind.REFUSED_CONNECTION, message="the server did not accept the connection in time")
    if isinstance(cause, httpx2.TimeoutException):
        return Fault(kind=FaultKind.TIMEOUT, message="the server went silent")
    return Fault(kind=FaultKind.CUT, message=f"the connection broke: {text}")
