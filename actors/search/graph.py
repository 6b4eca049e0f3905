"""The workflow as the search sees it: the steps, what they require, and their budgets. Pure and immutable."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from actors.search.dag import Dag


@dataclass(frozen=True)
class StepBudget:
    """The limits of one step (S23)."""

    rmax: int = 3
    """The most attempts of one visit of the step."""
    backtrack_budget: int = 2
    """How often the search may backtrack to the step; a step has at most `1 + backtrack_budget` visits."""
    deterministic: bool = False
    """Whether the step makes no model calls, so that a retry would repeat its result."""
    calls: int = 1
    """The most calls that one attempt may make; more than 1 for a child run."""
    happy: int = 1
    """The fewest calls with which an attempt can succeed."""


@dataclass(frozen=True)
class Graph:
    """The steps of a workflow with their requirements and budgets."""

    requires: Mapping[str, tuple[str, ...]]
    """For each step, the steps that it requires, in the order of the workflow file; without cycles."""
    budgets: Mapping[str, StepBudget]
    """The limits and the costs in calls of each step."""

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
        """The steps by depth, from the roots down. A step is one layer below the deepest step that it requires."""
        depth: dict[str, int] = {}
        for step in self.dag.order:
            depth[step] = max((depth[upper] + 1 for upper in self.requires[step]), default=0)
        layers = range(1 + max(depth.values()))
        return tuple(tuple(step for step in self.steps if depth[step] == layer) for layer in layers)

    @cached_property
    def layer_of(self) -> Mapping[str, int]:
        """The index of each step's layer."""
        return {step: number for number, layer in enumerate(self.layers) for step in layer}

    def distance(self, upper: str, lower: str) -> int:
        """Return the length of the longest path from `lower` up to its ancestor `upper`; 0 if they are the same."""
        distance = self.dag.distance(upper, lower)
        assert distance is not None
        return distance

    def upward(self, step: str, least: int) -> list[str]:
        """Return the ancestors at distance `least` or more, nearest first; ties in reverse file order."""
        return [upper for upper, distance in self._nearest_first[step] if distance >= least]

    def nearer(self, step: str, than: int) -> list[str]:
        """Return the ancestors at a distance below `than`, farthest first; ties in reverse file order."""
        ancestors = [upper for upper in self.above[step] if self.distance(upper, step) < than]
        return sorted(ancestors, key=lambda upper: (-self.distance(upper, step), -self.steps.index(upper)))

    @cached_property
    def _nearest_first(self) -> Mapping[str, tuple[tuple[str, int], ...]]:
        """The ancestors of each step with their distances, in the order of `upward`."""
        result: dict[str, tuple[tuple[str, int], ...]] = {}
        for step in self.steps:
            above = ((upper, self.distance(upper, step)) for upper in reversed(self.above[step]))
            result[step] = tuple(sorted(above, key=lambda pair: pair[1]))
        return result

    def _ordered(self, steps: Collection[str]) -> tuple[str, ...]:
        return tuple(step for step in self.steps if step in steps)
