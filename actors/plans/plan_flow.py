"""A plan as a graph and as Mermaid text: its steps, and the steps that follow after an outcome or a failure. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from actors.plans.graph import contingent_steps, order_of
from actors.plans.plan import CONTINUE, ESCALATE, UNDO, Plan, Step
from actors.plans.reader import read_plan
from actors.values.flow import Flow, FlowEdge, FlowNode, NodeState
from runtime.core.errors import UsageProblem


def plan_flow(
    value: Any, states: Mapping[str, NodeState] | None = None, outcomes: Mapping[str, str] | None = None
) -> Flow | None:
    """Return the graph of a plan (JSON); None if the value is not a plan.

    `states` maps step ids to the states of the steps. `outcomes` maps the ids of steps that succeeded to their
    outcomes.
    """
    plan, _ = read_plan(value)
    order = None if plan is None else order_of(plan, as_listed=True)
    if plan is None or order is None or not plan.steps:
        return None
    known, later = states or {}, contingent_steps(plan)
    nodes = tuple(
        FlowNode(
            step.step_id,
            step.name or step.step_id,
            known.get(step.step_id, NodeState.OPEN),
            step.step_id in later,
        )
        for step in order.steps
    )
    edges = _edges(plan, {node.id: node.state for node in nodes}, outcomes or {})
    return Flow(nodes, tuple(_mark_cycles(edges)))


def _edges(plan: Plan, states: Mapping[str, NodeState], outcomes: Mapping[str, str]) -> Iterator[FlowEdge]:
    """Yield the edges.

    An edge counts as taken if its first step ended with the edge's outcome and its second step has begun.
    """
    begun = {name for name, state in states.items() if state not in (NodeState.OPEN, NodeState.SKIPPED)}
    failed = {name for name, state in states.items() if state is NodeState.FAILED}
    for begin, end, names in _find_successions(plan):
        done = states[begin] is NodeState.DONE and (not names or outcomes.get(begin) in names)
        yield FlowEdge(begin, end, taken=done and end in begun, label=", ".join(names))
    for step in plan.steps:
        if step.goes_back_to in states and step.goes_back_to != step.step_id:
            yield FlowEdge(step.step_id, step.goes_back_to or "", recovery=True)
        if step.on_failure == CONTINUE:
            for other in plan.steps:
                if not step.failure_effects.isdisjoint(other.preconditions):
                    taken = step.step_id in failed and other.step_id in begun
                    yield FlowEdge(step.step_id, other.step_id, recovery=True, taken=taken)


def _find_successions(plan: Plan) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield each pair of a step and a step that follows it, with the outcomes that lead to the second step.

    The tuple of outcomes is empty if all outcomes lead to the second step.

    A step follows the steps on which it depends. In a plan with outcomes, a step also follows the steps that make the
    tokens that it needs. If a step can delete at least one needed token, the tokens that no step can delete do not
    count.
    """
    steps = {step.step_id: step for step in plan.steps}
    moving: frozenset[str] = frozenset()
    if plan.has_outcomes:
        moving = moving.union(*(step.may_delete | step.failure_delete_effects for step in plan.steps))
    for step in plan.steps:
        for name in sorted(step.dependencies & steps.keys()):
            yield name, step.step_id, _leading_outcomes(steps[name], step.preconditions)
        needed = step.preconditions & moving or step.preconditions
        for other in plan.steps if plan.has_outcomes else ():
            if other.step_id != step.step_id and other.step_id not in step.dependencies:
                names = _leading_outcomes(other, needed)
                if names or not needed.isdisjoint(other.may_add):
                    yield other.step_id, step.step_id, names


def _leading_outcomes(step: Step, needed: frozenset[str]) -> tuple[str, ...]:
    """Return the names of the outcomes of a step that make a needed token.

    The result is empty if the step makes a needed token with every outcome.
    """
    names = tuple(outcome.name for outcome in step.outcomes if not needed.isdisjoint(outcome.effects))
    return () if len(names) == len(step.outcomes) or not needed.isdisjoint(step.effects) else names


def _mark_cycles(edges: Iterator[FlowEdge]) -> Iterator[FlowEdge]:
    after: dict[str, set[str]] = {}
    for edge in edges:
        if edge.recovery:
            yield edge
            continue
        seen, todo = {edge.end}, [edge.end]
        while todo and edge.begin not in seen:
            more = after.get(todo.pop(), set()) - seen
            seen |= more
            todo += more
        if edge.begin in seen:
            yield edge._replace(back=True)
        else:
            after.setdefault(edge.begin, set()).add(edge.end)
            yield edge


def plan_mermaid(value: Any, program: str = "replan") -> str:
    """Return a Mermaid flowchart of the plan. Raises `UsageProblem` if the value is not a plan."""
    plan, _ = read_plan(value)
    order = None if plan is None else order_of(plan, as_listed=True)
    if plan is None or order is None:
        cause = "the object is not a valid plan, so it cannot be drawn"
        raise UsageProblem(cause, hint=f"`{program} show RUN --plan` prints the object")
    ids = {step.step_id: f"s{number}" for number, step in enumerate(order.steps, 1)}
    lines = ["flowchart TD"]
    later = contingent_steps(plan)
    for step in order.steps:
        opened, closed = ("{{", "}}") if step.step_id in later else ("[", "]")
        lines.append(f'    {ids[step.step_id]}{opened}"{_label(step)}"{closed}')
    for begin, end, names in _find_successions(replace(plan, steps=order.steps)):
        arrow = f'-- "{_escape_mermaid(", ".join(names))}" -->' if names else "-->"
        lines.append(f"    {ids[begin]} {arrow} {ids[end]}")
    lines += _failures(plan, ids)
    return "\n".join(lines) + "\n"


def _failures(plan: Plan, ids: dict[str, str]) -> Iterator[str]:
    if any(step.on_failure == ESCALATE for step in plan.steps):
        yield '    handover(["a person or the replanner"])'
    if plan.undoes:
        yield '    undo(["everything is undone"])'
    for step in sorted(plan.steps, key=lambda item: ids[item.step_id]):
        here = ids[step.step_id]
        if step.on_failure == ESCALATE:
            yield f"    {here} -. fails .-> handover"
        elif step.on_failure == UNDO:
            yield f"    {here} -. fails .-> undo"
        elif step.goes_back_to is not None and step.goes_back_to in ids:
            yield f"    {here} -. fails .-> {ids[step.goes_back_to]}"
        if step.on_failure == CONTINUE:
            for other in plan.steps:
                if not step.failure_effects.isdisjoint(other.preconditions):
                    tokens = ", ".join(sorted(step.failure_effects & other.preconditions))
                    yield f'    {here} -. "fails: {_escape_mermaid(tokens)}" .-> {ids[other.step_id]}'


def _label(step: Step) -> str:
    parts = [step.step_id, step.name if step.name != step.step_id else "", step.guard]
    return "<br/>".join(_escape_mermaid(part) for part in parts if part)


def _escape_mermaid(text: str) -> str:
    """Escape the characters of a text that Mermaid would interpret: quotes, brackets, entities, line ends."""
    shown = "".join(f"#{ord(char)};" if char in '#&<>"`;|' else char for char in text if char.isprintable())
    return " ".join(shown.split())
