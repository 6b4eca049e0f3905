"""Connections to MCP servers, by the standard streams of a process or by HTTP.

Both kinds of connections limit how much the server may send. This module imports the SDK of the protocol. The module is
imported only for a call, because most runs need no MCP server.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import anyio
import httpx2
import trio
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types import (
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from runtime.models.http_client import certificates_for
from runtime.process.group import StreamLines

BYTES_MAX = 16 * 1024 * 1024
"""The largest number of bytes that a server may send in all messages of one call together."""
LINE_BYTES_MAX = 8 * 1024 * 1024
"""The largest number of bytes in one message from an MCP server."""
ERRORS_MAX = 2_000
"""The largest number of bytes that are kept of the standard error of an MCP server's program. If there are more, the
last bytes are kept."""
CLOSE_SECONDS = 2.0
"""The longest time, in seconds, for which an MCP server's program may go on after its input was closed."""
CONNECT_SECONDS = 30.0
"""The time limit, in seconds, for connecting to the address of an MCP server."""

Streams = tuple[Any, Any]
"""The stream of messages from a server and the stream of messages to it, as `mcp.client.Transport` yields them."""


class TooMuchOutput(Exception):
    """A server has sent more than the limits allow."""


class ReplyUnreadable(Exception):
    """A server has sent a reply that cannot be read. The message of the exception is the cause, as a clause."""


class Talk:
    """A conversation with a server that is a program: its messages, its standard error, and how much it has sent."""

    def __init__(self, process: trio.Process) -> None:
        assert process.stdout is not None
        self._process = process
        self._lines = StreamLines(process.stdout, line_bytes_max=LINE_BYTES_MAX, bytes_max=BYTES_MAX)
        self._errors = bytearray()
        self._asked: set[RequestId] = set()

    @property
    def too_much(self) -> bool:
        """Whether the program has sent more than the limits allow."""
        return self._lines.too_long

    @property
    def errors(self) -> str:
        """The end of the program's standard error."""
        return self._errors.decode("utf-8", "replace").strip()

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """Yield the two streams of messages.

        Then close the program's input, and wait at most `CLOSE_SECONDS` for its end.
        """
        to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        outgoing, from_us = anyio.create_memory_object_stream[SessionMessage](0)
        async with trio.open_nursery() as nursery, to_us, incoming, outgoing, from_us:
            nursery.start_soon(self._read, to_us)
            nursery.start_soon(self._write, from_us)
            nursery.start_soon(self._keep_errors)
            yield incoming, outgoing
            assert self._process.stdin is not None
            await self._process.stdin.aclose()
            with trio.move_on_after(CLOSE_SECONDS):
                await self._process.wait()
            nursery.cancel_scope.cancel()

    async def _read(self, to_us: anyio.abc.ObjectSendStream[SessionMessage | Exception]) -> None:
        async with to_us:
            async for line in self._lines:
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValidationError:
                    if _may_be_reply(line):
                        raise ReplyUnreadable(f"a reply cannot be read: {line[:100]!r}") from None
                    continue  # Programs also print other lines, although they should not.
                if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id not in self._asked:
                    raise ReplyUnreadable(f"a reply has an unknown request id: {line[:100]!r}")
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await to_us.send(SessionMessage(message))

    async def _write(self, from_us: anyio.abc.ObjectReceiveStream[SessionMessage]) -> None:
        assert self._process.stdin is not None
        async for message in from_us:
            if isinstance(message.message, JSONRPCRequest):
                self._asked |= {message.message.id, str(message.message.id)}  # The SDK accepts both.
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            with suppress(
                trio.BrokenResourceError, trio.ClosedResourceError
            ):  # The reader notices the end of the process.
                await self._process.stdin.send_all(f"{text}\n".encode())

    async def _keep_errors(self) -> None:
        assert self._process.stderr is not None
        async for data in self._process.stderr:
            self._errors += data
            del self._errors[:-ERRORS_MAX]


def _may_be_reply(line: str) -> bool:
    """Return whether an unreadable line may be a reply, or one line of a reply with several lines."""
    if '"id"' in line and ('"result"' in line or '"error"' in line):
        return True
    is_part = line.lstrip().startswith(('"result"', '"error"'))
    return is_part or ('"jsonrpc"' in line and '"method"' not in line)


@asynccontextmanager
async def open_streams(streams: AbstractAsyncContextManager[Streams]) -> AsyncIterator[Streams]:
    """Yield streams in which each schema of a listed tool has a type.

    A schema without a type gets the type `object`. Otherwise the SDK would refuse the whole list of tools.
    """
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)

    async def read(from_server: Any) -> None:
        async with to_us:
            async for item in from_server:
                if isinstance(item, SessionMessage) and isinstance(item.message, JSONRPCResponse):
                    tools = item.message.result.get("tools")
                    for tool in tools if isinstance(tools, list) else ():
                        schema = tool.get("inputSchema") if isinstance(tool, dict) else None
                        if isinstance(schema, dict):
                            schema.setdefault("type", "object")
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await to_us.send(item)

    async with streams as (from_server, to_server), trio.open_nursery() as nursery, to_us, incoming:
        nursery.start_soon(read, from_server)
        yield incoming, to_server
        nursery.cancel_scope.cancel()


class Web:
    """A conversation with a server at an address. Replan contacts no other address, and uses no proxy of the system."""

    def __init__(self, url: str, token: str) -> None:
        self._url, self._token = url, token
        self._wire = _Counted(url)

    @property
    def status(self) -> int:
        """The last HTTP status that was an error; 0 if there was no error."""
        return self._wire.status

    @property
    def too_much(self) -> bool:
        """Whether the server has sent more than the limits allow."""
        return self._wire.too_much

    @property
    def answered(self) -> bool:
        """Whether the server has answered at least one request."""
        return self._wire.answered

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Streams]:
        """Yield the two streams of messages."""
        headers = {"authorization": f"Bearer {self._token}"} if self._token else {}
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        hooks = {"response": [_check_reply]}
        async with (
            httpx2.AsyncClient(
                headers=headers, timeout=timeout, transport=self._wire, trust_env=False, event_hooks=hooks
            ) as client,
            streamable_http_client(self._url, http_client=client, max_sse_event_size=LINE_BYTES_MAX) as streams,
        ):
            yield streams


async def _check_reply(response: httpx2.Response) -> None:
    """Raise `ReplyUnreadable` if a JSON response is not a reply to its request, because the SDK would wait for a reply.

    In a stream of events, the SDK takes the first reply as the reply to the request, whatever its id is.
    """
    request = response.request
    is_json = response.headers.get("content-type", "").lower().startswith("application/json")
    if request.method != "POST" or not response.is_success or not is_json:
        return
    sent_message = jsonrpc_message_adapter.validate_json(request.content, by_name=False)
    if not isinstance(sent_message, JSONRPCRequest):
        return
    body = await response.aread()
    with suppress(ValidationError):  # The SDK reports that it cannot read the message.
        reply = jsonrpc_message_adapter.validate_json(body, by_name=False)
        if not isinstance(reply, JSONRPCResponse | JSONRPCError):
            raise ReplyUnreadable(f"a response is not a reply: {body[:100]!r}")
        if str(reply.id) != str(sent_message.id):
            raise ReplyUnreadable(f"a reply has an unknown request id: {body[:100]!r}")


class _Counted(httpx2.AsyncHTTPTransport):
    """Counts the bytes that a server sends, and ends a response that exceeds the limits."""

    def __init__(self, url: str) -> None:
        super().__init__(trust_env=False, verify=certificates_for(url))
        self.count, self.status, self.answered, self.too_much = 0, 0, False, False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        self.answered = True
        if response.status_code >= 400:
            self.status = response.status_code
        response.stream = _CountedStream(response.stream, self)
        return response


class _CountedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream | httpx2.AsyncByteStream, counter: _Counted) -> None:
        assert isinstance(stream, httpx2.AsyncByteStream)
        self._stream, self._counter = stream, counter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            self._counter.count += len(data)
            if self._counter.count > BYTES_MAX:
                self._counter.too_much = True
                raise TooMuchOutput
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
