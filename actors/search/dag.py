"""The graph that `requires` edges make: order, ancestors, dependents, distance. Pure, computed once."""

import heapq
from collections.abc import Mapping, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter


class Dag:
    """Steps in file order, each with the steps it requires; all of them must be there.

    Every answer lists steps in file order, except `order()`, which is topological.
    """

    def __init__(self, requires: Mapping[str, Sequence[str]]) -> None:
        self._requires = {step: tuple(dict.fromkeys(above)) for step, above in requires.items()}

    def cycle(self) -> tuple[str, ...]:
        """Return one cycle, its first step repeated at the end and each step requiring the next, or nothing."""
        try:
            TopologicalSorter(self._requires).prepare()
        except CycleError as error:
            return tuple(reversed(error.args[1]))
        return ()

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The steps such that each comes after all it requires; the earlier in the file first."""
        place = {step: index for index, step in enumerate(self._requires)}
        sorter = TopologicalSorter(self._requires)
        sorter.prepare()
        ready = [(place[step], step) for step in sorter.get_ready()]
        heapq.heapify(ready)
        result = []
        while ready:
            _, step = heapq.heappop(ready)
            result.append(step)
            sorter.done(step)
            for following in sorter.get_ready():
                heapq.heappush(ready, (place[following], following))
        return tuple(result)

    @cached_property
    def ancestors(self) -> Mapping[str, frozenset[str]]:
        """For each step, all that it requires, directly or not."""
        found: dict[str, frozenset[str]] = {}
        for step in self.order:
            above = self._requires[step]
            found[step] = frozenset(above).union(*(found[parent] for parent in above))
        return found

    @cached_property
    def dependents(self) -> Mapping[str, frozenset[str]]:
        """For each step, all that require it, directly or not."""
        return {step: frozenset(other for other in self.order if step in self.ancestors[other]) for step in self.order}

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The steps that nothing requires."""
        return tuple(step for step in self._requires if not self.dependents[step])

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The steps that require nothing."""
        return tuple(step for step, above in self._requires.items() if not above)

    @cached_property
    def _distances(self) -> Mapping[str, Mapping[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for step in self.order:
            longest = {step: 0}
            for parent in self._requires[step]:
                for upper, length in found[parent].items():
                    longest[upper] = max(longest.get(upper, 0), length + 1)
            found[step] = longest
        return found

    def distance(self, upper: str, lower: str) -> int | None:
        """Return the number of edges on the longest path from `lower` up to `upper`; None when there is no path.

        The longest counts, so that "one up" never jumps over a step that would have to be redone in between.
        """
        return self._distances[lower].get(upper)
