"""Reading runs out of the journal: the list, one run in several views, and its records as they come."""

import time
from collections.abc import Iterable
from typing import Any

import trio
from rich.text import Text

from actors.planning.config import RunConfig
from actors.planning.decision_event import Decided
from actors.planning.events import PlanningEvent
from actors.planning.state import State
from replan.cli.exits import Exit
from replan.cli.mail import say_how_to_answer
from replan.cli.options import Invocation
from replan.cli.session import ALL, newest_run, opened_to_read, run_named
from replan.runs.engine import Engine, status_of
from replan.runs.run_ids import top_of
from replan.setup.command_name import program
from replan.views.attempts import attempts
from replan.views.branches import branch_lines, branch_stories
from replan.views.console import columns, err, line, out, print_json, show
from replan.views.format import ago, stamp
from replan.views.mermaid import plan_mermaid
from replan.views.outcome import outcome_lines
from replan.views.plan import plan_lines
from replan.views.records import line_of
from replan.views.result import Result, result_of
from replan.views.tree import search_tree
from runtime.core.errors import UsageProblem
from runtime.core.events import Event, Record
from runtime.core.owner import describe
from runtime.journal.port import RunFilter, RunRow

FOLLOW_SECONDS = 0.25
"""How often `log --follow` looks for new records."""


def list_runs(invocation: Invocation, *, waiting: bool, older_than: float | None, as_json: bool) -> int:
    """Print the list of runs: all, or those that have waited for a person for longer than some seconds."""
    return trio.run(_list_runs, invocation, waiting, older_than, as_json)


async def _list_runs(invocation: Invocation, waiting: bool, older_than: float | None, as_json: bool) -> int:
    before = None if older_than is None else time.time() - older_than
    which = RunFilter(status="waiting" if waiting else None, waiting_since_before=before, limit=ALL.limit)
    async with opened_to_read(invocation) as engine:
        rows = await engine.rows(which)
    if as_json:
        print_json({"runs": [row_to_json(row, status) for row, status in rows]})
        return Exit.OK
    console, now = out(), time.time()
    for row, status in rows:
        text = columns(line(row.run), f"{_standing(row, status):<17}", f"{ago(now - row.updated):>4}", line(row.title))
        console.print(text, no_wrap=True, overflow="ellipsis")
    if not rows:
        console.print(line("no run waits" if waiting else f"no runs yet: `{program()} run PROBLEM` starts one", "dim"))
    return Exit.OK


def _standing(row: RunRow, status: str) -> str:
    """Return a word for how a run stands: its outcome, its status, or that no host can drive it."""
    match status:
        case "finished":
            return row.summary.detail
        case "running" if row.summary.status == "running" and row.summary.detail:
            return "held up"
        case _:
            return status


def row_to_json(row: RunRow, status: str) -> dict[str, Any]:
    """Return a status row as plain data, with the status for people; times are ISO 8601 in UTC."""
    summary = row.summary
    shown: dict[str, Any] = {"run_id": row.run, "status": status, "title": row.title}
    if status == "finished":
        shown["outcome"] = summary.detail
    if status == summary.status and status in ("parked", "running") and summary.detail:
        shown["why"] = summary.detail
    if summary.waiting_since is not None:
        shown |= {"waiting_since": stamp(summary.waiting_since), "question": f"{row.run}/{summary.detail}"}
    if summary.next_wake is not None and status != "finished":
        shown["next_wake"] = stamp(summary.next_wake)
    return shown | {
        "created": stamp(row.created),
        "updated": stamp(row.updated),
        "records": row.last_seq,
        "driven_by": None if row.owner is None else describe(row.owner),
    }


def show_run(invocation: Invocation, wanted: str | None, view: str, *, as_json: bool) -> int:
    """Print one view of a run, of the newest if none is named: `result`, `tree`, `plan`, `mermaid` or `events`."""
    return trio.run(_show_run, invocation, wanted, view, as_json)


async def _show_run(invocation: Invocation, wanted: str | None, view: str, as_json: bool) -> int:
    async with opened_to_read(invocation) as engine:
        run = await _wanted(engine, wanted)
        state, records = await engine.load(run)
        row = await engine.journal.row(run)
        heard, top = await engine.heard(run), await top_of(engine.load, run)
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


async def _wanted(engine: Engine, wanted: str | None) -> str:
    return await newest_run(engine, unfinished=False) if wanted is None else await run_named(engine, wanted)


def _print_tree(row: RunRow, state: State, records: list[Record[PlanningEvent]], status: str, *, as_json: bool) -> None:
    found = attempts(state, records, interrupted=status == "parked")
    stories = branch_stories(state, records)
    if as_json:
        nodes, branches = [attempt.to_json() for attempt in found], [story.to_json() for story in stories]
        print_json({"run_id": row.run, "nodes": nodes, "branches": branches})
    else:
        out().print(search_tree(f"{row.run}: {row.title}", found))
        for text in branch_lines(stories):
            out().print(text, soft_wrap=True)


def _print_events(engine: Engine, run: str, records: list[Record[PlanningEvent]], *, as_json: bool) -> None:
    if as_json:
        print_json({"run_id": run, "events": [_record_to_json(record) for record in records]})
        return
    _Lines(engine).print(records)


def _print_result(result: Result, state: State, view: str, top: str, *, as_json: bool) -> None:
    if view != "result" and result.plan is None:
        raise _without_plan(result.run_id, state, view)
    if view == "mermaid":
        print(plan_mermaid(result.plan), end="")  # noqa: T201 -- the result goes to stdout
    elif as_json:
        print_json(result.plan if view == "plan" else result.to_json())
    else:
        show(plan_lines(result.plan) if view == "plan" else outcome_lines(result))
        _say_next(result, top)


def _say_next(result: Result, top: str) -> None:
    """Say on stderr how an unfinished run that nobody drives goes on: with `top`, which it is or is a step of."""
    say_how_to_answer(result)
    if result.status == "parked" or result.held_up:
        err().print(line(f"replan: go on with: {program()} resume {top}"))


def _without_plan(run: str, state: State, view: str) -> UsageProblem:
    if state.config is not None and "plan" not in state.config.roles.values():
        cause = f"the workflow {state.config.workflow.name} of run {run} makes no plan"
        return UsageProblem(cause, place=f"--{view}", hint=f"`{program()} show {run}` shows what it makes")
    hint = f"`{program()} show {run}` says how far it got"
    return UsageProblem(f"run {run} has no proved plan", place=f"--{view}", hint=hint)


def log_run(invocation: Invocation, wanted: str | None, *, follow: bool) -> int:
    """Print the records of a run, or of the newest one, and with `follow` those that come until it rests."""
    return trio.run(_log_run, invocation, wanted, follow)


async def _log_run(invocation: Invocation, wanted: str | None, follow: bool) -> int:
    async with opened_to_read(invocation) as engine:
        run = await _wanted(engine, wanted)
        lines = _Lines(engine)
        lines.print(await engine.journal.read(run))
        while follow and status_of(await engine.journal.row(run), hosted=await engine.hosted()) == "running":
            await trio.sleep(FOLLOW_SECONDS)
            lines.print(await engine.journal.read(run, lines.seen))
        if follow:
            lines.print(await engine.journal.read(run, lines.seen))
    return Exit.OK


DERIVED = ("request_id", "node", "step")
"""What an event's ids say, beside what is stored: readers of the JSON should not have to take ids apart."""


class _Lines:
    """Prints the records of one run, from the first on, which says what the run is pinned to."""

    def __init__(self, engine: Engine) -> None:
        self._machine, self._console = engine.machine, out()
        self._config: RunConfig | None = None
        self.seen = 0

    def print(self, records: Iterable[Record[PlanningEvent]]) -> None:
        """Print the records that follow on those before: number, time, what happened."""
        for record in records:
            if self._config is None:
                self._config = self._machine.evolve(self._machine.initial(), record.event).config
            self._console.print(record_line(record, self._config))
            self.seen = record.seq


def record_line(record: Record[PlanningEvent], config: RunConfig | None) -> Text:
    """Return a record as one line; `config` is what its run is pinned to."""
    return columns(f"{record.seq:>4}", stamp(record.at), line(line_of(record.event, config)))


def _record_to_json(record: Record[PlanningEvent]) -> dict[str, Any]:
    assert isinstance(record.event, Event)
    event = record.event
    told: dict[str, Any] = {name: value for name in DERIVED if isinstance(value := getattr(event, name, None), str)}
    if isinstance(event, Decided):
        told["targets"] = list(event.decision.targets)
    return {"seq": record.seq, "at": stamp(record.at), "epoch": record.epoch, **event.model_dump(mode="json"), **told}
