"""`host`: serves a home, prints a line for each notice, and stops on a signal."""

import json
import os
import shlex
import signal
import sys
import time
from typing import IO, assert_never, cast

import click
import trio

from actors.values.format import clock, stamp
from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.options import Invocation
from replan.cli.terminal.console import Lossy
from replan.runs.hosting import host
from replan.setup.command_name import program
from replan.setup.gc_tuning import tune
from replan.setup.home_folder import locate_home
from replan.setup.settings import read_user_config
from runtime.drive.options import TERMINATED_SECONDS, Stop
from runtime.host.notices import (
    Changed,
    Failed,
    Finished,
    Left,
    NotDrivable,
    Notice,
    Parked,
    Ready,
    Report,
    Resting,
    Stopped,
    Stopping,
    TakenUp,
    Trouble,
    Waiting,
)
from runtime.logs.redact import Redactor, secrets_in
from runtime.logs.terminal_text import clean

ELSEWHERE = "another process drives it"


def serve(invocation: Invocation, *, as_json: bool) -> int:
    """Serve the home until a signal asks to stop. Return the exit code."""
    tune()
    return trio.run(_serve, invocation, as_json)


async def _serve(invocation: Invocation, as_json: bool) -> int:
    stop, stdout = Stop(handover=True), cast("IO[str]", Lossy(sys.stdout))
    redactor = Redactor(secrets_in(os.environ))

    def report(notice: Notice) -> None:
        text = _as_json(notice, redactor) if as_json else _as_line(notice, redactor)
        click.echo(text, file=stdout)

    async with opened(invocation, make=True, drives=True) as engine:
        runs_max = read_user_config(locate_home().config).host.runs_max
        async with trio.open_nursery() as nursery:
            await nursery.start(_watch_signals, stop, report)
            await host(engine, runs_max=runs_max, stop=stop, report=report)
            nursery.cancel_scope.cancel()
    report(Stopped())
    return Exit.OK


async def _watch_signals(
    stop: Stop, report: Report, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Park all runs at the first signal, and wait for nothing at the next."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        task_status.started()
        async for number in received:
            if number == signal.SIGTERM and not stop.requested.is_set():
                stop.grace = TERMINATED_SECONDS
            if stop.requested.is_set():
                stop.forced.set()
            else:
                report(Stopping())
                stop.requested.set()


def _as_json(notice: Notice, redactor: Redactor) -> str:
    fields = {"at": stamp(time.time()), "event": notice.event}
    run, (key, text) = _run_of(notice), _detail(notice)
    if run:
        fields["run_id"] = run
    if text:
        fields[key] = redactor.text(text)  # The text of an error in a plug-in may hold a secret.
    return json.dumps(fields)


def _detail(notice: Notice) -> tuple[str, str]:
    """Return the key and the text of a notice's detail in JSON; an empty text is left out."""
    match notice:
        case Waiting(run, question):
            return "question", f"{run}/{question}"
        case Resting(_, until, _):
            return "until", "" if until is None else stamp(round(until))
        case Finished(_, outcome):
            return "outcome", outcome
        case Left():
            return "text", ELSEWHERE
        case Parked(_, text) | NotDrivable(_, text) | Failed(_, text) | Changed(_, text) | Trouble(_, text):
            return "text", text
        case Ready() | TakenUp() | Stopping() | Stopped():
            return "text", ""
        case _:
            assert_never(notice)


def _run_of(notice: Notice) -> str:
    """Return the run that a notice is about; empty where it is about the host."""
    return "" if isinstance(notice, Ready | Stopping | Stopped) else notice.run


def _as_line(notice: Notice, redactor: Redactor) -> str:
    text = clean(redactor.text(_words(notice)), one_line=True)
    return f"{clock(time.time())} {_run_of(notice) or 'host'}: {text}"


def _words(notice: Notice) -> str:
    match notice:
        case Ready():
            return f"serving {locate_home().folder}; Ctrl-C parks all runs"
        case TakenUp():
            return "taken up"
        case Left():
            return ELSEWHERE
        case Waiting(run, question):
            return f"waits for an answer: {program()} answer {shlex.quote(f'{run}/{question}')} TEXT"
        case Resting(_, until, why):
            text = "waits" if until is None else f"waits until {stamp(round(until))}"
            return f"{text} for its provider: {why}" if why else text
        case Parked(run, reason):
            return f"parked; then go on with: {program()} resume {run}" if reason else "parked"
        case Finished(_, outcome):
            return f"finished: {outcome}"
        case NotDrivable(_, reason):
            return f"cannot be driven here: {reason}"
        case Failed(_, error):
            return f"ended by a bug: {error}"
        case Changed(_, text) | Trouble(_, text):
            return text or notice.event
        case Stopping():
            return "parking all runs, once the replies in flight are in; once more to wait for nothing"
        case Stopped():
            return "stopped"
        case _:
            assert_never(notice)
