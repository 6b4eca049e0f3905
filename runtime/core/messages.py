"""The messages that the runtime sends to every machine. Times are those of the journal (UTC seconds since 1970)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resumed:
    """A driver has claimed the run; the outcome of open requests of older epochs is unknown."""

    epoch: int
    at: float


@dataclass(frozen=True, slots=True)
class Parking:
    """The driver is about to stop: no new request may be made until the run is resumed."""

    at: float
    handover: bool = False
    """Whether the next driver goes on with the run without being asked to by a person."""
    why: str = ""
    """One line, where no person asked for the stop."""


@dataclass(frozen=True, slots=True)
class Woken:
    """The time that a request waits for is reached."""

    request_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Crashed:
    """An actor raised on a request, more often than it may. `error` is one line; the log has the traceback."""

    request_id: str
    at: float
    error: str


@dataclass(frozen=True, slots=True)
class Mailed:
    """A message from the run's inbox: `body` is the text as posted under `key`."""

    inbox: int
    key: str
    body: str
    at: float


@dataclass(frozen=True, slots=True)
class Overdrawn:
    """The daily budget is used up: no new request may be made until the next day."""

    at: float
    until: float | None
    """When the next day begins; None where runs do not wait for it."""
    why: str
    """Which limit is used up, in one line for people."""
    never: bool = False
    """Whether the next request is too large for any day."""


Control = Resumed | Parking | Woken | Crashed | Mailed | Overdrawn
