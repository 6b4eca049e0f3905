"""The shape of a workflow as the search sees it: steps, what they require, and their budgets. Pure and immutable."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class StepBudget:
    """`rmax` attempts per visit; at most `1 + backtrack_budget` visits (S23). A deterministic step costs no calls."""

    rmax: int = 3
    backtrack_budget: int = 2
    deterministic: bool = False


@dataclass(frozen=True)
class Graph:
    """`requires` maps each step to the steps it requires, in the order of the workflow file; it has no cycle."""

    requires: Mapping[str, tuple[str, ...]]
    budgets: Mapping[str, StepBudget]

    @cached_property
    def steps(self) -> tuple[str, ...]:
        """All steps, in file order."""
        return tuple(self.requires)

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Each step's position in the file."""
        return {step: place for place, step in enumerate(self.requires)}

    @cached_property
    def users(self) -> Mapping[str, tuple[str, ...]]:
        """The steps that directly require each step."""
        return {step: tuple(other for other in self.steps if step in self.requires[other]) for step in self.steps}

    @cached_property
    def below(self) -> Mapping[str, tuple[str, ...]]:
        """The steps that (transitively) require each step, in file order."""
        return {step: self._closure(step, self.users) for step in self.steps}

    @cached_property
    def above(self) -> Mapping[str, tuple[str, ...]]:
        """The steps that each step (transitively) requires, in file order."""
        return {step: self._closure(step, self.requires) for step in self.steps}

    @cached_property
    def leaves(self) -> frozenset[str]:
        """The steps that nothing requires."""
        return frozenset(step for step in self.steps if not self.users[step])

    def distance(self, upper: str, lower: str) -> int:
        """Return how far up `upper` is from `lower`: the longest path over `requires`, 0 for the same step.

        The longest, so that in a chain where every step also requires all earlier ones "one up" is the step before.
        """
        return self._distances[lower][upper]

    @cached_property
    def _distances(self) -> Mapping[str, Mapping[str, int]]:
        distances: dict[str, dict[str, int]] = {}
        for step in sorted(self.steps, key=lambda name: len(self.above[name])):
            mine = {step: 0}
            for parent in self.requires[step]:
                for upper, far in distances[parent].items():
                    mine[upper] = max(mine.get(upper, 0), far + 1)
            distances[step] = mine
        return distances

    def upward(self, step: str, least: int) -> list[str]:
        """Return the ancestors at distance `least` or more: nearest first, ties later in the file first."""
        found = [upper for upper in self.above[step] if self.distance(upper, step) >= least]
        return sorted(found, key=lambda upper: (self.distance(upper, step), -self.place[upper]))

    def nearer(self, step: str, than: int) -> list[str]:
        """Return the ancestors nearer than `than`: farthest first, ties later in the file first."""
        found = [upper for upper in self.above[step] if self.distance(upper, step) < than]
        return sorted(found, key=lambda upper: (-self.distance(upper, step), -self.place[upper]))

    def _closure(self, step: str, edges: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        found: set[str] = set()
        rest = list(edges[step])
        while rest:
            other = rest.pop()
            if other not in found:
                found.add(other)
                rest.extend(edges[other])
        return tuple(name for name in self.steps if name in found)
