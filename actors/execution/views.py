"""The views of executions. Pure."""

from collections.abc import Sequence
from typing import Any

from actors.demands.table_lines import table_lines, table_texts
from actors.execution.checklist import checklist_of, step_states
from actors.execution.events import ExecutionEvent
from actors.execution.record_text import news_text, record_text
from actors.execution.result import ExecutionResult, result_of
from actors.execution.result_lines import TOKENS_MAX, brief_lines, result_lines, step_lines
from actors.execution.sent_prompt import sent_prompt
from actors.execution.state import ExecutionState, State
from actors.execution.story import shown_revisions
from actors.execution.tracing import TRACING
from actors.plans.markdown import plan_checklist, plan_markdown
from actors.plans.mermaid import plan_mermaid
from actors.plans.plan_flow import plan_flow
from actors.plans.plan_lines import plan_lines
from actors.run.views import Document, Tree, Views, budget_line
from actors.values.flow import Flow
from actors.values.lines import BLANK, Line, LineTree, line
from runtime.core.errors import UsageProblem
from runtime.core.events import Record


def _tree(
    title: str, state: ExecutionState, records: Sequence[Record[ExecutionEvent]], *, interrupted: bool, brief: bool
) -> Tree:
    """Return the revisions of the plan, each with its steps."""
    del records, interrupted
    if not isinstance(state, State):
        return Tree(LineTree(line(title, "bold")))
    revisions = shown_revisions(state)
    shown = revisions[-1:] if brief else revisions
    trees = tuple(
        LineTree(
            line(f"revision {revision.number}: {revision.plan_id}"),
            tuple(LineTree(text) for step in revision.steps for text in step_lines(step)),
        )
        for revision in shown
    )
    if brief:
        holds = ", ".join(sorted(state.tokens)[:TOKENS_MAX]) or "nothing"
        trees += (LineTree(line(f"holds: {holds}", "dim")),)
    nodes = [{**revision.to_json(), "steps": [step.to_json() for step in revision.steps]} for revision in revisions]
    return Tree(LineTree(line(title, "bold"), trees), json={"revisions": nodes})


def _progress(state: ExecutionState, now: float) -> Line:
    known = isinstance(state, State) and state.config.price is not None
    working = bool(state.run.calls.open or state.run.tools)
    return budget_line(state, now, price_known=known, working=working)


def _flow(_: ExecutionState, result: ExecutionResult) -> Flow | None:
    return None if result.plan_json is None else plan_flow(result.plan_json, step_states(result))


def _plan(_: Any, result: ExecutionResult, program: str) -> Document:
    value = _begun(result, "plan", program)
    demands = [] if result.demands is None else [BLANK, *table_lines(result.demands)]
    return Document((*plan_lines(value), *demands), value)


def _mermaid(_: Any, result: ExecutionResult, program: str) -> Document:
    return Document(text=plan_mermaid(_begun(result, "mermaid", program), program))


def _markdown(_: Any, result: ExecutionResult, program: str) -> Document:
    return Document(text=plan_markdown(_begun(result, "format markdown", program), _note(result), _demands(result)))


def _checklist(_: Any, result: ExecutionResult, program: str) -> Document:
    return Document(
        text=plan_checklist(_begun(result, "format github-checklist", program), _note(result), _demands(result))
    )


def _note(result: ExecutionResult) -> str:
    """Return what run executes the plan, for a reader who has only the document."""
    return f"Revision {result.revision}, executed by run {result.run_id}."


def _demands(result: ExecutionResult) -> tuple[str, ...]:
    return () if result.demands is None else table_texts(result.demands)


def _begun(result: ExecutionResult, view: str, program: str) -> Any:
    """Return the plan of the current revision. Raises `UsageProblem` for a run that has not begun."""
    if result.plan_json is not None:
        return result.plan_json
    hint = f"`{program} show {result.run_id}` says how far it got"
    raise UsageProblem(f"run {result.run_id} has not begun", place=f"--{view}", hint=hint)


VIEWS: Views[ExecutionState, ExecutionEvent] = Views(
    result=result_of,
    result_lines=result_lines,
    brief_lines=brief_lines,
    tree=_tree,
    tree_title="Revisions",
    flow=_flow,
    flow_title="Plan",
    checklist=checklist_of,
    record_text=record_text,
    news_text=news_text,
    progress=_progress,
    prompt=sent_prompt,
    documents={"plan": _plan, "mermaid": _mermaid, "markdown": _markdown, "github-checklist": _checklist},
    tracing=TRACING,
)
"""How executions are shown to people and as JSON."""
