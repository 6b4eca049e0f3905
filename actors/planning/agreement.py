"""Compares what redone steps bring with what they had brought before, for policies that go by agreement. Pure."""

from collections.abc import Callable

from actors.planning.meaning import typed_meaning
from actors.planning.state import Branch, Node, State
from actors.policy.history import NOTHING, Came
from actors.policy.table import Policy


def came_again(state: State, branch: Branch, failed_node: Node, policy: Policy) -> Came:
    """Return which steps above a rejected attempt have brought the same as before, and which something else.

    A step is compared with its last accepted attempt of this round, if that was made from the same artifacts: word for
    word, or by meaning, as the policy says. Many models never write the same twice, so something else counts only once
    an attempt of the run was word for word an earlier one, or had its meaning. Nothing is compared for a policy that
    does not go by agreement.
    """
    belief = policy.belief
    if belief is None or belief.agreement is None:
        return NOTHING
    by_meaning = belief.agreement.compare == "meaning"
    if not (_repeats_its_meaning if by_meaning else _repeats_itself)(state, branch):
        return NOTHING
    content = _meaning if by_meaning else _content
    graph, same, other = state.config.graph, list[str](), list[str]()
    for step in graph.above[failed_node.step]:
        now = branch.progress[step].accepted
        if now is None or graph.budgets[step].deterministic:
            continue
        before = _before(state, branch, state.nodes[now])
        if before is not None and _inputs(state, before, content) == _inputs(state, state.nodes[now], content):
            (same if content(state, before) == content(state, state.nodes[now]) else other).append(step)
    return Came(tuple(same), tuple(other))


def _repeats_itself(state: State, branch: Branch) -> bool:
    """Return whether an attempt with a model call has brought an earlier one again."""
    budgets = state.config.graph.budgets
    return any(
        node.repeats is not None
        for step in branch.attempts
        if not budgets[step].deterministic
        for node in state.attempts_at(branch, step)
    )


def _repeats_its_meaning(state: State, branch: Branch) -> bool:
    """Return whether an attempt with a model call, above the leaves, says what an earlier one has said."""
    graph = state.config.graph
    for step in branch.attempts:
        if graph.budgets[step].deterministic or step in graph.leaves:
            continue
        said = [_meaning(state, node) for node in state.attempts_at(branch, step) if node.artifact is not None]
        if len(set(said)) < len(said):
            return True
    return False


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
