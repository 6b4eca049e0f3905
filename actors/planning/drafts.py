"""The draft of a run that ended without a plan: the best plan that it wrote, and what this plan lacks. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from actors.config.workflow import Workflow
from actors.demands.table import DemandStanding, DemandTable, TableRow
from actors.guards.plan_settings import Settings
from actors.planning.events import PlanningOutcome
from actors.planning.state import Node, State
from actors.run.advice import draft_command
from actors.run.result import DemandJson
from actors.values.findings import Code, Finding, Verdict, finding_line
from actors.values.format import format_count, quote_names
from runtime.models.replies import Parsed


class DraftFindingJson(TypedDict):
    """A finding that rejects the draft."""

    code: str
    """The finding's code, such as `plan.cycle`."""
    message: str
    """The error, in words."""
    where: str
    """A path in the plan, or a step's id; may be empty."""
    takes: str
    """The remedy, in words."""


class DraftJson(TypedDict):
    """The best plan of a run that ended without a plan. The draft is not proved."""

    proved: Literal[False]
    """Always false."""
    node: str
    """The attempt that made the draft."""
    guard: str
    """The guard that judged the draft; empty if no guard did."""
    score: float
    """The guard's score, from 0 to 1; 0 if no guard has judged the draft."""
    plan: dict[str, Any]
    """The draft as the model wrote it."""
    findings: list[DraftFindingJson]
    """The remaining errors."""
    demands: NotRequired[list[DemandJson]]
    """How the draft treats each demand; absent if the user's texts or the draft cannot be compared."""
    unread: NotRequired[list[str]]
    """The parts of the user's texts that were not read."""


@dataclass(frozen=True, slots=True)
class Draft:
    """The best plan of a run that ended without a plan. The draft is not proved."""

    node: str
    guard: str
    score: float
    """The guard's score, from 0 to 1; 0 if no guard has judged the draft."""
    plan_json: Mapping[str, Any]
    findings: tuple[Finding, ...]
    """The remaining errors; empty if the run ended before a verdict, or for a reason outside the plan."""
    options: str = ""
    """The options with which `replan check` judges the draft like the run, such as `--level expansive`; empty if none
    are needed.
    """
    demands: DemandTable | None = None
    """How the draft treats each demand of the user; None for a child run, and if the draft cannot be read as a plan."""
    editable: bool = False
    """Whether `replan edit` opens the draft: the last plan step made the draft, and the run is not a child run."""

    def __repr__(self) -> str:
        return f"<Draft {self.node}: {self.summary}>"

    @property
    def summary(self) -> str:
        """What the draft lacks and how many demands it covers, as a clause without a full stop."""
        left = format_count(len(self.findings), "finding") if self.findings else "no finding"
        text = f"not proved, {left} left" if self.guard else "not proved, not judged"
        if self.demands is None or not self.demands.rows:
            return text
        covered = len(self.demands.rows) - len(self.uncovered)
        return f"{text}; it covers {covered} of {format_count(len(self.demands.rows), 'demand')}"

    @property
    def uncovered(self) -> tuple[TableRow, ...]:
        """The demands that are in no step, and the demands that nothing checks."""
        open_ones = (DemandStanding.IN_NO_STEP, DemandStanding.DECLARED)
        rows = () if self.demands is None else self.demands.rows
        return tuple(row for row in rows if row.standing in open_ones)

    def commands(self, run_id: str, program: str) -> tuple[str, str]:
        """Return two commands: one writes the draft to a file, the other checks the file."""
        return draft_command(run_id, program), f"{program} check draft.json {self.options}".rstrip()

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

        `replan check` reads the plan in this object.
        """
        return {
            "not_proved": f"A draft of run {run_id}: {self.summary}.",
            "findings": [f"{finding_line(item)} Needed: {remedy_of(item)}." for item in self.findings],
            "plan": self.plan_json,
        }


def best_draft(state: State) -> tuple[Node, Verdict | None] | None:
    """Return the attempt with the best draft of a run that has ended without a plan, and the verdict on it.

    The result is None if the run has not ended, has a plan, or wrote no plan. Only attempts at the last step that wrote
    plans count. The highest score is best. Among equal scores, the fewest errors decide, then the latest attempt. A
    plan without a verdict is chosen only if no plan has a verdict.
    """
    if state.end is None or state.end.outcome == PlanningOutcome.SUCCESS:
        return None
    places = {step: number for number, step in enumerate(state.latest.progress)}
    best: tuple[tuple[int, bool, float, int], Node, Verdict | None] | None = None
    for node in state.nodes.values():
        if state.config.roles.get(node.step) == "plan" and plan_of(node) is not None:
            verdict = node.verdict or state.reviews.get(node.node)
            rank = (places[node.step], False, 0.0, 0)
            if verdict is not None:
                rank = (places[node.step], True, verdict.score, -len(verdict.errors))
            if best is None or rank >= best[0]:
                best = rank, node, verdict
    return None if best is None else best[1:]


def plan_steps(state: State) -> list[str]:
    """Return the steps that make a plan, in their order. The last of these steps makes the plan of the run."""
    return [step for step in state.config.workflow.graph.order if state.config.roles[step] == "plan"]


def plan_of(node: Node) -> Mapping[str, Any] | None:
    """Return the plan that an attempt has made, as JSON; None if the artifact is not an object with steps."""
    value = None if node.artifact is None else node.artifact.value
    plan = value.value if isinstance(value, Parsed) else None
    return plan if isinstance(plan, dict) and isinstance(plan.get("steps"), list) else None


def check_options(level: str, workflow: Workflow) -> str:
    """Return the options with which `replan check` judges a plan like a run.

    `level` is the level of the plan guard; empty if the guard has no level.
    """
    options = [f"--level {level}"] if level not in ("", "medium") else []
    if level == "expansive" and workflow.assurance != "strong_cyclic":
        options.append(f"--assurance {workflow.assurance}")
    if workflow.r_max != Settings().r_max:
        options.append(f"--r-max {workflow.r_max}")
    return " ".join([*options, *(f"--guard {name}" for name in workflow.guard_catalog)])


def remedy_of(finding: Finding) -> str:
    """Return the remedy for an error of a plan, as a noun phrase without a full stop."""
    if finding.askable:
        return "your answer to the question"
    names = quote_names(finding.tokens) if finding.tokens else "what is missing"
    place = f" at {finding.where}" if finding.where else ""
    if text := REMEDIES.get(finding.code):
        return text.format(names=names, place=place)
    return f"a valid value{place}" if finding.code.startswith("field.") else f"a change{place or ' of the plan'}"


_MAKER = "a step that makes {names} early enough, or a plan that does not need {names}"
_AGAIN = "a step that makes {names} again, or another order of the steps"
_KNOWN = "the id of a step of the plan{place}"
_RUNS = "a plan in which the step{place} can run, or a plan without the step"
_FEWER = "smaller retry budgets"
REMEDIES: Mapping[str, str] = {
    Code.NO_STEPS: "at least one step",
    Code.PLAN_TOO_LARGE: "a smaller plan",
    Code.DUPLICATE_ID: "another id for one of the steps{place}",
    Code.RESERVED_ID: "another id for the step{place}",
    Code.UNKNOWN_DEPENDENCY: _KNOWN,
    Code.UNKNOWN_TARGET: _KNOWN,
    Code.CYCLE: "one dependency fewer in the cycle{place}",
    Code.UNKNOWN_GUARD: "a guard{place} that the workflow allows",
    Code.BAD_BUDGET: "a retry budget within the limits{place}",
    Code.MIXED_REPEATABLE: "the same value of `repeatable` in all steps",
    Code.BAD_OUTCOME: "a different name for each outcome{place}",
    Code.STRATEGY_NOT_FOLLOWED: "a step that implements the strategy's key step{place}",
    Code.UNBOUND: "a tool for the name{place}, or another name",
    Code.INITIAL_UNDEFINED: "the tokens that hold at the start{place}",
    Code.GOAL_UNDEFINED: "the tokens that must hold at the end{place}",
    Code.PRECONDITION_UNSATISFIED: _MAKER,
    Code.PRECONDITION_UNORDERED: "a dependency{place} on the step that makes {names}",
    Code.PRECONDITION_DELETED: _AGAIN,
    Code.GOAL_UNREACHABLE: _MAKER,
    Code.GOAL_DELETED: _AGAIN,
    Code.BLOCKED_DEPENDENCY: _RUNS,
    Code.FAILURE_UNREACHABLE: _RUNS,
    Code.BUDGET_OVER_TOTAL: _FEWER,
    Code.BUDGET_OVER_R_MAX: _FEWER,
    Code.DEAD_END: "a step that can run after the failure{place}",
    Code.INVARIANT_BROKEN: "steps that keep the invariant{place}",
    Code.ASSURANCE_TOO_LOW: "a way to the goal after each failure, or a lower `assurance`",
    Code.TOO_COMPLEX: "fewer steps, or fewer steps that can fail",
    Code.NO_UNDO: "an `undo`{place}",
    Code.CRITIQUE_IGNORED: "the changes that the critique asks for",
    Code.EVIDENCE_MISSING: "a name{place} that is found in the problem or the files",
    Code.UNCOVERED: "a step that satisfies the requirement{place}",
    Code.VIOLATED: "a plan without what the requirement forbids{place}",
    Code.GOAL_CYCLE: "goals that do not depend on each other",
    Code.DEMAND_IN_NO_STEP: "a step for the demand{place}",
    Code.REVIEW_REJECTED: "the changes that the review asks for",
}
