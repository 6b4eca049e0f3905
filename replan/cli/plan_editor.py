"""Opens a plan in a person's editor until the guards accept the edit, and posts the edited plan to its run."""

from __future__ import annotations

import getpass
import os
import tempfile
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from replan.cli.options import Invocation
from replan.setup.installation import program
from runtime.core.errors import ReplanError, UsageProblem
from runtime.logs.terminal_text import clean

if TYPE_CHECKING:
    from replan.runs.editing import EditRejected, OpenPlan
    from replan.runs.engine import Engine


class Edit(NamedTuple):
    """An edited plan that the guards accept."""

    text: str
    value: dict[str, Any]
    dropped: tuple[str, ...]
    """The ids of the demands that the person agrees to drop."""


async def edit_and_approve(engine: Engine, invocation: Invocation, run: str, step: str) -> bool:
    """Open the plan of a run in an editor. Post the edited plan and the person's approval to the run.

    `step` is the step that the question asks about. Return False if the person has not changed the plan. Raises
    `UsageProblem`.
    """
    import trio

    from replan.runs.editing import open_plan

    opened = await open_plan(engine, run)
    made = await trio.to_thread.run_sync(partial(get_edit, invocation, opened, None, drops=False))
    if made is not None:
        await give(engine, opened, made, approves=(step,))
    return made is not None


async def give(engine: Engine, opened: OpenPlan, made: Edit, *, approves: Collection[str]) -> None:
    """Post an edited plan to its run, and approve steps in the same message. Raises `UsageProblem`.

    If the edit is refused, its text is saved in a file.
    """
    from actors.values.lines import verbatim
    from replan.cli.terminal.console import show_aside
    from replan.runs.editing import EditedMeanwhile, post_edit

    try:
        who = _user()
        await post_edit(engine, opened, made.value, via="cli", person=who, approves=approves, dropped=made.dropped)
    except ReplanError as problem:
        if isinstance(problem, EditedMeanwhile):
            show_aside([verbatim(change) for change in problem.changes])
        _keep(made.text)
        raise


def get_edit(invocation: Invocation, opened: OpenPlan, file: str | None, *, drops: bool) -> Edit | None:
    """Return the plan that a person has edited in a file or an editor; None if the plan was not changed.

    The journal is not open during the edit. Raises `UsageProblem` for a file that is rejected, and for an editor that
    fails.
    """
    from actors.plans.plan_text import read_plan_yaml
    from replan.runs.editing import EditRejected

    if file is not None:
        written = _read(file)
        value = read_plan_yaml(written, file)
        return Edit(written, value, _judge(opened, value, lambda _: drops))
    text, kept = text_of(opened), ""
    while True:
        edited = _open_editor(invocation, text)
        if edited is None:
            _keep(kept)
            return None
        kept = edited
        try:
            value = read_plan_yaml(edited, "the edited plan")
            return Edit(edited, value, _judge(opened, value, lambda problem: drops or _agrees(problem)))
        except EditRejected as problem:
            text = _with_findings(edited, [f"{item.code}: {item.message}" for item in problem.findings])
        except UsageProblem as problem:
            text = _with_findings(edited, [f"{problem.place}: {problem.cause}"])
        except click.Abort:  # In answer to the question whether demands are dropped.
            _keep(edited)
            raise


def _judge(opened: OpenPlan, value: dict[str, Any], agrees: Callable[[EditRejected], bool]) -> tuple[str, ...]:
    """Judge an edited plan, and return the ids of the demands that the person agrees to drop.

    If dropped demands are the only problem, call `agrees`, which returns whether the person agrees to drop them. Raises
    `EditRejected` for any other problem, and if the person does not agree.
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
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


def _agrees(problem: EditRejected) -> bool:
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
    hint, smaller = "name a file with a plan in YAML or JSON", "leave out what does not belong to the plan"
    return read_file(Path(file), BYTES_MAX, file, hint=hint, smaller=smaller)


def _open_editor(invocation: Invocation, text: str) -> str | None:
    """Let a person edit a text, and return the new text; None if it is unchanged. Raises `UsageProblem`."""
    from replan.cli.terminal import prompt

    hint = "set EDITOR, or write the plan to a file and name the file with --file"
    if not prompt.may_ask(no_input=invocation.no_input):
        raise UsageProblem(
            "there is no terminal for an editor", place="edit", hint="use --file to name a file with the edited plan"
        )
    try:
        edited = click.edit(text, extension=".yaml")
    except click.ClickException as error:
        raise UsageProblem(error.message.rstrip("."), place="EDITOR", hint=hint) from None
    return None if edited is None or edited == text else edited


def _keep(text: str) -> None:
    from replan.cli.terminal.console import notice

    if text:
        handle, path = tempfile.mkstemp(prefix="replan-edit-", suffix=".yaml")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        notice(f"your text is kept in {path}")


_HEAD = "# > "


def text_of(opened: OpenPlan) -> str:
    """Return an opened plan as YAML. Comments at the top explain it."""
    from actors.plans.plan_text import plan_as_yaml

    rows = (*opened.about, "If you change nothing, the plan stays the same.")
    return "".join(f"{_HEAD}{clean(row, one_line=True)}\n" for row in rows) + plan_as_yaml(opened.value)


def _with_findings(text: str, findings: list[str]) -> str:
    rows = [row for row in text.splitlines(keepends=True) if not row.startswith(_HEAD)]
    head = ["The edit was rejected:", *(f"- {' '.join(item.split())}" for item in findings)]
    again = f"Correct the plan, or close the file unchanged to stop. `{program()} explain CODE` explains a code."
    return "".join([*(f"{_HEAD}{row}\n" for row in (*head, again)), *rows])
