"""The lists of written quantities in English, from the table that the tests of the reader go through."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import yaml

from page_parts.markdown import ROOT, code

REASONS: Mapping[str, str] = {
    "not_understood": "words beside the number may belong to the quantity",
    "no_unit": "no unit is written",
    "wrong_unit": "another kind of unit",
}

SHOWN = 6
"""How many phrases of a list the page shows."""


@cache
def _phrases() -> Mapping[str, list[list[Any]]]:
    data = yaml.safe_load(
        (ROOT / "packages" / "acquire" / "tests" / "quantities" / "phrases.yaml").read_text(encoding="utf-8")
    )
    phrases: Mapping[str, list[list[Any]]] = data["phrases"]
    return phrases


def taken() -> str:
    """Return the first English phrase for some units of a field, with the value that is taken."""
    first: dict[str, str] = {}
    for phrase, unit, value in _phrases()["en"]:
        if not isinstance(value, str):
            first.setdefault(unit, f"`{phrase}` ({_value(value)}{f' {unit}' if unit else ''})")
    return ", ".join([*first.values()][:SHOWN])


def refused() -> str:
    """Return of each reason some English phrases of which nothing is taken."""
    rows = _phrases()["en"]
    return "\n".join(
        f"- {words}: {code([phrase for phrase, _, value in rows if value == reason][:SHOWN])}"
        for reason, words in REASONS.items()
    )


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"{value[0]:,.14g} to {value[1]:,.14g}"
    return f"{value:,.14g}"


PARTS: Mapping[str, Callable[[], str]] = {"quantities-taken": taken, "quantities-refused": refused}
"""The parts of the page by name."""
