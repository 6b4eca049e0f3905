"""The lists of every question that shipped parts can ask, drawn from the functions that ask them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from actors.run.words import question_in_words
from actors.values.answers import TEXT, expected_answer
from actors.values.question_form import WITHOUT
from page_parts.markdown import code
from tests.support.every_question import Drawn, every_question

PROFILE = "Acquisition, profile"
"""How the name of a part begins that asks for the fields of one profile."""
WANTED = " is wanted of a person"
"""The end of the name of a situation in which a person is asked for the value of a field."""
USED_UP = ", with no visit and no replan left"
"""The end of the name of a situation in which fewer answers are offered than before."""


def asked() -> str:
    """Return one list of questions for each part that asks: first what its answers do, then the questions."""
    parts: dict[str, list[Drawn]] = {}
    for drawn in every_question():
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
    does = _does(listed)
    fewer = [drawn for drawn in listed if drawn.when.endswith(USED_UP)]
    shown = [drawn for drawn in listed if drawn not in fewer]
    answers = "\n".join(f"- `{value}`: {what}" for value, what in does.items())
    blocks = [f"These answers do the same wherever they are offered:\n\n{answers}"] if does else []
    blocks += [_left_out(shown, fewer)] if fewer else []
    for otherwise in dict.fromkeys(_otherwise(drawn) for drawn in shown):
        groups: dict[str, list[Drawn]] = {}
        for drawn in shown:
            if _otherwise(drawn) == otherwise:
                groups.setdefault("" if drawn.part.startswith(PROFILE) else _answered(drawn, does), []).append(drawn)
        rows = "\n".join(_rows(group, answers) for answers, group in groups.items())
        blocks.append(f"*Without an answer:* {otherwise}\n\n{rows}")
    return "\n\n".join(blocks)


def _rows(group: Sequence[Drawn], answers: str) -> str:
    """Return the questions of a group below their `answers`, those of one text once; fields of profiles have none."""
    texts: dict[str, list[str]] = {}
    for drawn in group:
        text = f"**{question_in_words(drawn.form.text)}**{_priority(drawn)}"
        texts.setdefault(text, []).append(drawn.when.removesuffix(WANTED))
    rows = [f"- {'; '.join(situations)}: {text}" for text, situations in texts.items()]
    return "\n".join((f"- *Answers:* {answers}", *(f"  {row}" for row in rows)) if answers else rows)


def _priority(drawn: Drawn) -> str:
    return "" if drawn.form.priority == "normal" else f" ({drawn.form.priority} priority)"


def _does(listed: Sequence[Drawn]) -> dict[str, str]:
    """Return the answers that several questions offer with the same effect, each with it."""
    counted = Counter((choice.value, choice.does) for drawn in listed for choice in drawn.form.choices)
    several = {pair for pair, times in counted.items() if times > 1}
    effects = Counter(value for value, _ in counted)
    return {value: what for value, what in counted if (value, what) in several and effects[value] == 1}


def _left_out(shown: Sequence[Drawn], fewer: Sequence[Drawn]) -> str:
    """Return which answers are not offered once all visits and replans are used up."""
    full = {drawn.when: _values(drawn) for drawn in shown}
    missing = {
        value: None
        for drawn in fewer
        for value in full[drawn.when.removesuffix(USED_UP)]
        if value not in _values(drawn)
    }
    assert all(not missing.keys() & {*_values(drawn)} for drawn in fewer)
    return f"Where no visit and no replan is left, {code(missing)} are not offered."


def _values(drawn: Drawn) -> list[str]:
    return [choice.value for choice in drawn.form.choices]


def _otherwise(drawn: Drawn) -> str:
    text = question_in_words(drawn.form.otherwise).removeprefix(WITHOUT)
    return f"{text[:1].lower()}{text[1:]}"


def _answered(drawn: Drawn, does: Mapping[str, str]) -> str:
    """Return the answers; those whose effect is listed above are only named, and a passage below stands for itself."""
    form = drawn.form
    if not form.choices:
        return "any text." if form.answer_schema == TEXT else f"{expected_answer(form.answer_schema)}."
    known = code(choice.value for choice in form.choices if choice.value in does)
    effects: dict[str, dict[str, None]] = {}
    for choice in form.choices:
        if choice.value not in does:
            name = "a passage below" if choice.value in form.shown else f"`{choice.value}`"
            effects.setdefault(choice.does, {})[name] = None
    parts = [f"{known}."] if known else []
    parts += [f"{', '.join(names)}: {what}" for what, names in effects.items()]
    return " ".join((*parts, "Or any other text.") if form.answer_schema == TEXT else parts)


PARTS: Mapping[str, Callable[[], str]] = {"asked": asked}
"""The parts of the page by name."""
