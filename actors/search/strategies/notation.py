"""How a search is written down, and what it stands for: `NAME`, `NAME:NUMBER`, for a beam `NAME:WIDTHxBRANCHING`. Pure.

A workflow may also give a mapping, `{name: beam, width: 4}`. Both become one text with every number in it, so that a
run which is pinned to it does not change when a later release chooses other defaults.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from actors.search.cost import happy_calls, linear_calls, worst_case_calls
from actors.search.graph import Graph
from actors.search.moves import Search
from actors.search.strategies.best_first import BestFirst
from actors.search.strategies.deepening import Deepening
from actors.search.strategies.independent import BestOf, Restart
from actors.search.strategies.layered import Layered
from actors.search.strategies.tree import Strategy

NUMBER_MAX = 256
"""The largest width, branching or number of samples: no step serves more branches at once."""

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
"""The searches, and what their numbers are called, in order, with the defaults; None is worked out from the steps."""

SINGLE_BRANCH = frozenset(name for name, numbers in NUMBERS.items() if not numbers)
"""The searches with one branch: only searches among branches have numbers."""

_TEXT = re.compile(r"([a-z_]+)(?::([1-9]\d{0,5})(?:x([1-9]\d{0,5}))?)?")


class UnknownSearch(ValueError):
    """A search that cannot be; `hint` is what to write instead, `name` the name that nobody knows, if that is it."""

    def __init__(self, cause: str, hint: str = "", name: str = "") -> None:
        super().__init__(cause)
        self.hint, self.name = hint, name


@dataclass(frozen=True, slots=True)
class SearchChoice:
    """A search with its numbers, in the order of `NUMBERS`; None at the end is worked out from the steps."""

    name: str
    numbers: tuple[int | None, ...] = ()

    def __str__(self) -> str:
        """Return it as the command line takes it. A branching of 1 goes without saying."""
        width, *branching = self.numbers or (None,)
        more = "".join(f"x{number}" for number in branching if number != 1)
        return self.name if width is None else f"{self.name}:{width}{more}"


def read_search(value: Any) -> SearchChoice:
    """Return the search that a text or a mapping names. Raises `UnknownSearch`."""
    if isinstance(value, Mapping):
        given = {str(key): number for key, number in value.items()}
        name = given.pop("name", None)
        if not isinstance(name, str):
            raise UnknownSearch("a search given as a mapping has a name", "such as {name: beam, width: 4}")
        return _chosen(name, given)
    matched = _TEXT.fullmatch(value) if isinstance(value, str) else None
    if matched is None:
        found = str(value).partition(":")[0]
        if found in NUMBERS:
            raise UnknownSearch(f"{value!r} is not how {found} is written", _forms(found))
        raise _unknown(value, found)
    name = matched[1]
    numbers = [int(number) for number in matched.groups()[1:] if number is not None]
    if name in NUMBERS and len(numbers) > len(NUMBERS[name]):
        raise UnknownSearch(f"{value!r} has a number too many", _forms(name))
    return _chosen(name, dict(zip(NUMBERS.get(name, ()), numbers, strict=False)))


def _unknown(value: Any, name: str) -> UnknownSearch:
    return UnknownSearch(f"should be a search such as beam:4, not {value!r}", name=name)


def _chosen(name: str, given: Mapping[str, Any]) -> SearchChoice:
    if name not in NUMBERS:
        raise _unknown(name, name)
    for key, number in given.items():
        if key not in NUMBERS[name]:
            raise UnknownSearch(f"the search {name} has no {key!r}", _forms(name))
        most = 100_000 if key == "calls" else NUMBER_MAX
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
            raise UnknownSearch(f"the {key} of {name} is a whole number from 1 to {most:,}, not {number!r}")
    return SearchChoice(name, tuple(given.get(key, default) for key, default in NUMBERS[name].items()))


def _forms(name: str) -> str:
    names = [key.upper() for key in NUMBERS[name]]
    forms = [f"{name}:{'x'.join(names[:count])}" for count in range(1, len(names) + 1)]
    return f"write {' or '.join(forms)}" if forms else f"write {name} alone"


def moves_of(choice: SearchChoice, strategy: Strategy | None) -> Search:
    """Return what happens inside a branch."""
    return Search(choice.name) if strategy is None else strategy.moves


def strategy_of(choice: SearchChoice, graph: Graph) -> Strategy | None:
    """Return the strategy among branches, or None for a search that has only one."""
    first = choice.numbers[0] if choice.numbers else None
    linear, worst, layers = linear_calls(graph), worst_case_calls(graph), graph.layers
    match choice.name:
        case "beam":
            width, branching = choice.numbers
            assert width is not None
            assert branching is not None
            most = 1 if width == branching == 1 else width * branching * len(layers)
            return Layered(width, branching, Search.DEPTH_FIRST, most, most * worst)
        case "breadth_first":
            assert first is not None
            each = [sum(_visit(graph, step) for step in layer) for layer in layers]
            calls = sum(first ** (number + 1) * visit for number, visit in enumerate(each))
            return Layered(None, first, Search.LINEAR, min(NUMBER_MAX, first ** len(layers)), calls)
        case "best_first":
            assert first is not None
            back = sum(one.backtrack_budget for step, one in graph.budgets.items() if not _free(graph, step))
            return BestFirst(first, 1 + back, (1 + back) * worst)
        case "iterative_deepening":
            return Deepening(first or happy_calls(graph), worst)
        case "restart":
            assert first is not None
            return Restart(first, linear)
        case "best_of":
            assert first is not None
            return BestOf(first, linear)
        case _:
            return None


def _visit(graph: Graph, step: str) -> int:
    """Return the most calls of one visit."""
    budget = graph.budgets[step]
    return 0 if budget.deterministic else budget.rmax * budget.calls


def _free(graph: Graph, step: str) -> bool:
    return graph.budgets[step].deterministic
