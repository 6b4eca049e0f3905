"""The messages to an acquisition machine: replies of its actors, beside the runtime's control messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from actors.acquisition.values import FieldValue
from actors.run.messages import CallMessage
from actors.run.tools import ToolMessage
from runtime.core.ledger import Limits
from runtime.core.messages import Control, Message


@dataclass(frozen=True, slots=True)
class Begin(Message):
    """The first message of a run. `AcquisitionStarted` has the same fields."""

    at: float
    """The time of the start, in UTC seconds since 1970."""
    run: str
    """The run's id."""
    goal: str
    """The text of the user's goal."""
    pinned: str
    """The JSON of the resolved configuration (`actors.acquisition.config`)."""
    limits: Limits
    """The limits of calls, tokens, micro-dollars and active seconds, and the deadline."""
    given: Mapping[str, FieldValue] = field(default_factory=dict)
    """The values that the user gave at the start, by path."""
    child: bool = False
    """Whether it is a step of another run, whose ledger reserves and settles what it takes."""
    source: str = ""
    """The profile's name if it is shipped, else the path of its file."""


AcquisitionMessage = Begin | CallMessage | ToolMessage | Control
