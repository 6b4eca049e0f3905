"""`acquire`: fills the schema of a profile by searching, asking and calculating."""

from __future__ import annotations

import os
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, LongCommand, examples, under
from replan.cli.run_options import (
    detach_option,
    driving_options,
    limit_options,
    model_option,
    name_options,
    parse_assignments,
    placement_options,
    set_option,
)
from replan.setup.installation import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actors.run.result import RunResult
    from replan.runs.reader import RunReader
    from replan_acquire.acquisition.report import ValueChange
    from replan_acquire.acquisition.result import AcquisitionResult

_ACQUIRE = examples(
    'replan acquire market_size "EV charging stations in Portugal" --docs market/ -o report.md',
    'replan acquire cloud_cost "Photo archive" --docs prices/ --set core.provider_region="Acme, Dublin"',
    "replan acquire market_size --explain",
    'replan acquire "cost per km of our van fleet" --docs fleet/ -m gpt-5-mini -o fleet.yaml',
)


@click.command(
    cls=LongCommand,
    brief="docs given explain output compare model max_calls max_cost deadline detach no_input quiet full json",
    epilog=_ACQUIRE,
    short_help="Fill a schema by searching, asking and calculating.",
)
@click.argument("profile")
@click.argument("goal", required=False)
@click.option(
    "--docs",
    metavar="FOLDER",
    help="A folder of documents to search, such as PDF, DOCX, XLSX or text.",
)
@set_option
@click.option("--explain", is_flag=True, help="Print the source of each field, and run nothing.")
@click.option("-o", "--output", metavar="FILE", help="Write the report to this file: .md, .csv or .xlsx.")
@click.option("--compare", metavar="RUN", help="Show what has changed since an earlier run.")
@model_option
@limit_options
@detach_option
@placement_options
@driving_options
@click.pass_obj
@under("Also for runs")
def acquire(
    invocation: Invocation,
    /,
    profile: str,
    goal: str | None,
    *,
    docs: str | None,
    given: tuple[str, ...],
    explain: bool,
    output: str | None,
    compare: str | None,
    model: str | None,
    detach: bool,
    **limits: Any,
) -> int:
    """Fill the schema of a PROFILE (a shipped name or a file) for a GOAL in words.

    With -, the GOAL is read from standard input.

    Without a PROFILE, a model proposes one. You approve the profile, and Replan writes it to profile.yaml, where you
    can edit it.

    Replan searches documents for each value, asks you for the values that it does not find, and calculates the results.
    Every value has its source and a quote. Without --docs, Replan uses the search service of the config file, if one is
    set.
    """
    if detach and output is not None:
        hint = "leave -o out, and use `replan export` when the run has ended"
        raise UsageProblem("a detached run has no report yet", place="-o", hint=hint)
    if goal is None and not explain and any(item.isspace() for item in profile.strip()):
        return _propose(invocation, profile, docs=docs, output=output, model=model, limits=limits, detach=detach)
    if explain:
        return _explain(profile, as_json=invocation.json)
    if goal is None:
        raise UsageProblem("no goal is given", place="GOAL", hint="say in words what the schema is for")
    import trio

    from actors.run.limits import split_limits
    from replan.cli.home import registry_of
    from replan.cli.planning_options import model_to_use
    from replan.cli.starting import start_run
    from replan.cli.terminal.console import notice
    from replan_acquire.acquiring import prepare_to_acquire
    from replan_acquire.acquisition.prepare import AcquisitionInput
    from runtime.drive.options import ignore

    model = model_to_use(invocation, model, ["acquire", profile, goal], templates=False)
    wish = AcquisitionInput(profile, _goal(goal), given=parse_assignments(given), limits=split_limits(limits))
    _check_report(output)
    earlier = None if compare is None else _earlier(invocation, compare)
    with name_options():
        prepared = prepare_to_acquire(wish, docs, model, registry=registry_of(invocation), environment=os.environ)
    for item in prepared.notices:
        notice(item)
    ended = ignore if output is None and earlier is None else partial(_show_end, invocation, output, earlier)
    return trio.run(partial(start_run, invocation, prepared, detach=detach, ended=ended))


def _propose(
    invocation: Invocation,
    goal: str,
    *,
    docs: str | None,
    output: str | None,
    model: str | None,
    limits: dict[str, Any],
    detach: bool,
) -> int:
    import trio

    from actors.run.limits import split_limits
    from replan.cli.home import registry_of
    from replan.cli.planning_options import model_to_use
    from replan.cli.starting import start_run
    from replan.cli.terminal.console import notice
    from replan_acquire.profile_proposals import prepare_proposal, profile_path

    path = profile_path(output)
    model = model_to_use(invocation, model, ["acquire", goal], templates=False)
    with name_options(problem="PROFILE"):
        prepared = prepare_proposal(
            goal,
            docs,
            model,
            split_limits(limits),
            registry=registry_of(invocation),
            environment=os.environ,
            no_input=invocation.no_input,
        )
    for item in prepared.notices:
        notice(item)
    ended = partial(_write_profile, goal=goal, path=path, docs=docs)
    return trio.run(partial(start_run, invocation, prepared, detach=detach, ended=ended))


def _write_profile(result: RunResult, *, goal: str, path: Path, docs: str | None) -> None:
    from replan.cli.terminal.console import notice
    from replan_acquire.profile_proposals import profile_text

    if not result.succeeded:
        if result.status == "waiting":
            export = f"`{program()} export {result.run_id} -o {path}`"
            notice(f"approve the profile and resume the run; then {export} writes the profile")
        return
    try:
        path.write_text(profile_text(result), encoding="utf-8")
    except OSError as error:
        cause = os.strerror(error.errno or 0).lower()
        hint = f"`{program()} export {result.run_id} -o FILE.yaml` writes the profile"
        raise UsageProblem(cause, place=str(path), hint=hint) from None
    where = "" if docs is None else f" --docs {docs}"
    notice(f"the profile is in {path}; edit it, then run `{program()} acquire {path} {shlex.quote(goal)}{where}`")


def _explain(name: str, *, as_json: bool) -> int:
    from replan.cli.terminal.console import print_json, show
    from replan_acquire.acquisition.profile import outline_json, outline_lines
    from replan_acquire.acquisition.profile_check import load_profile

    profile = load_profile(name).profile
    if as_json:
        print_json(outline_json(profile))
    else:
        show(list(outline_lines(profile)))
    return Exit.OK


def _goal(argument: str) -> str:
    from replan.cli.inputs import read_stdin
    from replan.cli.terminal.console import notice
    from replan_acquire.acquisition.prepare import GOAL_BYTES_MAX

    if argument != "-":
        return argument
    if sys.stdin.isatty():
        notice("reading the goal from the terminal; press Ctrl-D at its end")
    return read_stdin(GOAL_BYTES_MAX)


def _check_report(report: str | None) -> None:
    if report is None:
        return
    path = Path(report)
    if not report or path.is_dir() or not path.absolute().parent.is_dir():
        cause = "this is a folder, not a file" if path.is_dir() else "the folder of this file does not exist"
        raise UsageProblem(cause, place="-o", hint="name a file in a folder that exists, such as report.md")


def _earlier(invocation: Invocation, name: str) -> AcquisitionResult:
    from replan.cli.reading import read_home, resolve_or_newest
    from replan_acquire.acquisition.result import AcquisitionResult

    async def read(reader: RunReader) -> RunResult:
        return await reader.result(await resolve_or_newest(reader, name))

    result = read_home(invocation, read)
    if not isinstance(result, AcquisitionResult):
        raise UsageProblem(
            f"run {result.run_id} is not an acquisition",
            place="--compare",
            hint="name an acquisition from `replan list`",
        )
    return result


def _show_end(invocation: Invocation, report: str | None, earlier: AcquisitionResult | None, result: RunResult) -> None:
    from actors.values.lines import BLANK, indent_line, line
    from replan.cli.terminal.console import notice, show
    from replan_acquire.acquisition.report import changes_since
    from replan_acquire.acquisition.result import AcquisitionResult

    assert isinstance(result, AcquisitionResult)
    changes = () if earlier is None else changes_since(earlier, result)
    if earlier is not None:
        run = earlier.run_id
        title = f"Changes since run {run}:" if changes else f"Nothing has changed since run {run}."
        if invocation.json:  # Standard output has one JSON value.
            for text in (title, *(change.text for change in changes)):
                notice(text)
        else:
            show([BLANK, line(title, "bold"), *(indent_line(change.text) for change in changes)])
    if report is not None:
        _write_report(result, changes, report)


def _write_report(result: AcquisitionResult, changes: Sequence[ValueChange], report: str) -> None:
    from replan.cli.terminal.console import notice

    later = f"`{program()} export {result.run_id} -o {report}`"
    if result.status != "finished":
        notice(f"the report is not written, because the run has not ended; {later} writes it after the end")
        return
    try:
        Path(report).write_bytes(_report(result, changes, Path(report).suffix.lower()))
    except OSError as error:
        cause = os.strerror(error.errno or 0).lower()
        raise UsageProblem(cause, place=report, hint=f"the run has ended; {later} writes the report") from None
    notice(f"the report is in {report}")


def _report(result: AcquisitionResult, changes: Sequence[ValueChange], suffix: str) -> bytes:
    from replan_acquire.acquisition.report import csv_text, markdown

    if suffix == ".xlsx":
        from replan_acquire.acquisition.report_xlsx import workbook

        return workbook(result)
    return (csv_text(result) if suffix == ".csv" else markdown(result, changes)).encode()
