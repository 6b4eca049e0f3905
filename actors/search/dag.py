"""The directed acyclic graph of the `requires` edges: order, ancestors, dependents, distances. Pure and cached."""

import heapq
from collections.abc import Mapping, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter


class Dag:
    """Steps in file order, each with the steps that it requires; each required step must be a key itself.

    All results list the steps in file order, except `order`, which is topological.
    """

    def __init__(self, requires: Mapping[str, Sequence[str]]) -> None:
        self._requires = {step: tuple(dict.fromkeys(above)) for step, above in requires.items()}

    def cycle(self) -> tuple[str, ...]:
        """Return a cycle in which each step requires the next, with the first step repeated at the end; () if none."""
        try:
            TopologicalSorter(self._requires).prepare()
        except CycleError as error:
            return tuple(reversed(error.args[1]))
        return ()

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The steps in topological order, ties in file order."""
        position = {step: index for index, step in enumerate(self._requires)}
        sorter = TopologicalSorter(self._requires)
        sorter.prepare()
        ready = [(position[step], step) for step in sorter.get_ready()]
        heapq.heapify(ready)
        result = []
        while ready:
            _, step = heapq.heappop(ready)
            result.append(step)
            sorter.done(step)
            for successor in sorter.get_ready():
                heapq.heappush(ready, (position[successor], successor))
        return tuple(result)

    @cached_property
    def ancestors(self) -> Mapping[str, frozenset[str]]:
        """For each step, all steps that it requires, directly or not."""
        ancestors: dict[str, frozenset[str]] = {}
        for step in self.order:
            above = self._requires[step]
            ancestors[step] = frozenset(above).union(*(ancestors[parent] for parent in above))
        return ancestors

    @cached_property
    def dependents(self) -> Mapping[str, frozenset[str]]:
        """For each step, all steps that require it, directly or not."""
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
        distances: dict[str, dict[str, int]] = {}
        for step in self.order:
            longest = {step: 0}
            for parent in self._requires[step]:
                for upper, length in distances[parent].items():
                    longest[upper] = max(longest.get(upper, 0), length + 1)
            distances[step] = longest
        return distances

    def distance(self, upper: str, lower: str) -> int | None:
        """Return the number of edges on the longest path from `lower` up to `upper`; None if there is no path.

        The longest path counts, so that "one up" never skips a step that would have to be redone in between.
        """
        return self._distances[lower].get(upper)
