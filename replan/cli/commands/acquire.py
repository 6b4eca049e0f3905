"""`acquire`: fills the schema of a profile by searching, asking and calculating."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import trio

from actors.acquisition.prepare import AcquisitionInput
from actors.acquisition.profile_files import load_profile
from actors.acquisition.profile_outline import outline_json, outline_lines
from actors.acquisition.report import markdown
from actors.acquisition.result import Result
from actors.run.result import RunResult
from replan.cli.detaching import detach as detach_run
from replan.cli.drive import Foreground, drive_to_rest, show_result
from replan.cli.exits import Exit
from replan.cli.home import opened
from replan.cli.inputs import read_stdin
from replan.cli.options import Invocation, naming_options
from replan.cli.plugins import registry_of
from replan.cli.terminal.console import notice, print_json, show
from replan.runs.acquiring import PreparedToAcquire, prepare_to_acquire
from replan.runs.engine import Engine
from replan.runs.run_ids import new_run_id
from replan.runs.session import RunSession
from replan.setup.command_name import program
from replan.setup.data_files import data_root
from replan.setup.gc_tuning import tune
from runtime.core.errors import UsageProblem
from runtime.drive.options import Stop

GOAL_BYTES_MAX = 64 * 1024
"""Bytes of a goal on standard input."""


@dataclass(frozen=True, slots=True)
class Acquire:
    """The wish to fill a schema, as the command line says it."""

    wish: AcquisitionInput
    """The profile, the goal, the given values and the limits."""
    docs: str | None
    """The folder of documents; None for none."""
    model: str | None
    """The model, as after `--model`; None for the usual one."""
    report: str | None
    """The file that the report is written to; None for none."""
    detach: bool = False
    """Whether a host drives the run."""


def explain_profile(name: str, *, as_json: bool) -> int:
    """Print where each field of a profile comes from. Return the exit code."""
    profile = load_profile(name, data_root()).profile
    if as_json:
        print_json(outline_json(profile))
    else:
        show(list(outline_lines(profile)))
    return Exit.OK


def goal_of(argument: str) -> str:
    """Return the goal that an argument is, or the text on standard input for `-`."""
    if argument != "-":
        return argument
    if sys.stdin.isatty():
        notice("reading the goal from the terminal; Ctrl-D ends it")
    return read_stdin(GOAL_BYTES_MAX)


def given_of(assignments: tuple[str, ...]) -> dict[str, str]:
    """Return the values that `--set PATH=VALUE` gives, by path. Raises `UsageProblem`."""
    given: dict[str, str] = {}
    for assignment in assignments:
        path, equals, value = assignment.partition("=")
        if not equals or not path.strip():
            raise UsageProblem(f"{assignment!r} gives no value", place="--set", hint="such as core.currency=EUR")
        if path.strip() in given:
            raise UsageProblem(f"{path.strip()!r} is given twice", place="--set", hint="leave one out")
        given[path.strip()] = value.strip()
    return given


def acquire_values(
    invocation: Invocation, request: Acquire, *, no_input: bool, as_json: bool, grace: float | None
) -> int:
    """Fill a schema; everything is checked before anything is written. Return the exit code."""
    _check_report(request.report)
    with naming_options():
        prepared = prepare_to_acquire(
            request.wish, request.docs, request.model, registry=registry_of(invocation), environment=os.environ
        )
    for each in prepared.notices:
        notice(each)
    prepared.check_model()
    foreground = Foreground(invocation, no_input, as_json, grace)
    if request.detach:
        return trio.run(_detach, foreground, prepared)
    tune()
    return trio.run(_acquire, foreground, prepared, request.report)


async def _acquire(options: Foreground, prepared: PreparedToAcquire, report: str | None) -> int:
    run = new_run_id()
    async with opened(options.invocation, make=True, drives=True) as engine:
        kind = engine.kinds.named(prepared.request.kind)

        async def start(session: RunSession, stop: Stop) -> RunResult:
            if not await engine.hosted(kind.name, kind.format):
                return await session.begin(prepared.request, stop)
            await engine.admit(prepared.request, run=run)
            return await session.go_on(stop)

        result, signals = await drive_to_rest(engine, run, start, options, kind=kind, title=prepared.request.title)
        code = await show_result(engine, kind, result, signals, options)
    if report is not None:
        _write_report(result, report)
    return code


async def _detach(options: Foreground, prepared: PreparedToAcquire) -> int:
    run = new_run_id()

    async def admit(engine: Engine) -> None:
        await engine.admit(prepared.request, run=run)

    return await detach_run(options, run, prepared.request.kind, admit, make=True)


def _check_report(report: str | None) -> None:
    """Check that the report can be written, before anything is spent. Raises `UsageProblem`."""
    if report is None:
        return
    path = Path(report)
    if not report or path.is_dir() or not path.absolute().parent.is_dir():
        cause = "this is a folder, not a file" if path.is_dir() else "its folder does not exist"
        raise UsageProblem(cause, place="-o", hint="name a file in a folder that exists, such as report.md")


def _write_report(result: RunResult, report: str) -> None:
    later = f"`{program()} export {result.run_id} -o {report}`"
    if result.status != "finished" or not isinstance(result, Result):
        notice(f"the report is not written, since the run has not ended; {later} writes it then")
        return
    try:
        Path(report).write_text(markdown(result), encoding="utf-8")
    except OSError as error:
        cause = os.strerror(error.errno or 0).lower()
        raise UsageProblem(cause, place=report, hint=f"the run has ended; {later} writes the report") from None
    notice(f"the report is in {report}")
