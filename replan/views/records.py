"""Records as lines for people: `line_of` says what happened; `news_of` only what somebody who waits wants to know."""

from typing import Any, assert_never

from actors.guards.review import left_open
from actors.planning.call_events import (
    ArtifactProduced,
    ClassificationRequested,
    FailureClassified,
    GenerationRequested,
    RequestReissued,
)
from actors.planning.config import RunConfig
from actors.planning.decision_event import Decided
from actors.planning.events import (
    BranchOpened,
    BranchPruned,
    JudgementRequested,
    PlanningEvent,
    Revised,
    RunFinished,
    RunStarted,
    VerdictReached,
)
from actors.policy.table import BacktrackLevel
from actors.run.calls import CallFailed, Settled
from actors.run.ids import step_of
from actors.run.inbox import MailRefused, NoteTold, RequirementTold
from actors.run.parking import RunParked, RunResumed
from actors.run.questions import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
)
from actors.run.waits import HOME_BUDGET, WaitEnded, WaitRequested
from actors.values.lines import Line, columns, line
from replan.views.format import counted, stamp
from replan.views.tree import finding_line
from runtime.core.events import Record

_SILENT = (
    ArtifactProduced,
    JudgementRequested,
    Settled,
    WaitEnded,
)
"""What follows from the lines before and after it, or is nobody's news."""

_WITHOUT = "its step goes on without an answer"

_FAR = (BacktrackLevel.PARTIAL_REPLAN, BacktrackLevel.FULL_REPLAN)
"""Decisions that the next lines do not say themselves."""


def news_of(event: PlanningEvent, config: RunConfig | None) -> str:
    """Return the line that progress shows for an event, or nothing; `config` is what its run is pinned to."""
    if isinstance(event, _SILENT):
        return ""
    if isinstance(event, WaitRequested) and event.node is None and event.request_id != HOME_BUDGET:
        return ""
    if isinstance(event, RunParked) and event.handover and event.why:
        return ""  # Whoever follows the run is told apart, with what to do.
    if isinstance(event, Decided) and event.decision.level not in _FAR:
        return ""
    if isinstance(event, RunFinished):
        return f"finished: {event.outcome}"  # Why is part of the result.
    return line_of(event, config)


def line_of(event: PlanningEvent, config: RunConfig | None) -> str:
    """Return what happened, in one line of text that is not yet sanitised; `config` is what its run is pinned to."""
    match event:
        case RunStarted():
            return f"run {event.run} started, {counted(event.limits.calls, 'call')} at most"
        case RunResumed():
            return "resumed"
        case RunParked():
            return f"parked: {event.why}" if event.why else "parked"
        case GenerationRequested():
            most = counted(event.tokens_max, "token") if event.calls <= 1 else counted(event.calls, "call")
            return f"{event.request_id} asked for, {most} at most"
        case ClassificationRequested():
            return f"{event.request_id} asked for: why was {event.node} rejected? {event.rule} would go far back"
        case FailureClassified():
            return f"{event.node} classified: {event.cause or 'no code of the set'}"
        case RequestReissued():
            return f"{event.again.request_id} asked for again, {event.replaces} was interrupted"
        case ArtifactProduced():
            again = f", the same as {event.repeats}" if event.repeats else ""
            return f"{event.node} came after {event.elapsed:.1f} s, {counted(event.used.tokens, 'token')}{again}"
        case CallFailed():
            return f"{event.request_id} brought no reply: {event.fault.kind}: {event.fault.message}"
        case JudgementRequested():
            return f"{event.node} goes to {event.guard}"
        case VerdictReached():
            return _verdict(event, config)
        case Decided():
            return _decision(event)
        case Revised():
            return f"revision {event.revision}: cleared {', '.join(event.cleared) or 'nothing'}"
        case BranchOpened() | BranchPruned():
            return _branch(event)
        case _:
            return _other(event)


def _other(
    event: ClarificationRequested
    | ClarificationAnswered
    | ClarificationDeclined
    | ClarificationWithdrawn
    | ClarificationExpired
    | NoteTold
    | RequirementTold
    | WaitRequested
    | WaitEnded
    | Settled
    | MailRefused
    | RunFinished,
) -> str:
    match event:
        case ClarificationRequested():
            return f"question {event.question_id} ({event.why}): {event.text}"
        case ClarificationAnswered():
            return f"question {event.question_id} answered"
        case ClarificationDeclined():
            return f"question {event.question_id} declined; {_WITHOUT}"
        case ClarificationWithdrawn():
            return f"question {event.question_id} withdrawn, since its step is redone"
        case ClarificationExpired():
            return f"question {event.question_id} expired; {_WITHOUT}"
        case NoteTold():
            return f"you noted: {event.text}"
        case RequirementTold():
            return f"you require: {event.text}"
        case WaitRequested():
            return f"{event.node or 'the run'} waits until {stamp(event.until)}: {event.why}"
        case WaitEnded():
            return f"{event.request_id} is over"
        case Settled():
            return f"{event.request_id} was withdrawn; its late reply cost {counted(event.used.tokens, 'token')}"
        case MailRefused():
            return f"a message was refused: {event.reason}"
        case RunFinished():
            return f"finished: {event.outcome}, {event.why}"
        case _:
            assert_never(event)


def _branch(event: BranchOpened | BranchPruned) -> str:
    match event:
        case BranchOpened():
            parent = "" if event.parent is None else f" beside branch {event.parent}"
            kept = f", with {', '.join(event.kept)}" if event.kept else ""
            return f"branch {event.branch} opened{parent}{kept}: {event.why}"
        case BranchPruned():
            return f"branch {event.branch} pruned ({event.cause}): {event.why}"
        case _:
            assert_never(event)


def _verdict(event: VerdictReached, config: RunConfig | None) -> str:
    verdict = event.verdict
    if config is not None and left_open(config.workflow.effective_guard(step_of(event.node)), verdict):
        return f"{event.node} left to a person's review"
    if verdict.passed:
        return f"{event.node} accepted by {verdict.guard}"
    first = finding_line(verdict.errors[0]) if verdict.errors else "no reason given"
    more = f" (and {len(verdict.errors) - 1} more)" if len(verdict.errors) > 1 else ""
    return f"{event.node} rejected by {verdict.guard}: {first}{more}"


def _decision(event: Decided) -> str:
    decision = event.decision
    target = f" to {', '.join(decision.targets)}" if decision.targets else ""
    return f"{decision.node} => {decision.level}{target}, by rule {decision.rule}"


def record_line(record: Record[PlanningEvent], config: RunConfig | None) -> Line:
    """Return a record as one line: its number, its time, what happened; `config` is what its run is pinned to."""
    return columns(f"{record.seq:>4}", stamp(record.at), line(line_of(record.event, config)))


_DERIVED = ("request_id", "node", "step")
"""Properties of events that are shown beside what is stored, so that readers of the JSON need not parse ids."""


def record_to_json(record: Record[PlanningEvent]) -> dict[str, Any]:
    """Return a record as plain data; `at` is when it was written, as ISO 8601 in UTC."""
    event = record.event
    values = event.model_dump(mode="json")
    values |= {name: value for name in _DERIVED if isinstance(value := getattr(event, name, None), str)}
    if isinstance(event, Decided):
        values["targets"] = list(event.decision.targets)
    # The event's own `at` is when it was heard of, which is the same moment in another format.
    values.pop("at", None)
    return {"seq": record.seq, "at": stamp(record.at), "epoch": record.epoch, **values}
