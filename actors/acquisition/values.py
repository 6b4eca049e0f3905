"""Values of fields: each with its source and quote; which of several is chosen, and how far they differ. Pure."""

import bisect
import math
import operator
from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from actors.acquisition.profile import FieldSpec
from actors.quantities.periods import last_year
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
    place: str = Field(default="", exclude_if=operator.not_)
    """Where in the source it stands, such as `page 2, box 72 90 520 104`; empty where the source tells no places."""
    period: str = ""
    """The year, or the range of years, that the source states it for; empty where the source names none."""
    confidence: float = 1.0
    """From 0 to 1: how sure the author of the observation is; 1 for what the user said."""

    @property
    def where(self) -> str:
        """The source with the place in it, for people."""
        return f"{self.source}, {self.place}" if self.place else self.source


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


CONFIDENCE_STEPS = (0.4, 0.7)
"""From where a confidence counts as the next step: an author who is very sure counts no more than one who is sure."""


def choose_value(spec: FieldSpec, values: Values) -> FieldValue | None:
    """Return the value that counts: the user's latest, else one from sources by the field's rules, else the default."""
    if not values:
        return None
    best = min(_RANK[value.via] for value in values)
    same = [value for value in values if _RANK[value.via] == best]
    if same[0].via != "search":
        return same[-1]
    found = of_period(spec, same)
    return _by_rule(spec, found) if found else None


def of_period(spec: FieldSpec, values: Sequence[FieldValue]) -> Values:
    """Return the values from sources that a field's `period` admits, with those for which no source names a year."""
    found = tuple(value for value in values if value.via == "search")
    if spec.period == "any":
        return found
    years = [year for item in found if (year := last_year(item.period)) is not None]
    wanted = max(years, default=0) if spec.period == "latest" else int(spec.period)
    return tuple(item for item in found if last_year(item.period) in (None, wanted))


def _by_rule(spec: FieldSpec, found: Sequence[FieldValue]) -> FieldValue:
    numbers = sorted((item for item in found if isinstance(item.value, float)), key=_number)
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
            return max(found, key=lambda item: _borne_out(item, found))  # The first of several that are equal.


def _borne_out(value: FieldValue, found: Sequence[FieldValue]) -> tuple[int, int]:
    """Return how well a value is borne out: by other sources that state the same, then by its author's confidence.

    A confidence is what an author says of itself, and a document may have told it what to say. So it counts in steps.
    """
    agreeing = {item.source for item in found if _same_value(item, value)}
    return len(agreeing), bisect.bisect_right(CONFIDENCE_STEPS, value.confidence)


def _same_value(one: FieldValue, other: FieldValue) -> bool:
    if isinstance(one.value, str) or isinstance(other.value, str):
        return one.value == other.value
    return math.isclose(one.value, other.value, rel_tol=1e-6)


def _number(value: FieldValue) -> float:
    return float(value.value)


def spread(values: Values) -> Spread | None:
    """Return how far the numbers from sources reach; None where no source states a number.

    A field's spread is that of the values that its `period` admits (`of_period`).
    """
    found = [value for value in values if value.via == "search" and isinstance(value.value, float)]
    if not found:
        return None
    lows = [_number(item) if item.low is None else item.low for item in found]
    highs = [_number(item) if item.high is None else item.high for item in found]
    return Spread(min(lows), max(highs), len({item.source for item in found}))


def bounds_of(value: FieldValue, values: Values) -> tuple[float, float]:
    """Return the range that a calculation takes for a chosen number: of all sources, where it comes from one."""
    number = _number(value)
    if value.via == "search":
        reach = spread(values)
        assert reach is not None, "the chosen value is one of them"
        return min(reach.low, number), max(reach.high, number)
    return (number if value.low is None else value.low), (number if value.high is None else value.high)


_NOT_THE_VALUE = {"quote": "", "place": "", "confidence": 1.0, "low": None, "high": None}


def merge_values(values: Values, more: Sequence[FieldValue]) -> Values:
    """Return values with others added; one that a source has stated already is not added again."""
    kept = list(values)
    for value in more:
        if not any(_same(value, item) for item in kept):
            kept.append(value)
    return tuple(kept)


def _same(one: FieldValue, other: FieldValue) -> bool:
    return one.model_copy(update=_NOT_THE_VALUE) == other.model_copy(update=_NOT_THE_VALUE)
