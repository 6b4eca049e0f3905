"""A run's path through the graph: as a tree, as a flow, and as a Mermaid diagram. Pure."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from actors.acquisition.events import AcquisitionEvent, Routed
from actors.acquisition.graph import END, START, Graph
from actors.acquisition.result import Result
from actors.acquisition.state import State
from actors.acquisition.table import graph_for
from actors.run import records
from actors.run.views import Tree
from actors.values.flow import Flow, FlowEdge, FlowNode, NodeState
from actors.values.lines import LineTree, line
from runtime.core.events import Record


def path_tree(
    title: str, state: State, written: Sequence[Record[AcquisitionEvent]], *, interrupted: bool, brief: bool
) -> Tree:
    """Return the nodes that the run has left, each pass as a branch; `brief` leaves out what follows from others."""
    passes: list[tuple[str, list[LineTree]]] = []
    for visited in state.path:
        if visited.node == "enter_iteration" or not passes:
            passes.append((visited.reason, []))
        if not brief or visited.node in (
            "search",
            "observe",
            "ask_user",
            "observe_user",
            "calculate",
            "reflect",
            "plan",
        ):
            text = f"{visited.node} → {visited.to}  {visited.outcome}: {visited.reason}"
            passes[-1][1].append(LineTree(line(text)))
    trees = [LineTree(line(reason), tuple(rows)) for reason, rows in passes]
    if state.run.finished is None:
        word = "stopped at" if interrupted else "is at"
        trees.append(LineTree(line(f"{word} {state.node}", "yellow")))
    return Tree(LineTree(line(title, "bold"), tuple(trees)), json={"nodes": _nodes(written)})


def _nodes(written: Sequence[Record[AcquisitionEvent]]) -> list[dict[str, Any]]:
    return [
        {"seq": record.seq, **records.record_fields(record.event)}
        for record in written
        if isinstance(record.event, Routed)
    ]


_STADIUM = {START: "([START])", END: "([END])"}


def graph_mermaid(graph: Graph, visited: Collection[tuple[str, str]] = ()) -> str:
    """Return the diagram; edges between two nodes are one arrow with all outcomes. Visited nodes are marked."""
    rows = ["flowchart TD"]
    labels: dict[tuple[str, str], list[str]] = {}
    for node, outcome, after in graph.edges():
        labels.setdefault((node, after), []).append(outcome)
    rows += [f"    {_shape(name)}" for name in (START, *graph.nodes, END)]
    for (node, after), outcomes in labels.items():
        text = ", ".join(filter(None, outcomes))
        # An edge to an action of the same name needs no label.
        label = f"|{text}|" if text and text != after else ""
        rows.append(f"    {_id(node)} -->{label} {_id(after)}")
    seen = sorted({name for pair in visited for name in pair})
    if seen:
        rows += ["    classDef visited stroke-width:3px", f"    class {','.join(map(_id, seen))} visited"]
    return "".join(f"{row}\n" for row in rows)


def _id(node: str) -> str:
    return f"planner_{node.lower()}" if node in _STADIUM else f"node_{node}"


def _shape(node: str) -> str:
    return f"{_id(node)}{_STADIUM.get(node, f'[{node}]')}"


def path_flow(state: State, result: Result) -> Flow:
    """Return the graph of a run's profile with the run's path."""
    graph = graph_for(state.config.profile)
    order = {name: place for place, name in enumerate((START, *graph.nodes, END))}
    left = Counter(each.node for each in result.path)
    taken = {(each.node, each.to) for each in result.path} | {(START, graph.first)}
    over = state.run.finished is not None
    nodes = []
    for name in order:
        times = (
            left[name] if name in graph.nodes else int(name == START or (name == END and any(END in p for p in taken)))
        )
        here = name == state.node and not over
        was = NodeState.DONE if times else NodeState.SKIPPED if over else NodeState.OPEN
        waits = NodeState.WAITING if result.status == "waiting" else NodeState.CURRENT
        note = "" if times < 2 else f"{times} times"
        nodes.append(FlowNode(name, name.replace("_", " "), waits if here else was, note=note))
    edges = tuple(
        FlowEdge(begin, end, back=order[end] <= order[begin], taken=(begin, end) in taken)
        for begin, end in sorted(graph.pairs(), key=lambda pair: (order[pair[0]], order[pair[1]]))
    )
    return Flow(tuple(nodes), edges)
