"""What a planning machine hears: replies of its actors, beside the runtime's control messages."""

from dataclasses import dataclass

from actors.run.messages import Faulted, Generated, Judged
from runtime.core.ledger import Limits
from runtime.core.messages import Control


@dataclass(frozen=True, slots=True)
class Begin:
    """A user wants a plan. `RunStarted` has the same fields."""

    at: float
    """When, in UTC seconds since 1970."""
    run: str
    """The run's id."""
    specification: str
    """The problem."""
    pinned: str
    """The JSON of the resolved configuration."""
    limits: Limits
    """What the run may use."""
    child: bool = False
    """Whether it is a step of another run."""
    source: str = ""
    """Where the workflow was found."""
    given: tuple[str, ...] = ()
    """The workflow's keys that were given another value than the file's."""


PlanningMessage = Begin | Generated | Faulted | Judged | Control
