"""What a run goes through as a graph, and what is to be done as a checklist: data that faces draw. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class NodeState(StrEnum):
    """What has become of a box of a graph."""

    OPEN = "open"  # nothing has happened yet, or nothing is known
    CURRENT = "current"  # the run is here
    WAITING = "waiting"  # for a person, or for the end of a back-off
    DONE = "done"  # the run came through, or the step succeeded
    FAILED = "failed"
    SKIPPED = "skipped"  # the run is over and was never here


@dataclass(frozen=True, slots=True)
class FlowNode:
    """A box of a graph."""

    id: str
    """Its id, unique in the graph."""
    name: str
    """Its title."""
    state: NodeState = NodeState.OPEN
    """What has become of it."""
    contingent: bool = False
    """Whether only a failure makes it necessary."""
    note: str = ""
    """What is to be added in few words, such as how often the run was here."""


@dataclass(frozen=True, slots=True)
class FlowEdge:
    """An arrow of a graph."""

    begin: str
    """The id of the node at its begin."""
    end: str
    """The id of the node at its end."""
    back: bool = False
    """Whether it leads back to an earlier node, so that it does not count for the order of nodes."""
    recovery: bool = False
    """Whether it is taken after a failure."""
    taken: bool = False
    """Whether the run has gone this way."""
    label: str = ""
    """When it is taken, in few words, such as the outcome of a step; empty where it always is."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A graph. Without the edges that lead back or are a recovery it has no cycle."""

    nodes: tuple[FlowNode, ...]
    """The boxes; neighbours in a layer are in this order."""
    edges: tuple[FlowEdge, ...]
    """The arrows; both ends are nodes."""


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """A step that is to be done, or a goal that is to be reached."""

    id: str
    """Its id."""
    name: str
    """Its title; the id where it has none."""
    state: NodeState
    """What has become of it."""
    status: str
    """The same in the kind's own word, such as `succeeded`."""
    facts: tuple[str, ...] = ()
    """Attempts, time and what else is to be known, in few words each."""
    findings: tuple[str, ...] = ()
    """Why it failed, a line each."""


@dataclass(frozen=True, slots=True)
class Checklist:
    """What is to be done in order, how far that is, and what it is good for."""

    title: str
    """What the steps belong to, such as a plan and its revision."""
    items: tuple[ChecklistItem, ...]
    """The steps."""
    goals: tuple[ChecklistItem, ...] = ()
    """The goals."""
    holds: tuple[str, ...] = ()
    """The tokens that hold now."""
    missing: tuple[str, ...] = ()
    """The tokens of the goal that do not hold yet."""

    @property
    def done(self) -> int:
        """How many steps are done."""
        return sum(1 for item in self.items if item.state is NodeState.DONE)

    @property
    def failed(self) -> int:
        """How many steps have failed, whatever came after."""
        return sum(1 for item in self.items if item.state is NodeState.FAILED)
