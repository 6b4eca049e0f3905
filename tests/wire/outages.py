"""A provider that is down for a time, and a clock that nobody has to wait for."""

import socket
import threading
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any

import trio

from runtime.core.clock import SystemClock
from tests.support.answers import Answer
from tests.support.openai_server import OpenAIServer

SETTLED_SECONDS = 0.05
"""How long everything else has to be quiet before the clock moves."""


class JumpingClock(SystemClock):
    """A clock that stands still while anybody works, and moves to the next time that somebody waits for."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self.time = start
        self.wakeups = 0
        self._sleepers: list[float] = []
        self.busy: int = 0

    def now(self) -> float:
        """Return the time; every look takes a microsecond, so that the order of events shows."""
        self.time += 1e-6
        return self.time

    async def sleep_until(self, when: float) -> None:
        """Return once the time has come; whoever waits for the earliest time moves the clock, if nobody works."""
        self._sleepers.append(when)
        try:
            while self.time < when:
                seen = self.time
                await trio.sleep(SETTLED_SECONDS)
                if not self.busy and min(self._sleepers) == when and self.time - seen < 1.0:
                    self.time = when
        finally:
            self._sleepers.remove(when)
        self.wakeups += 1


class Provider:
    """A scripted provider: `answer` gives replies while it is up; `fault` decides what it gives instead at a time."""

    def __init__(self, clock: JumpingClock, answers: Mapping[str, Any]) -> None:
        self.clock, self._answers = clock, answers
        self.down_until = 0.0
        self.status = 503
        self.key = ""
        self.listed = ["test-model"]
        self.asked: list[str] = []
        self.models_asked: list[str] = []
        self.answered: list[str] = []
        self.slow: dict[str, float] = {}
        self._lock = threading.Lock()

    def handle(self, body: dict[str, Any], headers: Mapping[str, str], _n: int) -> Answer:
        """Answer one completion."""
        name = headers.get("x-client-request-id", "").partition("/")[2]
        with self._lock:
            self.asked.append(name)
            self.models_asked.append(body.get("model", ""))
            fault = self._fault(headers, body.get("model", ""))
            if fault is not None:
                return fault
            self.answered.append(name)
        step = name.partition("/")[0]
        return Answer.value(self._answers[step]).slowly(self.slow.get(step, 0.0))

    def models(self, headers: Mapping[str, str]) -> Answer:
        """Answer `GET /models`."""
        fault = self._fault(headers, "")
        return fault or Answer.json({"object": "list", "data": [{"id": name} for name in self.listed]})

    def _fault(self, headers: Mapping[str, str], model: str) -> Answer | None:
        if self.clock.time < self.down_until:
            return Answer.fault(self.status)
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            return Answer.fault(401, "wrong key", code="invalid_api_key")
        if model and model not in self.listed:
            return Answer.fault(404, f"no model {model}", code="model_not_found")
        return None

    @contextmanager
    def serving(self, port: int = 0) -> Any:
        """Serve for the length of a block."""
        server = OpenAIServer(self.handle, models=self.models, port=port)
        server.start()
        try:
            yield server
        finally:
            server.stop()


def free_port() -> int:
    """Return a port that nobody listens on now."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])
