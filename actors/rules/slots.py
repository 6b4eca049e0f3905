"""The values of templates' slots (`{name}`), and the lists that steps are repeated for, from a problem's facts."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from actors.guards.fields import folded
from actors.rules.decision import ALTERNATIVES_MAX
from actors.rules.facts import Facts
from actors.rules.parsed_request import ParsedRequest, requirements_of
from actors.rules.tables import SLOT, TEXT_SLOTS, RulesTables
from actors.rules.text import lower, shorten
from actors.values.requirements import Requirement, RequirementKind

NAMES_MAX = 4
"""Names, or sentences, in one slot."""
NAME_LENGTH_MAX = 120
"""Characters of one of them."""
ITEM_LENGTH_MAX = 200
"""Characters of an item of a list."""
BRIEF_LENGTH_MAX = 60
"""Characters of an item that a step's name quotes; a longer one is cut."""
SENTENCES_MAX = 12
"""The largest number of requirements in one slot."""

LIMITS: Mapping[str, int] = {
    "alternatives": ALTERNATIVES_MAX,
    "constraints": 5,
    "goals": 6,
    "moves": 5,
    "suspects": 3,
    "targets": 3,
}
"""The largest number of repetitions, for each list; a longer plan would be hard to read."""
_FAILS = re.compile(r"\bfail(?:s|ed|ing)?\b(?! (?:if|unless)\b)")

_SLOT_END = re.compile(f"{SLOT.pattern}(\\.?)")

KEPT = (RequirementKind.MUST_AVOID, RequirementKind.MUST_KEEP)
"""The kinds of requirements that are constraints."""


class Item(NamedTuple):
    """An item of a list for which the plan repeats a step, such as a file or a requirement."""

    text: str
    """The text of the item, as the step's description quotes it; that of a requirement is whole."""
    satisfies: tuple[str, ...] = ()
    """The ids of the requirements that the step satisfies for it; empty where it is no requirement."""


def fill(sentence: str, slots: Mapping[str, str]) -> str | None:
    """Return the sentence with its slots replaced once, literally; None if one of them is empty.

    Words of the user that end with a full stop or a question mark need no other.
    """
    if not all(slots.get(name) for name in SLOT.findall(sentence)):
        return None
    return _SLOT_END.sub(lambda match: _ended(slots[match[1]], match[2], match[1] in TEXT_SLOTS), sentence)


def _ended(value: str, stop: str, said: bool) -> str:
    return value if said and value.endswith((".", "?", "!", "…")) else value + stop


def first(alternatives: Sequence[str], slots: Mapping[str, str]) -> str:
    """Return the first alternative whose slots all have values, filled in; an empty text if there is none."""
    return next((text for sentence in alternatives if (text := fill(sentence, slots)) is not None), "")


def slots_of(request: ParsedRequest, facts: Facts, rules: RulesTables) -> dict[str, str]:
    """Return the values of the slots that every sentence may use."""
    title = facts.title or rules.phrases.nameless
    error = facts.traces[0].error if facts.traces else ""
    area = area_of(facts, rules) or _unknown_area(facts, rules)
    return {
        "title": title,
        "language": request.language,
        "files": names(sources(facts, rules)),
        "apis": names([api for api in _distinct(facts.apis) if not error.startswith(api)]),
        "tests": names(_distinct(facts.tests)),
        "alternatives": names(request.decision.alternatives) if request.decision else "",
        "failing": names(failing_tests(request, facts)),
        "benchmarks": names([file for file in facts.files if _is_benchmark(file, rules)]),
        "steps": numbered(facts.steps),
        "cause": request.stated.cause,
        "constraints": _all_of(texts_of(request, KEPT), rules),
        "wishes": _all_of(texts_of(request, (RequirementKind.GOAL,)), rules),
        "error": _short(error, NAME_LENGTH_MAX),
        "place": next(iter(_places(facts, rules)), ""),
        "location": next(iter(_places(facts, rules)), area),
        "area": area,
    }


def lists_of(request: ParsedRequest, facts: Facts, rules: RulesTables, more: int = 0) -> dict[str, tuple[Item, ...]]:
    """Return the lists that a step may be repeated for; only `constraints` and `goals` may be empty.

    `more` is added to the limits of their lengths, which are at least 1. Requirements are never left out: where there
    are more than the limit, several share an item. What is to be built is a list of its own; a refactoring makes a
    move of each of these goals.
    """
    requirements = requirements_of(request)
    named = titled(requirements, facts.title)
    goals = [item for item in requirements if item.kind == RequirementKind.GOAL and item not in named]
    kept = [requirement for requirement in requirements if requirement.kind in KEPT]
    targets = sources(facts, rules) or _distinct(facts.apis) or (_unknown_area(facts, rules),)
    limits = {name: max(1, limit + more) for name, limit in LIMITS.items()}
    alternatives = request.decision.alternatives if request.decision else ()
    cut = {
        "alternatives": alternatives or (rules.phrases.alternatives,),
        "moves": targets,
        "suspects": (*_places(facts, rules), *_unplaced(facts, rules)) or facts.apis or facts.tests or targets,
        "targets": targets,
    }
    lists = {
        name: tuple(Item(_short(text, ITEM_LENGTH_MAX)) for text in items[: limits[name]])
        for name, items in cut.items()
    }
    lists["constraints"] = _shared(kept, limits["constraints"])
    lists["goals"] = _shared(goals, limits["goals"])
    if goals:
        lists["moves"] = _shared(goals, limits["moves"])
    return lists


def titled(requirements: Sequence[Requirement], title: str) -> list[Requirement]:
    """Return the goals that the title of the text states: they are for the plan as a whole, not for a step."""
    goals = (item for item in requirements if item.kind == RequirementKind.GOAL)
    return [item for item in goals if title and item.quote.startswith(title)]


def _shared(requirements: Sequence[Requirement], limit: int) -> tuple[Item, ...]:
    """Return the requirements as at most `limit` items, in their order and as evenly as can be."""
    count = min(limit, len(requirements))
    groups = [requirements[n * len(requirements) // count : (n + 1) * len(requirements) // count] for n in range(count)]
    return tuple(Item(in_full([part.text for part in group]), tuple(part.id for part in group)) for group in groups)


def texts_of(request: ParsedRequest, kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of the requirements of some kinds."""
    return tuple(item.text for item in requirements_of(request) if item.kind in kinds)


def _all_of(texts: Sequence[str], rules: RulesTables) -> str:
    """Return the texts as one, numbered and uncut; of a long list the first, and how many others there are."""
    shown = [text.rstrip(".;") for text in texts[:SENTENCES_MAX]]
    others = len(texts) - len(shown)
    listed = in_full(shown)
    return f"{listed}; {rules.phrases.others.replace('{count}', str(others))}" if others else listed


def in_full(texts: Sequence[str]) -> str:
    """Return the texts as one, none of them cut; each after its number in parentheses if there are several."""
    return texts[0] if len(texts) == 1 else "; ".join(f"({position}) {text}" for position, text in enumerate(texts, 1))


def item_slots(item: str, number: int) -> dict[str, str]:
    """Return the values of the additional slots of a repeated step."""
    return {"item": item, "brief": _short(item, BRIEF_LENGTH_MAX), "n": str(number)}


def failing_tests(request: ParsedRequest, facts: Facts) -> tuple[str, ...]:
    """Return the tests of which a sentence of the text says that they fail."""
    said = [part for passage in request.text.passages for part in passage.sentences if _FAILS.search(lower(part))]
    return tuple(test for test in _distinct(facts.tests) if any(test in part for part in said))


def area_of(facts: Facts, rules: RulesTables) -> str:
    """Return the first file or interface that the text names, that of a stack trace first; empty if there is none."""
    for trace in facts.traces:
        if (own := trace.own_frame(rules.languages.library_paths)) is not None:
            return own.file
    return next((name for name in (*sources(facts, rules), *facts.apis[:1])), "")


def names(items: Sequence[str]) -> str:
    """Return the first names as one text."""
    return ", ".join(_short(item, NAME_LENGTH_MAX) for item in items[:NAMES_MAX])


def numbered(items: Sequence[str]) -> str:
    """Return the first sentences as one text, numbered if there are several."""
    return in_full([_short(item, NAME_LENGTH_MAX).rstrip(".;") for item in items[:NAMES_MAX]])


def sources(facts: Facts, rules: RulesTables) -> tuple[str, ...]:
    """Return the files without tests, benchmarks and libraries; of a path and a suffix of it, only the first."""
    kept: list[str] = []
    for file in facts.files:
        library = any(part in f"/{file}" for part in rules.languages.library_paths)
        repeated = any(f"/{other}".endswith(f"/{file}") or f"/{file}".endswith(f"/{other}") for other in kept)
        if not (file in facts.tests or library or repeated or _is_benchmark(file, rules)):
            kept.append(file)
    return tuple(kept)


def _places(facts: Facts, rules: RulesTables) -> tuple[str, ...]:
    """Return the innermost frame of each stack trace in the program's own code, as text."""
    places: dict[str, None] = {}
    for trace in facts.traces:
        if (own := trace.own_frame(rules.languages.library_paths)) is not None:
            line = f":{own.line}" if own.line else ""
            places[f"{own.file}{line} in {own.function}" if own.function else f"{own.file}{line}"] = None
    return tuple(places)


def _unplaced(facts: Facts, rules: RulesTables) -> tuple[str, ...]:
    """Return the source files that are in none of the places of stack traces."""
    places = _places(facts, rules)
    return tuple(file for file in sources(facts, rules) if not any(place.startswith(file) for place in places))


def _is_benchmark(file: str, rules: RulesTables) -> bool:
    return any(part in f"/{file}" for part in rules.languages.benchmark_paths)


def _distinct(items: Sequence[str]) -> tuple[str, ...]:
    """Return the names without those that another one contains: `charge` in `Bill.charge`, a file in `FILE::TEST`."""
    affixes = [(f"::{item}", f".{item}", f"{item}::") for item in items]
    return tuple(
        item
        for item, (scoped, dotted, prefix) in zip(items, affixes, strict=True)
        if not any(other.endswith((scoped, dotted)) or other.startswith(prefix) for other in items)
    )


def _short(text: str, length: int) -> str:
    """Return the folded text, cut to `length` characters and an ellipsis."""
    whole = folded(text)
    cut = shorten(whole, length)
    return cut if cut == whole else f"{cut} …"


def _unknown_area(facts: Facts, rules: RulesTables) -> str:
    return rules.phrases.nowhere.replace("{title}", facts.title or rules.phrases.nameless)
