"""The search of a planning run as data: its attempts with results and costs, and its branches. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from actors.planning.events import ArtifactProduced, BranchOpened, BranchPruned, Decided, PlanningEvent, Revised
from actors.planning.state import Node, State
from actors.policy.decision import Decision
from actors.policy.table import BacktrackLevel
from actors.run.calls import Settled
from actors.run.ids import child_run, node_of
from actors.values.artifacts import Artifact
from actors.values.findings import Finding
from actors.values.format import format_count
from actors.values.lines import Line, Style, StyledSpan, html_of, line, markdown_of
from runtime.core.events import Record
from runtime.core.ledger import MICRO, ZERO, Amount
from runtime.models.replies import Parsed


@dataclass(frozen=True, slots=True)
class TreeAttempt:
    """One attempt at one step: a node of the search tree."""

    node: str
    step: str
    visit: int
    number: int
    branch: int
    parents: tuple[str, ...]
    previous: str | None
    status: str
    """`pending` before the verdict, then `accepted` or `rejected`; `superseded` if a replan has made the attempt void.
    """
    artifact: Artifact | None = field(repr=False)
    score: float | None
    """The guard's score, from 0 to 1; None before the verdict."""
    findings: tuple[Finding, ...]
    level: str | None
    """The level of the decision after the rejection, such as `partial_replan`; None without a decision."""
    targets: tuple[str, ...]
    rule: str
    afresh: bool = False
    """Whether the steps are done again without earlier rejections in their prompts."""

    @property
    def value(self) -> Any:
        """The artifact's JSON value, or its text if it is not JSON; None if there is no artifact."""
        if self.artifact is None:
            return None
        value = self.artifact.value
        return value.value if isinstance(value, Parsed) else self.artifact.content


class AttemptTree(tuple[TreeAttempt, ...]):
    """All attempts of a run in their order. The `parents` of the attempts make them a tree."""

    __slots__ = ()

    def __repr__(self) -> str:
        rejected = sum(attempt.status == "rejected" for attempt in self)
        return f"<AttemptTree: {format_count(len(self), 'attempt')}, {rejected} rejected>"

    def _repr_html_(self) -> str:
        return html_of(self.lines())

    def _repr_markdown_(self) -> str:
        return markdown_of(self.lines())

    def lines(self) -> Iterator[Line]:
        """Yield a line for each attempt, indented below its parents. A rejected attempt also has its first finding."""
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
                level = f"{attempt.level} afresh" if attempt.afresh else attempt.level
                goes = f"{level} to {', '.join(attempt.targets)}, by {attempt.rule}"
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
        afresh=decision is not None and decision.afresh,
    )


_BUILT_IN_RULES = {
    "linear": "A linear search never goes back.",
    "blind": "A blind search goes one level up, whatever the findings say.",
    "e_max": "The step has reached its limit of escalations.",
}
"""A mapping from the id of each built-in rule to the rule's explanation. All other rules are rows of the policy."""


class AttemptView(NamedTuple):
    """One attempt at one step: its node in the state, and facts that the state does not contain."""

    node: Node
    parent: str | None
    why: str = ""
    wasted: Amount = ZERO
    """The cost of the attempts that the rejection made void, including the rejected attempt."""
    cost_known: bool = False
    """Whether the model's price is known. If not, costs are not shown in dollars."""
    late: Amount = ZERO
    """The cost of replies that came after the withdrawal of their request. `Node.used` does not contain this cost."""
    unknown: Amount = ZERO
    """The charge for tries with an unknown cost. `Node.used` and `late` do not contain this charge."""
    reviewed: bool = False
    over: bool = False
    rests: bool = False
    """Whether no process drives the run now, because it is parked, interrupted or finished."""
    child: str | None = None

    @property
    def used(self) -> Amount:
        """The cost of all replies of the attempt, including late replies."""
        return self.node.used + self.late

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the attempt's verdict; empty without a verdict."""
        return self.node.verdict.findings if self.node.verdict is not None else ()

    @property
    def went_back(self) -> bool:
        """Whether the search left this step after its rejection, for another step or for a question to a person."""
        decision = self.node.decision
        return decision is not None and decision.level not in (BacktrackLevel.LOCAL_RETRY, BacktrackLevel.GIVE_UP)

    def to_json(self) -> dict[str, Any]:
        """Return the attempt as plain data."""
        node, verdict, decision = self.node, self.node.verdict, self.node.decision
        return {
            "node": node.node,
            "step": node.step,
            "visit": node.visit,
            "attempt": node.attempt,
            "parent": self.parent,
            "parents": list(node.parents),
            "previous": node.previous,
            "repeats": node.repeats,
            "status": node.status,
            "child": self.child,
            "guard": verdict.guard if verdict else None,
            "score": verdict.score if verdict else None,
            "findings": [finding.model_dump(mode="json", exclude_defaults=True) for finding in self.findings],
            "classification": self._classification(),
            "decision": self._decision(decision) if decision else None,
            **_amount(self.used, known=self.cost_known),
            "unknown": _amount(self.unknown, known=self.cost_known),
        }

    def _classification(self) -> dict[str, Any] | None:
        classification = self.node.classification
        if classification is None:
            return None
        cost = _amount(classification.used, known=self.cost_known)
        return {"cause": classification.cause, "content": classification.content, **cost}

    def _decision(self, decision: Decision) -> dict[str, Any]:
        return {
            "level": str(decision.level),
            "targets": list(decision.targets),
            "wanted": None if decision.wanted is None else list(decision.wanted),
            **({"afresh": True} if decision.afresh else {}),
            "rule": decision.rule,
            "why": self.why,
            "code": decision.code,
            "cleared": list(self.node.cleared),
            "cost": _amount(self.wasted, known=self.cost_known),
            **({} if decision.weighing is None else {"weighing": decision.weighing.model_dump(mode="json")}),
        }


def attempts(
    state: State,
    records: Sequence[Record[PlanningEvent]] = (),
    *,
    interrupted: bool = False,
    live: bool = False,
) -> list[AttemptView]:
    """Return the attempts in the order of their requests.

    The costs of backtracks and of late replies are read from the records. `interrupted` says that the run has lost its
    driver, so its open requests may have been charged. `live` says that the run has a driver. The driver waits for open
    requests even while it parks the run.
    """
    wasted, late = _wasted_cost(state, records), _late_costs(records)
    rests = interrupted or (state.run.parked and not live) or state.run.finished is not None
    unknown = _unknown_costs(state, rests=rests)
    price_known = state.config.price_known
    places = {name: position for position, name in enumerate(state.nodes)}
    reasons = {**_BUILT_IN_RULES, **{row.id: row.why for row in state.config.policy.rows}}
    return [
        AttemptView(
            node=node,
            # The newest artifact that the attempt builds on.
            parent=max(node.parents, key=lambda parent: places.get(parent, -1), default=None),
            why="" if node.decision is None else reasons.get(node.decision.rule, ""),
            wasted=wasted.get(node.node, ZERO),
            cost_known=price_known,
            late=late.get(node.node, ZERO),
            unknown=unknown.get(node.node, ZERO),
            reviewed=node.node in state.reviews,
            over=state.run.finished is not None,
            rests=rests,
            child=child_run(state.run.run_id, node.node) if state.config.child_of(node.step) else None,
        )
        for node in state.nodes.values()
    ]


def roots(views: Sequence[AttemptView]) -> list[tuple[AttemptView, list[Any]]]:
    """Return the attempts as trees. A tree is a pair: an attempt, and the list of the trees below the attempt."""
    pairs: dict[str, tuple[AttemptView, list[Any]]] = {attempt.node.node: (attempt, []) for attempt in views}
    top: list[tuple[AttemptView, list[Any]]] = []
    for attempt in views:
        parent = pairs.get(attempt.parent or "")
        (top if parent is None else parent[1]).append(pairs[attempt.node.node])
    return top


def _wasted_cost(state: State, records: Iterable[Record[PlanningEvent]]) -> dict[str, Amount]:
    valid: dict[tuple[int, str], list[str]] = {}
    costs: dict[str, Amount] = {}
    cause = ""
    for record in records:
        match record.event:
            case ArtifactProduced(node=node):
                valid.setdefault((state.nodes[node].branch, state.nodes[node].step), []).append(node)
            case Decided(decision=decision):
                cause = decision.node
            case Revised(cleared=cleared, branch=branch):
                void = [key for key in valid if key[1] in cleared and branch in (None, key[0])]
                void_nodes = [node for key in void for node in valid.pop(key)]
                costs[cause] = sum((state.nodes[node].used for node in void_nodes), costs.get(cause, ZERO))
            case _:
                pass
    return costs


def _late_costs(records: Iterable[Record[PlanningEvent]]) -> dict[str, Amount]:
    events = (record.event for record in records)
    return _sum_by_node((event.request_id, event.used) for event in events if isinstance(event, Settled))


def _unknown_costs(state: State, *, rests: bool) -> dict[str, Amount]:
    """Return for each node the charges whose real cost is unknown.

    If no process drives the run, open requests are included.
    """
    ledger = state.run.ledger
    return _sum_by_node((*ledger.forfeited.items(), *(ledger.reserved.items() if rests else ())))


def _sum_by_node(amounts: Iterable[tuple[str, Amount]]) -> dict[str, Amount]:
    sums: dict[str, Amount] = {}
    for request, amount in amounts:
        node = node_of(request)
        sums[node] = sums.get(node, ZERO) + amount
    return sums


def _amount(amount: Amount, *, known: bool) -> dict[str, Any]:
    return {
        "calls": amount.calls,
        "tokens": amount.tokens,
        "cost_usd": amount.micro_usd / MICRO if known else None,
    }


class BranchStory(NamedTuple):
    """The facts about one branch, from its opening to its end."""

    branch: int
    parent: int | None
    kept: tuple[str, ...]
    opened: str
    calls: int
    cause: str = ""
    pruned: str = ""
    won: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the branch as plain data."""
        fields = {"kept": list(self.kept), "cause": self.cause or None, "pruned": self.pruned or None}
        return self._asdict() | fields


def branch_stories(state: State, records: Iterable[Record[PlanningEvent]]) -> list[BranchStory]:
    """Return the branches in the order of their opening; empty if there is only one branch."""
    if len(state.branches) == 1:
        return []
    calls = [branch.calls for branch in state.branches]
    stories = {0: BranchStory(0, None, (), "the search begins here", calls[0])}
    for record in records:
        match record.event:
            case BranchOpened() as event:
                number = event.branch
                stories[number] = BranchStory(number, event.parent, event.kept, event.why, calls[number])
            case BranchPruned() as event:
                stories[event.branch] = stories[event.branch]._replace(cause=str(event.cause), pruned=event.why)
            case _:
                pass
    if state.end is not None and state.end.outcome == "success":
        winner = state.end.branch
        stories[winner] = stories[winner]._replace(won=True)
    return list(stories.values())
