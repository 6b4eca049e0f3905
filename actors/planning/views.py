"""The views of planning runs. Pure."""

from collections.abc import Sequence
from typing import Any

from actors.demands.table_lines import table_lines, table_texts
from actors.planning.attempts import attempts
from actors.planning.branch_stories import branch_lines, branch_stories
from actors.planning.events import PlanningEvent
from actors.planning.record_text import news_text, record_fields, record_text
from actors.planning.result import Result, result_of
from actors.planning.result_lines import brief_lines, outcome_lines
from actors.planning.search_tree import search_tree
from actors.planning.sent_prompt import sent_prompt
from actors.planning.state import PlanningState, State
from actors.planning.tracing import TRACING
from actors.plans.markdown import plan_checklist, plan_markdown
from actors.plans.mermaid import plan_mermaid
from actors.plans.plan_flow import plan_flow
from actors.plans.plan_lines import plan_lines
from actors.run.views import Document, Tree, Views, budget_line
from actors.values.flow import Flow
from actors.values.lines import BLANK, Line
from runtime.core.errors import UsageProblem
from runtime.core.events import Record


def _tree(
    title: str, state: PlanningState, records: Sequence[Record[PlanningEvent]], *, interrupted: bool, brief: bool
) -> Tree:
    if brief:  # A live view is drawn often, and shows nothing that only the records tell.
        return Tree(search_tree(title, attempts(state, interrupted=interrupted, live=not interrupted), brief=True))
    shown = attempts(state, records, interrupted=interrupted)
    stories = branch_stories(state, records)
    nodes, branches = [attempt.to_json() for attempt in shown], [story.to_json() for story in stories]
    return Tree(search_tree(title, shown), tuple(branch_lines(stories)), {"nodes": nodes, "branches": branches})


def _progress(state: PlanningState, now: float) -> Line:
    known = isinstance(state, State) and state.config.price is not None
    return budget_line(state, now, price_known=known, working=isinstance(state, State) and state.working)


def _flow(_: PlanningState, result: Result) -> Flow | None:
    return None if result.plan_json is None else plan_flow(result.plan_json)


def _plan(state: PlanningState, result: Result, program: str) -> Document:
    value = _proved(state, result, "plan", program)
    demands = [] if result.demands is None else [BLANK, *table_lines(result.demands)]
    return Document((*plan_lines(value), *demands), value)


def _mermaid(state: PlanningState, result: Result, program: str) -> Document:
    return Document(text=plan_mermaid(_proved(state, result, "mermaid", program), program))


def _markdown(state: PlanningState, result: Result, program: str) -> Document:
    return Document(
        text=plan_markdown(_proved(state, result, "format markdown", program), _note(result), _demands(result))
    )


def _checklist(state: PlanningState, result: Result, program: str) -> Document:
    return Document(
        text=plan_checklist(_proved(state, result, "format github-checklist", program), _note(result), _demands(result))
    )


def _note(result: Result) -> str:
    """Return what may be said of the plan, and which run made it, for a reader who has only the document."""
    return f"Run {result.run_id}: {result.conclusion.text}."


def _demands(result: Result) -> tuple[str, ...]:
    return () if result.demands is None else table_texts(result.demands)


def _proved(state: PlanningState, result: Result, view: str, program: str) -> Any:
    """Return the proved plan. Raises `UsageProblem` that says why there is none."""
    run = result.run_id
    if result.plan_json is not None:
        return result.plan_json
    if isinstance(state, State) and "plan" not in state.config.roles.values():
        cause = f"the workflow {state.config.workflow.name} of run {run} makes no plan"
        raise UsageProblem(cause, place=f"--{view}", hint=f"`{program} show {run}` shows what it makes")
    hint = f"`{program} show {run}` says how far it got"
    raise UsageProblem(f"run {run} has no proved plan", place=f"--{view}", hint=hint)


VIEWS: Views[PlanningState, PlanningEvent] = Views(
    result=result_of,
    result_lines=outcome_lines,
    brief_lines=brief_lines,
    tree=_tree,
    tree_title="Search",
    flow=_flow,
    flow_title="Plan",
    record_text=record_text,
    news_text=news_text,
    record_fields=record_fields,
    progress=_progress,
    prompt=sent_prompt,
    documents={"plan": _plan, "mermaid": _mermaid, "markdown": _markdown, "github-checklist": _checklist},
    tracing=TRACING,
)
"""How planning runs are shown."""
