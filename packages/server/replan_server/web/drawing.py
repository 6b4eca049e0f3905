"""Draws a graph: boxes in layers, arrows as curves. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from actors.run.words import step_in_words
from actors.values.flow import Flow, FlowEdge, FlowNode
from runtime.logs.terminal_text import clean

NODES_MAX = 200
"""The largest number of boxes in a drawing of a graph. A graph with more boxes is shown as text."""
WIDTH, GAP, DROP = 190, 20, 44
"""The width of a box, the distance between boxes in a row, and the distance between rows, in pixels."""
LINE, MARGIN = 17, 7
"""The height of a line in a box, and the margin above and below the lines, in pixels."""
LINES_MAX = 8
"""The largest number of lines for a name in a box. A name that needs more lines is cut."""
SIDE = 14
"""The distance in pixels between two arrows that run upwards to the right of all boxes."""
CHARACTERS = 23
"""The largest number of characters in a line of a box."""
LETTER = 7
"""The assumed width of a letter in an arrow's label, in pixels."""


@dataclass(frozen=True, slots=True)
class Box:
    """The box of a node."""

    id: tuple[str, ...]
    """The lines below the name: the node's note, or its id if there is no note. Empty if they would repeat the name."""
    name: tuple[str, ...]
    title: str
    x: int
    """The left edge, in pixels."""
    y: int
    """The upper edge, in pixels."""
    height: int
    style: str
    """The node's state, followed by `contingent` if the run needs the node only after a failure."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """The arrow of an edge."""

    path: str
    style: str
    """`recovery`, `taken`, both or neither."""
    title: str = ""
    """The outcomes after which a run takes the edge; empty if the edge has no condition."""


@dataclass(frozen=True, slots=True)
class ArrowLabel:
    """The label of arrows that begin at the same box: the outcomes after which a run takes their edges.

    The label is drawn below the box.
    """

    text: str
    """The outcomes, cut to the available width."""
    x: int
    """The middle of the text, in pixels from the left."""
    y: int
    """The base line of the text, in pixels from the top."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph as boxes and arrows."""

    width: int
    """The width in pixels."""
    height: int
    """The height in pixels."""
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    """The arrows. Arrows of edges that the run has taken come last, so they are drawn on top of the other arrows."""
    contingent: bool
    """Whether the run needs a node or an edge of the graph only after a failure."""
    path: bool
    """Whether the run has taken at least one edge."""
    labels: tuple[ArrowLabel, ...] = ()


_Place = tuple[int, int, int]


def draw(flow: Flow | None) -> Drawing | None:
    """Return the drawing of a graph; None if there is no graph, or if it has no nodes or more than `NODES_MAX`."""
    if flow is None or not 0 < len(flow.nodes) <= NODES_MAX:
        return None
    rows = _rows(flow)
    width = max(len(row) for row in rows) * (WIDTH + GAP) + GAP
    places: dict[str, _Place] = {}
    boxes: list[Box] = []
    y = GAP
    for row in rows:
        left = (width - len(row) * (WIDTH + GAP) + GAP) // 2
        for position, node in enumerate(row):
            x = left + position * (WIDTH + GAP)
            boxes.append(_box(node, x, y))
            places[node.id] = x, y, y + boxes[-1].height
        y += DROP + max(box.height for box in boxes[-len(row) :])
    beside = _lanes(flow, places)
    # A step that only a failure makes necessary follows after that failure: one arrow says it.
    contingent = {node.id for node in flow.nodes if node.contingent}
    recovered = {(edge.begin, edge.end) for edge in flow.edges if edge.recovery and edge.end in contingent}
    edges = [edge for edge in flow.edges if edge.recovery or edge.taken or (edge.begin, edge.end) not in recovered]
    begins, labels = _begins(edges, places)
    arrows = [
        Arrow(
            _curve(edge, begins.get((edge.begin, edge.label), WIDTH // 2), places, width, beside),
            _style(edge),
            clean(edge.label, one_line=True),
        )
        for edge in edges
    ]
    height = y - DROP + GAP
    return Drawing(
        width + (GAP + SIDE * len(set(beside.values())) if beside else 0),
        height,
        tuple(boxes),
        tuple(sorted(arrows, key=lambda arrow: "taken" in arrow.style)),
        any(node.contingent for node in flow.nodes) or any(edge.recovery for edge in flow.edges),
        any(edge.taken for edge in flow.edges),
        labels,
    )


def _begins(
    edges: Sequence[FlowEdge], places: Mapping[str, _Place]
) -> tuple[dict[tuple[str, str], int], tuple[ArrowLabel, ...]]:
    """Return the positions at which arrows with labels begin, and the labels.

    The key of a position is a node's id and a label. A position is in pixels from the left edge of the node's box.

    The labels below a box are in the same order from left to right as the boxes to which their arrows lead.
    """
    ends: dict[str, dict[str, int]] = {}
    for edge in edges:
        if edge.label:
            of_node = ends.setdefault(edge.begin, {})
            of_node[edge.label] = min(of_node.get(edge.label, places[edge.end][0]), places[edge.end][0])
    begins, labels = {}, []
    for node, by_label in ends.items():
        room = WIDTH // len(by_label)
        for number, name in enumerate(sorted(by_label, key=lambda item: by_label[item])):
            begins[node, name] = room * number + room // 2
            shown, most = clean(name, one_line=True), max(3, room // LETTER)
            text = shown if len(shown) <= most else f"{shown[: most - 1]}…"
            labels.append(ArrowLabel(text, places[node][0] + begins[node, name], places[node][2] + LINE - 3))
    return begins, tuple(labels)


def _rows(flow: Flow) -> list[list[FlowNode]]:
    """Return the rows of nodes, from top to bottom. A node is below all nodes from which an edge leads to it.

    Edges with `back` or `recovery` are ignored.
    """
    before: dict[str, list[str]] = {node.id: [] for node in flow.nodes}
    for edge in flow.edges:
        if not edge.back and not edge.recovery:
            before[edge.end].append(edge.begin)
    layers: dict[str, int] = {}
    waiting = list(flow.nodes)
    while waiting:
        ready = [node for node in waiting if all(name in layers for name in before[node.id])]
        for node in ready or waiting:  # A cycle, which there should not be, ends the layers and not the program.
            layers[node.id] = 1 + max((layers.get(name, -1) for name in before[node.id]), default=-1)
        waiting = [node for node in waiting if node.id not in layers]
    rows: list[list[FlowNode]] = [[] for _ in range(1 + max(layers.values()))]
    for node in flow.nodes:
        rows[layers[node.id]].append(node)
    return [row for row in rows if row]


def _box(node: FlowNode, x: int, y: int) -> Box:
    name, below = clean(node.name, one_line=True), clean(node.note or node.id, one_line=True)
    facts = [clean(text, one_line=True) for text in (node.state, node.note)]
    same = step_in_words(below) == name
    title = ", ".join(filter(None, (name if same else f"{clean(node.id, one_line=True)}: {name}", *facts)))
    lines, small = _wrap(name), () if same else _wrap(below)
    height = 2 * MARGIN + LINE * max(2, len(lines) + len(small))
    return Box(small, lines, title, x, y, height, f"{node.state}{' contingent' * node.contingent}")


def _wrap(text: str) -> tuple[str, ...]:
    return tuple(wrap(text, CHARACTERS, max_lines=LINES_MAX, placeholder="…"))


def _style(edge: FlowEdge) -> str:
    return " ".join(name for name, of in (("recovery", edge.recovery), ("taken", edge.taken)) if of)


def _lanes(flow: Flow, places: Mapping[str, _Place]) -> dict[str, int]:
    """Return the number of a lane for each node to which an arrow leads from the same row or from below.

    The keys are the nodes' ids. A lane is a vertical line to the right of all boxes.
    """
    ends = dict.fromkeys(edge.end for edge in flow.edges if places[edge.end][1] <= places[edge.begin][1])
    return {name: number for number, name in enumerate(ends)}


def _curve(edge: FlowEdge, from_x: int, places: Mapping[str, _Place], width: int, lanes: Mapping[str, int]) -> str:
    begin, end = places[edge.begin], places[edge.end]
    shift = 24 if edge.recovery else 0
    x, y, to_x, to_y = begin[0] + from_x + shift, begin[2], end[0] + WIDTH // 2 + shift, end[1]
    if to_y > y:
        middle = (y + to_y) // 2
        return f"M{x},{y} C{x},{middle} {to_x},{middle} {to_x},{to_y}"
    # Back, or beside: down out of the box, up right of all boxes, and into the other box from above.
    lane, low, high = width + SIDE * lanes[edge.end], y + DROP // 3, to_y - DROP // 3
    return f"M{x},{y} V{low} H{lane} V{high} H{to_x + SIDE} V{to_y}"
