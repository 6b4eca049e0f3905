"""The calls that are in flight, as progress shows them: since when, and how much of their replies has come."""

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass

FIRST_SECONDS = 10.0
"""When a call in flight is first told of, where progress is lines; then at twice that time, and so on."""
GAP_SECONDS_MAX = 60.0
"""The longest time between two lines about a call."""


@dataclass
class _Flight:
    since: float
    due: float
    characters: int = 0


class CallsInFlight:
    """The open calls of a run, with their ages in this process."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._open: dict[str, _Flight] = {}

    def are(self, requests: Collection[str]) -> None:
        """Take the ids of all open requests."""
        now = self._now()
        self._open = {name: self._open.get(name) or _Flight(now, FIRST_SECONDS) for name in requests}

    def heard(self, request: str, characters: int) -> None:
        """Take how many characters of a reply have come; of a call that is over, they are no news."""
        if request in self._open:
            self._open[request].characters = characters

    def all(self) -> list[str]:
        """Return a text for each, the oldest first."""
        return [_text(name, flight, self._now() - flight.since) for name, flight in self._open.items()]

    def due(self) -> list[str]:
        """Return a text for each that has not been told of for long enough."""
        texts = []
        for name, flight in self._open.items():
            age = self._now() - flight.since
            if age >= flight.due:
                texts.append(_text(name, flight, age))
                while flight.due <= age:
                    flight.due += min(flight.due, GAP_SECONDS_MAX)
        return texts


def _text(name: str, flight: _Flight, age: float) -> str:
    came = f", {flight.characters:,} characters so far" if flight.characters else ""
    return f"{name} under way for {age:.0f} s{came}"
