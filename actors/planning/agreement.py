"""Compares what redone steps bring with what they had brought before, for policies that go by agreement. Pure."""

from collections.abc import Callable

from actors.planning.meaning import typed_meaning
from actors.planning.state import Branch, Node, State
from actors.policy.history import NOTHING, Came
from actors.policy.table import Policy


def came_again(state: State, branch: Branch, failed_node: Node, policy: Policy) -> Came:
    """Return which steps above a rejected attempt have brought the same as before, and which something else.

    A step is compared with its last accepted attempt of this round, if that was made from the same artifacts: by their
    text or by their meaning, as the policy says. Nothing is compared for a policy that does not go by agreement.
    """
    belief = policy.belief
    if belief is None or belief.agreement is None:
        return NOTHING
    content = _meaning if belief.agreement.compare == "meaning" else _content
    graph, same, other = state.config.graph, list[str](), list[str]()
    for step in graph.above[failed_node.step]:
        now = branch.progress[step].accepted
        if now is None or graph.budgets[step].deterministic:
            continue
        before = _before(state, branch, state.nodes[now])
        if before is not None and _inputs(state, before, content) == _inputs(state, state.nodes[now], content):
            (same if content(state, before) == content(state, state.nodes[now]) else other).append(step)
    return Came(tuple(same), tuple(other))


def _before(state: State, branch: Branch, accepted: Node) -> Node | None:
    """Return the step's last attempt of this round before this one that its guard accepted."""
    for node in state.attempts_at(branch, accepted.step):
        passed = node.verdict is not None and node.verdict.passed
        if passed and node.node != accepted.node and node.round == accepted.round:
            return node
    return None


_Content = Callable[[State, Node], object]
"""Returns what is compared of an attempt; None where it has no artifact."""


def _inputs(state: State, node: Node, content: _Content) -> list[object]:
    """Return what is compared of the artifacts that an attempt was made from."""
    return [content(state, state.nodes[parent]) for parent in node.parents]


def _content(_: State, node: Node) -> object:
    return None if node.artifact is None else node.artifact.content


def _meaning(state: State, node: Node) -> str | None:
    return None if node.artifact is None else typed_meaning(node.artifact, state.config.roles[node.step])
