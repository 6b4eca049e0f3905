"""The notices that a host gives while it serves a journal, as frozen values.

The name in `event` identifies the notice in machine-readable reports, and never changes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Ready:
    """The host has begun to serve the journal."""

    event: ClassVar[str] = "ready"


@dataclass(frozen=True, slots=True)
class TakenUp:
    """The host has begun to drive a run."""

    event: ClassVar[str] = "taken_up"
    run: str


@dataclass(frozen=True, slots=True)
class Left:
    """The host has stopped driving a run, because another process drives it now."""

    event: ClassVar[str] = "left"
    run: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run waits for a person."""

    event: ClassVar[str] = "waiting"
    run: str
    question: str


@dataclass(frozen=True, slots=True)
class Resting:
    """A run waits for a time."""

    event: ClassVar[str] = "resting"
    run: str
    until: float | None
    """The time when the run continues (UTC seconds since 1970); None if unknown."""
    why: str = ""
    """The model provider that the run waits for; empty if the run waits only for a time."""


@dataclass(frozen=True, slots=True)
class Parked:
    """A run was parked."""

    event: ClassVar[str] = "parked"
    run: str
    reason: str
    """The reason why the run was parked; empty if a person requested it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A run has finished."""

    event: ClassVar[str] = "finished"
    run: str
    outcome: str
    """The outcome, in the words of the run's kind, such as `success`."""


@dataclass(frozen=True, slots=True)
class NotDrivable:
    """This host cannot drive a run, at least for some time."""

    event: ClassVar[str] = "not_here"
    run: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A bug has ended a run."""

    event: ClassVar[str] = "failed"
    run: str
    error: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A run's configuration on disk has changed since the run began."""

    event: ClassVar[str] = "edited"
    run: str
    change: str


@dataclass(frozen=True, slots=True)
class OutsideTrouble:
    """A problem outside the program delays a run, or the whole host."""

    event: ClassVar[str] = "trouble"
    run: str
    """The run's id; empty if the problem concerns the whole host."""
    reason: str


@dataclass(frozen=True, slots=True)
class Stopping:
    """A stop was requested: all runs are being parked."""

    event: ClassVar[str] = "stopping"


@dataclass(frozen=True, slots=True)
class Stopped:
    """The host has ended."""

    event: ClassVar[str] = "stopped"


Notice = (
    Ready
    | TakenUp
    | Left
    | Waiting
    | Resting
    | Parked
    | Finished
    | NotDrivable
    | Failed
    | Changed
    | OutsideTrouble
    | Stopping
    | Stopped
)

Report = Callable[[Notice], None]
