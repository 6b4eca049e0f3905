"""The list of every question that shipped parts can ask, drawn from the functions that ask them."""

import json
from collections.abc import Callable, Mapping, Sequence

from actors.run.words import question_in_words
from actors.values.question_form import IF_DECLINED
from packages.acquire.tests import questions as of_acquisitions
from tests.support.every_question import Drawn, every_question

PROFILE = "Acquisition, profile"
"""How the name of a part begins that asks for the fields of one profile."""
WANTED = " is wanted of a person"
"""The end of the name of a situation in which a person is asked for the value of a field."""
USED_UP = ", with no visit and no replan left"
"""The end of the name of a situation in which fewer answers are offered than before."""


FILE = "reference/questions.json"
"""The file with every question, in the documentation's folder."""


def asked() -> str:
    """Return every question as JSON, by the part of the program that asks it."""
    parts: dict[str, list[Drawn]] = {}
    for drawn in (*every_question(), *of_acquisitions.every_question()):
        if not drawn.part.startswith(PROFILE) or not drawn.when.startswith(
            "`"
        ):  # The fields of a profile are left out.
            parts.setdefault(_part(drawn), []).append(drawn)
    return (
        json.dumps({part: _rows(_once(listed)) for part, listed in parts.items()}, indent=1, ensure_ascii=False) + "\n"
    )


def _part(drawn: Drawn) -> str:
    """Return the heading, which is one for all profiles."""
    return "Acquisition" if drawn.part.startswith(PROFILE) else drawn.part


def _once(listed: Sequence[Drawn]) -> list[Drawn]:
    """Return the first question of each situation."""
    first: dict[str, Drawn] = {}
    for drawn in listed:
        first.setdefault(drawn.when, drawn)
    return list(first.values())


def _rows(listed: Sequence[Drawn]) -> list[dict[str, object]]:
    """Return the questions of a part: those with one text and one end if declined once."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for drawn in listed:
        if not drawn.when.endswith(USED_UP):
            key = question_in_words(drawn.form.text), _otherwise(drawn), drawn.form.priority
            rows.setdefault(key, []).append(drawn.when.removesuffix(WANTED))
    return [
        {"question": text, "asked_when": situations, "if_declined": otherwise, "priority": priority}
        for (text, otherwise, priority), situations in rows.items()
    ]


def _otherwise(drawn: Drawn) -> str:
    text = question_in_words(drawn.form.otherwise).removeprefix(IF_DECLINED)
    return f"{text[:1].lower()}{text[1:]}"


DOCUMENTS: Mapping[str, Callable[[], str]] = {FILE: asked}
