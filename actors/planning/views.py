"""The views of a planning run: records and progress as text, results, and documents. Pure."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from actors.guards import review
from actors.planning.events import (
    ArtifactProduced,
    BranchOpened,
    BranchPruned,
    ClassificationRequested,
    Decided,
    FailureClassified,
    JudgementRequested,
    PlanCorrected,
    PlanningEvent,
    Revised,
    RunStarted,
    VerdictReached,
    branch_of,
    visit_and_attempt,
)
from actors.planning.machine import PlanningMachine
from actors.planning.state import State
from actors.policy.table import REPLANS
from actors.run import records
from actors.run.ids import step_of
from actors.run.views import (
    AskedFor,
    CheckBegan,
    CheckEnded,
    Marked,
    RunDocument,
    Scalar,
    Traced,
    Tracing,
    Views,
    budget_line,
    rebuilt_prompt,
)
from actors.run.words import step_in_words
from actors.values.findings import Finding, finding_line, reason_of
from actors.values.format import format_count
from actors.values.lines import Line

if TYPE_CHECKING:
    from actors.planning.result import Result
    from actors.run.result import RunView


def _news_text(event: PlanningEvent, state: State) -> str:
    match event:
        case ArtifactProduced() | JudgementRequested() | ClassificationRequested() | FailureClassified():
            return ""  # The events that follow are shown.
        case Revised() | BranchOpened():
            return ""  # The verdicts of the next attempts show the change.
        case VerdictReached() if not _is_open_review(event, state):
            # A rejection is shown with its decision. The acceptance of a repeated step is shown only for a plan.
            is_first = visit_and_attempt(event.node)[0] == 1 and not branch_of(event.node)
            is_plan = state.config.roles.get(step_of(event.node)) == "plan"
            return f"{event.node} accepted" if event.verdict.passed and (is_first or is_plan) else ""
        case Decided():
            return _rejection_text(event, state)
        case _:
            return records.news_text(event, state, _record_text)


def _rejection_text(event: Decided, state: State) -> str:
    verdict = state.nodes[event.node].verdict
    errors = () if verdict is None else verdict.errors
    reason = reason_of(errors[0]) if errors else "no reason given"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    back = f"; back to {', '.join(map(step_in_words, event.targets))}" if event.level in REPLANS else ""
    afresh = "; the next prompt does not show the rejected answer" if event.afresh and not back else ""
    return f"{event.node} rejected: {reason}{more}{back}{afresh}"


def _record_text(event: PlanningEvent, state: State) -> str:
    match event:
        case RunStarted():
            model = state.config.model
            suffix = f" with {model} (a template, not a plan for your problem)" if model.startswith("template:") else ""
            return f"run {event.run} started{suffix}, {format_count(event.limits.calls, 'call')} at most"
        case ClassificationRequested():
            why = f"because {event.rule} would go far back"
            return f"{event.request_id}: a model is asked why {event.node} was rejected, {why}"
        case FailureClassified():
            return f"{event.node} classified: {event.cause or 'no known cause'}"
        case ArtifactProduced():
            again = (f", the same as {event.repeats}" if event.repeats else "") + event.notices_text
            tokens = format_count(event.used.tokens, "token")
            return f"{event.node} arrived after {event.elapsed:.1f} s, {tokens}{again}"
        case JudgementRequested():
            return f"{event.node} is judged by {event.guard}"
        case VerdictReached():
            return _verdict(event, state)
        case Decided():
            return _decision(event)
        case PlanCorrected():
            return f"{event.node} edited by {event.who}, and accepted by {event.verdict.judges}"
        case Revised():
            return f"revision {event.revision}: cleared {', '.join(event.cleared) or 'nothing'}"
        case BranchOpened():
            parent = "" if event.parent is None else f" from branch {event.parent}"
            kept = f", with {', '.join(event.kept)}" if event.kept else ""
            return f"branch {event.branch} opened{parent}{kept}: {event.why}"
        case BranchPruned():
            return f"branch {event.branch} pruned ({event.cause}): {event.why}"
        case _:
            return records.record_text(event, state)


def _record_fields(event: PlanningEvent) -> Mapping[str, Any]:
    fields = records.record_fields(event)
    return {**fields, "targets": list(event.decision.targets)} if isinstance(event, Decided) else fields


def _verdict(event: VerdictReached, state: State) -> str:
    verdict = event.verdict
    if _is_open_review(event, state):
        return f"{event.node} waits for a person's review"
    if verdict.passed:
        return f"{event.node} accepted by {verdict.judges}"
    first = finding_line(verdict.errors[0]) if verdict.errors else "no reason given"
    more = f" (and {len(verdict.errors) - 1} more)" if len(verdict.errors) > 1 else ""
    return f"{event.node} rejected by {verdict.guard}: {first}{more}"


def _is_open_review(event: VerdictReached, state: State) -> bool:
    return review.is_open(state.config.workflow.effective_guard(step_of(event.node)), event.verdict)


def _decision(event: Decided) -> str:
    decision = event.decision
    target = f" to {', '.join(decision.targets)}" if decision.targets else ""
    afresh = " afresh" if decision.afresh else ""
    return f"{decision.node} => {decision.level}{afresh}{target}, by rule {decision.rule}"


def log_fields(event: PlanningEvent, state: State) -> Mapping[str, str | int]:
    """Return `step`, `node` and `branch` (0 is the first) of an event that names a node, a request or a question.

    `state` is a state after the event. For an event about a question, `state` shows who asked. The result is empty for
    all other events: events about the run, and events about a whole branch, which have a field `branch`.
    """
    node = records.node_of_event(event, state)
    return {"step": step_of(node), "node": node, "branch": branch_of(node)} if node else {}


def _attempt_of(node: str) -> str:
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
            fields |= {"afresh": True} if event.afresh else {}
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


def _ended_attempts(event: PlanningEvent, attempts: Sequence[str]) -> Collection[str]:
    match event:
        case Decided() | PlanCorrected():
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


def _makes_plan(state: State, attempt: str) -> bool:
    return state.config.roles.get(step_of(attempt)) == "plan"


# The imports for results happen when a result is shown, because most commands only read records.


def _result(view: "RunView") -> "Result":
    from actors.planning.result import result_of  # noqa: PLC0415 -- as above

    return result_of(view)


def _lines() -> ModuleType:
    from actors.planning import result_lines  # noqa: PLC0415 -- as above

    return result_lines


def _document(name: str, state: State, result: "Result", program: str) -> RunDocument:
    text: RunDocument = _lines().document(name, state, result, program)
    return text


def _progress(state: State, now: float) -> Line:
    return budget_line(state, now, price_known=state.config.price_known, working=state.working)


def _describe_request(state: State) -> AskedFor:
    workflow = state.config.workflow
    return AskedFor(state.specification, (("workflow", workflow.name), ("search", str(workflow.search))))


def _findings(event: PlanningEvent) -> tuple[str, tuple[Finding, ...]]:
    return (event.node, event.verdict.findings) if isinstance(event, VerdictReached) else ("", ())


VIEWS: Views[State, PlanningEvent] = Views(
    asked=_describe_request,
    result=_result,
    result_lines=lambda result, program: _lines().outcome_lines(result, program),
    brief_lines=lambda result, program: _lines().brief_lines(result, program),
    tree=lambda *run, **how: _lines().tree(*run, **how),
    tree_title="Search",
    flow=lambda _, result: _lines().flow(result),
    flow_title="Plan",
    checklist=lambda result: _lines().checklist(result),
    record_text=_record_text,
    news_text=_news_text,
    record_fields=_record_fields,
    progress=_progress,
    prompt=partial(rebuilt_prompt, PlanningMachine()),
    findings=_findings,
    documents={
        name: partial(_document, name) for name in ("plan", "mermaid", "markdown", "github-checklist", "yaml", "draft")
    },
    tracing=Tracing(_attempt_of, _facts, _ended_attempts, plans=_makes_plan),
)
