"""Draws a workflow as text (Mermaid, DOT) or as a graph: steps, guards, budgets, `requires` and escalation edges.

Escalation edges are dashed, and go from a step to its escalation targets. If a step names no targets, its escalation
edges go to the steps that it requires. No escalation edge goes to a step without a `backtrack_budget`. Step ids contain
no characters that need escaping. Labels are escaped.
"""

from collections.abc import Iterator

from actors.config.workflow import Workflow
from actors.guards.port import Composite
from actors.search.notation import SINGLE_BRANCH, read_search
from actors.values.flow import Flow, FlowEdge, FlowNode


def mermaid(workflow: Workflow) -> str:
    """Return the workflow as a Mermaid flowchart. Each line ends in a newline."""
    lines = ["flowchart LR"]
    if _has_branches(workflow):
        lines.append(f'    search{{{{"search: {_mermaid_text(workflow.search)}"}}}}')
    for step in workflow.graph.order:
        text = "<br/>".join(_mermaid_text(line) for line in _label(workflow, step))
        opened, closed = ('(["', '"])') if step in workflow.graph.leaves else ('["', '"]')
        lines.append(f"    {_node_id(step)}{opened}{text}{closed}")
    lines += [f"    {_node_id(upper)} --> {_node_id(lower)}" for upper, lower in _edges(workflow)]
    lines += [f"    {_node_id(lower)} -.-> {_node_id(upper)}" for lower, upper in _escalation_edges(workflow)]
    return "\n".join(lines) + "\n"


def workflow_flow(workflow: Workflow) -> Flow:
    """Return the workflow as a graph for web pages: its steps, and the edges along which the search may move."""
    nodes = tuple(
        FlowNode(step, step.removeprefix("g_").replace("_", " "), note=workflow.action_pairs[step].description)
        for step in workflow.graph.order
    )
    edges = [FlowEdge(upper, lower) for upper, lower in _edges(workflow)]
    edges += [FlowEdge(lower, upper, back=True, recovery=True) for lower, upper in _escalation_edges(workflow)]
    return Flow(nodes, tuple(edges))


def _has_branches(workflow: Workflow) -> bool:
    """Return whether the search has several branches.

    If so, the diagram names the search, because it cannot show the branches.
    """
    return read_search(workflow.search).name not in SINGLE_BRANCH


def _label(workflow: Workflow, step: str) -> tuple[str, ...]:
    guard = workflow.effective_guard(step)
    guard_text = f"{guard.kind}: {', '.join(guard.members)}" if isinstance(guard, Composite) else guard
    if workflow.is_deterministic(step):
        return step, guard_text, "no model call"
    pair = workflow.action_pairs[step]
    visits = f", {pair.backtrack_budget} back" if pair.backtrack_budget else ""
    attempts = workflow.rmax_of(step)
    return step, guard_text, f"{attempts} attempt{'s' if attempts > 1 else ''}{visits}"


def _edges(workflow: Workflow) -> Iterator[tuple[str, str]]:
    for step in workflow.graph.order:
        for upper in dict.fromkeys(workflow.action_pairs[step].requires):
            yield upper, step


def _escalation_edges(workflow: Workflow) -> Iterator[tuple[str, str]]:
    for step in workflow.graph.order:
        pair = workflow.action_pairs[step]
        targets = [*pair.escalate_to, *(upper for uppers in pair.escalate_by_guard.values() for upper in uppers)]
        for upper in dict.fromkeys(targets or pair.requires):
            if workflow.action_pairs[upper].backtrack_budget and not workflow.is_deterministic(upper):
                yield step, upper


def _node_id(step: str) -> str:
    """Return the step's id with a prefix, because Mermaid cannot draw an id that is a keyword, such as `end`."""
    return f"s_{step}"


def _mermaid_text(text: str) -> str:
    """Escape the characters that Mermaid interprets: quotes, tags, entities, line ends."""
    for character in '#&<>"`':
        text = text.replace(character, f"\0{ord(character)};")
    return " ".join(text.replace("\0", "#").split())
