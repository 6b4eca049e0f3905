"""The graph as a Mermaid diagram, generated from the table that runs go through; a run's own path is marked. Pure."""

from collections.abc import Collection

from actors.acquisition.graph import END, START, Graph

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
