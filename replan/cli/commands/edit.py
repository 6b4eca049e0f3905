"""`edit`: opens what is left of an execution's plan in an editor, and gives the run what a person makes of it."""

from __future__ import annotations

import getpass
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from replan.cli.completing import require_one_run, run_argument
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples
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
@click.option("--print", "prints", is_flag=True, help="Print what is left of the plan, and change nothing.")
@click.option("--approve", is_flag=True, help="Approve, in the same act, the steps that wait for your approval.")
@click.option("--drop-demands", is_flag=True, help="Accept that demands are in no step any more.")
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
) -> int:
    """Edit what is left of the plan of an execution RUN, as YAML in your editor ($VISUAL or $EDITOR).

    The guards judge the edit. What is rejected opens again with the findings as comments. What passes becomes the plan
    of the run once no step is at work. What is done, the tokens that hold and the prohibitions are kept.
    """
    require_one_run("edit", run_id, last=last)
    if prints and file is not None:
        raise UsageProblem("nothing is taken from a file to print", place="--print", hint="leave one out")
    import trio

    return trio.run(_edit, invocation, run_id, _Source(file, prints, approve, drop_demands))


class _Source:
    """Where the edited plan comes from, and what the person agrees to."""

    def __init__(self, file: str | None, prints: bool, approve: bool, drop_demands: bool) -> None:
        self.file, self.prints, self.approve, self.drop_demands = file, prints, approve, drop_demands


async def _edit(invocation: Invocation, name: str | None, source: _Source) -> int:
    from replan.cli.hints import say_how_to_resume
    from replan.cli.home import open_engine
    from replan.cli.reading import resolve_or_newest
    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import print_text
    from replan.runs.editing import open_plan

    async with open_engine(invocation) as engine:
        run = await resolve_or_newest(engine, name)
        opened = await open_plan(engine, run)
        if source.prints:
            print_text(_text_of(opened))
            return Exit.OK
        if not await _take(engine, opened, source):
            notice(f"nothing was changed; the plan of run {run} stays as it is")
            return Exit.OK
        row = await engine.journal.row(run)
        hosted = await engine.has_host(row.kind, row.format)
    notice(f"run {run} has the edited plan, and takes it up once no step is at work")
    if row.owner is None and not hosted:
        say_how_to_resume(run)
    return Exit.OK


async def _take(engine: Engine, opened: OpenPlan, source: _Source) -> bool:
    """Get an edited plan and post it; return whether there is one. Raises `UsageProblem`, `EditRejected`."""
    from replan.runs.editing import EditRejected

    text, dropped, last = _text_of(opened), tuple[str, ...](), ""
    while True:
        if source.file is None:
            written = _open_editor(text)
            if written is None or written == last:
                return _keep(last)
        else:
            written = _read(source.file)
        last = written
        try:
            await _post(engine, opened, written, source, dropped)
        except EditRejected as problem:
            if problem.demands and (source.drop_demands or _agrees(problem, source)):
                dropped = tuple(finding.where for finding in problem.demands)
                await _post(engine, opened, written, source, dropped)
                return True
            if source.file is not None:
                raise
            text = _with_findings(written, [f"{item.code}: {item.message}" for item in problem.findings])
        except UsageProblem as problem:
            if source.file is not None or problem.place == opened.run:
                _keep(written)
                raise
            text = _with_findings(written, [f"{problem.place}: {problem.cause}"])
        else:
            return True


async def _post(engine: Engine, opened: OpenPlan, text: str, source: _Source, dropped: tuple[str, ...]) -> None:
    from actors.plans.plan_yaml import read_plan_yaml
    from replan.runs.editing import post_edit

    value = read_plan_yaml(text, source.file or "the edited plan")
    person = _user()
    await post_edit(engine, opened, value, via="cli", person=person, approves=source.approve, dropped=dropped)


def _user() -> str:
    """Return the name of the user; empty if the system does not know it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _agrees(problem: EditRejected, source: _Source) -> bool:
    """Ask whether the demands that an edit drops may be dropped; False if nobody can be asked."""
    from replan.cli.terminal.console import notice

    for finding in problem.demands:
        notice(finding.message)
    return source.file is None and click.confirm("Drop what is named above?", default=False, err=True)


def _read(file: str) -> str:
    from pathlib import Path

    from replan.cli.inputs import read_file, read_stdin
    from runtime.models.replies import BYTES_MAX

    if file == "-":
        return read_stdin(BYTES_MAX)
    hint, smaller = "name a file with a plan in YAML or JSON", "leave out what is no part of the plan"
    return read_file(Path(file), BYTES_MAX, file, hint=hint, smaller=smaller)


def has_terminal() -> bool:
    """Tell whether a person can use an editor here."""
    return sys.stdin.isatty()


def _open_editor(text: str) -> str | None:
    """Return what a person makes of a text in an editor; None if the file stays as it was. Raises `UsageProblem`."""
    hint = "set EDITOR, or write the plan to a file and name it with --file"
    if not has_terminal():
        raise UsageProblem("there is no terminal for an editor", place="edit", hint="name a file with --file")
    try:
        edited = click.edit(text, extension=".yaml")
    except click.ClickException as error:
        raise UsageProblem(error.message.rstrip("."), place="EDITOR", hint=hint) from None
    return None if edited is None or edited == text else edited


def _keep(text: str) -> bool:
    """Write a rejected edit to a file and say where; return False."""
    from replan.cli.terminal.console import notice

    if text:
        handle, path = tempfile.mkstemp(prefix="replan-edit-", suffix=".yaml")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        notice(f"your text is kept in {path}")
    return False


_HEAD = "# > "
"""The beginning of the comments that Replan writes above a plan."""


def _text_of(opened: OpenPlan) -> str:
    from actors.plans.plan_yaml import plan_as_yaml

    return "".join(f"{_HEAD}{row}\n" for row in _about(opened)) + plan_as_yaml(opened.value)


def _about(opened: OpenPlan) -> Iterator[str]:
    state: Any = opened.state
    yield f"What is left of the plan of run {opened.run}, revision {opened.revision}. Comments are ignored."
    if done := [step for step, result in state.results.items() if result.outcome == "ok"]:
        yield f"Done: {', '.join(done)}."
    for item in state.constraints.requirements:
        yield f"Every plan must keep: {item.kind}: {' '.join(item.text.split())[:200]}"
    yield "An unchanged file changes nothing."


def _with_findings(text: str, findings: list[str]) -> str:
    """Return an edited text with the findings above it, in place of Replan's earlier comments."""
    rows = [row for row in text.splitlines(keepends=True) if not row.startswith(_HEAD)]
    head = ["Rejected, and opened again:", *(f"- {' '.join(item.split())}" for item in findings)]
    again = f"Mend it, or leave the file as it is to stop. `{program()} check` explains the codes."
    return "".join([*(f"{_HEAD}{row}\n" for row in (*head, again)), *rows])
