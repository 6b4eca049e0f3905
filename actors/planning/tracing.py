"""The attempts, checks and decisions of a planning run, for traces and metrics. Pure."""

from collections.abc import Collection, Sequence

from actors.planning.decision_event import Decided
from actors.planning.events import (
    BranchOpened,
    BranchPruned,
    JudgementRequested,
    PlanningEvent,
    Revised,
    VerdictReached,
)
from actors.planning.ids import branch_of
from actors.run.ids import step_of
from actors.run.traced import CheckBegan, CheckEnded, Marked, Scalar, Traced, Tracing


def _attempt(node: str) -> str:
    return node if "/v" in node else ""


def _facts(event: PlanningEvent) -> Sequence[Traced]:
    match event:
        case JudgementRequested():
            return (CheckBegan(event.request_id, event.node, event.guard),)
        case VerdictReached(verdict=verdict):
            codes = tuple(dict.fromkeys(finding.code for finding in verdict.errors))
            score = verdict.score
            return (CheckEnded(event.request_id, event.node, verdict.guard, verdict.passed, score, codes),)
        case Decided():
            fields: dict[str, Scalar] = {"code": event.code, "targets": event.targets}
            return (Marked(f"decide {event.level}", event.node, fields, rule=event.rule, level=str(event.level)),)
        case Revised():
            tags = tuple(str(tag) for tag in event.tags)
            fields = {"revision": event.revision, "targets": event.targets}
            return (Marked(f"revise {event.level}", fields={**fields, "cleared": event.cleared, "tags": tags}),)
        case BranchOpened():
            return (Marked("open_branch", fields={"branch": event.branch, "kept": event.kept}),)
        case BranchPruned():
            return (Marked("prune_branch", fields={"branch": event.branch, "cause": str(event.cause)}),)
        case _:
            return ()


def _ended(event: PlanningEvent, attempts: Sequence[str]) -> Collection[str]:
    match event:
        case Decided():
            return (event.node,)
        case VerdictReached() if event.verdict.passed:
            return (event.node,)
        case Revised():
            cleared = [node for node in attempts if step_of(node) in event.cleared]
            return [node for node in cleared if event.branch is None or branch_of(node) == event.branch]
        case BranchPruned():
            return [node for node in attempts if branch_of(node) == event.branch]
        case _:
            return ()


TRACING: Tracing[PlanningEvent] = Tracing(_attempt, _facts, _ended)
"""What traces show of a planning run: an attempt is a call with its tries, its verdict and the decision about it."""
