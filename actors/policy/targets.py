"""Targets of the policy's rows: the steps that a row sends a failure back to. Pure (docs/reference/policy.md)."""

from collections.abc import Mapping

from actors.policy.table import REPLANS, BacktrackLevel, Policy, Row
from actors.search.graph import Graph
from actors.values.findings import Code, Finding

BELIEF = "belief"
"""The rule of the decisions that a belief policy takes by its belief."""


def wanted_targets(step: str, graph: Graph, roles: Mapping[str, str], policy: Policy) -> Mapping[str, tuple[str, ...]]:
    """Return, for each target, the ids of the rows that send a failure of the step there.

    A row with the target `further`, or one that a belief reads, can send it to every step above.
    """
    rules: dict[str, list[str]] = {}
    if policy.belief is not None:
        rules = {upper: [BELIEF] for upper in graph.upward(step, 1)}
    for row in policy.rows:
        if policy.belief is not None and row.id not in policy.belief.rules:
            continue
        upward = row.target == "further"
        for target in graph.upward(step, 1) if upward else resolved(row, step, graph, roles):
            rules.setdefault(target, []).append(row.id)
    return {target: tuple(ids) for target, ids in rules.items()}


def after_change(graph: Graph, roles: Mapping[str, str], policy: Policy) -> tuple[BacktrackLevel, tuple[str, ...]]:
    """Return how far back the search goes when a requirement changes: the level, and the steps to redo.

    The row of `requirements.changed` decides. Since no step has failed, its target is resolved from every leaf, and
    `root` stands for all roots. If the target is the step itself, or the row asks a question or gives up, the leaves
    are redone, so that the change always has an effect.
    """
    changed = Finding(code=Code.CHANGED, message="")
    row = next(row for row in policy.rows if row.matches(changed) or row.always)
    level = row.level if row.level in REPLANS else BacktrackLevel.PARTIAL_REPLAN
    if row.target == "root":
        return level, tuple(step for step in graph.steps if not graph.requires[step])
    redo_leaves = row.target in ("self", "further")
    targets = {
        target
        for leaf in graph.leaves
        for target in ((leaf,) if redo_leaves else resolved(row, leaf, graph, roles) or (leaf,))
    }
    return level, tuple(step for step in graph.steps if step in targets)


def resolved(row: Row, step: str, graph: Graph, roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the target of a row, any but `further`, as steps of the graph."""
    kind, _, detail = row.target.partition(" ")
    match kind:
        case "self":
            return (step,)
        case "root":
            return root_above(graph, step)
        case "role":
            return _by_role(detail, step, graph, roles)
        case _:
            return _at(graph, step, int(detail))


def root_above(graph: Graph, step: str) -> tuple[str, ...]:
    """Return the first root above a step, in file order: the target of a full replan."""
    return tuple(upper for upper in graph.above[step] if not graph.requires[upper])[:1]


def _by_role(detail: str, step: str, graph: Graph, roles: Mapping[str, str]) -> tuple[str, ...]:
    role, _, distance = detail.partition(" or up ")
    if roles[step] == role:
        return (step,)
    nearest = next((upper for upper in graph.upward(step, 1) if roles[upper] == role), None)
    if nearest is not None:
        return (nearest,)
    return _at(graph, step, int(distance)) if distance else ()


def _at(graph: Graph, step: str, distance: int) -> tuple[str, ...]:
    """Return the ancestor at a distance, or the farthest one there is; of equal ones the last in the file."""
    upward = graph.upward(step, distance) or graph.upward(step, 1)[-1:]
    return tuple(upward[:1])
