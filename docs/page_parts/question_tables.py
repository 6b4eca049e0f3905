"""The lists of every question that shipped parts can ask, drawn from the functions that ask them."""

from collections.abc import Callable, Mapping, Sequence

from actors.run.words import question_in_words
from actors.values.question_form import WITHOUT
from packages.acquire.tests import questions as of_acquisitions
from tests.support.every_question import Drawn, every_question

PROFILE = "Acquisition, profile"
"""How the name of a part begins that asks for the fields of one profile."""
WANTED = " is wanted of a person"
"""The end of the name of a situation in which a person is asked for the value of a field."""
USED_UP = ", with no visit and no replan left"
"""The end of the name of a situation in which fewer answers are offered than before."""


def asked() -> str:
    """Return one list of questions for each part that asks."""
    parts: dict[str, list[Drawn]] = {}
    for drawn in (*every_question(), *of_acquisitions.every_question()):
        if not drawn.part.startswith(PROFILE) or not drawn.when.startswith(
            "`"
        ):  # The fields of a profile are left out.
            parts.setdefault(_part(drawn), []).append(drawn)
    return "\n\n".join(f"## {part}\n\n{_list(_once(listed))}" for part, listed in parts.items())


def _part(drawn: Drawn) -> str:
    """Return the heading, which is one for all profiles."""
    return "Acquisition" if drawn.part.startswith(PROFILE) else drawn.part


def _once(listed: Sequence[Drawn]) -> list[Drawn]:
    """Return the first question of each situation."""
    first: dict[str, Drawn] = {}
    for drawn in listed:
        first.setdefault(drawn.when, drawn)
    return list(first.values())


def _list(listed: Sequence[Drawn]) -> str:
    """Return the questions by what happens without an answer, each of them once."""
    shown = [drawn for drawn in listed if not drawn.when.endswith(USED_UP)]
    groups: dict[str, list[Drawn]] = {}
    for drawn in shown:
        groups.setdefault(_otherwise(drawn), []).append(drawn)
    return "\n\n".join(f"*Without an answer:* {otherwise}\n\n{_rows(group)}" for otherwise, group in groups.items())


def _rows(group: Sequence[Drawn]) -> str:
    """Return the questions of a group, those of one text once."""
    texts: dict[str, list[str]] = {}
    for drawn in group:
        text = f"**{question_in_words(drawn.form.text)}**{_priority(drawn)}"
        texts.setdefault(text, []).append(drawn.when.removesuffix(WANTED))
    return "\n".join(f"- {'; '.join(situations)}: {text}" for text, situations in texts.items())


def _priority(drawn: Drawn) -> str:
    return "" if drawn.form.priority == "normal" else f" ({drawn.form.priority} priority)"


def _otherwise(drawn: Drawn) -> str:
    text = question_in_words(drawn.form.otherwise).removeprefix(WITHOUT)
    return f"{text[:1].lower()}{text[1:]}"


PARTS: Mapping[str, Callable[[], str]] = {"asked": asked}
"""The parts of the page by name."""
