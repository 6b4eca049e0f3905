"""Driving a run in the foreground: signals, questions on the terminal, progress, and the result at the end."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import trio

from actors.run.result import RunResult
from actors.values.format import stamp
from replan.cli.conversation import converse
from replan.cli.exits import exit_of_result
from replan.cli.hints import OutageNotes, hosted_run, how_to_answer, how_to_resume
from replan.cli.options import Invocation
from replan.cli.signals import Signals
from replan.cli.terminal.console import ignoring_closed_stdout, notice, print_json, show
from replan.cli.terminal.progress import Progress, progress
from replan.cli.terminal.prompt import may_ask
from replan.runs.engine import Engine
from replan.runs.hosting import Notifier
from replan.runs.loaded import AnyKind
from replan.runs.session import RunSession
from replan.setup.command_name import program
from runtime.core.events import Record
from runtime.drive.options import Stop

Start = Callable[[RunSession, Stop], Awaitable[RunResult]]
"""Starts a run, or goes on with it, and returns what it came to."""

TICK_SECONDS = 1.0
"""How often the progress shows that time has passed."""


async def drive_in_foreground(
    engine: Engine, run: str, start: Start, invocation: Invocation, *, kind: AnyKind, title: str
) -> int:
    """Drive a run to its end, a question or a stop; print its result and return the exit code."""
    result, signals = await drive_to_rest(engine, run, start, invocation, kind=kind, title=title)
    return await show_result(engine, kind, result, signals, invocation)


async def drive_to_rest(
    engine: Engine, run: str, start: Start, invocation: Invocation, *, kind: AnyKind, title: str
) -> tuple[RunResult, Signals]:
    """Drive a run to its end, a question or a stop; return its result, and the signals that came meanwhile."""
    signals = Signals(Stop(grace=invocation.grace))
    # With -v the log has a line for each record, so progress would only repeat it.
    silent = invocation.json or invocation.quiet or invocation.verbose > 0 or invocation.log_json
    with progress(kind, f"{run}: {title}", silent=silent) as display:
        async with trio.open_nursery() as hooks, trio.open_nursery() as nursery:
            notifier, outage = Notifier(engine.hook, hooks, title), OutageNotes()

            def on_record(record: Record[Any], state: Any) -> None:
                if not session.following:  # Else the host calls the hook.
                    notifier.take(record.event)
                display.on_record(record, state)
                note = outage.about(record.event, kind.run_state(state))
                if note:
                    display.note(note)

            session = RunSession(engine, run, on_record, display.note, notifier.tell, heard=display.heard)
            nursery.start_soon(signals.watch, display.note, lambda: session.following)
            nursery.start_soon(_tick, display)
            result = await start(session, signals.stop)
            if may_ask() and not invocation.no_input:
                result = await converse(engine, session, result, signals, display)
            nursery.cancel_scope.cancel()
    return result, signals


async def show_result(
    engine: Engine, kind: AnyKind, result: RunResult, signals: Signals, invocation: Invocation
) -> int:
    """Print the result of a run that nobody drives here any more; return the exit code."""
    invocation.run = result.run_id
    print_result(kind, result, as_json=invocation.json, full=invocation.full)
    row = await engine.journal.row(result.run_id)
    return _exit(result, signals, invocation.plugins, hosted=await engine.hosted(row.kind, row.format))


async def _tick(display: Progress) -> None:
    while True:
        await trio.sleep(TICK_SECONDS)
        display.tick()


def print_result(kind: AnyKind, result: RunResult, *, as_json: bool, full: bool = False) -> None:
    """Print what a run came to. Where stdout is closed, the exit code still says how the run ended."""
    with ignoring_closed_stdout():
        if as_json:
            print_json(result.to_json())
        else:
            show(kind.views.lines(result, program(), full=full))


def _exit(result: RunResult, signals: Signals, plugins: Sequence[str], *, hosted: bool) -> int:
    """Say on stderr what is left out and how to go on, and return the exit code."""
    for remark in result.remarks():
        notice(remark)
    how_to_answer(result)
    if result.status == "running" and not result.held_up:
        hosted_run(result.run_id)
    elif result.status == "waiting" and hosted:
        notice(f"the run then goes on in its host: {program()} log {result.run_id} --follow")
    elif result.status != "finished":
        how_to_resume(result.run_id, plugins, then=result.status == "waiting")
        if hosted and result.next_try is not None:
            notice(f"the host asks the provider again at {stamp(round(result.next_try))}")
    if result.status != "finished" and signals.code is not None:
        return signals.code
    return exit_of_result(result)
