"""The command `check`: reads plans from files one by one, and prints the guards' verdict on each plan."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from replan.cli.exits import Exit
from replan.cli.options import LEVELS, Invocation, assurance_option, common, examples, report_format_option
from replan.cli.run_options import name_options, tools_file_option, workspace_option
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from actors.tools.uses import ToolSet
    from actors.values.findings import Verdict
    from replan.api.check import Comparison, PlanToCheck


_CHECK = examples(
    "replan check plan.json",
    "replan check plan.json --level expansive --json",
    "replan check plan.json --world --tools tools.yaml --workspace ../shop",
    "replan check plans/*.json more.jsonl --jsonl | jq -c 'select(.valid | not)'",
    "replan check plans/*.json --format sarif > replan.sarif",
    "replan run problem.md --json | jq .plan | replan check -",
)


@click.command(epilog=_CHECK)
@click.argument("files", metavar="PLAN...", nargs=-1, required=True)
@click.option(
    "--level",
    type=LEVELS,
    default="medium",
    show_default=True,
    help="minimal checks the form, medium also a run without failures, expansive also every trace with failures.",
)
@assurance_option
@click.option(
    "--r-max", type=click.IntRange(min=1), default=100, show_default=True, help="The largest retry budget of a plan."
)
@click.option(
    "--guard",
    "guards",
    multiple=True,
    metavar="NAME",
    help="A guard name that steps may also use.",
)
@click.option("--world", is_flag=True, help="Compare the plan with what exists: tools, files, servers, git, disk.")
@tools_file_option
@workspace_option
@report_format_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for one plan, and an array for several.")
@click.option("--jsonl", "as_jsonl", is_flag=True, help="Print one JSON object per plan, each on its own line.")
@common
@click.pass_obj
def check(
    invocation: Invocation,  # noqa: ARG001 -- checking has no home, so it keeps no log
    files: tuple[str, ...],
    *,
    level: str,
    assurance: str | None,
    r_max: int,
    guards: tuple[str, ...],
    world: bool,
    tools: str | None,
    workspace: str | None,
    form: str,
    as_json: bool,
    as_jsonl: bool,
) -> int:
    """Check plans without a model and without a run.

    With --world, your MCP servers are asked for their tools. A plan is rejected if something that it needs is missing.
    A warning names everything that cannot be checked.

    A PLAN is a file, or - for standard input; a .jsonl file has a plan, or an object with a `plan` key, per line.
    Exit 0: all valid; 3: some rejected; 2: some unreadable.
    """
    flags = {"json": as_json, "jsonl": as_jsonl}
    named = [name for name, given in flags.items() if given] + [form] * (form != "text")
    if len(set(named)) > 1:
        raise UsageProblem(
            "several output formats are given", place="--format", hint="keep one of --format, --json and --jsonl"
        )
    if assurance is not None:
        check_assurance(level)
    from replan.api.check import Standard, judge_plan
    from replan.cli.terminal.console import notice
    from replan.views.errors import line_of_error

    toolset, compare = _comparison(tools, workspace) if world else (None, None)
    if not world and (tools or workspace):
        raise UsageProblem(
            "this option has an effect only with --world",
            place="--tools" if tools else "--workspace",
            hint="add --world",
        )
    guards += tuple(toolset.guards) if toolset is not None else ()
    standard = Standard(level=level, assurance=assurance or "strong_cyclic", r_max=r_max, guard_catalog=guards)
    form = named[0] if named else "text"
    worst, single = Exit.OK, len(files) == 1 and not files[0].endswith(".jsonl")
    output = CheckOutput(form, single=single)
    for name in files:
        try:
            for case in _cases(name):
                verdict, report, catalog = judge_plan(case, standard, compare)
                worst = _worse(worst, _exit_of(verdict))
                output.add(report, catalog, case.text)
        except UsageProblem as problem:
            notice(line_of_error(problem))
            worst = Exit.USAGE
    output.end()
    return worst


def _comparison(tools: str | None, workspace: str | None) -> tuple[ToolSet, Comparison]:
    import trio

    from actors.tools.preflight import run_preflight
    from actors.tools.workspace import check_workspace
    from replan.runs.executing import tools_of
    from replan.setup.home_folder import locate_home

    home = locate_home()
    with name_options():
        folder = check_workspace(workspace or ".", home.folder)
        toolset, _ = tools_of(tools, home, folder, os.environ)
    return toolset, lambda plan: trio.run(run_preflight, plan, toolset, folder, os.environ)


def check_assurance(level: str) -> None:
    """Raise `UsageProblem` if `--assurance` is given at a level that does not check failures."""
    if level != "expansive":
        hint = "add --level expansive"
        raise UsageProblem(f"the level {level} does not check failures of steps", place="--assurance", hint=hint)


FILE_BYTES_MAX = 256 * 1024 * 1024
"""The largest size, in bytes, of a `.jsonl` file that `check` reads. Such a file is read line by line. One line, of at
most `BYTES_MAX` bytes, and its report are in memory at a time. Of any other file, at most `BYTES_MAX` bytes are read.
"""


def _cases(name: str) -> Iterator[PlanToCheck]:
    """Yield the plans of a file. At most one line of a `.jsonl` file is in memory at a time."""
    from replan.api.check import PlanToCheck
    from runtime.models.replies import BYTES_MAX

    try:
        with _open_input(name) as file:
            if not name.endswith(".jsonl"):
                yield PlanToCheck(name, _text(file.read(BYTES_MAX + 2), name))
                return
            found = False
            for number, row in enumerate(_rows(file, name), 1):
                if row.strip():
                    found = True
                    yield PlanToCheck(name, _text(row, f"{name}:{number}"), number)
    except (OSError, ValueError) as error:
        cause = (getattr(error, "strerror", None) or "no file can have this name").lower()
        raise UsageProblem(cause, place=name, hint="name a file with a plan in JSON, or - for standard input") from None
    if not found:
        raise UsageProblem("the file has no plan", place=name, hint="write one plan on each line")


@contextmanager
def _open_input(name: str) -> Iterator[BinaryIO]:
    from replan.cli.inputs import file_named

    if name == "-":
        yield sys.stdin.buffer
        return
    with file_named(name, "PLAN").open("rb") as file:
        yield file


def _rows(file: BinaryIO, name: str) -> Iterator[bytes]:
    """Yield the lines of a `.jsonl` file. If a line is too long for a plan, only its beginning is yielded."""
    from runtime.models.replies import BYTES_MAX

    total = 0
    while row := file.readline(BYTES_MAX + 2):
        total += len(row)
        rest = row
        while rest and not rest.endswith(b"\n") and total <= FILE_BYTES_MAX:
            rest = file.readline(BYTES_MAX)
            total += len(rest)
        if total > FILE_BYTES_MAX:
            raise UsageProblem(f"the file has more than {FILE_BYTES_MAX:,} bytes", place=name, hint="split the file")
        yield row


def _text(data: bytes, place: str) -> str:
    """Return the bytes of a plan as text.

    A plan that was cut because it is too large may end within a character; the check rejects such a plan.
    """
    from replan.cli.inputs import as_text
    from runtime.models.replies import BYTES_MAX

    return as_text(data, place) if len(data) <= BYTES_MAX + 1 else data.decode("utf-8", "replace")


def _exit_of(verdict: Verdict) -> Exit:
    from replan.api.check import UNREADABLE

    if verdict.passed:
        return Exit.OK
    return Exit.USAGE if any(finding.code in UNREADABLE for finding in verdict.errors) else Exit.UNSOLVED


def _worse(first: Exit, second: Exit) -> Exit:
    order = (Exit.OK, Exit.UNSOLVED, Exit.USAGE)
    return max(first, second, key=order.index)


Report = Mapping[str, Any]


class CheckOutput:
    """Prints reports in one format.

    With `single`, only one plan is checked, so the JSON output is an object instead of an array.
    """

    def __init__(self, form: str, *, single: bool) -> None:
        from replan.cli.terminal.plain import JsonArray, print_text
        from replan.views import check_report

        self._form = "array" if form == "json" and not single else form
        self._array = JsonArray()
        self._before = ""
        if form == "sarif":
            from replan.setup.installation import release

            self._before = check_report.sarif_head(release())
        elif form == "junit":
            print_text(check_report.JUNIT_HEAD)

    def add(self, report: Report, guards: Mapping[str, str], text: str) -> None:
        """Print the report on one plan. `guards` has the guard of each step, and `text` is the checked text."""
        from replan.cli.terminal.plain import print_json, print_text
        from replan.views import check_report

        match self._form:
            case "json":
                print_json(report)
            case "jsonl":
                print_json(report, indent=None)
            case "array":
                self._array.add(report)
            case "github":
                print_text("".join(f"{row}\n" for row in check_report.github_lines(report, text)))
            case "sarif":
                for result in check_report.sarif_results(report, text):
                    print_text(self._before + "\n")
                    print_json(result, indent=None)
                    self._before = ","
            case "junit":
                print_text(check_report.junit_case(report, text))
            case _:
                from replan.cli.terminal.console import show

                show(check_report.report_lines(report, dict(guards)))

    def end(self) -> None:
        """Print the text that follows the last report."""
        from replan.cli.terminal.plain import print_text
        from replan.views import check_report

        match self._form:
            case "array":
                self._array.end()
            case "sarif":
                print_text((self._before if self._before != "," else "") + check_report.SARIF_TAIL)
            case "junit":
                print_text(check_report.JUNIT_TAIL)
            case _:
                pass
