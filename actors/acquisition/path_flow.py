"""The graph that an acquisition goes through, with the run's path: where it was, how often, and where it is. Pure."""

from collections import Counter

from actors.acquisition.graph import END, START
from actors.acquisition.result import Result
from actors.acquisition.state import State
from actors.acquisition.table import graph_for
from actors.values.flow import Flow, FlowEdge, FlowNode, NodeState


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
