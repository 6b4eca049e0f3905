"""`questions`: lists the open questions of one run or of all runs."""

from typing import TYPE_CHECKING, Any

from actors.values.lines import line, verbatim
from replan.cli.exits import Exit
from replan.cli.hints import answer_with
from replan.cli.options import Invocation
from replan.cli.reading import named_or_newest, reading
from replan.cli.terminal.console import notice, print_json, print_row
from replan.views.errors import line_of_error

if TYPE_CHECKING:
    from replan.runs.reader import Reading


def list_questions(invocation: Invocation, name: str | None, *, last: bool, as_json: bool) -> int:
    """Print the open questions of a run, of the `last` run, or of all. Return the exit code."""
    questions = reading(invocation, lambda reader: _questions(reader, name, last=last))
    if as_json:
        print_json({"questions": questions})
        return Exit.OK
    for question in questions:
        print_row(line(f"{question['id']}  {question['why']}, asked {question['asked']}", "bold"))
        for text in _rows(question):
            print_row(verbatim(text))
    if questions:
        answer_with(questions[0]["id"])
    else:
        print_row(line("no open questions", "dim"))
    return Exit.OK


def _rows(question: dict[str, Any]) -> list[str]:
    from replan.views.questions import question_rows

    return question_rows(question)


async def _questions(reader: "Reading", name: str | None, *, last: bool) -> list[dict[str, Any]]:
    if last or name is not None:
        from replan.runs.asked import questions_of

        return await questions_of(reader, await named_or_newest(reader, name))
    from replan.runs.asked import all_questions

    asked = await all_questions(reader)
    for run, error in asked.problems:
        notice(f"warning: the questions of run {run} cannot be read: {line_of_error(error)}")
    return list(asked.questions)
