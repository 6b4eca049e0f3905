"""The notation of a search: `NAME`, `NAME:NUMBER` or `NAME:WIDTHxBRANCHING`. Pure.

A workflow may also use a mapping, such as `{name: beam, width: 4}`. A run records its search as a text with all
numbers. So the search of a run does not change if a later release has other defaults.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NUMBER_MAX = 256
"""The largest width, branching or number of samples of a search. So this number also limits how many requests of one
step are open at the same time.
"""

NUMBERS: Mapping[str, Mapping[str, int | None]] = {
    "depth_first": {},
    "blind": {},
    "linear": {},
    "beam": {"width": 4, "branching": 1},
    "breadth_first": {"branching": 2},
    "best_first": {"width": 8},
    "iterative_deepening": {"calls": None},
    "restart": {"samples": 10},
    "best_of": {"samples": 4},
}
"""For each search, the names of its numbers in order, with their defaults. None means that the default is computed from
the steps."""

SINGLE_BRANCH = frozenset(name for name, numbers in NUMBERS.items() if not numbers)
"""The searches with one branch. Only searches with several branches have numbers."""

_TEXT = re.compile(r"([a-z_]+)(?::([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?)?")


class UnknownSearch(ValueError):
    """A search in a workflow or option is invalid.

    `hint` says what to write instead. `name` is the name, if no search has this name; otherwise it is empty.
    """

    def __init__(self, cause: str, hint: str = "", name: str = "") -> None:
        super().__init__(cause)
        self.hint, self.name = hint, name


@dataclass(frozen=True, slots=True)
class SearchChoice:
    """The name of a search, and its numbers."""

    name: str
    numbers: tuple[int | None, ...] = ()
    """The numbers, in the order that `NUMBERS` lists for this search. None stands for a number that is computed from
    the workflow's steps.
    """

    def __str__(self) -> str:
        width, *branching = self.numbers or (None,)
        suffix = "".join(f"x{number}" for number in branching if number != 1)
        return self.name if width is None else f"{self.name}:{width}{suffix}"


def read_search(value: Any) -> SearchChoice:
    """Return the search that a text or a mapping describes.

    Raises `UnknownSearch` if the text or the mapping is invalid.
    """
    if isinstance(value, Mapping):
        numbers_by_name = {str(key): number for key, number in value.items()}
        name = numbers_by_name.pop("name", None)
        if not isinstance(name, str):
            raise UnknownSearch("a search that is a mapping needs the key `name`", "such as {name: beam, width: 4}")
        return _choice(name, numbers_by_name)
    matched = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if matched is None:
        name = str(value).partition(":")[0]
        if name in NUMBERS:
            raise UnknownSearch(f"{value!r} is not a valid form of the search {name}", _forms(name))
        raise _unknown(value, name)
    name = matched[1]
    numbers = [int(number) for number in matched.groups()[1:] if number is not None]
    if name in NUMBERS and len(numbers) > len(NUMBERS[name]):
        raise UnknownSearch(f"{value!r} has too many numbers", _forms(name))
    return _choice(name, dict(zip(NUMBERS.get(name, ()), numbers, strict=False)))


def _unknown(value: Any, name: str) -> UnknownSearch:
    return UnknownSearch(f"should be a search such as beam:4, not {value!r}", name=name)


def _choice(name: str, numbers: Mapping[str, Any]) -> SearchChoice:
    """Return the search `name` with the numbers in `numbers`, and with defaults for its other numbers.

    Raises `UnknownSearch` if the name or a number is invalid.
    """
    if name not in NUMBERS:
        raise _unknown(name, name)
    for key, number in numbers.items():
        if key not in NUMBERS[name]:
            raise UnknownSearch(f"the search {name} has no number called {key!r}", _forms(name))
        most = 100_000 if key == "calls" else NUMBER_MAX
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
            raise UnknownSearch(f"the {key} of {name} must be a whole number from 1 to {most:,}, not {number!r}")
    return SearchChoice(name, tuple(numbers.get(key, default) for key, default in NUMBERS[name].items()))


def _forms(name: str) -> str:
    names = [key.upper() for key in NUMBERS[name]]
    forms = [f"{name}:{'x'.join(names[:count])}" for count in range(1, len(names) + 1)]
    return f"write {' or '.join(forms)}" if forms else f"write only {name}"
