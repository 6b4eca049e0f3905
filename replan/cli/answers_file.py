"""Files of answers: `questions --export` writes such a file, and `answer --file` posts its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, KeyPath, ParsedFile, config_error
from actors.files.yaml_document import FILE_BYTES_MAX, parse_document, read_document
from actors.run.open_question import group_equal, question_rows
from replan.cli.inputs import read_stdin
from replan.cli.reading import resolve_named
from replan.runs.inbox import FIRST_COUNTS, AnswerReceipt, CheckedAnswer, split_question_id
from replan.setup.installation import program
from runtime.core.errors import RunNotFound, UsageProblem
from runtime.logs.terminal_text import clean

if TYPE_CHECKING:
    from replan.runs.engine import Engine


class AnswerEntry(Config):
    """An entry of the file: one answer, for one or more questions."""

    questions: Annotated[tuple[str, ...], Field(min_length=1)]
    """The ids of the questions (`RUN/ID`)."""
    answer: str | None = None
    """The answer as text. Without an answer, the questions stay open."""
    decline: bool = False

    @model_validator(mode="before")
    @classmethod
    def _takes_text(cls, data: Any) -> Any:
        answer = data.get("answer") if isinstance(data, Mapping) else None
        if isinstance(answer, bool | int | float):
            raise config_error("the answer is not text", ("answer",), "put the answer in quotes")
        return data

    @model_validator(mode="after")
    def _answers_or_declines(self) -> Self:
        if self.decline and self.answer is not None:
            raise config_error("`answer` and `decline` exclude each other", ("decline",), "leave one of the two out")
        return self


class AnswersFile(Config):
    """The content of a file of answers."""

    answers: tuple[AnswerEntry, ...]


_HEAD = """\
# Write each answer after `answer:`, then: {program} answer --file FILE
# A question without an answer stays open. To decline it, write `decline: true` instead of `answer:`.
answers:
"""


def export_questions(questions: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a file of answers, in which the answers to `questions` are still empty.

    Equal questions share one entry.
    """
    if not questions:
        return "# No question is open.\nanswers: []\n"
    parts = [_HEAD.format(program=program())]
    for group in group_equal(questions):
        rows = (f"# {row}".rstrip() for text in question_rows(group[0]) for row in clean(text).splitlines())
        names = ", ".join(str(question["id"]) for question in group)
        parts.append("\n".join((*rows, f"- questions: [{names}]", "  answer:\n")))
    return "\n".join(parts)


def _read_answers(name: str) -> tuple[ParsedFile, AnswersFile]:
    if name == "-":
        document = parse_document(read_stdin(FILE_BYTES_MAX), "standard input")
    else:
        document = read_document(Path(name))
    return document, document.read_as(AnswersFile)


def _wanted(file: AnswersFile) -> Iterator[tuple[KeyPath, str, str | None]]:
    """Yield the path in the file, the id and the answer for each question to answer.

    If the answer is None, the question is to be declined.
    """
    for number, entry in enumerate(file.answers):
        if entry.decline or entry.answer is not None:
            for place, question in enumerate(entry.questions):
                yield ("answers", number, "questions", place), question, entry.answer


async def check_answers(engine: Engine, name: str) -> dict[str, CheckedAnswer]:
    """Check the answers in a file. Return a mapping from questions' ids to checked answers. Nothing is posted.

    Raises `UsageProblem` with file, line and key for the first answer that is not accepted.
    """
    document, file = _read_answers(name)
    checked: dict[str, CheckedAnswer] = {}
    for path, written, text in _wanted(file):
        try:
            prefix, question_name = split_question_id(written)
            question = f"{await resolve_named(engine, prefix)}/{question_name}"
            answer = await engine.check_answer(question, text, via="cli")
        except RunNotFound as error:
            hint = f"`{program()} questions --export` writes the open questions"
            raise document.problem(str(error), path, hint) from None
        except UsageProblem as problem:
            raise document.problem(f"{written}: {problem.cause}", path, problem.hint) from None
        if question in checked:
            raise document.problem(f"question {question} is answered twice", path, "keep one of its answers")
        if answer.earlier:
            raise document.problem(f"{question}: {answer.earlier}", path, FIRST_COUNTS)
        checked[question] = answer
    if not checked:
        raise UsageProblem("the file has no answer", place=document.source, hint="write an answer after `answer:`")
    return checked


async def post_answers(engine: Engine, checked: Mapping[str, CheckedAnswer]) -> dict[str, AnswerReceipt]:
    """Post checked answers, and return a mapping from questions' ids to receipts."""
    return {question: await engine.post_answer(answer) for question, answer in checked.items()}
