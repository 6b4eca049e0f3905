"""The search as a list of attempts: who made what, what the guard said, and why the search went where it went. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from actors.planning.call_events import ArtifactProduced
from actors.planning.decision_event import Decided
from actors.planning.events import PlanningEvent, Revised
from actors.planning.state import Node, PlanningState, State
from actors.policy.decide import Decision
from actors.policy.table import BacktrackLevel
from actors.run.calls import Settled
from actors.run.ids import child_run, node_of
from actors.values.findings import Finding
from runtime.core.cost import MICRO
from runtime.core.events import Record
from runtime.core.ledger import ZERO, Amount

_BUILT_IN_RULES = {
    "linear": "A linear search never goes back.",
    "blind": "A blind search goes one level up, whatever was found.",
    "e_max": "The step has caused as many escalations as it may.",
}
"""The rules that are no rows of a policy."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt. `parent` is the attempt that it hangs under; `wasted` is what a backtrack made void, with itself.

    `late` is what replies cost that came after their request was withdrawn, `unknown` what is charged for tries whose
    bill nobody knows. `child` is the run that it is, if it is one. `reviewed` says that a person is to judge it, `over`
    that the run has finished, so that a verdict which is missing will not come; `rests` that nobody drives it now.
    """

    node: Node
    parent: str | None
    why: str = ""
    wasted: Amount = ZERO
    cost_known: bool = False
    late: Amount = ZERO
    unknown: Amount = ZERO
    reviewed: bool = False
    over: bool = False
    rests: bool = False
    child: str | None = None

    @property
    def used(self) -> Amount:
        """What its replies cost, the late ones too."""
        return self.node.used + self.late

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the guard found."""
        return self.node.verdict.findings if self.node.verdict is not None else ()

    @property
    def went_back(self) -> bool:
        """Whether the search left this step because of it."""
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
        said = self.node.classification
        if said is None:
            return None
        return {"cause": said.cause, "content": said.content, **_amount(said.used, known=self.cost_known)}

    def _decision(self, decision: Decision) -> dict[str, Any]:
        return {
            "level": str(decision.level),
            "targets": list(decision.targets),
            "wanted": None if decision.wanted is None else list(decision.wanted),
            "rule": decision.rule,
            "why": self.why,
            "code": decision.code,
            "cleared": list(self.node.cleared),
            "cost": _amount(self.wasted, known=self.cost_known),
        }


def attempts(
    state: PlanningState, records: Sequence[Record[PlanningEvent]] = (), *, interrupted: bool = False
) -> list[Attempt]:
    """Return the attempts in the order of their requests.

    What backtracks and late replies cost is read from the records. `interrupted` says that the run's driver is gone.
    """
    if not isinstance(state, State):
        return []
    wasted, late = _wasted(state, records), _late(records)
    rests = interrupted or state.run.parked or state.run.finished is not None
    unknown = _unknown(state, rests=rests)
    known = state.config.price is not None
    return [
        Attempt(
            node=node,
            parent=_parent(state, node),
            why=_why(state, node.decision),
            wasted=wasted.get(node.node, ZERO),
            cost_known=known,
            late=late.get(node.node, ZERO),
            unknown=unknown.get(node.node, ZERO),
            reviewed=node.node in state.reviews,
            over=state.run.finished is not None,
            rests=rests,
            child=child_run(state.run.run_id, node.node) if state.config.child_of(node.step) else None,
        )
        for node in state.nodes.values()
    ]


def roots(found: Sequence[Attempt]) -> list[tuple[Attempt, list[Any]]]:
    """Return the attempts as a forest: pairs of an attempt and such pairs under it."""
    branches: dict[str, tuple[Attempt, list[Any]]] = {one.node.node: (one, []) for one in found}
    top: list[tuple[Attempt, list[Any]]] = []
    for one in found:
        under = branches.get(one.parent or "")
        (under[1] if under is not None else top).append(branches[one.node.node])
    return top


def _parent(state: State, node: Node) -> str | None:
    """Return the newest of the artifacts that an attempt builds on: where the search was when it was made."""
    places = {name: place for place, name in enumerate(state.nodes)}
    return max(node.parents, key=lambda parent: places.get(parent, -1), default=None)


def _why(state: State, decision: Decision | None) -> str:
    if decision is None:
        return ""
    rows = {row.id: row.why for row in state.config.policy.rows}
    return rows.get(decision.rule, _BUILT_IN_RULES.get(decision.rule, ""))


def _wasted(state: State, records: Iterable[Record[PlanningEvent]]) -> dict[str, Amount]:
    """Return, by the rejected node, what the attempts cost that its replan made void."""
    standing: dict[tuple[int, str], list[str]] = {}
    found: dict[str, Amount] = {}
    cause = ""
    for record in records:
        match record.event:
            case ArtifactProduced(node=node):
                standing.setdefault((state.nodes[node].branch, state.nodes[node].step), []).append(node)
            case Decided(decision=decision):
                cause = decision.node
            case Revised(cleared=cleared, branch=branch):
                void = [key for key in standing if key[1] in cleared and branch in (None, key[0])]
                lost = [node for key in void for node in standing.pop(key)]
                found[cause] = sum((state.nodes[node].used for node in lost), found.get(cause, ZERO))
            case _:
                pass
    return found


def _late(records: Iterable[Record[PlanningEvent]]) -> dict[str, Amount]:
    found: dict[str, Amount] = {}
    for record in records:
        if isinstance(record.event, Settled):
            node = node_of(record.event.request_id)
            found[node] = found.get(node, ZERO) + record.event.used
    return found


def _unknown(state: State, *, rests: bool) -> dict[str, Amount]:
    """Return, by node, what may have been charged. A request that nobody waits for any more is one of these."""
    open_ones = state.run.ledger.reserved.items() if rests else ()
    found: dict[str, Amount] = {}
    for request, amount in (*state.run.ledger.forfeited.items(), *open_ones):
        node = node_of(request)
        found[node] = found.get(node, ZERO) + amount
    return found


def _amount(amount: Amount, *, known: bool) -> dict[str, Any]:
    return {
        "calls": amount.calls,
        "tokens": amount.tokens,
        "cost_usd": amount.micro_usd / MICRO if known else None,
    }
