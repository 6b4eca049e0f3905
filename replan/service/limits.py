"""Refusals of valid requests, and the limits that lead to them: failed sign-ins, writes, and open streams."""

from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Literal

from runtime.core.errors import ReplanError

Reason = Literal["unauthorized", "forbidden", "conflict", "too_many"]
"""Why a request is refused: no valid token; not allowed to this client; something else stands; too many of them."""


class RequestRefused(ReplanError):
    """A request that is not carried out, though nothing is wrong with its values.

    `retry_after` are the seconds after which a client of whom there was too much may try again; None where that is not
    known.
    """

    def __init__(self, message: str, reason: Reason, *, retry_after: int | None = None) -> None:
        self.reason: Reason = reason
        self.retry_after = retry_after
        super().__init__(message)


FAILURES_MAX = 10
"""Failed tries of a token or a session in a minute, after which each further one is answered late and with 429."""
WRITES_MAX = 60
"""Writes of one client in a minute."""
STREAMS_MAX = 20
"""Open streams of one client; a browser opens one for each visible tab."""
STREAMS_ALL_MAX = 256
"""Open streams of all clients together."""
MINUTE = 60.0
CLIENTS_MAX = 1000
"""Clients that are counted at a time: there is one for each token."""


KEEP_CONNECTION: ContextVar[Callable[[], None]] = ContextVar("keep_connection", default=lambda: None)
"""Keeps the connection of the current request, because a known client has sent it. Over stdio it does nothing."""


class Recent:
    """Counts what each client did in the last minute."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most, self._clock = most, clock
        self._times: dict[str, deque[float]] = {}

    def add(self, client: str) -> bool:
        """Count an action of a client; return False, uncounted, where the last minute had as many as are allowed."""
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
    """Counts the open streams of each client, and the calls that wait for a person."""

    def __init__(self, refusal: str = "too many streams are open") -> None:
        self._refusal = refusal
        self._open: dict[str, int] = {}

    def take(self, client: str) -> "Place":
        """Take a place for one more stream, before any work for it. Raises `RequestRefused` where none is free."""
        if self._open.get(client, 0) >= STREAMS_MAX or sum(self._open.values()) >= STREAMS_ALL_MAX:
            raise RequestRefused(self._refusal, "too_many", retry_after=5)
        self._open[client] = self._open.get(client, 0) + 1
        return Place(partial(self._free, client))

    def _free(self, client: str) -> None:
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]


class Place:
    """A place for one stream; it is free again after the block, or after `free`."""

    def __init__(self, free: Callable[[], None]) -> None:
        self._free: Callable[[], None] | None = free

    def free(self) -> None:
        """Let others have the place; a second call does nothing."""
        free, self._free = self._free, None
        if free is not None:
            free()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self.free()
