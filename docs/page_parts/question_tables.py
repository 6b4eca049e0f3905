"""The tables of every question that shipped parts can ask, drawn from the functions that ask them."""

from collections.abc import Callable, Iterator, Mapping

from actors.values.answers import TEXT, expected_answer
from actors.values.question_form import WITHOUT, one_line
from page_parts.markdown import table
from tests.support.every_question import Drawn, every_question


def asked() -> str:
    """Return one table of questions for each part that asks."""
    parts: dict[str, list[Drawn]] = {}
    for drawn in every_question():
        parts.setdefault(drawn.part, []).append(drawn)
    head = ("When it is asked", "Question", "Answers, and what each does", "Without an answer")
    return "\n\n".join(f"## {part}\n\n{table(head, _rows(listed))}" for part, listed in parts.items())


def _rows(listed: list[Drawn]) -> Iterator[tuple[str, ...]]:
    for drawn in listed:
        otherwise = drawn.form.otherwise.removeprefix(WITHOUT)
        yield drawn.when, _question(drawn), _answers(drawn), f"{otherwise[:1].upper()}{otherwise[1:]}"


def _question(drawn: Drawn) -> str:
    shown = drawn.form.shown
    return f"{drawn.form.text}<br>Below it: {one_line(shown)}" if shown else drawn.form.text


def _answers(drawn: Drawn) -> str:
    form = drawn.form
    if not form.choices:
        return "any text" if form.answer_schema == TEXT else expected_answer(form.answer_schema)
    offered = " ".join(f"`{choice.value}`: {choice.does}" for choice in form.choices)
    return f"{offered} Or any other text." if form.answer_schema == TEXT else offered


PARTS: Mapping[str, Callable[[], str]] = {"asked": asked}
"""The parts of the page by name."""
