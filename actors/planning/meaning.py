"""Compares artifacts by their meaning, and redone steps with earlier results, for policies with the key `agreement`.

Pure.

The meaning of an artifact is a normalised text. Artifacts that differ only in wording or white space have the same
meaning.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from actors.planning.state import Branch, Node, State
from actors.policy.belief import NOTHING, Came
from actors.policy.table import Policy
from actors.values.artifacts import Artifact
from runtime.models.replies import Parsed

TYPED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "analysis": ("problem_type", "language"),
    "recon": ("mentioned_files", "apis_involved", "test_references", "constraints_mentioned"),
    "strategy": ("strategy_id",),
}
"""A mapping from the role of a step to the fields of its artifact that later steps and guards read. All other fields of
the artifact only explain these fields.
"""
_WORDS_OF_A_PLAN = frozenset({"plan_id", "name", "description", "basis"})
"""The keys of a plan that no guard reads. Two plans have the same meaning if they differ only in these keys."""


@lru_cache(maxsize=256)
def typed_meaning(artifact: Artifact, role: str) -> str:
    """Return a text for the comparison of artifacts.

    Artifacts of the same role have equal texts if their typed fields are equal.

    Lists are compared as sets. Case and white space do not count. If the role or the artifact has no typed fields,
    return the text of `meaning`.
    """
    fields, value = TYPED_FIELDS.get(role, ()), artifact.parsed
    if isinstance(value, dict) and any(name in value for name in fields):
        return json.dumps([_fold_value(value.get(name)) for name in fields], sort_keys=True)
    return meaning(artifact, plan=False)


def _fold_value(value: Any) -> Any:
    """Return a value normalized for comparison: lower case, single spaces, lists sorted and without repetition."""
    match value:
        case str():
            return " ".join(value.casefold().split())
        case list():
            return sorted({json.dumps(_fold_value(item), sort_keys=True) for item in value})
        case dict():
            return {key: _fold_value(item) for key, item in value.items()}
        case _:
            return value


@lru_cache(maxsize=256)
def meaning(artifact: Artifact, *, plan: bool) -> str:
    """Return a text for the comparison of artifacts. Artifacts that differ only in white space have equal texts.

    In a plan, the order of lists does not count, and neither do texts for people, because no guard reads them.
    """
    value = artifact.value
    if not isinstance(value, Parsed):
        return " ".join(artifact.content.split())
    return json.dumps(_canonical(value.value, plan=plan), sort_keys=True)


def _canonical(value: Any, *, plan: bool) -> Any:
    match value:
        case str():
            return " ".join(value.split())
        case list():
            items = [_canonical(item, plan=plan) for item in value]
            return sorted(items, key=lambda item: json.dumps(item, sort_keys=True)) if plan else items
        case dict():
            return {
                key: _canonical(item, plan=plan)
                for key, item in value.items()
                if not (plan and key in _WORDS_OF_A_PLAN)
            }
        case _:
            return value


def compare_redone_steps(state: State, branch: Branch, failed_node: Node, policy: Policy) -> Came:
    """Return the redone steps that a rejected attempt builds on, split by whether their artifact is the same as before.

    An artifact is compared with the step's previous accepted artifact of this round, if both were made from the same
    artifacts. The policy says whether texts or meanings are compared. A policy without `agreement` compares nothing.
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
        before = _previous_attempt(state, branch, state.nodes[now])
        if before is not None and _inputs(state, before, content) == _inputs(state, state.nodes[now], content):
            (same if content(state, before) == content(state, state.nodes[now]) else other).append(step)
    return Came(tuple(same), tuple(other))


def is_repeat(state: State, branch: Branch, node: Node) -> bool:
    """Return whether an attempt has the same content as an earlier attempt at the same step in the same round.

    A step without a model call never counts, because its content is always the same. An attempt of a former model does
    not count either.
    """
    if node.repeats is None or node.artifact is None or node.node in state.of_former_model:
        return False
    if state.config.graph.budgets[node.step].deterministic:
        return False
    content = node.artifact.content
    return any(
        earlier.artifact is not None and earlier.artifact.content == content
        for earlier in state.attempts_at(branch, node.step)
        if earlier is not node and earlier.round == node.round
    )


def _previous_attempt(state: State, branch: Branch, accepted: Node) -> Node | None:
    for node in state.attempts_at(branch, accepted.step):
        passed = node.verdict is not None and node.verdict.passed
        if passed and node.node != accepted.node and node.round == accepted.round:
            return node
    return None


_Content = Callable[[State, Node], object]
"""A function that returns the content of an attempt's artifact in the form that is compared; None if there is no
artifact."""


def _inputs(state: State, node: Node, content: _Content) -> list[object]:
    return [content(state, state.nodes[parent]) for parent in node.parents]


def _content(_: State, node: Node) -> object:
    return None if node.artifact is None else node.artifact.content


def _meaning(state: State, node: Node) -> str | None:
    return None if node.artifact is None else typed_meaning(node.artifact, state.config.roles[node.step])
