"""Records of a planning run as text, in full for the log and in part for a live view. Pure."""

from collections.abc import Mapping
from typing import Any

from actors.guards import review
from actors.planning.call_events import ArtifactProduced, ClassificationRequested, FailureClassified
from actors.planning.decision_event import Decided
from actors.planning.events import (
    BranchOpened,
    BranchPruned,
    JudgementRequested,
    PlanningEvent,
    Revised,
    RunStarted,
    VerdictReached,
)
from actors.planning.search_tree import finding_line
from actors.planning.state import PlanningState, State
from actors.policy.table import REPLANS
from actors.run import records
from actors.run.ids import step_of
from actors.values.format import counted


def news_text(event: PlanningEvent, state: PlanningState) -> str:
    """Return the line that progress shows for an event, from the state after it; empty where it is no news."""
    match event:
        case ArtifactProduced() | JudgementRequested():
            return ""  # What follows from them is shown.
        case FailureClassified():
            return record_text(event, state)
        case Decided() if event.decision.level not in REPLANS:
            return ""  # The next lines show it.
    return "" if records.is_silent(event) else records.short_text(event) or record_text(event, state)


def record_text(event: PlanningEvent, state: PlanningState) -> str:
    """Return what happened, in one line that is not yet sanitised, from the state after it."""
    match event:
        case RunStarted():
            return f"run {event.run} started, {counted(event.limits.calls, 'call')} at most"
        case ClassificationRequested():
            return f"{event.request_id} asked for: why was {event.node} rejected? {event.rule} would go far back"
        case FailureClassified():
            return f"{event.node} classified: {event.cause or 'no code of the set'}"
        case ArtifactProduced():
            again = f", the same as {event.repeats}" if event.repeats else ""
            return f"{event.node} came after {event.elapsed:.1f} s, {counted(event.used.tokens, 'token')}{again}"
        case JudgementRequested():
            return f"{event.node} goes to {event.guard}"
        case VerdictReached():
            return _verdict(event, state)
        case Decided():
            return _decision(event)
        case Revised():
            return f"revision {event.revision}: cleared {', '.join(event.cleared) or 'nothing'}"
        case BranchOpened():
            parent = "" if event.parent is None else f" beside branch {event.parent}"
            kept = f", with {', '.join(event.kept)}" if event.kept else ""
            return f"branch {event.branch} opened{parent}{kept}: {event.why}"
        case BranchPruned():
            return f"branch {event.branch} pruned ({event.cause}): {event.why}"
        case _:
            return records.record_text(event, state)


def record_fields(event: PlanningEvent) -> Mapping[str, Any]:
    """Return an event as plain data without its time."""
    fields = records.record_fields(event)
    return {**fields, "targets": list(event.decision.targets)} if isinstance(event, Decided) else fields


def _verdict(event: VerdictReached, state: PlanningState) -> str:
    verdict, step = event.verdict, step_of(event.node)
    if isinstance(state, State) and review.is_open(state.config.workflow.effective_guard(step), verdict):
        return f"{event.node} left to a person's review"
    if verdict.passed:
        return f"{event.node} accepted by {verdict.judges}"
    first = finding_line(verdict.errors[0]) if verdict.errors else "no reason given"
    more = f" (and {len(verdict.errors) - 1} more)" if len(verdict.errors) > 1 else ""
    return f"{event.node} rejected by {verdict.guard}: {first}{more}"


def _decision(event: Decided) -> str:
    decision = event.decision
    target = f" to {', '.join(decision.targets)}" if decision.targets else ""
    return f"{decision.node} => {decision.level}{target}, by rule {decision.rule}"
