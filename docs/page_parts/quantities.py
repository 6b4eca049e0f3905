"""The lists of written quantities: from the table that the tests of the reader go through, the first of each unit."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from page_parts.markdown import ROOT, code

LANGUAGES: Mapping[str, str] = {"en": "English", "de": "German", "fr": "French", "es": "Spanish"}
REASONS: Mapping[str, str] = {
    "not_understood": "words beside it may be a part of it",
    "no_unit": "no unit is written",
    "wrong_unit": "another kind of unit",
}


@cache
def _phrases() -> Mapping[str, list[list[Any]]]:
    data = yaml.safe_load((ROOT / "tests" / "quantities" / "phrases.yaml").read_text(encoding="utf-8"))
    phrases: Mapping[str, list[list[Any]]] = data["phrases"]
    return phrases


def taken() -> str:
    """Return of each language the first phrase for each unit of a field, for English with the value that is taken."""
    return "\n".join(
        f"- {LANGUAGES[language]}: {', '.join(_taken(rows, values=language == 'en'))}"
        for language, rows in _phrases().items()
    )


def _taken(rows: list[list[Any]], *, values: bool) -> Iterator[str]:
    units = set()
    for phrase, unit, value in rows:
        if not isinstance(value, str) and unit not in units:
            units.add(unit)
            shown = f" ({_value(value)}{f' {unit}' if unit else ''})" if values else ""
            yield f"`{phrase}`{shown}"


def refused() -> str:
    """Return of each reason and language the phrases of which nothing is taken."""
    parts = []
    for reason, words in REASONS.items():
        languages = {
            language: [phrase for phrase, _, value in rows if value == reason] for language, rows in _phrases().items()
        }
        rows = [f"  - {LANGUAGES[language]}: {code(listed)}" for language, listed in languages.items() if listed]
        parts.append("\n".join((f"- {words}:", *rows)))
    return "\n".join(parts)


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"{value[0]:,.14g} to {value[1]:,.14g}"
    return f"{value:,.14g}"


PARTS: Mapping[str, Callable[[], str]] = {"quantities-taken": taken, "quantities-refused": refused}
"""The parts of the page by name."""
