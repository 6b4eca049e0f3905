"""`show`: prints one view of a run."""

import trio

from actors.planning.events import PlanningEvent
from actors.planning.state import PlanningState, State
from replan.cli.commands.log import RecordPrinter
from replan.cli.exits import Exit
from replan.cli.hints import how_to_answer, how_to_resume
from replan.cli.home import named_or_newest, opened_to_read
from replan.cli.options import Invocation
from replan.cli.terminal.console import out, print_json, print_text, rich_text, rich_tree, show
from replan.runs.engine import Engine
from replan.runs.run_ids import top_of
from replan.runs.status import status_of
from replan.setup.command_name import program
from replan.views.attempts import attempts
from replan.views.branches import branch_lines, branch_stories
from replan.views.mermaid import plan_mermaid
from replan.views.outcome import outcome_lines
from replan.views.plan import plan_lines
from replan.views.records import record_to_json
from replan.views.result import Result, result_of
from replan.views.tree import search_tree
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.journal.port import RunRow


def show_run(invocation: Invocation, wanted: str | None, view: str, *, as_json: bool) -> int:
    """Print one view of a run, of the newest for None: `result`, `tree`, `plan`, `mermaid` or `events`.

    Return the exit code.
    """
    return trio.run(_show_run, invocation, wanted, view, as_json)


async def _show_run(invocation: Invocation, wanted: str | None, view: str, as_json: bool) -> int:
    async with opened_to_read(invocation) as engine:
        run = await named_or_newest(engine, wanted)
        state, records = await engine.load(run)
        row = await engine.journal.row(run)
        heard, top = await engine.state_with_inbox(run), await top_of(engine.load, run)
        status = status_of(row, hosted=await engine.hosted(), heard=heard)
    invocation.run = run
    match view:
        case "tree":
            _print_tree(row, state, records, status, as_json=as_json)
        case "events":
            _print_events(engine, run, records, as_json=as_json)
        case _:
            result = result_of(run, state, status, heard)
            _print_result(result, state, view, top, as_json=as_json)
    return Exit.OK


def _print_tree(
    row: RunRow, state: PlanningState, records: list[Record[PlanningEvent]], status: str, *, as_json: bool
) -> None:
    shown = attempts(state, records, interrupted=status == "parked")
    stories = branch_stories(state, records)
    if as_json:
        nodes, branches = [attempt.to_json() for attempt in shown], [story.to_json() for story in stories]
        print_json({"run_id": row.run, "nodes": nodes, "branches": branches})
    else:
        out().print(rich_tree(search_tree(f"{row.run}: {row.title}", shown)))
        for text in branch_lines(stories):
            out().print(rich_text(text), soft_wrap=True)


def _print_events(engine: Engine, run: str, records: list[Record[PlanningEvent]], *, as_json: bool) -> None:
    if as_json:
        print_json({"run_id": run, "events": [record_to_json(record) for record in records]})
        return
    RecordPrinter(engine).print(records)


def _print_result(result: Result, state: PlanningState, view: str, top: str, *, as_json: bool) -> None:
    if view != "result" and result.plan is None:
        raise _without_plan(result.run_id, state, view)
    if view == "mermaid":
        print_text(plan_mermaid(result.plan))
    elif as_json:
        print_json(result.plan if view == "plan" else result.to_json())
    else:
        show(plan_lines(result.plan) if view == "plan" else outcome_lines(result))
        _hint_next(result, top)


def _hint_next(result: Result, top: str) -> None:
    """Say on stderr how an unfinished run that nobody drives goes on: with `top`, which it is or is a step of."""
    how_to_answer(result)
    if result.status == "parked" or result.held_up:
        how_to_resume(top)


def _without_plan(run: str, state: PlanningState, view: str) -> UsageProblem:
    if isinstance(state, State) and "plan" not in state.config.roles.values():
        cause = f"the workflow {state.config.workflow.name} of run {run} makes no plan"
        return UsageProblem(cause, place=f"--{view}", hint=f"`{program()} show {run}` shows what it makes")
    hint = f"`{program()} show {run}` says how far it got"
    return UsageProblem(f"run {run} has no proved plan", place=f"--{view}", hint=hint)
