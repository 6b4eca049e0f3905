"""`questions`: lists the open questions of one run or of all runs."""

from typing import Any

import trio

from actors.values.lines import line, verbatim
from replan.cli.exits import Exit
from replan.cli.hints import answer_with
from replan.cli.home import all_runs, named_or_newest, opened_to_read
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, out, print_json, rich_text
from replan.runs.engine import Engine
from replan.views.errors import line_of_error
from replan.views.questions import open_questions, question_rows
from runtime.core.errors import JournalDamaged, KindUnknown, UsageProblem


def list_questions(invocation: Invocation, name: str | None, *, last: bool, as_json: bool) -> int:
    """Print the open questions of a run, of the `last` run, or of all. Return the exit code."""
    return trio.run(_list_questions, invocation, name, last, as_json)


async def _list_questions(invocation: Invocation, name: str | None, last: bool, as_json: bool) -> int:
    questions: list[dict[str, Any]] = []
    async with opened_to_read(invocation) as engine:
        if last or name is not None:
            questions = await _questions_of(engine, await named_or_newest(engine, name))
        else:
            # Not only the runs that wait: a question may be open while other steps go on.
            for row in await all_runs(engine):
                if row.summary.status == "finished":
                    continue
                try:
                    questions += await _questions_of(engine, row.run)
                except (JournalDamaged, KindUnknown, UsageProblem) as error:
                    # A run that cannot be read does not hide the questions of the others.
                    notice(f"warning: the questions of run {row.run} cannot be read: {line_of_error(error)}")
    if as_json:
        print_json({"questions": questions})
        return Exit.OK
    console = out()
    for question in questions:
        heading = line(f"{question['id']}  {question['why']}, asked {question['asked']}", "bold")
        console.print(rich_text(heading))
        for text in question_rows(question):
            console.print(rich_text(verbatim(text)))
    if questions:
        answer_with(questions[0]["id"])
    else:
        console.print(rich_text(line("no open questions", "dim")))
    return Exit.OK


async def _questions_of(engine: Engine, run: str) -> list[dict[str, Any]]:
    loaded = await engine.read(run)
    return open_questions(loaded.kind, run, await engine.with_inbox(run, loaded))
