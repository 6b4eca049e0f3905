"""Searches with a service that has SearXNG's JSON interface.

A fault has a code. This module does not retry a search. It connects only to an address that it has checked. The name of
a public endpoint must not lead to this machine or into a private network. It follows no redirects, uses no proxies, and
reads no compressed answers.
"""

import json
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpcore2
import trio

from replan_acquire.documents.passages import QUERY_CHARACTERS_MAX, Passage, SearchFault, found_passage
from runtime.models.providers import is_local

ANSWER_BYTES_MAX = 1024 * 1024
SECONDS_MAX = 20.0
"""The time limit for one search, in seconds. The time begins with the look-up of the host's name and ends with the last
byte of the answer."""
RESULTS_READ = 100
_PASSING_STATUSES = frozenset({408, 425, 429})


class WebSearchFailed(Exception):
    """A search failed. `passing` tells whether the same search may succeed soon."""

    def __init__(self, code: SearchFault, cause: str, *, passing: bool = False) -> None:
        self.code, self.passing = code, passing
        super().__init__(f"{code}: {cause}")


class _PrivateAddress(OSError):
    """A public host name leads to a private address."""


class _CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to the same address that it has checked, so a second look-up of the name cannot lead elsewhere."""

    def __init__(self, *, local: bool) -> None:
        self._local = local
        self._inner = httpcore2.TrioBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface of httpcore
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        found = await trio.socket.getaddrinfo(host, port, type=trio.socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        if not self._local and not all(map(is_public, addresses)):
            raise _PrivateAddress("the host name leads to an address that is not public")
        failure: Exception = OSError("no address")
        for address in addresses[:4]:
            try:
                return await self._inner.connect_tcp(
                    address, port, timeout=timeout, local_address=local_address, socket_options=socket_options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to the public internet. This also works for IPv4 addresses in IPv6 form."""
    parsed = ip_address(address.partition("%")[0])
    mapped = parsed.ipv4_mapped or parsed.sixtofour if parsed.version == 6 else None
    parsed = mapped or parsed
    translated = parsed.version == 6 and str(parsed).startswith("64:ff9b:")
    return parsed.is_global and not parsed.is_multicast and not translated


async def search_web(endpoint: str, query: str, limit: int) -> list[Passage]:
    """Return the passages that a service finds, best first. Raises `WebSearchFailed`."""
    host = urlsplit(endpoint).hostname or ""
    address = f"{endpoint}?{urlencode({'q': query[:QUERY_CHARACTERS_MAX], 'format': 'json'})}"
    backend = _CheckedBackend(local=is_local(host))
    try:
        with trio.fail_after(SECONDS_MAX):
            async with httpcore2.AsyncConnectionPool(network_backend=backend, max_connections=1) as pool:
                content = await _fetch(pool, address)
    except (trio.TooSlowError, httpcore2.TimeoutException):
        raise WebSearchFailed(SearchFault.SLOW, f"no answer within {SECONDS_MAX:g} s", passing=True) from None
    except _PrivateAddress as error:
        cause = f"{error}; to use a service on a private network, give its IP address"
        raise WebSearchFailed(SearchFault.PRIVATE_ADDRESS, cause) from None
    except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError, UnicodeError) as error:
        cause = f"no connection: {' '.join(str(error).split())[:200] or type(error).__name__}"
        raise WebSearchFailed(SearchFault.DOWN, cause, passing=True) from None
    return read_results(content, limit)


async def _fetch(pool: httpcore2.AsyncConnectionPool, address: str) -> bytes:
    """Return the content of the answer from an address. Raises `WebSearchFailed` if the request does not succeed."""
    headers: dict[bytes | str, bytes | str] = {
        "Host": urlsplit(address).netloc,
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "replan",
    }
    content = bytearray()
    async with pool.stream("GET", address, headers=headers) as response:
        status = int(response.status)
        if 300 <= status < 400:
            raise WebSearchFailed(
                SearchFault.REDIRECTED, f"status {status}, a redirect; name the address to which it leads"
            )
        if status != 200:
            hint = "; in SearXNG, allow the format json in settings.yml" if status == 403 else ""
            passing = status in _PASSING_STATUSES or status >= 500
            raise WebSearchFailed(SearchFault.REFUSED, f"status {status}{hint}", passing=passing)
        if any(name.lower() == b"content-encoding" and value != b"identity" for name, value in response.headers):
            raise WebSearchFailed(
                SearchFault.NOT_JSON, "the answer is compressed, although the request excludes compression"
            )
        async for piece in response.aiter_stream():
            content += piece
            if len(content) > ANSWER_BYTES_MAX:
                raise WebSearchFailed(SearchFault.TOO_LARGE, f"the answer has more than {ANSWER_BYTES_MAX // 1024} KiB")
    return bytes(content)


def read_results(content: bytes, limit: int) -> list[Passage]:
    """Return the passages in a service's answer. Raises `WebSearchFailed` if the answer has an unexpected form."""
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        page = content[:200].lstrip().startswith(b"<")
        what = "an HTML page" if page else "no JSON"
        cause = f"the answer is {what}; name the address of a search that answers in JSON, such as https://HOST/search"
        raise WebSearchFailed(SearchFault.NOT_JSON, cause) from None
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list):
        raise WebSearchFailed(SearchFault.NOT_JSON, "the answer has no list `results`")
    passages = [passage for result in results[:RESULTS_READ] if (passage := _passage(result)) is not None]
    return list({(passage.source, passage.text): passage for passage in passages}.values())[:limit]


def _passage(result: object) -> Passage | None:
    if not isinstance(result, dict):
        return None
    source, title, text = (result.get(key) for key in ("url", "title", "content"))
    if not (isinstance(source, str) and isinstance(text, str) and text.strip()):
        return None
    return found_passage(source, title if isinstance(title, str) else "", text)
