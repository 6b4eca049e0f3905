"""Driving a run from the command line: signals, questions on the terminal, progress, and the result at the end."""

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import trio

from actors.config.model_spec import Replay
from actors.planning.events import PlanningEvent
from actors.planning.state import State
from replan.cli.conversing import converse
from replan.cli.dryrun import print_dry_run
from replan.cli.exits import Exit, exit_of_result
from replan.cli.inputs import place_of, read_problem
from replan.cli.mail import say_how_to_answer
from replan.cli.options import Invocation
from replan.cli.session import Signals, newest_run, opened, run_named
from replan.cli.terminal import may_ask
from replan.runs.engine import Engine
from replan.runs.models import check_model
from replan.runs.notify import Notifier
from replan.runs.prepare import RunOptions, RunRequest, prepare_run
from replan.runs.run_ids import new_run_id
from replan.runs.session import RunSession
from replan.setup.command_name import program
from replan.setup.data_files import data_root
from replan.setup.gc_tuning import tune
from replan.setup.home_folder import locate_home
from replan.setup.plugins import registry
from replan.setup.settings import choose_model, read_user_config
from replan.views.console import as_far_as_read, err, line, out, print_json, show
from replan.views.outcome import outcome_lines
from replan.views.progress import Progress, progress
from replan.views.result import Result
from runtime.core.clock import SystemClock
from runtime.core.errors import UsageProblem
from runtime.core.events import Record
from runtime.drive.options import Stop

Start = Callable[[RunSession, Stop], Awaitable[Result]]

TICK_SECONDS = 1.0

_PLACES = {
    "workflow": "--workflow",
    "search": "--search",
    "max_calls": "--max-calls",
    "max_tokens": "--max-tokens",
    "max_cost_usd": "--max-cost",
    "deadline_seconds": "--deadline",
    "active_seconds": "--active-time",
}
"""What was asked for, as the command line calls it: a problem with it names the option in Python."""


@dataclass(frozen=True, slots=True)
class DriveOptions:
    """How the user wants it: asked on the terminal or not, and an object or text at the end."""

    invocation: Invocation
    no_input: bool
    as_json: bool
    detach: bool = False


def run_problem(
    invocation: Invocation,
    problem: str,
    asked: RunOptions,
    model: str | None,
    *,
    dry_run: bool,
    detach: bool,
    no_input: bool,
    as_json: bool,
) -> int:
    """Plan a problem; everything is checked before anything is written. Return the exit code."""
    text, config = read_problem(problem), read_user_config(locate_home().config)
    choice = choose_model(model, os.environ, config)
    try:
        job = prepare_run(
            text,
            asked,
            choice,
            config=config,
            registry=registry(),
            root=data_root(),
            environment=os.environ,
            now=SystemClock().now(),
        )
    except UsageProblem as wrong:
        places = _PLACES | {"PROBLEM": place_of(problem)}
        raise UsageProblem(wrong.cause, place=places.get(wrong.place, wrong.place), hint=wrong.hint) from None
    for notice in filter(None, (choice.notice, *job.notices)):
        err().print(line(f"replan: {notice}"))
    if dry_run:
        print_dry_run(job, as_json=as_json)
        return Exit.OK
    check_model(choice.spec, os.environ)
    tune()
    # What a replay needs is there already, or it is refused; and where nothing is there yet, no host is running.
    make = not (isinstance(choice.spec, Replay) or detach)
    return trio.run(_run, DriveOptions(invocation, no_input, as_json, detach), job, make)


async def _run(manner: DriveOptions, job: RunRequest, make: bool) -> int:
    name = new_run_id()
    async with opened(manner.invocation, make=make) as engine:
        if manner.detach:
            return await _detach(engine, name, job, manner)

        async def start(going: RunSession, stop: Stop) -> Result:
            if not await engine.hosted():
                return await going.begin(job, stop)
            await engine.admit(job, run=name)
            return await going.go_on(stop)

        return await _drive(engine, name, job.title, start, manner)


async def _detach(engine: Engine, run: str, job: RunRequest, manner: DriveOptions) -> int:
    """Leave a new run to a host. Nothing has been asked yet, so all that is left to say is how to look after it."""
    if not await engine.hosted():
        hint = f"start one with `{program()} host`, or leave --detach out"
        raise UsageProblem("no host is running", place="--detach", hint=hint)
    await engine.admit(job, run=run)
    manner.invocation.run = run
    with as_far_as_read():
        if manner.as_json:
            print_json((await engine.result(run)).to_json())
        else:
            out().print(line(run))
    _say_where(run)
    return Exit.OK


def resume_run(invocation: Invocation, run: str | None, *, no_input: bool, as_json: bool) -> int:
    """Go on with a run, or with the newest unfinished one. Return the exit code."""
    tune()
    return trio.run(_resume, DriveOptions(invocation, no_input, as_json), run)


async def _resume(manner: DriveOptions, wanted: str | None) -> int:
    async with opened(manner.invocation) as engine:
        run = await newest_run(engine, unfinished=True) if wanted is None else await run_named(engine, wanted)
        row = await engine.journal.row(run)

        async def start(going: RunSession, stop: Stop) -> Result:
            return await going.drive(stop, compare=True)

        return await _drive(engine, run, row.title, start, manner)


async def _drive(engine: Engine, run: str, title: str, start: Start, manner: DriveOptions) -> int:
    signals = Signals()
    # With -v the log says it all, a line at a time; the two would only get into each other's way.
    silent = manner.as_json or manner.invocation.verbose > 0 or manner.invocation.log_json
    with progress(f"{run}: {title}", silent=silent) as shown:
        async with trio.open_nursery() as hooks, trio.open_nursery() as nursery:
            wishes, notifier = _Wishes(engine, run, nursery), Notifier(engine.hook, hooks)

            def on_record(record: Record[PlanningEvent], state: State) -> None:
                if not going.following:  # Else the host tells.
                    notifier.take(record.event, state)
                shown.on_record(record, state)

            going = RunSession(engine, run, on_record, shown.note, notifier.tell)
            nursery.start_soon(signals.heed, shown.note, wishes.cancel, lambda: going.following)
            nursery.start_soon(_tick, shown)
            result = await start(going, signals.stop)
            if may_ask() and not manner.no_input:
                result = await converse(engine, going, result, signals, shown)
            nursery.cancel_scope.cancel()
    if wishes.cancelled and result.status != "finished" and not going.following:
        result = await engine.finish_cancelled(run)
    manner.invocation.run = run
    _print(result, as_json=manner.as_json)
    return _leave(result, signals, hosted=await engine.hosted())


class _Wishes:
    """Posts the wish to cancel, once, from a signal handler's task."""

    def __init__(self, engine: Engine, run: str, nursery: trio.Nursery) -> None:
        self._engine, self._run, self._nursery = engine, run, nursery
        self.cancelled = False

    def cancel(self) -> None:
        """Post it; the driver finds it in the inbox."""
        self.cancelled = True
        self._nursery.start_soon(self._engine.cancel, self._run)


async def _tick(shown: Progress) -> None:
    while True:
        await trio.sleep(TICK_SECONDS)
        shown.tick()


def _print(result: Result, *, as_json: bool) -> None:
    with as_far_as_read():  # How the run ended, the exit code says all the same.
        if as_json:
            print_json(result.to_json())
        else:
            show(outcome_lines(result))


def _leave(result: Result, signals: Signals, *, hosted: bool) -> int:
    """Say on stderr how to go on, and return the exit code."""
    console = err()
    say_how_to_answer(result)
    if result.status == "running" and not result.held_up:
        _say_where(result.run_id)
    elif result.status == "waiting" and hosted:
        console.print(line(f"replan: the run then goes on in its host: {program()} log {result.run_id} --follow"))
    elif result.status != "finished":
        then = "then go" if result.status == "waiting" else "go"
        console.print(line(f"replan: {then} on with: {program()} resume {result.run_id}"))
    if result.status != "finished" and signals.code is not None:
        return signals.code
    return exit_of_result(result)


def _say_where(run: str) -> None:
    """Say how to look after a run that a host drives, and how its questions are seen and answered."""
    err().print(line(f"replan: the host drives it: {program()} log {run} --follow"))
    asked = f"{program()} questions {run}; answer one with: {program()} answer {run}/ID TEXT"
    err().print(line(f"replan: its questions: {asked}"))
