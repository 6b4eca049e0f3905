"""The draft of a run that ended without a plan: the best plan that it has written, and what it still lacks. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from actors.demands.table import DemandStanding, DemandTable
from actors.planning.events import PlanningOutcome
from actors.planning.state import Node, State
from actors.run.result import DemandJson
from actors.values.findings import Code, Finding, finding_line
from actors.values.format import format_count, quote_names
from runtime.models.replies import Parsed


class DraftFindingJson(TypedDict):
    """A finding that rejects the draft."""

    code: str
    """Its code, such as `plan.cycle`."""
    message: str
    """What is wrong, in words."""
    where: str
    """A path into the plan, or the id of a step; may be empty."""
    takes: str
    """What settles it."""


class DraftJson(TypedDict):
    """The best plan of a run that ended without a plan. It is not proved."""

    proved: Literal[False]
    """Always false."""
    node: str
    """The attempt that made it."""
    guard: str
    """The guard that judged it."""
    score: float
    """The guard's score, from 0 to 1."""
    plan: dict[str, Any]
    """The draft as the model wrote it."""
    findings: list[DraftFindingJson]
    """The errors that are left."""
    demands: NotRequired[list[DemandJson]]
    """What the draft does about each demand; missing if the user's texts or the draft cannot be compared."""
    unread: NotRequired[list[str]]
    """The parts of the user's texts that were not read."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The best plan of a run that ended without a plan. It is not proved."""

    node: str
    """The id of the attempt that made it."""
    guard: str
    """The name of the guard that judged it."""
    score: float
    """The guard's score, from 0 to 1."""
    plan_json: Mapping[str, Any]
    """The draft as the model wrote it, as a JSON value."""
    findings: tuple[Finding, ...]
    """The errors that are left; empty if only a later step or a later requirement stands against it."""
    demands: DemandTable | None = None
    """What it does about each demand of the user; None for a child run, and for a draft that is no readable plan."""

    def __repr__(self) -> str:
        return f"<Draft {self.node}: {self.summary}>"

    @property
    def summary(self) -> str:
        """That it is not proved, what is left, and how many demands it covers, without a full stop."""
        text = f"not proved, {format_count(len(self.findings), 'finding')} left"
        if self.demands is None or not self.demands.rows:
            return text
        rows = self.demands.rows
        open_ones = (DemandStanding.IN_NO_STEP, DemandStanding.DECLARED)
        covered = sum(row.standing not in open_ones for row in rows)
        return f"{text}; it covers {covered} of {format_count(len(rows), 'demand')}"

    def to_json(self) -> dict[str, Any]:
        """Return the draft as plain data, with the keys of `DraftJson`."""
        return {
            "proved": False,
            "node": self.node,
            "guard": self.guard,
            "score": self.score,
            "plan": self.plan_json,
            "findings": [
                {"code": item.code, "message": item.message, "where": item.where, "takes": remedy_of(item)}
                for item in self.findings
            ],
            **({} if self.demands is None else self.demands.to_json()),
        }

    def to_file(self, run_id: str) -> dict[str, Any]:
        """Return the object that `export --draft` writes. The first key says that the plan is not proved.

        `replan check` reads the plan in it.
        """
        return {
            "not_proved": f"A draft of run {run_id}: {self.summary}.",
            "findings": [f"{finding_line(item)} It takes {remedy_of(item)}." for item in self.findings],
            "plan": self.plan_json,
        }


def best_draft(state: State) -> Node | None:
    """Return the attempt with the best draft of a run that has ended without a plan; None if it wrote no plan.

    Only attempts at the last step that wrote plans count. The highest score is the best; among equal scores the one
    with the fewest errors, then the latest.
    """
    if state.end is None or state.end.outcome == PlanningOutcome.SUCCESS:
        return None
    places = {step: number for number, step in enumerate(state.latest.progress)}
    best: tuple[tuple[int, float, int], Node] | None = None
    for node in state.nodes.values():
        if state.config.roles.get(node.step) == "plan" and node.verdict is not None and plan_of(node) is not None:
            rank = (places[node.step], node.verdict.score, -len(node.verdict.errors))
            if best is None or rank >= best[0]:
                best = rank, node
    return None if best is None else best[1]


def plan_of(node: Node) -> Mapping[str, Any] | None:
    """Return the plan that an attempt has made, as JSON; None if it is no object with steps."""
    value = None if node.artifact is None else node.artifact.value
    plan = value.value if isinstance(value, Parsed) else None
    return plan if isinstance(plan, dict) and isinstance(plan.get("steps"), list) else None


def remedy_of(finding: Finding) -> str:
    """Return what settles an error of a plan, as a noun phrase without a full stop."""
    if finding.asks is not None or finding.askable:
        return "your answer to the question"
    names = quote_names(finding.tokens) if finding.tokens else "what is missing"
    place = f" at {finding.where}" if finding.where else ""
    text = _REMEDIES.get(finding.code)
    if text is not None:
        return text.format(names=names, place=place)
    return f"a valid value{place}" if finding.code.startswith("field.") else f"a change{place or ' of the plan'}"


_MAKER: Sequence[Code] = (Code.GOAL_UNREACHABLE, Code.PRECONDITION_UNSATISFIED)
_ORDERED: Sequence[Code] = (Code.PRECONDITION_DELETED, Code.GOAL_DELETED)
_FEWER: Sequence[Code] = (Code.BUDGET_OVER_TOTAL, Code.BUDGET_OVER_R_MAX)
_REMEDIES: Mapping[str, str] = {
    **dict.fromkeys(_MAKER, "a step that makes {names} in time, or a plan that does not need it"),
    **dict.fromkeys(_ORDERED, "a step that makes {names} again, or another order of the steps"),
    **dict.fromkeys(_FEWER, "smaller retry budgets"),
    Code.PRECONDITION_UNORDERED: "a dependency{place} on the step that makes {names}",
    Code.NO_STEPS: "at least one step",
    Code.DUPLICATE_ID: "another id for one of the steps{place}",
    Code.UNKNOWN_DEPENDENCY: "the id of a step of the plan{place}",
    Code.UNKNOWN_TARGET: "the id of a step of the plan{place}",
    Code.CYCLE: "one dependency less in the cycle{place}",
    Code.UNKNOWN_GUARD: "a guard{place} that the workflow allows",
    Code.UNBOUND: "a tool for the name{place}, or another name",
    Code.DEAD_END: "a way on after the failure{place}",
    Code.ASSURANCE_TOO_LOW: "a way to the goal after each failure, or a lower `assurance`",
    Code.NO_UNDO: "an `undo`{place}",
    Code.UNCOVERED: "a step that satisfies the requirement{place}",
    Code.DEMAND_IN_NO_STEP: "a step for the demand{place}",
    Code.VIOLATED: "another way than the one that is forbidden{place}",
}
