"""The messages to a planning machine: replies of its actors, beside the runtime's control messages."""

from dataclasses import dataclass

from actors.run.messages import Faulted, Generated, Judged
from actors.values.given import Given
from actors.values.plugin_marks import PlugInFile
from runtime.core.ledger import Limits
from runtime.core.messages import Control, Message


@dataclass(frozen=True, slots=True)
class Begin(Message):
    """The first message of a run. `RunStarted` has the same fields."""

    at: float
    """The time of the start, in UTC seconds since 1970."""
    run: str
    """The run's id."""
    specification: str
    """The text of the user's problem."""
    pinned: str
    """The JSON of the resolved configuration (`actors.planning.config`)."""
    limits: Limits
    """The limits of calls, tokens, micro-dollars and active seconds, and the deadline."""
    child: bool = False
    """Whether it is a step of another run, whose ledger reserves and settles what it takes."""
    source: str = ""
    """The workflow's name if it is shipped, else the path of its file."""
    given: tuple[str, ...] = ()
    """The keys of the workflow that options have changed."""
    attachments: str = ""
    """The files that the user attached, as `actors.values.attachments.stored_form` writes them."""
    plugins: tuple[PlugInFile, ...] = ()
    """The plug-ins that were loaded from the user's files."""
    given_facts: Given | None = None
    """The facts that the run is given (`actors.planning.replanning`); None for a run that finds them itself."""


PlanningMessage = Begin | Generated | Faulted | Judged | Control
