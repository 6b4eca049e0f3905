"""The views of an execution: records and progress as text, the tree, and the documents. Pure."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import ValidationError

from actors.execution.edits import rest_of_plan
from actors.execution.events import (
    AttemptDecided,
    EffectSettled,
    ExecutionEvent,
    ExecutionStarted,
    PlanEdited,
    PlanRevised,
    ProofReached,
    ProofRequested,
    ReplanReplied,
    ReplanRequested,
    StepOutcome,
    StepSettled,
    TroubleDecided,
    UndoDecided,
)
from actors.execution.ids import attempt_node, is_look, parse_node, tool_node
from actors.execution.machine import ExecutionMachine
from actors.execution.result import ExecutionResult, ShownStep, StepStatus, result_of, revision_views
from actors.execution.result_lines import TOKENS_MAX, brief_lines, checklist_of, result_lines, step_lines, step_states
from actors.execution.state import AttemptPhase, State
from actors.execution.undo import ShownEffect, effect_text
from actors.plans.plan_flow import plan_flow
from actors.policy.table import BacktrackLevel
from actors.run import records
from actors.run.records import node_of_event
from actors.run.tools import ToolFinished, ToolOutcome, ToolRequested, ToolStarted
from actors.run.views import (
    AskedFor,
    CheckBegan,
    CheckEnded,
    Marked,
    RunDocument,
    Scalar,
    Traced,
    Tracing,
    Tree,
    Views,
    rebuilt_prompt,
)
from actors.tools.agent_work import AgentWork, list_paths
from actors.values.findings import SUMMARY_MAX, Finding, summary_of
from actors.values.flow import Flow
from actors.values.format import format_count, id_list, money, shorten
from actors.values.lines import Line, LineTree, line
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.core.ledger import MICRO

_LEVELS = {
    BacktrackLevel.LOCAL_RETRY: "the step is tried again",
    BacktrackLevel.PARTIAL_REPLAN: "a new plan is made for the same goals",
    BacktrackLevel.FULL_REPLAN: "a new plan is made, and its goals may change",
    BacktrackLevel.CLARIFY: "a person is asked",
    BacktrackLevel.GIVE_UP: "the run ends without reaching its goals",
}


def record_text(event: ExecutionEvent, state: State) -> str:
    """Return an event as one line, not yet sanitised."""
    match event:
        case ExecutionStarted():
            return f"execution started, {format_count(len(state.plan.plan.steps), 'step')}"
        case StepSettled():
            return _step_end_text(event)
        case AttemptDecided():
            after = f" after {event.delay_seconds:g} s" if event.delay_seconds else ""
            what = f"the step is tried again{after}" if event.again else "the remaining attempts are skipped"
            doubt = "" if event.known else "; warning: no row of the policy names this failure"
            return f"{event.node} failed, and {what} ({event.rule}: {event.code}){doubt}"
        case TroubleDecided():
            place = f" at {event.step}" if event.step else ""
            word = "a person is asked" if event.asks else _LEVELS[event.level]
            if event.level is BacktrackLevel.LOCAL_RETRY and not event.step:
                word = "the plan goes on"
            return f"{event.cause}{place}: {word} ({event.rule}){_format_reason(event.findings)}"
        case ReplanRequested():
            most = format_count(event.calls, "call")
            return f"{event.request_id}: a planning run starts to make a new plan, with at most {most}"
        case ReplanReplied():
            return f"{event.request_id}: the planning run has ended after {event.elapsed:.1f} s"
        case ProofRequested():
            return f"{event.node}: {event.guard} judges the new plan"
        case ProofReached():
            how = "is proved" if event.verdict.passed else f"is rejected{_format_reason(event.verdict.errors)}"
            return f"{event.node}: the new plan {how}"
        case PlanEdited():
            return f"{event.who} has edited the plan; the edited plan is checked when no step is running"
        case PlanRevised():
            return f"revision {event.revision} begins: {event.why}"
        case UndoDecided():
            return f"the run undoes everything (decided by the {event.by}): {event.why}"
        case ToolRequested() if (given := _agent_arguments(event)) is not None:
            most = money(event.micro_usd_max / MICRO)
            prompt = format_count(len(given["prompt"]), "character")
            place = f"a worktree of {given['base'][:16]}"
            return f"{event.request_id} calls {event.tool} in {place} with a prompt of {prompt}, for at most {most}"
        case ToolFinished() if (work := _agent_work_in(event)) is not None:
            diff = f"git diff {work.base[:16]} {work.commit[:16]}"
            return f"{event.request_id} {event.outcome}: {_changed_files_text(work)} ({diff})"
        case EffectSettled():
            return f"{event.step}: {effect_text(ShownEffect(event.step, 0, 'its undo tool', event.end))}"
        case _:
            return records.record_text(event, state)


def news_text(event: ExecutionEvent, state: State) -> str:
    """Return the line that progress shows for an event; empty if progress shows no line."""
    if isinstance(event, ToolRequested | ToolStarted | ProofRequested | ReplanReplied):
        return ""
    if isinstance(event, AttemptDecided) and event.again and not event.delay_seconds:
        return ""  # Progress shows the failure and the next attempt.
    if isinstance(event, StepSettled):
        return _step_news(event)
    if isinstance(event, ToolFinished) and is_look(tool_node(event.request_id)):
        return "; ".join(f"nobody can tell: {finding.message}" for finding in state.unsure)
    if isinstance(event, ToolFinished):
        return _tool_end_text(event, state)
    return records.news_text(event, state, record_text)


_STEP_ENDS = {StepOutcome.OK: "done", StepOutcome.FAIL: "failed", StepOutcome.UNKNOWN: "may have been done"}


def _step_news(event: StepSettled) -> str:
    how = f" ({event.branch})" if event.branch else " by hand" if not event.node else ""
    why = f": {summary_of(event.findings[0])}" if event.findings else ""
    return f"{event.step} {_STEP_ENDS[event.outcome]}{how}{why}"


def _tool_end_text(event: ToolFinished, state: State) -> str:
    """Return the line about a tool call that has ended; empty if progress shows no line.

    The line shows an agent's work, a cost, or a failure after which the step has attempts left.
    """
    parsed = parse_node(tool_node(event.request_id))
    if parsed is None:
        return ""
    if (work := _agent_work_in(event)) is not None:
        return f"{parsed.name}: attempt {parsed.number} changed {_changed_files_text(work)}"
    step = state.plan.by_id.get(state.plan.by_name.get(parsed.name, ""))
    is_last = step is not None and parsed.number >= step.retry_budget  # The end of the step has the reason.
    if event.cost is None and (event.outcome is ToolOutcome.SUCCEEDED or is_last):
        return ""
    result = event.reason or next((row for row in reversed(event.output.splitlines()) if row.strip()), "")
    output = shorten(result, SUMMARY_MAX)
    what = "check" if parsed.phase in (AttemptPhase.CHECK, AttemptPhase.CHECK_PRE) else "attempt"
    cost = f" ({records.cost_text(event.cost)})" if event.cost is not None else ""
    return f"{parsed.name}: {what} {parsed.number} {event.outcome}{cost}{f': {output}' if output else ''}"


def _agent_arguments(event: ToolRequested) -> Mapping[str, str] | None:
    parsed = parse_node(event.node)
    if parsed is None or parsed.phase != AttemptPhase.ACT:
        return None
    try:
        arguments = json.loads(event.arguments)
    except (ValueError, RecursionError):  # A journal may contain any text, and every record must be shown.
        return None
    return arguments if isinstance(arguments, dict) and arguments.keys() == {"base", "name", "prompt"} else None


def _agent_work_in(event: ToolFinished) -> AgentWork | None:
    parsed = parse_node(tool_node(event.request_id))
    if parsed is None or parsed.phase != AttemptPhase.DIFF or event.outcome is not ToolOutcome.SUCCEEDED:
        return None
    try:
        return AgentWork.model_validate_json(event.output)
    except ValidationError:
        return None


def _changed_files_text(work: AgentWork) -> str:
    return format_count(len(work.files), "file") + (f": {list_paths(work.files)}" if work.files else "")


def _step_end_text(event: StepSettled) -> str:
    hand = " by hand" if not event.node else ""
    late = ", while the plan was interrupted" if event.late else ""
    over = ", and the plan does not handle this" if event.handed_over else ""
    which = f" ({event.branch})" if event.branch else ""
    return f"{event.step}: {event.outcome}{which}{hand}{late}{over}{_format_reason(event.findings)}"


def _format_reason(findings: tuple[Finding, ...]) -> str:
    return f": {findings[0].message.splitlines()[0]}" if findings else ""


def log_fields(event: ExecutionEvent, state: State) -> Mapping[str, str | int]:
    """Return the fields `step`, `node` and `revision` of an event, if known. `state` is the state after the event."""
    if isinstance(event, TroubleDecided | UndoDecided):
        return {"step": event.step} if event.step else {}
    if isinstance(event, PlanRevised):
        return {"revision": event.revision}
    node = node_of_event(event, state)
    if not node:
        return {}
    parsed = parse_node(node)
    if parsed is None:
        return {"node": node}
    return {"step": state.plan.by_name.get(parsed.name, parsed.name), "node": node, "revision": parsed.revision}


def _attempt_of(node: str) -> str:
    parsed = parse_node(node)
    return "" if parsed is None else attempt_node(parsed.name, parsed.revision, parsed.visit, parsed.number)


def _facts(event: ExecutionEvent) -> Sequence[Traced]:
    match event:
        case ProofRequested():
            return (CheckBegan(event.request_id, event.node, event.guard),)
        case ProofReached(verdict=verdict):
            codes = tuple(dict.fromkeys(finding.code for finding in verdict.errors))
            return (CheckEnded(event.node, event.node, verdict.guard, verdict.passed, verdict.score, codes),)
        case AttemptDecided():
            name = "attempt_again" if event.again else "give_up_attempts"
            return (Marked(name, event.node, {"code": event.code}, rule=event.rule, level=str(event.level)),)
        case StepSettled():
            codes = tuple(dict.fromkeys(finding.code for finding in event.findings))
            return (
                Marked(f"settle_step {event.outcome}", event.node, {"handed_over": event.handed_over, "codes": codes}),
            )
        case TroubleDecided():
            fields: dict[str, Scalar] = {"cause": str(event.cause), "code": event.code, "asks": event.asks}
            return (Marked(f"decide {event.level}", "", fields, rule=event.rule, level=str(event.level)),)
        case UndoDecided():
            return (Marked("undo", "", {"by": event.by, "step": event.step}),)
        case EffectSettled():
            return (Marked(f"settle_effect {event.end}", event.node),)
        case PlanRevised():
            return (Marked(f"revise {event.level}", fields={"revision": event.revision}),)
        case _:
            return ()


def _ended_attempts(event: ExecutionEvent, attempts: Sequence[str]) -> Collection[str]:
    match event:
        case AttemptDecided() | StepSettled():
            return (event.node,)
        case PlanRevised():
            return attempts
        case _:
            return ()


def _tree(
    title: str, state: State, written: Sequence[Record[ExecutionEvent]], *, interrupted: bool, brief: bool
) -> Tree:
    del written, interrupted
    revisions = revision_views(state)
    shown = revisions[-1:] if brief else revisions
    trees = tuple(
        LineTree(line(f"revision {revision.number}: {revision.plan_id}"), tuple(map(_step_tree, revision.steps)))
        for revision in shown
    )
    if brief and len(revisions) == 1:
        trees = trees[0].children

    def to_json() -> dict[str, Any]:
        revisions_json = [
            {**revision.to_json(), "steps": [step.to_json() for step in revision.steps]} for revision in revisions
        ]
        return {"revisions": revisions_json}

    return Tree(LineTree(line(title, "bold"), trees), to_json=to_json)


def _step_tree(step: ShownStep) -> LineTree:
    head, *findings = (Line(row.spans[1:]) for row in step_lines(step))
    return LineTree(head, tuple(map(LineTree, findings)))


def _flow(_: State, result: ExecutionResult) -> Flow | None:
    if result.plan_json is None:
        return None
    outcomes = {step.step: step.outcome for step in result.steps if step.outcome}
    return plan_flow(result.plan_json, step_states(result), outcomes)


def _document(view: str, state: State, result: ExecutionResult, program: str) -> RunDocument:
    """Return a document about the current plan. Raises `UsageProblem` for a run that has not begun."""
    from actors.planning.result_lines import option_of, plan_document  # noqa: PLC0415 -- most commands show none

    if result.plan_json is None:
        hint = f"`{program} show {result.run_id}` shows its progress"
        raise UsageProblem(f"run {result.run_id} has not begun", place=option_of(view), hint=hint)
    if view == "draft":
        return RunDocument(json=_rest_of(state, result, program))
    note = f"Revision {result.revision}, executed by run {result.run_id}."
    return plan_document(view, result, result.plan_json, note, program)


def _rest_of(state: State, result: ExecutionResult, program: str) -> dict[str, Any]:
    """Return the remaining steps of an execution, as a plan that is not proved.

    Raises `UsageProblem` if nothing remains.
    """
    if not result.has_draft:
        cause = "no step is left" if result.outcome else "the run has not ended"
        hint = f"`{program} show {result.run_id}` shows its state"
        raise UsageProblem(f"run {result.run_id} has no draft: {cause}", place="--draft", hint=hint)
    rest = rest_of_plan(state)
    left = f"{len(rest['steps'])} of {format_count(len(result.steps), 'step')} are left"
    lacks = f"; missing tokens: {', '.join(result.missing[:TOKENS_MAX])}" if result.missing else ""
    unknown = id_list(step.step for step in result.steps if step.status is StepStatus.UNKNOWN)
    doubt = f"; nobody knows whether these steps were done: {unknown}" if unknown else ""
    return {"not_proved": f"The rest of execution {result.run_id} is not proved: {left}{lacks}{doubt}.", "plan": rest}


def _describe_request(state: State) -> AskedFor:
    return AskedFor(state.config.problem, (("approval", str(state.config.approval)),))


VIEWS: Views[State, ExecutionEvent] = Views(
    asked=_describe_request,
    result=result_of,
    result_lines=result_lines,
    brief_lines=brief_lines,
    brief_has_tree=True,
    tree=_tree,
    tree_title="Revisions",
    flow=_flow,
    flow_title="Plan",
    checklist=checklist_of,
    record_text=record_text,
    news_text=news_text,
    prompt=partial(rebuilt_prompt, ExecutionMachine()),
    documents={view: partial(_document, view) for view in ("plan", "mermaid", "markdown", "github-checklist", "draft")},
    tracing=Tracing(_attempt_of, _facts, _ended_attempts),
)
