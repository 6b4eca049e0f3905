"""How a run is driven: its stop, and its callbacks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.core.events import Record
from runtime.drive.options import ChangeSignal, Stop

OnRecord = Callable[[Record[Any], Any], None]
"""A function that is called with each appended record and the state after it."""
Notice = Callable[[str], None]
"""A function that is called with one line of text for the user."""


def ignore(_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class DriveOptions:
    """How a run is driven, as `runtime.drive.supervisor.Supervisor` takes it."""

    stop: Stop | None = None
    """The request to stop; None for a run that cannot be stopped."""
    on_record: OnRecord | None = None
    """Called with every record that the run appends; None for nobody."""
    notice: Notice = ignore
    """Called when something outside holds the run up, such as a full disk."""
    changed: ChangeSignal | None = None
    """Wakes the driver when there may be a message in the inbox; None polls the journal."""
    rest_after: float | None = None
    """The seconds of waiting for a clock after which a host takes the run back; None in the foreground."""
    at_once: bool = False
    """Whether a person has resumed the run, who does not want to wait for what it waits for."""
    on_drift: Notice | None = None
    """Called before a run is resumed if the files that it was started with have changed since; None for nobody."""


DETACHED = DriveOptions()
"""No callbacks, no stop."""
