"""`edit`: opens the plan of a run in an editor, and gives the run the edited plan."""

from __future__ import annotations

import getpass
import os
import tempfile
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from replan.cli.completing import require_one_run, run_argument
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option
from replan.setup.installation import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.runs.editing import EditRejected, OpenPlan
    from replan.runs.engine import Engine

_EDIT = examples(
    "replan edit k7m2x9qa",
    "replan edit --last --approve",
    "replan edit k7m2x9qa --print > rest.yaml && replan edit k7m2x9qa --file rest.yaml",
)


@click.command(epilog=_EDIT)
@run_argument()
@click.option(
    "--file", metavar="FILE", help="Take the edited plan from FILE (- for standard input) and open no editor."
)
@click.option("--print", "prints", is_flag=True, help="Print the plan, and change nothing.")
@click.option("--approve", is_flag=True, help="Also approve the steps that wait for your approval.")
@click.option("--drop-demands", is_flag=True, help="Accept that no step meets some demands any more.")
@json_option
@common
@click.pass_obj
def edit(
    invocation: Invocation,
    run_id: str | None,
    *,
    last: bool,
    file: str | None,
    prints: bool,
    approve: bool,
    drop_demands: bool,
    as_json: bool,
) -> int:
    """Edit the plan of a RUN as YAML in your editor ($VISUAL or $EDITOR).

    It is the plan of a planning run, its best draft, or what is left of the plan of an execution. The guards judge the
    edit. A rejected edit opens again with the findings as comments. An accepted edit becomes the plan of the run; an
    execution takes it up once no step is at work. Steps that are done, tokens that hold and prohibitions are kept.
    """
    require_one_run("edit", run_id, last=last)
    if prints and file is not None:
        raise UsageProblem("--print reads no file", place="--file", hint="leave one out")
    import trio

    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import print_json, print_text

    opened = trio.run(_open, invocation, run_id)
    if prints:
        if as_json:
            print_json(opened.value)
        else:
            print_text(_text_of(opened))
        return Exit.OK
    made = _get_edit(invocation, opened, file, drops=drop_demands)
    if made is None:
        notice(f"nothing was changed; the plan of run {opened.run} stays as it is")
    else:
        trio.run(_post, invocation, opened, made, approve)
    if as_json:
        print_json({"run_id": opened.run, "result": "unchanged" if made is None else "accepted"})
    return Exit.OK


class _Edit(NamedTuple):
    """An edited plan that the guards accept."""

    text: str
    """The plan as the person wrote it."""
    value: dict[str, Any]
    """The plan as JSON."""
    dropped: tuple[str, ...]
    """The ids of the demands that the person agrees to drop."""


async def _open(invocation: Invocation, name: str | None) -> OpenPlan:
    from replan.cli.home import open_engine
    from replan.cli.reading import resolve_or_newest
    from replan.runs.editing import open_plan

    async with open_engine(invocation) as engine:
        return await open_plan(engine, await resolve_or_newest(engine, name))


async def edit_and_approve(engine: Engine, invocation: Invocation, run: str) -> bool:
    """Open the plan of a run in an editor, and give the run the edited plan with the approval that it waits for.

    Return False if the person leaves the plan as it is. Raises `UsageProblem`.
    """
    import trio

    from replan.runs.editing import open_plan

    opened = await open_plan(engine, run)
    made = await trio.to_thread.run_sync(partial(_get_edit, invocation, opened, None, drops=False))
    if made is not None:
        await _give(engine, opened, made, approves=True)
    return made is not None


async def _give(engine: Engine, opened: OpenPlan, made: _Edit, *, approves: bool) -> None:
    from actors.values.lines import verbatim
    from replan.cli.terminal.console import show_aside
    from replan.runs.editing import EditedMeanwhile, post_edit

    try:
        who = _user()
        await post_edit(engine, opened, made.value, via="cli", person=who, approves=approves, dropped=made.dropped)
    except UsageProblem as problem:
        if isinstance(problem, EditedMeanwhile):
            show_aside([verbatim(change) for change in problem.changes])
        _keep(made.text)
        raise


async def _post(invocation: Invocation, opened: OpenPlan, made: _Edit, approves: bool) -> None:
    from replan.cli.hints import say_how_to_resume
    from replan.cli.home import open_engine
    from replan.cli.terminal.console import notice

    async with open_engine(invocation) as engine:
        await _give(engine, opened, made, approves=approves)
        row = await engine.journal.row(opened.run)
        hosted = await engine.has_host(row.kind, row.format)
    later = ", and takes it up once no step is at work" if opened.executes else ""
    notice(f"run {opened.run} has the edited plan{later}")
    if row.owner is None and not hosted and row.status != "finished":
        say_how_to_resume(opened.run)


def _get_edit(invocation: Invocation, opened: OpenPlan, file: str | None, *, drops: bool) -> _Edit | None:
    """Return the plan that a person has edited in a file or an editor; None if the person leaves it as it is.

    The journal is not open meanwhile. Raises `UsageProblem` for a file that is rejected, and for an editor that fails.
    """
    from actors.plans.plan_yaml import read_plan_yaml
    from replan.runs.editing import EditRejected

    if file is not None:
        written = _read(file)
        value = read_plan_yaml(written, file)
        return _Edit(written, value, _judge(opened, value, lambda _: drops))
    text, kept = _text_of(opened), ""
    while True:
        edited = _open_editor(invocation, text)
        if edited is None:
            _keep(kept)
            return None
        kept = edited
        try:
            value = read_plan_yaml(edited, "the edited plan")
            return _Edit(edited, value, _judge(opened, value, lambda problem: drops or _agrees(problem)))
        except EditRejected as problem:
            text = _with_findings(edited, [f"{item.code}: {item.message}" for item in problem.findings])
        except UsageProblem as problem:
            text = _with_findings(edited, [f"{problem.place}: {problem.cause}"])


def _judge(opened: OpenPlan, value: dict[str, Any], agrees: Callable[[EditRejected], bool]) -> tuple[str, ...]:
    """Judge an edited plan, and return the ids of the demands that the person agrees to drop.

    `agrees` is called if nothing else is wrong with it. Raises `EditRejected`.
    """
    from replan.runs.editing import EditRejected

    try:
        opened.judge(value)
    except EditRejected as problem:
        if not (problem.demands and agrees(problem)):
            raise
        return tuple(finding.where for finding in problem.demands)
    return ()


def _user() -> str:
    """Return the name of the user; empty if the system does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _agrees(problem: EditRejected) -> bool:
    """Ask whether the demands that an edit drops may be dropped."""
    from replan.cli.terminal.console import notice

    for finding in problem.demands:
        notice(finding.message)
    return click.confirm("Drop these demands?", default=False, err=True)


def _read(file: str) -> str:
    from pathlib import Path

    from replan.cli.inputs import read_file, read_stdin
    from runtime.models.replies import BYTES_MAX

    if file == "-":
        return read_stdin(BYTES_MAX)
    hint, smaller = "name a file with a plan in YAML or JSON", "leave out what is no part of the plan"
    return read_file(Path(file), BYTES_MAX, file, hint=hint, smaller=smaller)


def _open_editor(invocation: Invocation, text: str) -> str | None:
    """Return the text that a person has edited in an editor; None if it is unchanged. Raises `UsageProblem`."""
    from replan.cli.terminal import prompt

    hint = "set EDITOR, or write the plan to a file and name it with --file"
    if not prompt.may_ask(no_input=invocation.no_input):
        raise UsageProblem("there is no terminal for an editor", place="edit", hint="name a file with --file")
    try:
        edited = click.edit(text, extension=".yaml")
    except click.ClickException as error:
        raise UsageProblem(error.message.rstrip("."), place="EDITOR", hint=hint) from None
    return None if edited is None or edited == text else edited


def _keep(text: str) -> None:
    """Write an edited text that does not become the plan to a file, and print the path."""
    from replan.cli.terminal.console import notice

    if text:
        handle, path = tempfile.mkstemp(prefix="replan-edit-", suffix=".yaml")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        notice(f"your text is kept in {path}")


_HEAD = "# > "
"""The beginning of the comments that Replan writes above a plan."""


def _text_of(opened: OpenPlan) -> str:
    from actors.plans.plan_yaml import plan_as_yaml

    return "".join(f"{_HEAD}{row}\n" for row in (*opened.about, "An unchanged file changes nothing.")) + plan_as_yaml(
        opened.value
    )


def _with_findings(text: str, findings: list[str]) -> str:
    """Return an edited text with the findings above it, in place of Replan's earlier comments."""
    rows = [row for row in text.splitlines(keepends=True) if not row.startswith(_HEAD)]
    head = ["Rejected, and opened again:", *(f"- {' '.join(item.split())}" for item in findings)]
    again = f"Correct the plan, or close the file unchanged to stop. `{program()} explain CODE` explains a code."
    return "".join([*(f"{_HEAD}{row}\n" for row in (*head, again)), *rows])
