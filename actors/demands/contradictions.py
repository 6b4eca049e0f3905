"""Demands that contradict each other or leave values open, as far as their words show. Pure.

Three forms are decided: something is asked for and forbidden ("log all bodies", "never log bodies"), something is to be
kept and removed, and one number is to be at most and at least something that leaves nothing between. Whether two
demands contradict each other by their meaning alone is not decided. Two demands leave open what is meant where they
have the same words but for a number or a date: both can be met, by the stricter one, and one may be a mistake.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from actors.demands.dates import DATE
from actors.demands.demand import Demand
from actors.demands.patterns import any_of, late, word_set
from actors.demands.verbs import NOUN_VERBS, PLAIN_VERBS
from actors.values.requirements import RequirementKind

WORDS_MAX = 60
"""Words of a demand that are compared."""

_WORD = late(r"[a-z][\w/-]*")
_FORBIDDEN = late(
    r"\b(?:never|not|n't|cannot|avoid|forbidden|prohibited)\b|n't\b|^(?:and |but )?(?:no|without)\b"
    r"|\b(?:no|nothing|nobody|none|neither)\b.*\b(?:may|must|should|shall|can)\b"
)
_NO_THING = late(r"(?:no|without) (?!\w+ing\b)")
"""A thing is forbidden ("no new storage"), and not an act ("without checking the storage")."""
_EVERYTHING = late(r"\b(?:everything|all of it|anything)\b|\ball\s*(?:$|[.,;])")
_ALL = late(r"\b(?:all|every|each|any|full|whole|complete|entire)\b")
_LIMIT = any_of(
    (
        r"(?P<most>at most|no more than|not more than|less than|fewer than|under|below|within|up to"
        r"|max(?:imum)?(?: of)?|<=?|≤)\s*(?P<high>\d+(?:\.\d+)?)\s*(?P<unit_high>%|[a-z]+)?"
    ),
    (
        r"(?P<least>at least|no less than|no fewer than|more than|over|above|min(?:imum)?(?: of)?|>=?"
        r"|≥)\s*(?P<low>\d+(?:\.\d+)?)\s*(?P<unit_low>%|[a-z]+)?"
    ),
)
_ADDED = word_set("add introduce install create deploy adopt use set bring")
_REMOVED = word_set("remove delete drop retire replace rename change rewrite edit modify")
_KEPT = word_set("keep leave preserve retain maintain stay remain touch break change")
_ENDINGS = (("ies", "y"), ("ing", ""), ("ing", "e"), ("ged", "g"), ("ped", "p"), ("ed", ""), ("d", ""), ("es", ""))
_SMALL = word_set(
    "a an the and or but of to in on at by for with from as is are be been it its this that these those we you i",
    "they he she our your their my must should shall may can could would will have has do does not never no please",
    "all any every each only also new existing old current into out up so if when make sure need needs want wants",
    "everything anything nothing without under over below above within least most more less than per always still",
    "cannot avoid don't dont",
)


_NUMBER = late(r"(?<![\w.,])[$€£]? ?\d[\d.,]*\b")
_DATED = late(rf"\b(?:by|before|until|till|on|at|due|eta|deadline|no later than)\b:? (?:is )?(?:the )?{DATE}")
_TWO_VALUES = "they give one limit two values"
_TWO_DATES = "they give two dates for the same thing"
_ABOUT_ALL = word_set(
    "due eta deadline finished done ready live complete go be fix bug issue work project whole everything"
)
"""Words of a date that is about the whole work."""


class _Wording(NamedTuple):
    verbs: frozenset[str]
    nouns: frozenset[str]
    forbids: bool
    everything: bool
    every: bool
    small: str


def contradictions(demands: Sequence[Demand]) -> Iterator[tuple[Demand, Demand]]:
    """Yield the pairs of demands that cannot both be met, in the order of the text."""
    worded = [(demand, _wording(demand)) for demand in demands if demand.kind is not RequirementKind.SCOPE]
    for (first, one), (second, other) in itertools.combinations(worded, 2):
        if _contradict(first, one, second, other) or _contradict(second, other, first, one) or _apart(one, other):
            yield first, second


def unclear(demands: Sequence[Demand]) -> Iterator[tuple[Demand, Demand, str]]:
    """Yield the pairs of demands that have the same words but for a number or a date, with why they are unclear.

    Both can be met. The first of several is paired with each that differs from it, in the order of the text.
    """
    first: dict[tuple[str, frozenset[tuple[str, int]]], tuple[Demand, tuple[str, ...]]] = {}
    for demand in demands:
        small = demand.quote.lower().replace("\u2019", "'")
        dated = demand.kind is RequirementKind.DEADLINE
        found = _found(_DATED if dated else _NUMBER, small)
        why = _TWO_DATES if dated else _direction(small)
        if not found or not why:
            continue
        words = (_base(word) for word in _WORD.findall((_DATED if dated else _NUMBER).sub(" ", small))[:WORDS_MAX])
        said = Counter(word for word in words if word not in _SMALL and word not in _ABOUT_ALL)
        said["not"] = int(bool(_FORBIDDEN.search(small)))
        earlier, values = first.setdefault((why, frozenset(said.items())), (demand, found))
        if values != found:
            yield earlier, demand, _TWO_DATES if dated else _TWO_VALUES


def _found(pattern: re.Pattern[str], small: str) -> tuple[str, ...]:
    return tuple(" ".join(match[0].split()) for match in pattern.finditer(small))


def _direction(small: str) -> str:
    """Return whether the only limit of a text is an upper or a lower one; empty where it has none, or several."""
    limits = [*itertools.islice(_LIMIT.finditer(small), 2)]
    if len(limits) != 1:
        return ""
    return "most" if limits[0]["most"] else "least"


def _wording(demand: Demand) -> _Wording:
    small = demand.quote.lower().replace("\u2019", "'")
    words = [_base(word) for word in _WORD.findall(small)[:WORDS_MAX]]
    verbs = frozenset(word for word in words if word in PLAIN_VERBS or word in NOUN_VERBS)
    nouns = frozenset(word for word in words if word not in _SMALL and word not in verbs)
    everything, every = _EVERYTHING.search(small), _ALL.search(small)
    return _Wording(verbs, nouns, bool(_FORBIDDEN.search(small)), bool(everything), bool(every), small)


def _base(word: str) -> str:
    """Return a word without the ending of a plural, a third person or a participle, where that leaves a known verb."""
    for ending, left in (
        ("ies", "y"),
        ("ing", ""),
        ("ing", "e"),
        ("ged", "g"),
        ("ped", "p"),
        ("ed", ""),
        ("d", ""),
        ("es", "e"),
    ):
        stem = word.removesuffix(ending) + left
        if word.endswith(ending) and (stem in PLAIN_VERBS or stem in NOUN_VERBS):
            return stem
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def _contradict(first: Demand, one: _Wording, second: Demand, other: _Wording) -> bool:
    """Tell whether the first demand asks for what the second one forbids, or removes what the second one keeps."""
    if one.forbids:
        return False
    if first.kind is RequirementKind.MUST_KEEP and not one.verbs & _REMOVED - _KEPT:
        return False
    about = one.nouns & other.nouns
    smaller = min(len(one.nouns), len(other.nouns))
    same = bool(about) and 2 * len(about) >= smaller
    if other.forbids:
        if one.verbs & other.verbs and (same or one.everything or (other.everything and one.every)):
            return not (one.verbs & other.verbs) <= _KEPT
        return bool(_NO_THING.match(other.small)) and bool(one.verbs & _ADDED) and same
    kept = second.kind is RequirementKind.MUST_KEEP and other.verbs & _KEPT
    return bool(kept and one.verbs & _REMOVED and about and about >= other.nouns)


def _apart(one: _Wording, other: _Wording) -> bool:
    """Tell whether two limits of the same thing leave no number between them."""
    if not one.nouns & other.nouns:
        return False
    limits = [(each, match) for each in (one, other) for match in itertools.islice(_LIMIT.finditer(each.small), 4)]
    high = [(each, float(match["high"]), match["unit_high"] or "") for each, match in limits if match["most"]]
    low = [(each, float(match["low"]), match["unit_low"] or "") for each, match in limits if match["least"]]
    return any(
        upper is not lower and unit == unit_low and most < least
        for upper, most, unit in high
        for lower, least, unit_low in low
    )


_QUOTED = late(r'`[^`]*`|"[^"]*"')
"""Names of a program and words of others: a placeholder in them is what the sentence is about."""
_OPEN = late(
    r"(?<![\w.])(?:TBD|TBC|TBA|tbd)(?!\w)"
    r"|\b(?:still )?to be (?:decided|defined|determined|confirmed|agreed|specified|discussed)\b"
    r"|(?<!\S)\?{2,}(?!\w)"
)


def open_value(demand: Demand) -> str:
    """Return the words with which a demand leaves a value open; empty where it leaves none."""
    found = _OPEN.search(_QUOTED.sub(lambda quoted: " " * len(quoted[0]), demand.quote))
    return found[0] if found else ""
