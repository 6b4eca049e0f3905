"""Prints the notices of a host on stdout, as lines or as JSON. Handles the signals that stop the host."""

import json
import os
import select
import shlex
import signal
import sys
import time
from typing import IO, assert_never, cast

import click
import trio

from actors.values.format import clock, stamp
from replan.cli.terminal.console import Lossy, has_room
from replan.setup.home_folder import database_place, locate_home
from replan.setup.installation import program
from runtime.drive.options import TERMINATED_SECONDS, Stop
from runtime.host.notices import (
    Changed,
    Failed,
    Finished,
    Left,
    NotDrivable,
    Notice,
    OutsideTrouble,
    Parked,
    Ready,
    Report,
    Resting,
    Stopped,
    Stopping,
    TakenUp,
    Waiting,
)
from runtime.logs.redact import Redactor, secrets_in
from runtime.logs.terminal_text import clean

ELSEWHERE = "another process drives the run"
TEXT_MAX = 300
"""If a line with a notice is too long for one write to a pipe, the notice's text is cut to this number of characters.
As JSON, so many characters have at most 3,600 bytes.
"""


def reporter(*, as_json: bool, stream: IO[str] | None = None) -> Report:
    """Return a function that prints a notice on a stream, by default on stdout.

    The function never waits for the stream's reader, because waiting would stop the whole process. While a pipe is
    full, notices are left out. A line before the next printed notice says how many notices were left out.
    """
    stdout, redactor = stream or cast("IO[str]", Lossy(sys.stdout)), Redactor(secrets_in(os.environ))
    left_out = 0

    def report(notice: Notice) -> None:
        nonlocal left_out
        if left_out and has_room(stdout):
            click.echo(_gap_line(left_out, as_json=as_json), file=stdout)
            left_out = 0
        if left_out or not has_room(stdout):
            left_out += 1
            return
        line = _as_json if as_json else _as_line
        text = line(notice, redactor, None)
        if len(text.encode()) >= select.PIPE_BUF:
            text = line(notice, redactor, TEXT_MAX)
        click.echo(text, file=stdout)

    return report


def _gap_line(count: int, *, as_json: bool) -> str:
    text = f"{count} {'notice was' if count == 1 else 'notices were'} left out: nobody read the output"
    if as_json:
        return json.dumps({"at": stamp(time.time()), "event": "left_out", "text": text})
    return f"{clock(time.time())} host: {text}"


async def watch_signals(
    stop: Stop, report: Report, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Request the parking of all runs at the first signal, and an immediate end at the next signal."""
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


def _as_json(notice: Notice, redactor: Redactor, text_max: int | None) -> str:
    fields = {"at": stamp(time.time()), "event": notice.event}
    run, (key, text) = _run_of(notice), _detail(notice)
    if run:
        fields["run_id"] = run
    if text:
        fields[key] = redactor.text(text)[:text_max]  # The text of an error in a plug-in may hold a secret.
    return json.dumps(fields)


def _detail(notice: Notice) -> tuple[str, str]:
    """Return the key and the value of a notice's detail in JSON. If the value is empty, the notice has no detail."""
    match notice:
        case Waiting(run, question):
            return "question", f"{run}/{question}"
        case Resting(_, until, _):
            return "until", "" if until is None else stamp(round(until))
        case Finished(_, outcome):
            return "outcome", outcome
        case Left():
            return "text", ELSEWHERE
        case Parked(_, text) | NotDrivable(_, text) | Failed(_, text) | Changed(_, text) | OutsideTrouble(_, text):
            return "text", text
        case Ready() | TakenUp() | Stopping() | Stopped():
            return "text", ""
        case _:
            assert_never(notice)


def _run_of(notice: Notice) -> str:
    """Return the id of a notice's run; empty if the notice is about the host."""
    return "" if isinstance(notice, Ready | Stopping | Stopped) else notice.run


def _as_line(notice: Notice, redactor: Redactor, text_max: int | None) -> str:
    text = clean(redactor.text(_words(notice)), one_line=True)[:text_max]
    return f"{clock(time.time())} {_run_of(notice) or 'host'}: {text}"


def _words(notice: Notice) -> str:
    match notice:
        case Ready():
            return f"serving {database_place() or locate_home().folder}; Ctrl-C parks all runs"
        case TakenUp():
            return "this host drives the run now"
        case Left():
            return ELSEWHERE
        case Waiting(run, question):
            return f"waits for an answer: {program()} answer {shlex.quote(f'{run}/{question}')} TEXT"
        case Resting(_, until, why):
            text = "waits" if until is None else f"waits until {stamp(round(until))}"
            return f"{text} for its provider: {why}" if why else text
        case Parked(run, reason):
            return f"parked; resume it with: {program()} resume {run}" if reason else "parked"
        case Finished(_, outcome):
            return f"finished: {outcome}"
        case NotDrivable(_, reason):
            return f"this host cannot drive the run: {reason}"
        case Failed(_, error):
            return f"ended by a bug: {error}"
        case Changed(_, text) | OutsideTrouble(_, text):
            return text or notice.event
        case Stopping():
            return "parking all runs after the replies in flight arrive; a second signal parks them at once"
        case Stopped():
            return "stopped"
        case _:
            assert_never(notice)
