"""Records of an execution as text for people. Pure."""

from actors.execution.events import (
    AttemptDecided,
    ExecutionEvent,
    ExecutionStarted,
    FileRequested,
    PlanRevised,
    ProofReached,
    ProofRequested,
    ReplanReplied,
    ReplanRequested,
    StepSettled,
    TroubleDecided,
)
from actors.execution.ids import place_of, tool_node
from actors.execution.state import ExecutionState, Phase, State
from actors.policy.table import BacktrackLevel
from actors.run import records
from actors.run.tools import ToolFinished, ToolOutcome, ToolRequested, ToolStarted
from actors.values.findings import Finding
from actors.values.format import counted, shortened

OUTPUT_MAX = 120
"""Characters of a tool's last line of output that progress shows."""

_LEVELS = {
    BacktrackLevel.LOCAL_RETRY: "the step is tried again",
    BacktrackLevel.PARTIAL_REPLAN: "a new plan is made for the same goals",
    BacktrackLevel.FULL_REPLAN: "a new plan is made, and its goals may change",
    BacktrackLevel.CLARIFY: "a person is asked",
    BacktrackLevel.GIVE_UP: "the run ends without its goals",
}


def record_text(event: ExecutionEvent, state: ExecutionState) -> str:
    """Return what happened, in one line that is not yet sanitised."""
    match event:
        case ExecutionStarted():
            steps = len(state.plan.plan.steps) if isinstance(state, State) else 0
            return f"execution started, {counted(steps, 'step')}"
        case StepSettled():
            return _settled_text(event)
        case AttemptDecided():
            after = f" after {event.delay_seconds:g} s" if event.delay_seconds else ""
            what = f"is tried again{after}" if event.again else "is given up, and its other attempts are skipped"
            doubt = "" if event.known else "; warning: no row of the policy knows this failure"
            return f"{event.node} failed and {what} ({event.rule}: {event.code}){doubt}"
        case TroubleDecided():
            place = f" at {event.step}" if event.step else ""
            word = "a person is asked" if event.asks else _LEVELS[event.level]
            if event.level is BacktrackLevel.LOCAL_RETRY and not event.step:
                word = "the plan goes on"
            return f"{event.cause}{place}: {word} ({event.rule}){_why(event.findings)}"
        case ReplanRequested():
            return f"{event.request_id}: a planning run is asked for a new plan, {event.calls} calls at most"
        case ReplanReplied():
            return f"{event.request_id}: the planning run has ended after {event.elapsed:.1f} s"
        case ProofRequested():
            return f"{event.node}: {event.guard} is asked about the new plan"
        case ProofReached():
            how = "is proved" if event.verdict.passed else f"is rejected{_why(event.verdict.errors)}"
            return f"{event.node}: the new plan {how}"
        case PlanRevised():
            return f"revision {event.revision} begins: {event.why}"
        case _:
            return records.record_text(event, state)


def news_text(event: ExecutionEvent, state: ExecutionState) -> str:
    """Return the line that progress shows for an event; empty for one that it leaves out."""
    if isinstance(event, ToolRequested | ToolStarted | ProofRequested):
        return ""
    if isinstance(event, ReplanReplied):
        return ""
    if isinstance(event, ToolFinished):
        return _finished_text(event)
    if isinstance(event, FileRequested):
        place = place_of(event.node)
        return f"{place.name}: a model is asked for the file" if place is not None else ""
    return "" if records.is_silent(event) else records.short_text(event) or record_text(event, state)


def _finished_text(event: ToolFinished) -> str:
    """Return the line about a call of a tool; none for a file that was read or written, and for a check that passed."""
    place = place_of(tool_node(event.request_id))
    succeeded = event.outcome is ToolOutcome.SUCCEEDED
    if place is None or (succeeded and place.phase != Phase.ACT):
        return ""
    result = event.reason or next((row for row in reversed(event.output.splitlines()) if row.strip()), "")
    said = shortened(result, OUTPUT_MAX)
    what = "check" if place.phase in (Phase.CHECK, Phase.CHECK_PRE) else "attempt"
    return f"{place.name}: {what} {place.number} {event.outcome}{f': {said}' if said else ''}"


def _settled_text(event: StepSettled) -> str:
    hand = " by hand" if not event.node else ""
    late = ", after a replan was decided" if event.late else ""
    over = ", and the plan hands that over" if event.handed_over else ""
    return f"{event.step}: {event.outcome}{hand}{late}{over}{_why(event.findings)}"


def _why(findings: tuple[Finding, ...]) -> str:
    return f": {findings[0].message.splitlines()[0]}" if findings else ""
