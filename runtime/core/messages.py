"""The messages that the runtime sends to every machine, and the times in every message.

`at` is the time of the journal's clock, in UTC seconds since 1970. A person can set this clock. Nobody can set the
clock of `mono`, which measures the time between two messages to one driver.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from runtime.core.events import Event
from runtime.core.ledger import Limit

Halt = Literal["", "provider", "plugin", "reply"]
"""The name of a problem that only a person can solve; empty if there is no such problem.

- `provider`: the provider refuses the requests.
- `plugin`: a plug-in of the user has failed.
- `reply`: the model's replies are cut, or filtered, again and again.
"""


M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """The base of all messages to a machine, from the runtime and from actors."""

    mono: float | None = None
    """The driver's monotonic seconds since its claim, without suspended time; None until the supervisor sets it."""


def stamp(message: M, mono: float) -> M:
    """Return a message with its `mono` set, rounded to the microsecond.

    The message that starts a run is an event, and gets `mono` too. A message that has `mono` already, or has no field
    `mono`, is returned unchanged.
    """
    if getattr(message, "mono", mono) is not None:
        return message
    if isinstance(message, Event):
        return message.model_copy(update={"mono": round(mono, 6)})
    plain: Any = message
    stamped: M = replace(plain, mono=round(mono, 6))
    return stamped


@dataclass(frozen=True, slots=True)
class Resumed(Message):
    """A driver has claimed the run. The results of open requests from earlier epochs are unknown."""

    epoch: int
    at: float
    at_once: bool = False
    """Whether a person resumed the run and wants it to end its current wait."""


@dataclass(frozen=True, slots=True)
class Parking(Message):
    """The driver is about to stop: no new request may be made until the run is resumed."""

    at: float
    handover: bool = False
    """Whether the next driver continues the run without a person's request."""
    why: str = ""
    """The reason for the stop in one line; empty if a person requested it."""


@dataclass(frozen=True, slots=True)
class Woken(Message):
    """A wait has reached its end."""

    request_id: str
    at: float


@dataclass(frozen=True, slots=True)
class Crashed(Message):
    """An actor raised exceptions more often than allowed for a request.

    `error` is one line. The log contains the traceback.
    """

    request_id: str
    at: float
    error: str
    halted: Halt = ""
    """The reason to park the run instead of ending it; empty for a bug of the program."""


@dataclass(frozen=True, slots=True)
class Mailed(Message):
    """A message from the run's inbox. `body` is the text that was posted under `key`."""

    inbox: int
    key: str
    body: str
    at: float


@dataclass(frozen=True, slots=True)
class Overdrawn(Message):
    """The daily budget is used up: no new request may be made before the next day."""

    at: float
    until: float | None
    """The time when the next day begins; None if runs do not wait for the next day."""
    why: str
    never: bool = False
    """Whether the next request would exceed the budget of a day even without other requests."""


@dataclass(frozen=True, slots=True)
class LimitUsed(Message):
    """The amount of a limit that is used, for a limit of a daily budget or of a child run.

    The run's own limits need no message.
    """

    at: float
    whose: str
    """The name of the budget in messages, such as "the home's budget for today"."""
    limit: Limit
    used: int
    """The calls, tokens or micro-dollars that are used. For a daily budget, this is the amount that its runs have
    committed today.
    """
    most: int
    """The limit, in the same unit."""
    request_id: str = ""
    """The id of the request that the child run answers; empty for a daily budget."""


Control = Resumed | Parking | Woken | Crashed | Mailed | Overdrawn | LimitUsed
