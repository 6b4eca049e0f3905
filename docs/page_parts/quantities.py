"""The table of written quantities, as the reference shows it: the one that the tests of the reader go through."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import yaml

from page_parts.markdown import ROOT, table

LANGUAGES: Mapping[str, str] = {"en": "English", "de": "German", "fr": "French", "es": "Spanish"}
REASONS: Mapping[str, str] = {
    "not_understood": "words beside it may be a part of it",
    "no_unit": "no unit is written",
    "wrong_unit": "another kind of unit",
}


def _rows(*, taken: bool) -> str:
    data = yaml.safe_load((ROOT / "tests" / "quantities" / "phrases.yaml").read_text(encoding="utf-8"))
    head = ("Language", "Phrase", "Unit of the field", "Value" if taken else "Why nothing is taken")
    return table(head, _cells(data["phrases"], taken=taken))


def _cells(phrases: Mapping[str, Any], *, taken: bool) -> Iterator[tuple[str, str, str, str]]:
    for language, rows in phrases.items():
        for phrase, unit, value in rows:
            if isinstance(value, str) != taken:
                shown = f"`{phrase}`", f"`{unit}`" if unit else "none"
                yield LANGUAGES[language], *shown, _value(value)


def _value(value: object) -> str:
    if isinstance(value, str):
        return REASONS[value]
    if isinstance(value, list):
        return f"{value[0]:,.14g} to {value[1]:,.14g}"
    return f"{value:,.14g}"


PARTS: Mapping[str, Callable[[], str]] = {
    "quantities-taken": lambda: _rows(taken=True),
    "quantities-refused": lambda: _rows(taken=False),
}
"""The parts of the page by name."""
