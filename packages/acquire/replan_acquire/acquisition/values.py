"""The values of fields with their sources and quotes, the choice among several values, and their spread. Pure."""

import bisect
import math
import operator
from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import Field

from replan_acquire.acquisition.profile import FieldSpec
from replan_acquire.quantities.periods import last_year
from runtime.core.events import Value

Via = Literal["search", "user", "given", "default", "computed"]
"""The origin of a value: a search, the user's answer, the start of the run, a default, or a computation."""

_RANK: dict[Via, int] = {"user": 0, "given": 1, "computed": 2, "search": 3, "default": 4}


class FieldValue(Value):
    """One value for a field, from one source."""

    value: float | str
    """The value: a number in `unit`, or a text."""
    low: float | None = None
    """The lower end of a number's range; None if the source states no range."""
    high: float | None = None
    """The upper end of a number's range; None if the source states no range."""
    unit: str = ""
    """The unit of a number; empty for a plain number and for texts."""
    via: Via
    source: str = ""
    """The file or address of the document, the question's id, or the formula."""
    quote: str = ""
    """The words of the source that state the value; empty if there is no quote."""
    place: str = Field(default="", exclude_if=operator.not_)
    """The place of the value in the source, such as `page 2, box 72 90 520 104`; empty if the source has no places."""
    period: str = ""
    """The year, or the range of years, that the source states for the value; empty if the source states none."""
    confidence: float = 1.0
    """The confidence of the model that has read the value, from 0 to 1; 1 for a value from the user."""

    @property
    def where(self) -> str:
        """The source and the value's place in it, as text for people."""
        return f"{self.source}, {self.place}" if self.place else self.source


Values = tuple[FieldValue, ...]


class Spread(NamedTuple):
    """The range of a field's numbers from sources."""

    low: float
    high: float
    sources: int


CONFIDENCE_STEPS = (0.4, 0.7)
"""The confidence at which middle confidence begins, and the confidence at which high confidence begins. Differences
within low, middle or high confidence are ignored."""


def choose_value(spec: FieldSpec, values: Values) -> FieldValue | None:
    """Return the chosen value: the user's latest, or one from sources by the field's rules, or else the default."""
    if not values:
        return None
    best = min(_RANK[value.via] for value in values)
    same = [value for value in values if _RANK[value.via] == best]
    if same[0].via != "search":
        return same[-1]
    found = filter_by_period(spec, same)
    return _by_rule(spec, found) if found else None


def filter_by_period(spec: FieldSpec, values: Sequence[FieldValue]) -> Values:
    """Return the values from sources whose year matches the field's `period`, and the values without a year."""
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
            return max(found, key=lambda item: _count_support(item, found))  # The first of several that are equal.


def _count_support(value: FieldValue, found: Sequence[FieldValue]) -> tuple[int, int]:
    agreeing = {item.source for item in found if _have_same_value(item, value)}
    return len(agreeing), bisect.bisect_right(CONFIDENCE_STEPS, value.confidence)


def _have_same_value(one: FieldValue, other: FieldValue) -> bool:
    if isinstance(one.value, str) or isinstance(other.value, str):
        return one.value == other.value
    return math.isclose(one.value, other.value, rel_tol=1e-6)


def _number(value: FieldValue) -> float:
    return float(value.value)


def find_spread(values: Values) -> Spread | None:
    """Return the range of the numbers from sources; None if no source states a number.

    For the spread of a field, pass only the values that match the field's `period` (`filter_by_period`).
    """
    found = [value for value in values if value.via == "search" and isinstance(value.value, float)]
    if not found:
        return None
    lows = [_number(item) if item.low is None else item.low for item in found]
    highs = [_number(item) if item.high is None else item.high for item in found]
    return Spread(min(lows), max(highs), len({item.source for item in found}))


def bounds_of(value: FieldValue, values: Values) -> tuple[float, float]:
    """Return the range of a chosen number for calculations.

    For a number from a source, this is the range of the numbers of all sources.
    """
    number = _number(value)
    if value.via == "search":
        reach = find_spread(values)
        assert reach is not None, "the values include the chosen value"
        return min(reach.low, number), max(reach.high, number)
    return (number if value.low is None else value.low), (number if value.high is None else value.high)


_NOT_THE_VALUE = {"quote": "", "place": "", "confidence": 1.0, "low": None, "high": None}


def merge_values(values: Values, more: Sequence[FieldValue]) -> Values:
    """Return `values`, followed by those of the `more` values that their source has not stated already."""
    kept = list(values)
    for value in more:
        if not any(_differ_only_in_source(value, item) for item in kept):
            kept.append(value)
    return tuple(kept)


def _differ_only_in_source(one: FieldValue, other: FieldValue) -> bool:
    return one.model_copy(update=_NOT_THE_VALUE) == other.model_copy(update=_NOT_THE_VALUE)
