"""The path of a run through the graph, as a tree for people and as data: one branch for each pass. Pure."""

from collections.abc import Sequence
from typing import Any

from actors.acquisition.events import AcquisitionEvent, Routed
from actors.acquisition.state import State
from actors.run import records
from actors.run.views import Tree
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
