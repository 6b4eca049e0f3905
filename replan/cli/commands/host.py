"""Serving a home from the command line: a line for each thing that happens, and two signals to stop."""

import json
import os
import shlex
import signal
import sys
import time
from typing import IO, cast

import click
import trio

from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.options import Invocation
from replan.cli.terminal.console import Lossy
from replan.runs.hosting import host
from replan.setup.command_name import program
from replan.setup.gc_tuning import tune
from replan.setup.home_folder import locate_home
from replan.setup.settings import read_user_config
from replan.views.format import clock, stamp
from runtime.drive.options import Stop
from runtime.host.host import Tell
from runtime.logs.redact import Redactor, secrets_in
from runtime.logs.terminal_text import clean

_DETAILS = {"waiting": "question", "resting": "until", "finished": "outcome"}
"""What the JSON calls the detail of an event; `text` for all others."""


def serve(invocation: Invocation, *, as_json: bool) -> int:
    """Serve the home until a signal asks to stop. Return the exit code."""
    tune()
    return trio.run(_serve, invocation, as_json)


async def _serve(invocation: Invocation, as_json: bool) -> int:
    stop, stdout = Stop(handover=True), cast("IO[str]", Lossy(sys.stdout))
    redactor = Redactor(secrets_in(os.environ))

    def tell(event: str, run: str, detail: str) -> None:
        detail = redactor.text(detail)  # It may be the text of an error of somebody's plug-in.
        said = _as_json(event, run, detail) if as_json else _as_line(event, run, detail)
        click.echo(said, file=stdout)

    async with opened(invocation, make=True) as engine:
        runs_max = read_user_config(locate_home().config).host.runs_max
        async with trio.open_nursery() as nursery:
            await nursery.start(_heed, stop, tell)
            await host(engine, runs_max=runs_max, stop=stop, tell=tell)
            nursery.cancel_scope.cancel()
    tell("stopped", "", "")
    return Exit.OK


async def _heed(stop: Stop, tell: Tell, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
    """Park all runs at the first signal, and wait for nothing at the next."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        task_status.started()
        async for _ in received:
            if stop.park.is_set():
                stop.now.set()
            else:
                tell("stopping", "", "")
                stop.park.set()


def _as_json(event: str, run: str, detail: str) -> str:
    shown = {"at": stamp(time.time()), "event": event}
    if run:
        shown["run_id"] = run
    if detail:
        shown[_DETAILS.get(event, "text")] = _detail(event, run, detail)
    return json.dumps(shown)


def _detail(event: str, run: str, detail: str) -> str:
    match event:
        case "waiting":
            return f"{run}/{detail}"
        case "resting":
            return stamp(float(detail))
        case _:
            return detail


def _as_line(event: str, run: str, detail: str) -> str:
    said = clean(_words(event, run, detail), one_line=True)
    return f"{clock(time.time())} {run or 'host'}: {said}"


def _words(event: str, run: str, detail: str) -> str:
    match event:
        case "ready":
            return f"serving {locate_home().folder}; Ctrl-C parks all runs"
        case "taken_up":
            return "taken up"
        case "waiting":
            return f"waits for an answer: {program()} answer {shlex.quote(f'{run}/{detail}')} TEXT"
        case "parked" if detail:
            return f"parked; then go on with: {program()} resume {run}"
        case "resting":
            return f"waits until {stamp(float(detail))}" if detail else "waits"
        case "finished":
            return f"finished: {detail}"
        case "not_here":
            return f"cannot be driven here: {detail}"
        case "failed":
            return f"ended by a bug: {detail}"
        case "stopping":
            return "parking all runs: at most 10 s for replies in flight; once more to wait for nothing"
        case _:
            return detail or event
