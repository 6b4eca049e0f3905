"""The HTTP client of a provider's SDK: its limits, proxies and checks.

The size of every answer is limited before the answer is read.
"""

import ssl
from collections.abc import AsyncIterator, Callable
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

from runtime.core.errors import UsageProblem
from runtime.models.answer_reader import STREAM_FACTOR
from runtime.models.port import Fault, FaultKind
from runtime.models.providers import is_local, is_loopback, is_name

_PIECES_MAX = 20_000  # Of an answer that is not streamed. Chunks of one byte cost ten microseconds each.

Client = TypeVar("Client")


def open_client(
    make: Callable[[httpx2.AsyncClient], Client], *, refused: type[Exception], base_url: str, reply_bytes_max: int
) -> Client:
    """Return the SDK's client, which `make` builds from an HTTP client.

    Proxies are taken from the environment, except for a server on this machine. Redirects are not followed; compressed
    and oversized answers are not read. For a server on this machine or in a private network, each request uses a new
    connection. The reason: llama.cpp closes a connection silently after a streamed reply, and the next request on this
    connection would be lost.

    Raises:
        UsageProblem: a proxy or a certificate that the environment names is not valid.
    """
    _check_proxies()
    host = urlsplit(base_url).hostname or ""
    try:
        http = httpx2.AsyncClient(
            event_hooks={"response": [_CappedAnswers(reply_bytes_max)]},
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0 if is_local(host) else 20),
            trust_env=not is_loopback(host),
            verify=certificates_for(base_url),
        )
        return make(http)
    except (ValueError, ImportError, OSError, httpx2.InvalidURL, refused) as error:
        # An address is never quoted, not even in part: it may hold a password.
        about_here = isinstance(error, OSError | ImportError)
        text = (
            " ".join(str(error).split()) if about_here else "an environment variable holds an address that is not valid"
        )
        hint = "check the proxy and certificate variables, such as HTTPS_PROXY and SSL_CERT_FILE"
        raise UsageProblem(f"the HTTP client cannot be set up: {text}", place="environment", hint=hint) from None


def certificates_for(url: str) -> ssl.SSLContext | bool:
    """Return a client's `verify` argument for a URL.

    For a URL with TLS, the result contains the certificates of this machine. For a URL without TLS, the result is an
    empty context, which trusts no server, because reading the certificates takes 36 ms.
    """
    return urlsplit(url).scheme != "http" or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _check_proxies() -> None:
    """Raise `UsageProblem` if a proxy's host is not a valid name, because each call through it would fail."""
    for scheme, address in getproxies().items():
        try:
            valid = scheme == "no" or is_name(urlsplit(address).hostname or "")
        except ValueError:
            valid = False
        if not valid:
            raise UsageProblem(
                "the proxy's address is not valid", place=f"{scheme.upper()}_PROXY", hint="such as http://proxy:3128"
            )


class RejectedAnswer(Exception):
    """An exception with a fault.

    The code that reads an answer raises it, and `runtime.models.http_model` catches it.
    """

    def __init__(self, kind: FaultKind, message: str, status: int, content_type: str = "") -> None:
        self.fault = Fault(kind=kind, message=message, status=status)
        self.content_type = content_type
        super().__init__(message)


class _CappedAnswers:
    """A response hook that stops reading an answer at a limit of bytes and pieces.

    The hook gets every answer before the answer's body is read.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max

    async def __call__(self, response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            # Compression was not asked for, and a few kilobytes can expand to gigabytes.
            kind = response.headers.get("content-type", "")
            raise RejectedAnswer(
                FaultKind.BAD_REPLY, "a compressed body, although none was requested", response.status_code, kind
            )
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        streamed = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        factor = STREAM_FACTOR if streamed and response.status_code == 200 else 1
        pieces_max = _PIECES_MAX if factor == 1 else self._bytes_max  # `AnswerReader` counts the bytes of a stream.
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
                    text = f"the answer came in more than {self._pieces_max:,} chunks"
                raise RejectedAnswer(FaultKind.TOO_LARGE, text, self._status)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()
