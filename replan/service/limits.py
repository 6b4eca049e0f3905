"""Limits of requests: failed sign-ins, writes of one client, and streams, counted over the last minute."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
    """Counts the open streams of each client."""

    def __init__(self) -> None:
        self._open: dict[str, int] = {}

    def full(self, client: str) -> bool:
        """Tell whether a client may open no further stream."""
        return self._open.get(client, 0) >= STREAMS_MAX or sum(self._open.values()) >= STREAMS_ALL_MAX

    @contextmanager
    def one(self, client: str) -> Iterator[None]:
        """Count one stream for the length of a block."""
        self._open[client] = self._open.get(client, 0) + 1
        try:
            yield
        finally:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]
