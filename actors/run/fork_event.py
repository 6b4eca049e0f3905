"""The event that begins a fork, and the fork's data about the other run. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from actors.run.ids import step_of
from actors.run.tools import ToolRequested
from actors.run.waits import StoredLimits, TimedEvent
from runtime.core.events import Value, text_hash
from runtime.core.ledger import Amount


class MadeCall(Value):
    """A call of a tool that is not repeatable.

    The other run made the call after the record at which the fork begins.
    """

    tool: str
    step: str
    arguments: str
    """The hash of the call's arguments."""

    @classmethod
    def of(cls, request: ToolRequested) -> "MadeCall":
        """Return the call that a request describes."""
        return cls(tool=request.tool, step=step_of(request.node), arguments=text_hash(request.arguments))

    def is_like(self, other: "MadeCall") -> bool:
        """Return whether the other call has the same tool and also the same step or the same arguments."""
        return self.tool == other.tool and (self.step == other.step or self.arguments == other.arguments)


class Forked(TimedEvent):
    """The fork began.

    The records before this event are copies of another run's records. After this event the two runs are independent.
    """

    texts: ClassVar[tuple[str, ...]] = ("pinned",)
    kind: Literal["forked"] = "forked"
    origin: str
    """The id of the other run."""
    seq: int
    """The number of the other run's last record before the fork."""
    hash: str
    """The hash of the other run's last record before the fork, in hex."""
    limits: StoredLimits
    """The limits of the fork. Only the fork's own work counts against these limits."""
    pinned: str = ""
    """The JSON of the fork's configuration; empty if the other run has the same configuration."""
    made: tuple[MadeCall, ...] = ()
    """The calls of tools that are not repeatable and that the other run made after the record `seq`."""
    workspace: str = ""
    """The absolute path of the folder made for the fork's tools; empty if no folder was made."""


class Fork(NamedTuple):
    """The facts about the run whose first records the fork has copied."""

    origin: str
    seq: int
    used: Amount
    """The amount that the other run had used or reserved before the fork. This amount does not count against the fork's
    limits.
    """
    made: tuple[MadeCall, ...]
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class ForkWorkspace:
    """The folder in which the tools of a run work, and its snapshots."""

    folder: str
    snapshots: Sequence[str]
    """The id of the folder's snapshot after each record, from the first record on; empty without a snapshot."""
