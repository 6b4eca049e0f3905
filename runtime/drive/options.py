"""What driving a run is arranged with: the lease that it is held under, the wish to stop, and how it ended."""

from dataclasses import dataclass, field
from enum import StrEnum

import trio

from runtime.journal.kinds import Formats
from runtime.journal.port import Dead, nobody


class Ending(StrEnum):
    """How driving a run came to an end."""

    FINISHED = "finished"
    WAITING = "waiting"  # only people can go on with it, or for a hosted run: a clock
    PARKED = "parked"  # asked to stop


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How a driver holds a run."""

    owner: str
    """The name of the driver's process."""
    ttl: float = 30.0
    """The length of a lease, in seconds; it is renewed three times in that time."""
    poll: float = 0.25
    """The seconds between two looks into the inbox, where no host wakes the driver."""
    dead: Dead = nobody
    """Tells whether another owner is certainly gone, so that nobody waits for the lease of a killed process."""
    kinds: Formats | None = None
    """The kinds of runs, and their formats, that the driver can drive; None for any."""


@dataclass
class Stop:
    """A wish to stop, set from outside: `park` waits for replies in flight, `now` cuts the wait short.

    `handover`: the run goes on with whoever drives next, without a person's word.
    """

    handover: bool = False
    park: trio.Event = field(default_factory=trio.Event)
    now: trio.Event = field(default_factory=trio.Event)
