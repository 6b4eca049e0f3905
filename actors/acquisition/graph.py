"""The graph as a table: its nodes, the outcomes of each with the node that follows, and the fields that each may write.

A node is one pure function, its *gate*. It returns a `Hop`, or None while the run waits for a reply at this node. Only
the table turns an outcome into the next node. A gate is added by a row here and a function.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from actors.acquisition.planner_state import NOTHING, Writes

if TYPE_CHECKING:
    from actors.acquisition.state import State

START = "START"
"""The node before the first."""
END = "END"
"""The node after the last."""


@dataclass(frozen=True, slots=True)
class Hop:
    """A gate's answer: how the run leaves its node."""

    outcome: str
    """One of the node's outcomes in the table."""
    reason: str
    """Why, in one line for people, tests and events; nothing is decided by it."""
    writes: Writes = NOTHING
    """The changes of the planner's state, to fields that the node owns."""


Gate = Callable[["State"], Hop | None]
"""The function of a node. Pure: the same state gives the same answer."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A row of the table."""

    name: str
    """The name of the node."""
    gate: Gate
    """Its function."""
    edges: Mapping[str, str]
    """The node that follows each outcome."""
    owns: frozenset[str] = frozenset()
    """The fields of the planner's state that it may write."""
    waits_for: str = ""
    """What the run may wait for here, in a few words; empty for a node that always decides at once."""


@dataclass(frozen=True)
class AcquisitionGraph:
    """All nodes, in the order in which they are shown."""

    nodes: Mapping[str, GraphNode] = field(default_factory=dict)
    """The nodes by name."""
    first: str = "enter_iteration"
    """The node that follows the start."""

    def next(self, node: str, outcome: str) -> str:
        """Return the node that follows an outcome. Raises `KeyError` for an outcome that the node does not have."""
        return self.nodes[node].edges[outcome]

    def edges(self) -> Iterator[tuple[str, str, str]]:
        """Yield all edges as (node, outcome, next node), the start's first."""
        yield START, "", self.first
        for name, node in self.nodes.items():
            for outcome, after in node.edges.items():
                yield name, outcome, after

    def pairs(self) -> frozenset[tuple[str, str]]:
        """Return which node may follow which."""
        return frozenset((name, after) for name, _, after in self.edges())

    def with_node(self, node: GraphNode, *, between: tuple[str, str]) -> "AcquisitionGraph":
        """Return the graph with one more node: what led from the first of two nodes to the second leads to it."""
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
    """Yield what is wrong with a table: an edge that leads nowhere, or a node that cannot be reached or left."""
    known = {*graph.nodes, END}
    reached = {graph.first}
    for name, outcome, after in graph.edges():
        if after not in known:
            yield f"{name}: the outcome {outcome!r} leads to {after!r}, which is no node"
        reached.add(after)
    for name, node in graph.nodes.items():
        if name not in reached:
            yield f"{name}: no edge leads here"
        if not node.edges:
            yield f"{name}: no edge leads away"
