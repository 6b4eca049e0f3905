"""The search tree for people: every attempt, and for every step back the finding, the rule, how far, and the cost."""

from typing import Any

from rich.text import Text
from rich.tree import Tree

from actors.planning.call_events import FailureClassified
from actors.policy.decide import Decision
from actors.values.findings import Finding
from replan.views.attempts import Attempt, roots
from replan.views.console import line
from replan.views.format import counted, spent
from runtime.core.ledger import ZERO

FINDINGS_MAX = 3
"""Findings under one attempt; the rest are counted."""

_STYLES = {"accepted": "green", "rejected": "red", "superseded": "dim", "pending": "yellow"}
_SAID = {"superseded": "accepted", "pending": "under way"}


def search_tree(title: str, found: list[Attempt], *, brief: bool = False) -> Tree:
    """Return the tree. `brief` leaves out what only a reader with time wants: the warnings, and the rules' reasons."""
    tree = Tree(line(title, "bold"), guide_style="dim")
    for branch in roots(found):
        _grow(tree, branch, brief=brief)
    return tree


def _grow(tree: Tree, branch: tuple[Attempt, list[Any]], *, brief: bool) -> None:
    attempt, below = branch
    grown = tree.add(_label(attempt))
    for text in _explained(attempt, brief=brief):
        grown.add(text)
    for child in below:
        _grow(grown, child, brief=brief)


def _label(attempt: Attempt) -> Text:
    node = attempt.node
    text = line(node.node)
    text.append(f"  {_said(attempt)}", style=_STYLES[node.status])
    if node.verdict is not None:
        score = "" if node.verdict.passed else f", score {node.verdict.score:.2f}"
        text.append(" ").append_text(line(f"by {node.verdict.guard}{score}", "dim"))
    if attempt.child is not None:
        text.append(", ").append_text(line(f"run {attempt.child}", "dim"))
    if node.status == "superseded" and node.verdict is not None:
        text.append(", made void later", style="dim")
    if attempt.used.tokens or attempt.used.calls > 1:
        text.append(f" ({spent(attempt.used, known=attempt.cost_known).removeprefix('1 call, ')})", style="dim")
    if attempt.unknown != ZERO:
        text.append(f" (charged as unknown: {spent(attempt.unknown, known=attempt.cost_known)})", style="yellow")
    if node.repeats is not None:
        text.append(" ").append_text(line(f"repeats {node.repeats}", "yellow"))
    return text


def _said(attempt: Attempt) -> str:
    node = attempt.node
    if node.status == "pending" and attempt.over:
        return "without a verdict"
    if attempt.reviewed:
        return "left to a person's review"
    if node.status == "pending" and attempt.rests:
        return "interrupted" if node.artifact is None else "not judged yet"
    if node.status == "superseded" and node.verdict is None:
        return "withdrawn"
    return _SAID.get(node.status, node.status)


def _explained(attempt: Attempt, *, brief: bool) -> list[Text]:
    findings = [one for one in attempt.findings if one.severity == "error" or not brief]
    lines = [line(finding_line(one), "red" if one.severity == "error" else "yellow") for one in findings[:FINDINGS_MAX]]
    if len(findings) > FINDINGS_MAX:
        lines.append(line(f"and {counted(len(findings) - FINDINGS_MAX, 'more finding')}", "dim"))
    if attempt.node.decision is not None:
        lines += [line(text, "cyan") for text in _decided(attempt, brief=brief)]
    return lines


def finding_line(finding: Finding) -> str:
    """Return a finding as one line."""
    place = f" at {finding.where}" if finding.where else ""
    warning = "warning: " if finding.severity == "warning" else ""
    return f"{warning}{finding.code}{place}: {finding.message}"


def _decided(attempt: Attempt, *, brief: bool) -> list[str]:
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
    if decision.wanted is not None:
        lines.append(f"the rule wanted {', '.join(decision.wanted)}; its visits are used up")
    if node.cleared:
        lines.append(f"cleared {', '.join(node.cleared)}; thrown away: {_wasted(attempt)}")
    return lines


def _classified(said: FailureClassified, decision: Decision) -> str:
    """Say what a classifier answered, and whether it counted."""
    if said.cause is None:
        return "a model was asked for the cause and gave no code; the table decides"
    heeded = "which selects the rule" if decision.classified else "so the table decides"
    return f"a model was asked for the cause: {said.cause}, {heeded}"


def _wasted(attempt: Attempt) -> str:
    return spent(attempt.wasted, known=attempt.cost_known)
