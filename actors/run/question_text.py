"""An open question as lines of text: the one way in which terminals, lists, forms and results show it. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from actors.values.answers import TEXT, expected_answer

ARTIFACT_CHARACTERS_MAX = 20_000
"""The characters of an artifact under review that are shown as text; `replan questions --json` has all of it."""
Style = Literal["bold", "dim", ""]
"""How a part stands out: the sentence, what surrounds it, and what is shown."""


def question_parts(question: Mapping[str, Any], *, numbered: bool = False) -> Iterator[tuple[str, Style]]:
    """Yield the lines of an open question (`actors.run.open_question.OpenQuestion`), each with its style.

    The sentence comes first, then what depends on it, what it is about, the choices or the form of the answer, and what
    happens without one. `numbered` says that a choice can be picked by its number.
    """
    yield str(question["text"]), "bold"
    yield str(question["about"]), "dim"
    for row in shown_rows(question):
        yield f"| {row}".rstrip(), ""
    choices = question["choices"]
    for number, choice in enumerate(choices, 1):
        yield f"{f'{number}.' if numbered else '-'} {choice['value']}: {choice['does']}", ""
    schema = question["answer_schema"]
    if choices and schema == TEXT:
        yield "Or answer in your own words.", "dim"
    elif not choices and schema != TEXT:
        yield f"Answer: {expected_answer(schema)}.", "dim"
    yield str(question["otherwise"]), "dim"


def shown_rows(question: Mapping[str, Any]) -> list[str]:
    """Return the lines of what a question is about: its passage or finding, and the artifact under review."""
    rows = str(question["shown"]).split("\n") if question["shown"] else []
    content = str(question.get("artifact", ""))
    if not content:
        return rows
    left_out = len(content) - ARTIFACT_CHARACTERS_MAX
    cut = f"\n... and {left_out:,} characters" if left_out > 0 else ""
    return [*rows, *f"{content[:ARTIFACT_CHARACTERS_MAX]}{cut}".split("\n")]
