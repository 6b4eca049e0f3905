"""What a planning run shows once its result is asked for: the tree of attempts, the plan's graph, documents. Pure.

Most commands only read records; `views` imports this module when one shows more.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from actors.demands.table import table_lines, table_texts
from actors.planning.attempts import attempts
from actors.planning.events import PlanningEvent
from actors.planning.result import Result
from actors.planning.search_tree import branch_lines, branch_stories, search_tree
from actors.planning.state import State
from actors.plans.markdown import plan_checklist, plan_markdown
from actors.plans.plan_flow import plan_flow, plan_mermaid
from actors.plans.plan_lines import plan_lines
from actors.run.views import RunDocument, Tree
from actors.values.flow import Flow
from actors.values.lines import BLANK
from runtime.core.errors import UsageProblem
from runtime.core.events import Record


def tree(title: str, state: State, written: Sequence[Record[PlanningEvent]], *, interrupted: bool, brief: bool) -> Tree:
    """Return the attempts of a run as a tree, and the stories of its branches."""
    if brief:  # A live view is drawn often, and shows nothing that only the records tell.
        return Tree(search_tree(title, attempts(state, interrupted=interrupted, live=not interrupted), brief=True))
    attempt_views = attempts(state, written, interrupted=interrupted)
    stories = branch_stories(state, written)

    def to_json() -> dict[str, Any]:
        nodes, branches = [attempt.to_json() for attempt in attempt_views], [story.to_json() for story in stories]
        return {"nodes": nodes, "branches": branches}

    return Tree(search_tree(title, attempt_views), tuple(branch_lines(stories)), to_json)


def flow(result: Result) -> Flow | None:
    """Return the graph of the proved plan."""
    return None if result.plan_json is None else plan_flow(result.plan_json)


def _plan(state: State, result: Result, program: str) -> RunDocument:
    value = _proved(state, result, "plan", program)
    demands = [] if result.demands is None else [BLANK, *table_lines(result.demands)]
    return RunDocument((*plan_lines(value), *demands), value)


def _mermaid(state: State, result: Result, program: str) -> RunDocument:
    return RunDocument(text=plan_mermaid(_proved(state, result, "mermaid", program), program))


def _markdown(state: State, result: Result, program: str) -> RunDocument:
    return RunDocument(
        text=plan_markdown(_proved(state, result, "format markdown", program), _note(result), _demands(result))
    )


def _checklist(state: State, result: Result, program: str) -> RunDocument:
    return RunDocument(
        text=plan_checklist(_proved(state, result, "format github-checklist", program), _note(result), _demands(result))
    )


def yaml_text(result: Result) -> str:
    """Return the accepted artifact of the last step, such as a proposed profile, as YAML; empty where there is none."""
    last = next((each for each in result.path if each.last), None)
    if not result.succeeded or last is None or isinstance(last.value, str):
        return ""
    import yaml  # noqa: PLC0415 - most commands do without

    return yaml.safe_dump(last.value, sort_keys=False, allow_unicode=True, width=110)


def _yaml(_: State, result: Result, program: str) -> RunDocument:
    if not (text := yaml_text(result)):
        hint = f"`{program} show {result.run_id}` shows where it stands"
        raise UsageProblem("the run has no accepted JSON artifact", place="--format", hint=hint)
    return RunDocument(text=text)


def _note(result: Result) -> str:
    """Return what may be said of the plan, and which run made it, for a reader who has only the document."""
    return f"Run {result.run_id}: {result.conclusion.text}."


def _demands(result: Result) -> tuple[str, ...]:
    return () if result.demands is None else table_texts(result.demands)


def _proved(state: State, result: Result, view: str, program: str) -> Any:
    """Return the proved plan. Raises `UsageProblem` that says why there is none."""
    run = result.run_id
    if result.plan_json is not None:
        return result.plan_json
    if "plan" not in state.config.roles.values():
        cause = f"the workflow {state.config.workflow.name} of run {run} makes no plan"
        raise UsageProblem(cause, place=f"--{view}", hint=f"`{program} show {run}` shows what it makes")
    hint = f"`{program} show {run}` says how far it got"
    raise UsageProblem(f"run {run} has no proved plan", place=f"--{view}", hint=hint)


DOCUMENTS: Mapping[str, Callable[[State, Result, str], RunDocument]] = {
    "plan": _plan,
    "mermaid": _mermaid,
    "markdown": _markdown,
    "github-checklist": _checklist,
    "yaml": _yaml,
}
"""The documents of a planning run, by the name of their view. Each raises `UsageProblem` where there is none."""
