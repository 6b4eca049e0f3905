"""`questions`: lists the open questions of one run or of all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option
from replan.cli.run_options import require_one_run, run_argument

if TYPE_CHECKING:
    from replan.runs.reader import RunReader


@click.command(epilog=examples("replan questions", "replan questions --last", "replan questions k7m2x9qa --json"))
@run_argument("[RUN|--last]", last="Those of the newest run.")
@json_option
@common
@click.pass_obj
def questions(invocation: Invocation, run_id: str | None, *, last: bool, as_json: bool) -> int:
    """List the open questions of a RUN, or of all runs."""
    if last:
        require_one_run("questions", run_id, last=last)
    from actors.run.words import reason_in_words
    from actors.values.lines import line, verbatim
    from replan.cli.hints import say_answer_command
    from replan.cli.reading import reading
    from replan.cli.terminal.console import print_json, print_row

    questions = reading(invocation, lambda reader: _questions(reader, run_id, last=last))
    if as_json:
        print_json({"questions": questions})
        return Exit.OK
    for question in questions:
        print_row(line(f"{question['id']}  {reason_in_words(question['why'])}, asked {question['asked']}", "bold"))
        for text in _rows(question):
            print_row(verbatim(text))
    if questions:
        say_answer_command(questions[0]["id"])
    else:
        print_row(line("no open questions", "dim"))
    return Exit.OK


def _rows(question: dict[str, Any]) -> list[str]:
    from replan.views.questions import question_rows

    return question_rows(question)


async def _questions(reader: RunReader, name: str | None, *, last: bool) -> list[dict[str, Any]]:
    from replan.cli.reading import named_or_newest
    from replan.cli.terminal.console import notice
    from replan.views.errors import line_of_error

    if last or name is not None:
        from replan.runs.inbox import questions_of

        return await questions_of(reader, await named_or_newest(reader, name))
    from replan.runs.inbox import all_questions

    asked = await all_questions(reader)
    for run, error in asked.problems:
        notice(f"warning: the questions of run {run} cannot be read: {line_of_error(error)}")
    return list(asked.questions)
