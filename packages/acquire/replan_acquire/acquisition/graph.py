"""The graph of an acquisition as a table: its nodes, the next node for each outcome, and the fields of nodes.

Each node has one pure function, its *gate*. A gate returns a `Hop`, or None while the run waits for a reply at this
node. Only the table turns an outcome into the next node. To add a gate, write a function, and add a row in
`replan_acquire.acquisition.table`.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from replan_acquire.acquisition.planner_state import NOTHING, Writes

if TYPE_CHECKING:
    from replan_acquire.acquisition.state import State

START = "START"
END = "END"


@dataclass(frozen=True, slots=True)
class Hop:
    """The answer of a gate: the outcome with which the run leaves the gate's node."""

    outcome: str
    reason: str
    """The reason in one line, for people. No decision depends on it."""
    writes: Writes = NOTHING
    """The changes to fields of the planner's state. The node must own each of these fields."""


Gate = Callable[["State"], Hop | None]
"""The function of a node. The function is pure: the same state gives the same answer. It returns None while the run
waits at the node.
"""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A row of the table."""

    name: str
    gate: Gate
    edges: Mapping[str, str]
    """The name of the next node for each outcome."""
    owns: frozenset[str] = frozenset()
    """The fields of the planner's state that the node may write."""
    waits_for: str = ""
    """What the run may have to wait for at this node, in a few words; empty if the gate always decides at once."""


@dataclass(frozen=True)
class AcquisitionGraph:
    """All nodes by name, in the order in which they are shown."""

    nodes: Mapping[str, GraphNode] = field(default_factory=dict)
    first: str = "enter_iteration"

    def next(self, node: str, outcome: str) -> str:
        """Return the node that follows an outcome. Raises `KeyError` for an unknown outcome."""
        return self.nodes[node].edges[outcome]

    def edges(self) -> Iterator[tuple[str, str, str]]:
        """Yield all edges as (node, outcome, next node), beginning at the start."""
        yield START, "", self.first
        for name, node in self.nodes.items():
            for outcome, after in node.edges.items():
                yield name, outcome, after

    def pairs(self) -> frozenset[tuple[str, str]]:
        """Return all pairs of a node and a node that may follow it directly."""
        return frozenset((name, after) for name, _, after in self.edges())

    def with_node(self, node: GraphNode, *, between: tuple[str, str]) -> "AcquisitionGraph":
        """Return the graph with one more node.

        Each edge from the first node of `between` to the second is replaced by a path through the new node.
        """
        before, after = between
        edges = {outcome: node.name if to == after else to for outcome, to in self.nodes[before].edges.items()}
        assert edges != self.nodes[before].edges, f"no edge leads from {before} to {after}"
        nodes: dict[str, GraphNode] = {}
        for name, item in self.nodes.items():
            nodes[name] = replace(item, edges=edges) if name == before else item
            if name == before:
                nodes[node.name] = node
        return replace(self, nodes=nodes)


def problems(graph: AcquisitionGraph) -> Iterator[str]:
    """Yield the errors of the graph: edges to unknown nodes, and nodes that no edge enters or no edge leaves."""
    known = {*graph.nodes, END}
    reached = {graph.first}
    for name, outcome, after in graph.edges():
        if after not in known:
            yield f"{name}: the outcome {outcome!r} leads to {after!r}, which is not a node"
        reached.add(after)
    for name, node in graph.nodes.items():
        if name not in reached:
            yield f"{name}: no edge leads to this node"
        if not node.edges:
            yield f"{name}: no edge leaves this node"
