"""The slots of templates: what a problem's facts put in place of `{name}`, each value short enough to read."""

from collections.abc import Mapping, Sequence

from actors.guards.fields import folded
from actors.rules.extract import Facts
from actors.rules.reading import Reading
from actors.rules.tables import SLOT, Rules
from actors.rules.text import shorten

NAMES_MAX = 4  # names in one slot
NAME_LENGTH_MAX = 120
ITEM_LENGTH_MAX = 200
BRIEF_LENGTH_MAX = 60

LIMITS: Mapping[str, int] = {"constraints": 5, "moves": 5, "suspects": 3, "targets": 3}
"""How often a step is repeated at most: more would make a plan that nobody reads."""


def fill(sentence: str, slots: Mapping[str, str]) -> str | None:
    """Return the sentence with its slots replaced once, literally; None if one of them has nothing to show."""
    if not all(slots.get(name) for name in SLOT.findall(sentence)):
        return None
    return SLOT.sub(lambda match: slots[match[1]], sentence)


def first(alternatives: Sequence[str], slots: Mapping[str, str]) -> str:
    """Return the first alternative that can be shown, or an empty text."""
    return next((said for sentence in alternatives if (said := fill(sentence, slots)) is not None), "")


def slots_of(reading: Reading, facts: Facts, rules: Rules) -> dict[str, str]:
    """Return the slots that every sentence may use."""
    title = facts.title or rules.phrases.nameless
    error = facts.traces[0].error if facts.traces else ""
    area = area_of(facts, rules) or _nowhere(facts, rules)
    return {
        "title": title,
        "language": reading.language,
        "files": names(sources(facts, rules)),
        "apis": names(_distinct(facts.apis)),
        "tests": names(_distinct(facts.tests)),
        "benchmarks": names([file for file in facts.files if _is_benchmark(file, rules)]),
        "steps": numbered(facts.steps),
        "constraints": numbered(facts.constraints),
        "wishes": numbered(facts.wishes),
        "error": _short(error, NAME_LENGTH_MAX),
        "place": next(iter(_places(facts, rules)), ""),
        "location": next(iter(_places(facts, rules)), area),
        "area": area,
    }


def lists_of(facts: Facts, rules: Rules, more: int = 0) -> dict[str, tuple[str, ...]]:
    """Return the lists that a step may be repeated for, `more` items than usual; only `constraints` may be empty."""
    targets = sources(facts, rules) or _distinct(facts.apis) or (_nowhere(facts, rules),)
    lists = {
        "constraints": facts.constraints,
        "moves": facts.wishes or targets,
        "suspects": (*_places(facts, rules), *_unplaced(facts, rules)) or targets,
        "targets": targets,
    }
    return {
        name: tuple(_short(item, ITEM_LENGTH_MAX) for item in items[: max(1, LIMITS[name] + more)])
        for name, items in lists.items()
    }


def item_slots(item: str, number: int) -> dict[str, str]:
    """Return the slots that a repeated step may use beside the others."""
    return {"item": item, "brief": _short(item, BRIEF_LENGTH_MAX), "n": str(number)}


def area_of(facts: Facts, rules: Rules) -> str:
    """Return the part of the program that the text names first; empty if it names none."""
    for trace in facts.traces:
        if (own := trace.own_frame(rules.languages.library_paths)) is not None:
            return own.file
    return next((name for name in (*sources(facts, rules), *facts.apis[:1])), "")


def names(items: Sequence[str]) -> str:
    """Return the first names, joined."""
    return ", ".join(_short(item, NAME_LENGTH_MAX) for item in items[:NAMES_MAX])


def numbered(items: Sequence[str]) -> str:
    """Return the first sentences, numbered."""
    shown = (_short(item, NAME_LENGTH_MAX).rstrip(".;") for item in items[:NAMES_MAX])
    return "; ".join(f"({place}) {item}" for place, item in enumerate(shown, 1))


def sources(facts: Facts, rules: Rules) -> tuple[str, ...]:
    """Return the named files that are the program's own and no tests; of a path and its tail, the one named first."""
    kept: list[str] = []
    for file in facts.files:
        library = any(part in f"/{file}" for part in rules.languages.library_paths)
        again = any(f"/{one}".endswith(f"/{file}") or f"/{file}".endswith(f"/{one}") for one in kept)
        if not (file in facts.tests or library or again or _is_benchmark(file, rules)):
            kept.append(file)
    return tuple(kept)


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
    return tuple(file for file in sources(facts, rules) if not any(place.startswith(file) for place in placed))


def _is_benchmark(file: str, rules: Rules) -> bool:
    return any(part in f"/{file}" for part in rules.languages.benchmark_paths)


def _distinct(items: Sequence[str]) -> tuple[str, ...]:
    """The names without those that another one says in full: `charge` beside `Bill.charge`, a file beside its tests."""
    fuller = [(f"::{item}", f".{item}", f"{item}::") for item in items]
    return tuple(
        item
        for item, (scoped, dotted, opened) in zip(items, fuller, strict=True)
        if not any(other.endswith((scoped, dotted)) or other.startswith(opened) for other in items)
    )


def _short(text: str, length: int) -> str:
    whole = folded(text)
    cut = shorten(whole, length)
    return cut if cut == whole else f"{cut} …"


def _nowhere(facts: Facts, rules: Rules) -> str:
    return rules.phrases.nowhere.replace("{title}", facts.title or rules.phrases.nameless)
