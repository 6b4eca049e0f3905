"""Values of fields: each with its source and quote; which of several is chosen, and how far they differ. Pure."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from actors.acquisition.profile import FieldSpec
from runtime.core.events import Value

Via = Literal["search", "user", "given", "default", "computed"]
"""How a value came: found by a search, answered by the user, given at the start, assumed, or composed of others."""

_RANK: dict[Via, int] = {"user": 0, "given": 1, "computed": 2, "search": 3, "default": 4}


class FieldValue(Value):
    """One value for a field, from one source."""

    value: float | str
    """The value: a number in `unit`, or a text."""
    low: float | None = None
    """The lower end of a number's range; None where the source states no range."""
    high: float | None = None
    """The upper end of a number's range; None where the source states no range."""
    unit: str = ""
    """The unit of a number; empty for a plain number and for texts."""
    via: Via
    """How it came."""
    source: str = ""
    """The file or address of the document, the question's id, or the formula."""
    quote: str = ""
    """The words of the source that state it; empty where nothing was quoted."""
    confidence: float = 1.0
    """From 0 to 1: how sure the author of the observation is; 1 for what the user said."""


Values = tuple[FieldValue, ...]
"""The values of one field, in the order in which they came."""


class Spread(NamedTuple):
    """How far the values of a field reach that come from sources."""

    low: float
    """The smallest number that a source states."""
    high: float
    """The largest number that a source states."""
    sources: int
    """The number of different sources."""


def chosen(spec: FieldSpec, values: Values) -> FieldValue | None:
    """Return the value that counts: the user's latest, else one from sources by the field's rule, else the default."""
    if not values:
        return None
    best = min(_RANK[each.via] for each in values)
    same = [each for each in values if _RANK[each.via] == best]
    if same[0].via != "search":
        return same[-1]
    return _by_rule(spec, same)


def _by_rule(spec: FieldSpec, found: Sequence[FieldValue]) -> FieldValue:
    numbers = sorted((each for each in found if isinstance(each.value, float)), key=_number)
    match spec.choose:
        case "first":
            return found[0]
        case "median" if numbers:
            return numbers[(len(numbers) - 1) // 2]
        case "lowest" if numbers:
            return numbers[0]
        case "highest" if numbers:
            return numbers[-1]
        case _:
            return max(found, key=lambda each: each.confidence)  # The first of several that are equally sure.


def _number(value: FieldValue) -> float:
    return float(value.value)


def spread(values: Values) -> Spread | None:
    """Return how far the numbers from sources reach; None where no source states a number."""
    found = [each for each in values if each.via == "search" and isinstance(each.value, float)]
    if not found:
        return None
    lows = [_number(each) if each.low is None else each.low for each in found]
    highs = [_number(each) if each.high is None else each.high for each in found]
    return Spread(min(lows), max(highs), len({each.source for each in found}))


def bounds_of(value: FieldValue, values: Values) -> tuple[float, float]:
    """Return the range that a calculation takes for a chosen number: of all sources, where it comes from one."""
    number = _number(value)
    if value.via == "search":
        reach = spread(values)
        assert reach is not None, "the chosen value is one of them"
        return min(reach.low, number), max(reach.high, number)
    return (number if value.low is None else value.low), (number if value.high is None else value.high)


def merged(values: Values, more: Sequence[FieldValue]) -> Values:
    """Return values with others added; one that a source has stated already is not added again."""
    kept = list(values)
    for value in more:
        if not any(_same(value, each) for each in kept):
            kept.append(value)
    return tuple(kept)


def _same(one: FieldValue, other: FieldValue) -> bool:
    return (one.via, one.source, one.value, one.unit) == (other.via, other.source, other.value, other.unit)
