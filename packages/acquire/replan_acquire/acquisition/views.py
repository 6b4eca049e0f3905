"""The views of acquisition runs, which show the run's path through the graph as a tree, a flow and a diagram. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from actors.run import records
from actors.run.views import AskedFor, Marked, RunDocument, ShownPassage, Traced, Tracing, Tree, Views, rebuilt_prompt
from actors.values.flow import Flow, FlowEdge, FlowNode, NodeState
from actors.values.format import format_count
from actors.values.lines import LineTree, line
from replan_acquire.acquisition.events import (
    AcquisitionEvent,
    AcquisitionStarted,
    DecompositionRequested,
    ObservationRequested,
    Routed,
    ValueTold,
)
from replan_acquire.acquisition.graph import END, START, AcquisitionGraph
from replan_acquire.acquisition.machine import AcquisitionMachine
from replan_acquire.acquisition.result import AcquisitionResult, outcome_lines, result_of, value_text
from replan_acquire.acquisition.state import State
from replan_acquire.acquisition.table import graph_for
from runtime.core.events import Record


def _path_tree(
    title: str, state: State, written: Sequence[Record[AcquisitionEvent]], *, interrupted: bool, brief: bool
) -> Tree:
    passes: list[tuple[str, list[LineTree]]] = []
    for visited in state.path:
        if visited.node == "enter_iteration" or not passes:
            passes.append((visited.reason, []))
        if not brief or visited.node in _ACTIONS:
            text = f"{visited.node} → {visited.to}  {visited.outcome}: {visited.reason}"
            passes[-1][1].append(LineTree(line(text)))
    trees = [LineTree(line(reason), tuple(rows)) for reason, rows in passes]
    if state.run.finished is None:
        word = "stopped at" if interrupted else "is at"
        trees.append(LineTree(line(f"{word} {state.node}", "yellow")))
    return Tree(LineTree(line(title, "bold"), tuple(trees)), to_json=lambda: {"nodes": _nodes(written)})


def _nodes(written: Sequence[Record[AcquisitionEvent]]) -> list[dict[str, Any]]:
    return [
        {"seq": record.seq, **records.record_fields(record.event)}
        for record in written
        if isinstance(record.event, Routed)
    ]


_ACTIONS = frozenset({"search", "observe", "ask_user", "observe_user", "calculate", "reflect", "plan"})
_STADIUM = {START: "([START])", END: "([END])"}


def graph_mermaid(graph: AcquisitionGraph, visited: Collection[tuple[str, str]] = ()) -> str:
    """Return the diagram of a graph.

    All edges from one node to another are drawn as one arrow. Visited nodes are highlighted.
    """
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


def path_flow(state: State, result: AcquisitionResult) -> Flow:
    """Return the graph for the run's profile as a flow, with the run's path through it."""
    graph = graph_for(state.config.profile)
    order = {name: position for position, name in enumerate((START, *graph.nodes, END))}
    left = Counter(item.node for item in result.path)
    taken_edges = {(item.node, item.to) for item in result.path} | {(START, graph.first)}
    over = state.run.finished is not None
    nodes = []
    for name in order:
        times = (
            left[name]
            if name in graph.nodes
            else int(name == START or (name == END and any(END in p for p in taken_edges)))
        )
        here = name == state.node and not over
        was = NodeState.DONE if times else NodeState.SKIPPED if over else NodeState.OPEN
        waits = NodeState.WAITING if result.status == "waiting" else NodeState.CURRENT
        note = "" if times < 2 else f"{times} times"
        nodes.append(FlowNode(name, name.replace("_", " "), waits if here else was, note=note))
    edges = tuple(
        FlowEdge(begin, end, back=order[end] <= order[begin], taken=(begin, end) in taken_edges)
        for begin, end in sorted(graph.pairs(), key=lambda pair: (order[pair[0]], order[pair[1]]))
    )
    return Flow(tuple(nodes), edges)


_TOLD = frozenset(
    {"enter_iteration", "search", "observe", "calculate", "reflect", "observe_user", "plan", "retry_gate"}
)


def record_text(event: AcquisitionEvent, state: State) -> str:
    """Return an event as one line of text, which is not sanitised yet. `state` is the state after the event."""
    match event:
        case AcquisitionStarted():
            return f"run {event.run} started with at most {format_count(event.limits.calls, 'call')}"
        case Routed():
            return f"{event.node} => {event.to} ({event.outcome}, {event.decision_origin}): {event.reason}"
        case ValueTold():
            return f"a person has set {event.path} to {value_text(event.value)}"
        case ObservationRequested() | DecompositionRequested():
            return f"{records.record_text(event, state)}, about {event.path}"
        case _:
            return records.record_text(event, state)


def _news_text(event: AcquisitionEvent, state: State) -> str:
    """Return the line that the progress view shows for an event; empty if it shows none.

    `state` is the state after the event.
    """
    match event:
        case Routed():
            kept = event.node == "retry_gate" and event.outcome == "kept"
            return "" if event.node not in _TOLD or kept else f"{event.node}: {event.reason}"
        case _:
            return records.news_text(event, state, record_text)


def _facts(event: AcquisitionEvent) -> Sequence[Traced]:
    if not isinstance(event, Routed):
        return ()
    fields = {"outcome": event.outcome, "to": event.to, "origin": str(event.decision_origin)}
    return (Marked(f"leave {event.node}", fields=fields),)


def log_fields(event: AcquisitionEvent, state: State) -> Mapping[str, str | int]:
    """Return the fields of log lines about an event. When the run leaves a node, the step is the node's name."""
    return {"step": event.node, "node": event.node} if isinstance(event, Routed) else records.log_fields(event, state)


def _report(_: State, result: AcquisitionResult, __: str) -> RunDocument:
    from replan_acquire.acquisition.report import markdown  # noqa: PLC0415 -- most commands show none

    return RunDocument(text=markdown(result))


def _csv(_: State, result: AcquisitionResult, __: str) -> RunDocument:
    from replan_acquire.acquisition.report import csv_text  # noqa: PLC0415 -- as above

    return RunDocument(text=csv_text(result))


def _xlsx(_: State, result: AcquisitionResult, __: str) -> RunDocument:
    from replan_acquire.acquisition.report_xlsx import workbook  # noqa: PLC0415 -- as above

    return RunDocument(content=workbook(result))


def _graph(state: State, _: AcquisitionResult, __: str) -> RunDocument:
    hops = [(visited.node, visited.to) for visited in state.path]
    return RunDocument(text=graph_mermaid(graph_for(state.config.profile), hops))


def _sources(result: AcquisitionResult) -> Sequence[tuple[str, str]]:
    from replan_acquire.acquisition.report import quoted_fields  # noqa: PLC0415 -- as above

    return quoted_fields(result)


def _passage(written: Sequence[Record[Any]], result: AcquisitionResult, path: str) -> ShownPassage | None:
    from replan_acquire.acquisition.report import find_quoted_passage  # noqa: PLC0415 -- as above

    return find_quoted_passage(written, result, path)


def _describe_request(state: State) -> AskedFor:
    return AskedFor(state.goal, (("profile", state.config.profile.name),))


VIEWS: Views[State, AcquisitionEvent] = Views(
    asked=_describe_request,
    result=result_of,
    result_lines=outcome_lines,
    tree=_path_tree,
    tree_title="Passes",
    flow=path_flow,
    flow_title="Path",
    record_text=record_text,
    news_text=_news_text,
    sources=_sources,
    passage=_passage,
    prompt=partial(rebuilt_prompt, AcquisitionMachine()),
    documents={"markdown": _report, "csv": _csv, "xlsx": _xlsx, "mermaid": _graph},
    tracing=Tracing(facts=_facts),
)
