"""The progress of a run, as data that interfaces draw: a graph, and a checklist of steps. Pure."""

from enum import StrEnum
from typing import NamedTuple

from actors.values.lines import BLANK, Line


class NodeState(StrEnum):
    """The states of a graph's node or of a checklist's item."""

    OPEN = "open"  # nothing has happened yet, or nothing is known
    CURRENT = "current"  # the run is here
    WAITING = "waiting"  # for a person, or for the end of a back-off
    DONE = "done"  # the run came through, or the step succeeded
    FAILED = "failed"
    SKIPPED = "skipped"  # the run is over and was never here


class FlowNode(NamedTuple):
    """A node of a graph."""

    id: str
    name: str
    state: NodeState = NodeState.OPEN
    contingent: bool = False
    """Whether the run needs the node only after a failure."""
    note: str = ""
    """A short addition to the title, such as the number of visits."""


class FlowEdge(NamedTuple):
    """An edge of a graph from one node to another, by their ids."""

    begin: str
    end: str
    back: bool = False
    recovery: bool = False
    """Whether the run takes the edge only after a failure."""
    taken: bool = False
    label: str = ""
    """The condition of the edge in few words, such as the outcome of a step; empty if the edge has no condition."""


class Flow(NamedTuple):
    """A graph of nodes and edges. Every cycle has an edge with `back` or `recovery`."""

    nodes: tuple[FlowNode, ...]
    edges: tuple[FlowEdge, ...]


class ChecklistItem(NamedTuple):
    """A step or a goal of a checklist."""

    id: str
    name: str
    """The step's title; the id if it has no title."""
    state: NodeState
    status: str
    """The state in one word, such as `succeeded`. Each kind of run has its own words."""
    facts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    details: tuple[Line, ...] = ()


class Checklist(NamedTuple):
    """The steps of a plan in order, and the goals that the steps reach."""

    title: str
    items: tuple[ChecklistItem, ...]
    goals: tuple[ChecklistItem, ...] = ()
    holds: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    """The steps that could start next, if the run has ended before it has reached its goals."""
    notes: tuple[Line, ...] = ()
    """Lines about the whole plan, such as its goal."""
    conclusion: Line = BLANK
    """The run's statement about the plan, such as whether the plan is proved."""
    basis: str = ""
    """The sentence that says that a plan comes from a template; empty for a plan that a model has made."""
    executed: bool = True
    """Whether the run executes the steps; False for a run that only makes the plan."""

    @property
    def done(self) -> int:
        """The number of steps that are done."""
        return sum(1 for item in self.items if item.state is NodeState.DONE)

    @property
    def failed(self) -> int:
        """The number of steps that have failed."""
        return sum(1 for item in self.items if item.state is NodeState.FAILED)
