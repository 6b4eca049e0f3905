"""The slots of templates: what a problem's facts put in place of `{name}`, each value short enough to read."""

import re
from collections.abc import Mapping, Sequence

from actors.guards.fields import folded
from actors.rules.data import Rules
from actors.rules.extract import Facts
from actors.rules.reading import Reading
from actors.rules.text import shorten

NAMES_MAX = 4  # names in one slot
NAME_LENGTH_MAX = 120
ITEM_LENGTH_MAX = 200

_SLOT = re.compile(r"\{([a-z]+)\}")


def fill(sentence: str, slots: Mapping[str, str]) -> str | None:
    """Return the sentence with its slots replaced once, literally; None if one of them has nothing to show."""
    if not all(slots.get(name) for name in _SLOT.findall(sentence)):
        return None
    return _SLOT.sub(lambda match: slots[match[1]], sentence)


def first(alternatives: Sequence[str], slots: Mapping[str, str]) -> str:
    """Return the first alternative that can be shown, or an empty text."""
    return next((said for sentence in alternatives if (said := fill(sentence, slots)) is not None), "")


def slots_of(reading: Reading, facts: Facts, rules: Rules) -> dict[str, str]:
    """Return the slots that every sentence may use."""
    title = facts.title or rules.phrases.nameless
    error = facts.traces[0].error if facts.traces else ""
    return {
        "title": title,
        "language": reading.language,
        "files": names(_sources(facts)),
        "apis": names(facts.apis),
        "tests": names(facts.tests),
        "steps": numbered(facts.steps),
        "constraints": numbered(facts.constraints),
        "wishes": numbered(facts.wishes),
        "error": _short(error, NAME_LENGTH_MAX),
        "location": next(iter(_places(facts, rules)), area_of(facts, rules)),
        "area": area_of(facts, rules),
    }


def lists_of(facts: Facts, rules: Rules, limit: int) -> dict[str, tuple[str, ...]]:
    """Return the lists that a step may be repeated for, at most `limit` items each; only `constraints` may be empty."""
    subjects = (*_sources(facts), *facts.apis) if not _sources(facts) else _sources(facts)
    targets = subjects or (area_of(facts, rules),)
    lists = {
        "constraints": facts.constraints,
        "moves": facts.wishes or targets,
        "suspects": (*_places(facts, rules), *_unplaced(facts, rules)) or targets,
        "targets": targets,
    }
    return {name: tuple(_short(item, ITEM_LENGTH_MAX) for item in items[:limit]) for name, items in lists.items()}


def area_of(facts: Facts, rules: Rules) -> str:
    """Return what part of the program the text is about, in the text's own words."""
    for trace in facts.traces:
        if (own := trace.own_frame(rules.languages.library_paths)) is not None:
            return own.file
    named = (*_sources(facts), *facts.apis[:1], facts.title, rules.phrases.nameless)
    return next(name for name in named if name)


def names(items: Sequence[str]) -> str:
    """Return the first names, joined."""
    return ", ".join(_short(item, NAME_LENGTH_MAX) for item in items[:NAMES_MAX])


def numbered(items: Sequence[str]) -> str:
    """Return the first sentences, numbered."""
    shown = (_short(item, NAME_LENGTH_MAX).rstrip(".;") for item in items[:NAMES_MAX])
    return "; ".join(f"({place}) {item}" for place, item in enumerate(shown, 1))


def _sources(facts: Facts) -> tuple[str, ...]:
    """The files that are no tests; if only tests are named, there are none."""
    return tuple(file for file in facts.files if file not in facts.tests)


def _places(facts: Facts, rules: Rules) -> tuple[str, ...]:
    """Where each stack trace leaves the program's own code."""
    places: dict[str, None] = {}
    for trace in facts.traces:
        if (own := trace.own_frame(rules.languages.library_paths)) is not None:
            line = f":{own.line}" if own.line else ""
            places[f"{own.file}{line} in {own.function}" if own.function else f"{own.file}{line}"] = None
    return tuple(places)


def _unplaced(facts: Facts, rules: Rules) -> tuple[str, ...]:
    """The named files in which no trace ends."""
    placed = _places(facts, rules)
    return tuple(file for file in _sources(facts) if not any(place.startswith(file) for place in placed))


def _short(text: str, length: int) -> str:
    return shorten(folded(text), length)
