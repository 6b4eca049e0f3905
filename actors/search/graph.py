"""The shape of a workflow as the search sees it: steps, what they require, and their budgets. Pure and immutable."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from actors.search.dag import Dag


@dataclass(frozen=True)
class StepBudget:
    """`rmax` attempts per visit; at most `1 + backtrack_budget` visits (S23). A deterministic step costs no calls.

    `calls` is the most that one attempt may take, `happy` the least that it needs: not 1 where it is a run of its own.
    """

    rmax: int = 3
    backtrack_budget: int = 2
    deterministic: bool = False
    calls: int = 1
    happy: int = 1


@dataclass(frozen=True)
class Graph:
    """`requires` maps each step to the steps it requires, in the order of the workflow file; it has no cycle."""

    requires: Mapping[str, tuple[str, ...]]
    budgets: Mapping[str, StepBudget]

    @cached_property
    def dag(self) -> Dag:
        """The graph of the `requires` edges."""
        return Dag(self.requires)

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """All steps, in file order."""
        return tuple(self.requires)

    @cached_property
    def below(self) -> Mapping[str, tuple[str, ...]]:
        """The steps that (transitively) require each step, in file order."""
        return {step: self._ordered(self.dag.dependents[step]) for step in self.steps}

    @cached_property
    def above(self) -> Mapping[str, tuple[str, ...]]:
        """The steps that each step (transitively) requires, in file order."""
        return {step: self._ordered(self.dag.ancestors[step]) for step in self.steps}

    @cached_property
    def leaves(self) -> frozenset[str]:
        """The steps that nothing requires."""
        return frozenset(self.dag.leaves)

    @cached_property
    def layers(self) -> tuple[tuple[str, ...], ...]:
        """The steps by depth, from the roots down: a step stands one below the lowest that it requires."""
        depth: dict[str, int] = {}
        for step in self.dag.order:
            depth[step] = max((depth[upper] + 1 for upper in self.requires[step]), default=0)
        layers = range(1 + max(depth.values()))
        return tuple(tuple(step for step in self.steps if depth[step] == layer) for layer in layers)

    @cached_property
    def layer_of(self) -> Mapping[str, int]:
        """The layer that each step stands in."""
        return {step: number for number, layer in enumerate(self.layers) for step in layer}

    def distance(self, upper: str, lower: str) -> int:
        """Return how far up `upper` is from `lower`, an ancestor: the longest path over `requires`; 0 for itself."""
        distance = self.dag.distance(upper, lower)
        assert distance is not None
        return distance

    def upward(self, step: str, least: int) -> list[str]:
        """Return the ancestors at distance `least` or more: nearest first, ties later in the file first."""
        return [upper for upper, distance in self._nearest_first[step] if distance >= least]

    def nearer(self, step: str, than: int) -> list[str]:
        """Return the ancestors nearer than `than`: farthest first, ties later in the file first."""
        found = [upper for upper in self.above[step] if self.distance(upper, step) < than]
        return sorted(found, key=lambda upper: (-self.distance(upper, step), -self.steps.index(upper)))

    @cached_property
    def _nearest_first(self) -> Mapping[str, tuple[tuple[str, int], ...]]:
        """The ancestors of each step with their distances, in the order of `upward`."""
        found: dict[str, tuple[tuple[str, int], ...]] = {}
        for step in self.steps:
            above = ((upper, self.distance(upper, step)) for upper in reversed(self.above[step]))
            found[step] = tuple(sorted(above, key=lambda pair: pair[1]))
        return found

    def _ordered(self, steps: Collection[str]) -> tuple[str, ...]:
        return tuple(step for step in self.steps if step in steps)
