"""The event that begins a fork, and the origin of a fork in its state. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from actors.run.ids import step_of
from actors.run.tools import ToolRequested
from actors.run.waits import StoredLimits, TimedEvent
from runtime.core.events import Value, text_hash
from runtime.core.ledger import Amount


class MadeCall(Value):
    """A call of a tool that is not repeatable, which the other run has made after the place of the fork."""

    tool: str
    """The name of the tool."""
    step: str
    """The step that it was made for."""
    arguments: str
    """The hash of its arguments."""

    @classmethod
    def of(cls, request: ToolRequested) -> "MadeCall":
        """Return the call that a request asks for."""
        return cls(tool=request.tool, step=step_of(request.node), arguments=text_hash(request.arguments))

    def is_like(self, other: "MadeCall") -> bool:
        """Tell whether the other call has the same tool, and the same step or the same arguments."""
        return self.tool == other.tool and (self.step == other.step or self.arguments == other.arguments)


class Forked(TimedEvent):
    """The records before this one are those of another run; from here on the run goes on by itself."""

    texts: ClassVar[tuple[str, ...]] = ("pinned",)
    kind: Literal["forked"] = "forked"
    origin: str
    """The id of the other run."""
    seq: int
    """The number of its record after which the fork begins."""
    hash: str
    """The hash of that record in the other run's chain, in hex."""
    limits: StoredLimits
    """The limits of the fork, against which only its own work counts."""
    pinned: str = ""
    """The JSON of the configuration from now on; empty where it stays."""
    made: tuple[MadeCall, ...] = ()
    """The calls of tools that are not repeatable, which the other run has made after that record."""
    workspace: str = ""
    """The folder that was made for the fork's tools, by its absolute path; empty where none was."""


@dataclass(frozen=True, slots=True)
class Fork:
    """The origin of a run that was forked."""

    origin: str
    """The id of the other run."""
    seq: int
    """The number of the last record that the two share."""
    used: Amount
    """The amount that the other run had committed by then; it does not count against the fork's limits."""
    made: tuple[MadeCall, ...]
    """The calls of tools that are not repeatable, which the other run has made after that record."""
    workspace: str = ""
    """The folder that was made for the fork's tools, by its absolute path; empty where none was."""


@dataclass(frozen=True, slots=True)
class ForkWorkspace:
    """The folder that the tools of a run work in, and the snapshots that show how it was."""

    folder: str
    """Its absolute path."""
    snapshots: Sequence[str]
    """For each number of records, from 1, the id of the snapshot that shows it after them; empty where none does."""
