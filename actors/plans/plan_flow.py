"""A plan as a graph: its steps by their dependencies, and what follows a failure. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from actors.plans.contingency import contingent_steps
from actors.plans.graph import order_of
from actors.plans.plan import CONTINUE, Plan
from actors.plans.reader import read_plan
from actors.values.flow import Flow, FlowEdge, FlowNode, NodeState


def plan_flow(value: Any, states: Mapping[str, NodeState] | None = None) -> Flow | None:
    """Return the graph of a plan as JSON, with the states of its steps by id; None for what is no plan."""
    plan, _ = read_plan(value)
    order = None if plan is None else order_of(plan, as_listed=True)
    if plan is None or order is None or not plan.steps:
        return None
    known, later = states or {}, contingent_steps(plan)
    nodes = tuple(
        FlowNode(
            step.step_id, step.name or step.step_id, known.get(step.step_id, NodeState.OPEN), step.step_id in later
        )
        for step in order.steps
    )
    return Flow(nodes, tuple(_edges(plan, {node.id: node.state for node in nodes})))


def _edges(plan: Plan, states: Mapping[str, NodeState]) -> Iterator[FlowEdge]:
    """Yield the edges; one was taken where its begin came to what it is for, and its end has begun."""
    begun = {name for name, state in states.items() if state not in (NodeState.OPEN, NodeState.SKIPPED)}
    failed = {name for name, state in states.items() if state is NodeState.FAILED}
    for step in plan.steps:
        for name in sorted(step.dependencies):
            if name in states:
                yield FlowEdge(name, step.step_id, taken=states[name] is NodeState.DONE and step.step_id in begun)
        if step.goes_back_to in states and step.goes_back_to != step.step_id:
            yield FlowEdge(step.step_id, step.goes_back_to or "", recovery=True)
        if step.on_failure == CONTINUE:
            for other in plan.steps:
                if not step.failure_effects.isdisjoint(other.preconditions):
                    taken = step.step_id in failed and other.step_id in begun
                    yield FlowEdge(step.step_id, other.step_id, recovery=True, taken=taken)
