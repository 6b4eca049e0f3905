"""Lines of a stream, of bounded length, and bounded together: what another process writes may never end."""

import trio

CHUNK_BYTES = 64 * 1024
"""Bytes that are read at a time."""


class Lines:
    """The lines of a stream as an async iterator, without their ends; bytes that are no UTF-8 are replaced.

    It ends with the stream, and at a line or a sum of lines that is too long; then `too_long` is set.
    """

    def __init__(self, stream: trio.abc.ReceiveStream, *, line_bytes_max: int, bytes_max: int | None = None) -> None:
        self._stream, self._line_bytes_max, self._bytes_max = stream, line_bytes_max, bytes_max
        self._rest, self._count = bytearray(), 0
        self.too_long = False
        """Whether there is more than the limits allow."""

    def __aiter__(self) -> "Lines":
        return self

    async def __anext__(self) -> str:
        """Return the next line."""
        begin = 0
        while not self.too_long:
            end = self._rest.find(b"\n", begin)
            if end >= 0:
                line = bytes(self._rest[:end])
                del self._rest[: end + 1]
                return line.decode("utf-8", "replace")
            begin = len(self._rest)
            data = await self._stream.receive_some(CHUNK_BYTES)
            if not data:
                break
            self._rest += data
            self._count += len(data)
            many = self._bytes_max is not None and self._count > self._bytes_max
            self.too_long = many or (len(self._rest) > self._line_bytes_max and b"\n" not in self._rest)
        raise StopAsyncIteration
