"""The messages that every machine hears from the shell, whatever it plans. Times are UTC seconds since 1970."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resumed:
    """A driver has claimed the run; requests of an older epoch may or may not have been carried out."""

    epoch: int
    at: float


@dataclass(frozen=True, slots=True)
class Parking:
    """The driver is about to stop: nothing new may be asked of models or tools until the run is resumed.

    `handover` says that whoever drives next shall go on with it, and needs no person's word; `why` is one line, where
    no person wished for the stop.
    """

    at: float
    handover: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True)
class Woken:
    """The time that a request waited for has come."""

    request_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Crashed:
    """An actor failed on a request, more often than it may. `error` is one line; the log has the traceback."""

    request_id: str
    at: float
    error: str


@dataclass(frozen=True, slots=True)
class Mailed:
    """A person's message out of the durable inbox: `body` is the text as posted under `key`."""

    inbox: int
    key: str
    body: str
    at: float


@dataclass(frozen=True, slots=True)
class Overdrawn:
    """The home's budget for the day allows no more: nothing may be asked of models until the next day begins, `until`.

    Where that is None, nobody wants to wait for it; with `never` no day allows what is to be asked for. `why` is one
    line.
    """

    at: float
    until: float | None
    why: str
    never: bool = False


Control = Resumed | Parking | Woken | Crashed | Mailed | Overdrawn
