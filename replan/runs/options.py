"""How a run is driven: its stop, and its callbacks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.core.events import Record
from runtime.drive.changes import ChangeSignal
from runtime.drive.options import Stop

OnRecord = Callable[[Record[Any], Any], None]
"""Gets a record and the state after it."""
Notice = Callable[[str], None]
"""Gets a line for the user."""
OnCharacters = Callable[[str, int], None]
"""Gets a request's id, and how many characters of its reply have come so far."""


def ignore(_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True)
class DriveOptions:
    """How a run is driven, as `runtime.drive.supervisor.Supervisor` takes it."""

    stop: Stop | None = None
    """The request to stop; None for a run that cannot be stopped."""
    on_record: OnRecord | None = None
    """Gets every record with the state after it."""
    notice: Notice = ignore
    """Gets a line when something outside holds the run up."""
    changed: ChangeSignal | None = None
    """Wakes the driver when there may be a message in the inbox; None polls the journal."""
    rest_after: float | None = None
    """The seconds of waiting for a clock after which a host takes the run back; None in the foreground."""
    differs: Notice | None = None
    """Gets a line, before a run is resumed, if the files that it was started with have changed since."""
    heard: OnCharacters | None = None
    """Gets the progress of every reply that is streamed here."""


DETACHED = DriveOptions()
"""No callbacks, no stop."""
