"""A plan as a drawing: steps in layers by their dependencies, and what follows a failure. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.plans.contingency import contingent_steps
from actors.plans.graph import order_of
from actors.plans.plan import CONTINUE, Plan, Step
from actors.plans.reader import read_plan
from runtime.logs.terminal_text import clean

STEPS_MAX = 200
"""Steps of a plan that is drawn; the list of steps shows a longer one."""
WIDTH, HEIGHT, GAP, DROP = 190, 48, 20, 44
"""The size of a box and the distances between boxes, in pixels."""
CHARACTERS = 25
"""Characters of a box's lines."""


@dataclass(frozen=True, slots=True)
class Box:
    """A step."""

    step: str
    """The step's id."""
    name: str
    """The step's name, cut to fit."""
    title: str
    """The id and the whole name."""
    x: int
    """The left edge."""
    y: int
    """The upper edge."""
    style: str
    """`contingent` for a step that only a failure makes necessary, and the status where one is known."""


@dataclass(frozen=True, slots=True)
class Arrow:
    """A dependency, or what follows a failure."""

    path: str
    """The curve, as SVG has it."""
    recovery: bool
    """Whether it is taken after a failure."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A plan as boxes and arrows."""

    width: int
    """The width in pixels."""
    height: int
    """The height in pixels."""
    boxes: tuple[Box, ...]
    """The steps."""
    arrows: tuple[Arrow, ...]
    """The arrows."""


def draw_plan(value: Any, statuses: Mapping[str, str] | None = None) -> Drawing | None:
    """Return the drawing of a plan; None for what is no plan, and for one of more than `STEPS_MAX` steps."""
    plan, _ = read_plan(value)
    order = None if plan is None else order_of(plan)
    if plan is None or order is None or not 0 < len(plan.steps) <= STEPS_MAX:
        return None
    layers: dict[str, int] = {}
    for step in order.steps:
        layers[step.step_id] = 1 + max((layers[name] for name in step.dependencies if name in layers), default=-1)
    later, rows = contingent_steps(plan), dict[int, list[Step]]()
    for step in order.steps:
        rows.setdefault(layers[step.step_id], []).append(step)
    width = max(len(row) for row in rows.values()) * (WIDTH + GAP) + GAP
    places: dict[str, tuple[int, int]] = {}
    boxes = []
    for layer, row in sorted(rows.items()):
        left = (width - len(row) * (WIDTH + GAP) + GAP) // 2
        for place, step in enumerate(row):
            x, y = left + place * (WIDTH + GAP), GAP + layer * (HEIGHT + DROP)
            places[step.step_id] = x, y
            known = (statuses or {}).get(step.step_id, "")
            style = " ".join(filter(None, ("contingent" if step.step_id in later else "", known)))
            boxes.append(_box(step, x, y, style))
    height = 2 * GAP + len(rows) * (HEIGHT + DROP) - DROP
    return Drawing(width, height, tuple(boxes), tuple(_arrows(plan, places)))


def _box(step: Step, x: int, y: int, style: str) -> Box:
    name = clean(step.name or step.step_id, one_line=True)
    title = clean(f"{step.step_id}: {step.name}", one_line=True)
    return Box(_cut(clean(step.step_id, one_line=True)), _cut(name), title, x, y, style)


def _cut(text: str) -> str:
    return text if len(text) <= CHARACTERS else f"{text[: CHARACTERS - 1]}…"


def _arrows(plan: Plan, places: Mapping[str, tuple[int, int]]) -> list[Arrow]:
    found = []
    for step in plan.steps:
        found += [_arrow(places[name], places[step.step_id]) for name in sorted(step.dependencies) if name in places]
        if step.goes_back_to in places and step.goes_back_to != step.step_id:
            found.append(_arrow(places[step.step_id], places[step.goes_back_to or ""], recovery=True))
        if step.on_failure == CONTINUE:
            waiting = [other for other in plan.steps if not step.failure_effects.isdisjoint(other.preconditions)]
            found += [_arrow(places[step.step_id], places[other.step_id], recovery=True) for other in waiting]
    return found


def _arrow(begin: tuple[int, int], end: tuple[int, int], *, recovery: bool = False) -> Arrow:
    shift = 24 if recovery else 0
    x, y, to_x, to_y = begin[0] + WIDTH // 2 + shift, begin[1] + HEIGHT, end[0] + WIDTH // 2 + shift, end[1]
    if to_y <= y:  # Upwards, or beside: out of the side and in at the side.
        x, y, to_x, to_y = begin[0] + WIDTH, begin[1] + HEIGHT // 2, end[0] + WIDTH, end[1] + HEIGHT // 2
        out = max(x, to_x) + GAP
        return Arrow(f"M{x},{y} C{out},{y} {out},{to_y} {to_x},{to_y}", recovery)
    middle = (y + to_y) // 2
    return Arrow(f"M{x},{y} C{x},{middle} {to_x},{middle} {to_x},{to_y}", recovery)
