"""The messages to an execution machine: the start and replies of its actors, beside the runtime's control messages."""

from dataclasses import dataclass

from actors.run.messages import Faulted, Generated, Judged
from actors.run.tools import ToolMessage
from runtime.core.ledger import Limits
from runtime.core.messages import Control, Message


@dataclass(frozen=True, slots=True)
class StartExecution(Message):
    """The first message of a run. `ExecutionStarted` has the same fields."""

    at: float
    """The time of the start, in UTC seconds since 1970."""
    run: str
    """The run's id."""
    pinned: str
    """The JSON of the resolved configuration (`actors.execution.config`)."""
    limits: Limits
    """The limits of calls, tokens, micro-dollars and active seconds, and the deadline."""
    child: bool = False
    """Whether it is a step of another run, whose ledger reserves and settles what it takes."""
    plan_of: str = ""
    """The id of the planning run that made the plan; empty where it comes from a file."""


ExecutionMessage = StartExecution | Generated | Faulted | Judged | ToolMessage | Control
