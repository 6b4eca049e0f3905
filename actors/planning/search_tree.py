"""The search tree for people: every attempt, and for every step back the finding, the rule, how far, and the cost."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from actors.planning.attempts import AttemptView, roots
from actors.planning.events import BranchOpened, BranchPruned, FailureClassified, PlanningEvent
from actors.planning.state import State
from actors.policy.belief_choice import Weighing, counted_calls
from actors.policy.decision import Decision
from actors.values.findings import finding_line
from actors.values.format import counted, spent
from actors.values.lines import Line, LineTree, Style, StyledSpan, line
from runtime.core.events import Record
from runtime.core.ledger import ZERO

FINDINGS_MAX = 3
"""Findings under one attempt; the rest are counted."""

_STYLES: Mapping[str, Style] = {"accepted": "green", "rejected": "red", "superseded": "dim", "pending": "yellow"}
_STATUS_WORDS = {"superseded": "accepted", "pending": "under way"}


def search_tree(title: str, views: list[AttemptView], *, brief: bool = False) -> LineTree:
    """Return the attempts as a tree of lines; `brief` leaves out the warnings and the reasons of the rules."""
    return LineTree(line(title, "bold"), tuple(_subtree(branch, brief=brief) for branch in roots(views)))


def _subtree(branch: tuple[AttemptView, list[Any]], *, brief: bool) -> LineTree:
    attempt, children = branch
    explanation = [LineTree(text) for text in _explanation(attempt, brief=brief)]
    below = (*explanation, *(_subtree(child, brief=brief) for child in children))
    return LineTree(_label(attempt), below, key=attempt.node.node)


def _label(attempt: AttemptView) -> Line:
    node = attempt.node
    spans = [*line(node.node).spans, StyledSpan(f"  {_status_word(attempt)}", _STYLES[node.status])]
    if node.verdict is not None:
        score = "" if node.verdict.passed else f", score {node.verdict.score:.2f}"
        spans += [StyledSpan(" "), *line(f"by {node.verdict.judges}{score}", "dim").spans]
    if attempt.child is not None:
        spans += [StyledSpan(", "), StyledSpan(f"run {attempt.child}", "dim", attempt.child)]
    if node.status == "superseded" and node.verdict is not None:
        spans.append(StyledSpan(", made void later", "dim"))
    if attempt.used.tokens or attempt.used.calls > 1:
        cost = spent(attempt.used, known=attempt.cost_known).removeprefix("1 call, ")
        spans.append(StyledSpan(f" ({cost})", "dim"))
    if attempt.unknown != ZERO:
        cost = spent(attempt.unknown, known=attempt.cost_known)
        spans.append(StyledSpan(f" (charged as unknown: {cost})", "yellow"))
    if node.repeats is not None:
        spans += [StyledSpan(" "), *line(f"repeats {node.repeats}", "yellow").spans]
    return Line(tuple(spans))


def _status_word(attempt: AttemptView) -> str:
    node = attempt.node
    if node.status == "pending" and attempt.over:
        return "without a verdict"
    if attempt.reviewed:
        return "left to a person's review"
    if node.status == "pending" and attempt.rests:
        return "interrupted" if node.artifact is None else "not judged yet"
    if node.status == "superseded" and node.verdict is None:
        return "withdrawn"
    return _STATUS_WORDS.get(node.status, node.status)


def _explanation(attempt: AttemptView, *, brief: bool) -> list[Line]:
    findings = [finding for finding in attempt.findings if finding.severity == "error" or not brief]
    lines = [
        line(finding_line(finding), "red" if finding.severity == "error" else "yellow")
        for finding in findings[:FINDINGS_MAX]
    ]
    if len(findings) > FINDINGS_MAX:
        lines.append(line(f"and {counted(len(findings) - FINDINGS_MAX, 'more finding')}", "dim"))
    if attempt.node.decision is not None:
        lines += [line(text, "cyan") for text in _decision_lines(attempt, brief=brief)]
    return lines


def _decision_lines(attempt: AttemptView, *, brief: bool) -> list[str]:
    decision, node = attempt.node.decision, attempt.node
    assert decision is not None
    target = f" to {', '.join(decision.targets)}" if attempt.went_back and decision.level != "clarify" else ""
    cause = f" because of {decision.code}" if decision.code else ""
    lines = [f"=> {decision.level}{target}{cause}, by rule {decision.rule}"]
    if brief:
        return lines
    if node.classification is not None:
        lines.insert(0, _classified(node.classification, decision))
    if attempt.why:
        lines[-1] += f": {attempt.why}"
    if decision.weighing is not None:
        lines.append(_weighed(decision.weighing))
    if decision.wanted is not None:
        lines.append(f"the rule wanted {', '.join(decision.wanted)}; its visits are used up")
    if node.cleared:
        lines.append(f"cleared {', '.join(node.cleared)}; thrown away: {_wasted(attempt)}")
    return lines


def _classified(classification: FailureClassified, decision: Decision) -> str:
    """Return what the classifier answered, and whether the decision used it."""
    if classification.cause is None:
        return "a model was asked for the cause and gave no code; the table decides"
    use = "which selects the rule" if decision.classified else "so the table decides"
    return f"a model was asked for the cause: {classification.cause}, {use}"


def _weighed(weighing: Weighing) -> str:
    """Return where the belief saw the mistake before and after the rejection, and the value of the two best moves."""
    places = ", ".join(f"{place.step} {place.before:.0%} -> {place.after:.0%}" for place in weighing.places)
    moves = [
        f"{' '.join((one.move, *one.targets))} {one.value:.2%} ({one.chance:.1%} in {counted_calls(one.calls)})"
        for one in weighing.options
    ]
    chosen = f"success per call: {', next best '.join(moves)}" if moves else "no move is left"
    return f"the mistake lies in {places}; {chosen}"


def _wasted(attempt: AttemptView) -> str:
    return spent(attempt.wasted, known=attempt.cost_known)


@dataclass(frozen=True, slots=True)
class BranchStory:
    """One branch, from its opening to its end."""

    branch: int
    """The branch's number, in the order of opening, from 0."""
    parent: int | None
    """The number of the branch that it was opened on; None where it began without artifacts."""
    kept: tuple[str, ...]
    """The steps whose artifacts it took from its parent."""
    opened: str
    """The reason for which it was opened, in words."""
    calls: int
    """The calls that are charged to it so far."""
    cause: str = ""
    """The reason for which it was pruned, as a code (`PruneCause`); empty while it lives."""
    pruned: str = ""
    """The same reason in words."""
    won: bool = False
    """Whether the run's plan is this branch's."""

    def to_json(self) -> dict[str, Any]:
        """Return the branch as plain data."""
        return {
            "branch": self.branch,
            "parent": self.parent,
            "kept": list(self.kept),
            "opened": self.opened,
            "calls": self.calls,
            "cause": self.cause or None,
            "pruned": self.pruned or None,
            "won": self.won,
        }


def branch_stories(state: State, records: Iterable[Record[PlanningEvent]]) -> list[BranchStory]:
    """Return the branches in the order in which they were opened; none for a search that has only one."""
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
                stories[event.branch] = replace(stories[event.branch], cause=str(event.cause), pruned=event.why)
            case _:
                pass
    if state.end is not None and state.end.outcome == "success":
        winner = state.end.branch
        stories[winner] = replace(stories[winner], won=True)
    return list(stories.values())


def branch_lines(stories: Iterable[BranchStory]) -> list[Line]:
    """Return a line for each branch."""
    return [_line(story) for story in stories]


def _line(story: BranchStory) -> Line:
    base = "" if story.parent is None else f" on branch {story.parent}"
    kept = f" with {', '.join(story.kept)}" if story.kept else ""
    text = line(f"branch {story.branch}{base}{kept}", "bold") + Line((StyledSpan(": "),))
    text += line(f"{story.opened}; {counted(story.calls, 'call')}")
    if story.won:
        return text + Line((StyledSpan("; "), StyledSpan("brought the plan", "green")))
    if story.cause:
        return text + Line((StyledSpan("; "),)) + line(f"pruned ({story.cause}): {story.pruned}", "yellow")
    return text
