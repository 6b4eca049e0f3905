"""Draws a workflow as Mermaid or DOT text: steps, guards, budgets, edges; dashed edges are the way back.

A dashed edge goes from a step to each step that it names for escalation, or, where it names none, to each step it
requires, if that one has visits left over. Pure; ids are safe by their pattern, labels are escaped.
"""

from collections.abc import Iterator

from actors.config.workflow import Workflow
from actors.guards.composite_spec import Composite

_ONE_BRANCH = ("depth_first", "blind", "linear")
"""The searches that the drawing of steps and ways back shows as they are; others are named in it."""


def mermaid(workflow: Workflow) -> str:
    """Return a Mermaid flowchart; lines end in a newline."""
    lines = ["flowchart LR"]
    if workflow.search not in _ONE_BRANCH:
        lines.append(f'    search{{{{"search: {_mermaid_text(workflow.search)}"}}}}')
    for step in workflow.order():
        text = "<br/>".join(_mermaid_text(line) for line in _label(workflow, step))
        opened, closed = ('(["', '"])') if step in workflow.leaves() else ('["', '"]')
        lines.append(f"    {_node(step)}{opened}{text}{closed}")
    lines += [f"    {_node(upper)} --> {_node(lower)}" for upper, lower in _edges(workflow)]
    lines += [f"    {_node(lower)} -.-> {_node(upper)}" for lower, upper in _ways_back(workflow)]
    return "\n".join(lines) + "\n"


def dot(workflow: Workflow) -> str:
    """Return a Graphviz digraph; lines end in a newline."""
    title = workflow.name if workflow.search in _ONE_BRANCH else f"{workflow.name}, search: {workflow.search}"
    lines = ["digraph workflow {", "    rankdir=LR;", f"    label={_quoted(title)};", "    node [shape=box];"]
    for step in workflow.order():
        text = "\\n".join(_quoted(line)[1:-1] for line in _label(workflow, step))
        shape = " shape=oval" if step in workflow.leaves() else ""
        lines.append(f'    "{step}" [label="{text}"{shape}];')
    lines += [f'    "{upper}" -> "{lower}";' for upper, lower in _edges(workflow)]
    lines += [f'    "{lower}" -> "{upper}" [style=dashed constraint=false];' for lower, upper in _ways_back(workflow)]
    return "\n".join([*lines, "}"]) + "\n"


def _label(workflow: Workflow, step: str) -> tuple[str, ...]:
    guard = workflow.effective_guard(step)
    judged = f"{guard.kind}: {', '.join(guard.members)}" if isinstance(guard, Composite) else guard
    if workflow.is_deterministic(step):
        return step, judged, "no model call"
    pair = workflow.action_pairs[step]
    visits = f", {pair.backtrack_budget} back" if pair.backtrack_budget else ""
    attempts = workflow.rmax_of(step)
    return step, judged, f"{attempts} attempt{'s' if attempts > 1 else ''}{visits}"


def _edges(workflow: Workflow) -> Iterator[tuple[str, str]]:
    for step in workflow.order():
        for upper in dict.fromkeys(workflow.action_pairs[step].requires):
            yield upper, step


def _ways_back(workflow: Workflow) -> Iterator[tuple[str, str]]:
    for step in workflow.order():
        pair = workflow.action_pairs[step]
        named = [*pair.escalate_to, *(upper for uppers in pair.escalate_by_guard.values() for upper in uppers)]
        for upper in dict.fromkeys(named or pair.requires):
            if workflow.action_pairs[upper].backtrack_budget and not workflow.is_deterministic(upper):
                yield step, upper


def _node(step: str) -> str:
    """Return an id that is no Mermaid keyword: `end` as a bare id breaks a chart."""
    return f"s_{step}"


def _mermaid_text(text: str) -> str:
    """Escape what Mermaid would read: quotes, brackets of tags, entities, line ends."""
    for character in '#&<>"`':
        text = text.replace(character, f"\0{ord(character)};")
    return " ".join(text.replace("\0", "#").split())


def _quoted(text: str) -> str:
    """Return a DOT string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{" ".join(escaped.split())}"'
