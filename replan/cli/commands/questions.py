"""`questions`: lists the open questions of one run or of all runs."""

from typing import TYPE_CHECKING, Any

from actors.values.lines import line, verbatim
from replan.cli.exits import Exit
from replan.cli.hints import answer_with
from replan.cli.options import Invocation
from replan.cli.reading import all_runs, named_or_newest, reading
from replan.cli.terminal.console import notice, print_json, print_row
from replan.views.errors import line_of_error
from runtime.core.errors import JournalDamaged, KindUnknown, UsageProblem

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
        return await _questions_of(reader, await named_or_newest(reader, name))
    questions: list[dict[str, Any]] = []
    # Not only the runs that wait: a question may be open while other steps go on.
    for row in await all_runs(reader):
        if row.summary.status == "finished":
            continue
        try:
            questions += await _questions_of(reader, row.run)
        except (JournalDamaged, KindUnknown, UsageProblem) as error:
            # A run that cannot be read does not hide the questions of the others.
            notice(f"warning: the questions of run {row.run} cannot be read: {line_of_error(error)}")
    return questions


async def _questions_of(reader: "Reading", run: str) -> list[dict[str, Any]]:
    from replan.views.questions import open_questions

    loaded = await reader.read(run)
    return open_questions(loaded.kind, run, await reader.with_inbox(run, loaded))
