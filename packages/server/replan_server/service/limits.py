"""The refusal of a request, and the limits on failed sign-ins, writes, and open streams."""

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Literal

from runtime.core.errors import ReplanError

Reason = Literal["unauthorized", "forbidden", "conflict", "too_many"]
"""The reason why a request is refused: no valid token, no permission, a conflict with an earlier request, or too many
requests."""


class RequestRefused(ReplanError):
    """The error for a request that is refused although its values are valid.

    `retry_after` is the number of seconds after which the client may try again; None if unknown.
    """

    def __init__(self, message: str, reason: Reason, *, retry_after: int | None = None) -> None:
        self.reason: Reason = reason
        self.retry_after = retry_after
        super().__init__(message)


FAILURES_MAX = 10
"""The largest number of failed sign-ins in a minute, for all clients together. Further failures get a delayed response
with the status 429.
"""
WRITES_MAX = 60
"""The largest number of writes that one client may make in a minute."""
STREAMS_MAX = 20
"""The largest number of streams that one client may have open. A browser opens one stream for each visible tab."""
STREAMS_ALL_MAX = 256
"""The largest number of streams that all clients together may have open."""
MINUTE = 60.0
"""The length of the period in which actions are counted, in seconds."""
CLIENTS_MAX = 1000
"""If actions of more clients than this are stored, the clients without an action in the last minute are removed."""

KEEP_CONNECTION: ContextVar[Callable[[], None]] = ContextVar("keep_connection", default=lambda: None)
"""Holds a function that marks the current connection as one of a known client. To make room for new connections, the
server first closes connections of unknown clients.

Over stdio, the function does nothing.
"""


class Recent:
    """Counts the actions of each client in the last minute."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most, self._clock = most, clock
        self._times: dict[str, deque[float]] = {}

    def add(self, client: str) -> bool:
        """Count an action of a client and return True.

        Return False, and count nothing, if the client has had `most` actions in the last minute.
        """
        now = self._clock()
        times = self._times.setdefault(client, deque())
        while times and times[0] <= now - MINUTE:
            times.popleft()
        if len(times) >= self._most:
            return False
        times.append(now)
        if len(self._times) > CLIENTS_MAX:
            self._times = {name: kept for name, kept in self._times.items() if kept and kept[-1] > now - MINUTE}
        return True


class Streams:
    """Counts the open streams, or the waiting calls, of each client.

    `refusal` is the message if there are too many of them.
    """

    def __init__(self, refusal: str = "too many streams are open; close one, or try again later") -> None:
        self._refusal = refusal
        self._open: dict[str, int] = {}

    def take(self, client: str) -> "Place":
        """Count one more stream of a client. Raises `RequestRefused` if there are too many streams."""
        if self._open.get(client, 0) >= STREAMS_MAX or sum(self._open.values()) >= STREAMS_ALL_MAX:
            raise RequestRefused(self._refusal, "too_many", retry_after=5)
        self._open[client] = self._open.get(client, 0) + 1
        return Place(partial(self._free, client))

    def _free(self, client: str) -> None:
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]


class Place:
    """One counted stream. It is counted until the `with` block of this object ends, or until `free` is called."""

    def __init__(self, free: Callable[[], None]) -> None:
        self._free: Callable[[], None] | None = free

    def free(self) -> None:
        """Stop counting the stream. A second call does nothing."""
        free, self._free = self._free, None
        if free is not None:
            free()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self.free()
