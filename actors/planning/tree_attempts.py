"""The search tree of a planning run as data: all its attempts, and what followed from each. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from actors.planning.state import Node, State
from actors.values.artifacts import Artifact
from actors.values.findings import Finding
from actors.values.format import counted
from actors.values.lines import Line, Style, StyledSpan, line
from actors.values.notebook import html_of, markdown_of
from runtime.models.replies import Parsed


@dataclass(frozen=True, slots=True)
class TreeAttempt:
    """One attempt at one step: a node of the search tree."""

    node: str
    """Its id, such as `g_plan/v1.a2`."""
    step: str
    """The id of the step that was tried."""
    visit: int
    """The number of the stay at the step, from 1."""
    number: int
    """The number of the attempt within the visit, from 1."""
    branch: int
    """The number of the branch that it belongs to."""
    parents: tuple[str, ...]
    """The ids of the attempts that it builds on; empty at a root of the tree."""
    previous: str | None
    """The id of the step's attempt before it; None for the first."""
    status: str
    """`pending` until its verdict, `accepted`, `rejected`, or `superseded` once a step back has made it void."""
    artifact: Artifact | None = field(repr=False)
    """What its generator made; None until there is something."""
    score: float | None
    """The guard's score, from 0 to 1; None before the verdict."""
    findings: tuple[Finding, ...]
    """The findings of the verdict: why it was rejected, or warnings."""
    level: str | None
    """How far back the search went because of it, such as `partial_replan`; None where it was not rejected."""
    targets: tuple[str, ...]
    """The steps that were redone because of it."""
    rule: str
    """The row of the policy, or `belief`, that decided so; empty where nothing was decided."""

    @property
    def value(self) -> Any:
        """The artifact's JSON value; its text if that is not JSON, None where there is no artifact."""
        if self.artifact is None:
            return None
        value = self.artifact.value
        return value.value if isinstance(value, Parsed) else self.artifact.content


class AttemptTree(tuple[TreeAttempt, ...]):
    """All attempts of a run in the order in which they were made; `parents` link them to a tree."""

    __slots__ = ()

    def __repr__(self) -> str:
        rejected = sum(attempt.status == "rejected" for attempt in self)
        return f"<AttemptTree: {counted(len(self), 'attempt')}, {rejected} rejected>"

    def _repr_html_(self) -> str:
        return html_of(self.lines())

    def _repr_markdown_(self) -> str:
        return markdown_of(self.lines())

    def lines(self) -> Iterator[Line]:
        """Yield a line for each attempt, indented below the ones that it builds on, with its first finding."""
        depths: dict[str, int] = {}
        for attempt in self:
            depth = depths[attempt.node] = 1 + max((depths.get(parent, 0) for parent in attempt.parents), default=-1)
            indent, style = "   " * depth, _STYLES.get(attempt.status, "dim")
            yield (
                Line((StyledSpan(indent),))
                + line(attempt.node)
                + Line((StyledSpan("  "),))
                + line(attempt.status, style)
            )
            for finding in attempt.findings[: attempt.status == "rejected"]:
                yield Line((StyledSpan(f"{indent}   "),)) + line(f"{finding.code}: {finding.message}", "red")
            if attempt.level:
                goes = f"{attempt.level} to {', '.join(attempt.targets)}, by {attempt.rule}"
                yield Line((StyledSpan(f"{indent}   => "),)) + line(goes, "cyan")


_STYLES: dict[str, Style] = {"accepted": "green", "rejected": "red"}


def tree_of(state: State) -> AttemptTree:
    """Return all attempts of a run."""
    return AttemptTree(map(_attempt, state.nodes.values()))


def _attempt(node: Node) -> TreeAttempt:
    verdict, decision = node.verdict, node.decision
    return TreeAttempt(
        node=node.node,
        step=node.step,
        visit=node.visit,
        number=node.attempt,
        branch=node.branch,
        parents=node.parents,
        previous=node.previous,
        status=str(node.status),
        artifact=node.artifact,
        score=None if verdict is None else verdict.score,
        findings=() if verdict is None else tuple(verdict.findings),
        level=None if decision is None else str(decision.level),
        targets=() if decision is None else decision.targets,
        rule="" if decision is None else decision.rule,
    )
