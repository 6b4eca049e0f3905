"""The messages to a planning machine: replies of its actors, beside the runtime's control messages."""

from dataclasses import dataclass

from actors.run.messages import Faulted, Generated, Judged
from actors.values.plugin_marks import PlugInFile
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
    """The limits of the run."""
    child: bool = False
    """Whether it is a step of another run."""
    source: str = ""
    """Where the workflow was found."""
    given: tuple[str, ...] = ()
    """The workflow's keys that were given another value than the file's."""
    plugins: tuple[PlugInFile, ...] = ()
    """The plug-ins that come from files of the user's own."""


PlanningMessage = Begin | Generated | Faulted | Judged | Control
