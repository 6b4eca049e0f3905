"""What the search knows of a workflow: the requirements and budgets of its steps, and the resulting numbers of calls.

Pure.
"""

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter


class Dag:
    """Steps in file order, with the steps that each step requires. Each required step must also be a key of `requires`.

    All lists of steps are in file order, except `order`, which is topological.
    """

    def __init__(self, requires: Mapping[str, Sequence[str]]) -> None:
        self._requires = {step: tuple(dict.fromkeys(above)) for step, above in requires.items()}

    def cycle(self) -> tuple[str, ...]:
        """Return one cycle of steps, in which each step requires the next step; empty if there is no cycle.

        The first step is repeated at the end.
        """
        try:
            TopologicalSorter(self._requires).prepare()
        except CycleError as error:
            return tuple(reversed(error.args[1]))
        return ()

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The steps in topological order. If the topological order leaves a choice, file order decides."""
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
        """For each step: all steps that it requires, directly or indirectly."""
        ancestors: dict[str, frozenset[str]] = {}
        for step in self.order:
            above = self._requires[step]
            ancestors[step] = frozenset(above).union(*(ancestors[parent] for parent in above))
        return ancestors

    @cached_property
    def dependents(self) -> Mapping[str, frozenset[str]]:
        """For each step: all steps that require it, directly or indirectly."""
        return {step: frozenset(other for other in self.order if step in self.ancestors[other]) for step in self.order}

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The steps that no step requires."""
        return tuple(step for step in self._requires if not self.dependents[step])

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

        The longest path counts. So a step at distance 1 has no steps between itself and `lower` that must be redone
        too.
        """
        return self._distances[lower].get(upper)


@dataclass(frozen=True)
class StepBudget:
    """The limits of one step (S23)."""

    rmax: int = 3
    backtrack_budget: int = 2
    """The largest number of times that the search may go back to the step. A step has at most `1 + backtrack_budget`
    visits.
    """
    deterministic: bool = False
    """Whether the step makes no model calls. A retry of a deterministic step would give the same result."""
    calls: int = 1
    """The largest number of calls in one attempt; more than 1 only if the attempt is a child run."""
    happy: int = 1


@dataclass(frozen=True)
class Graph:
    """The steps of a workflow with their requirements and budgets."""

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
        """For each step: the steps that require it, directly or indirectly, in file order."""
        return {step: self._ordered(self.dag.dependents[step]) for step in self.steps}

    @cached_property
    def above(self) -> Mapping[str, tuple[str, ...]]:
        """For each step: the steps that it requires, directly or indirectly, in file order."""
        return {step: self._ordered(self.dag.ancestors[step]) for step in self.steps}

    @cached_property
    def leaves(self) -> frozenset[str]:
        """The steps that no step requires."""
        return frozenset(self.dag.leaves)

    @cached_property
    def layers(self) -> tuple[tuple[str, ...], ...]:
        """The layers of steps, from the steps that require nothing downward.

        A step is one layer below the deepest step that it requires.
        """
        depth: dict[str, int] = {}
        for step in self.dag.order:
            depth[step] = max((depth[upper] + 1 for upper in self.requires[step]), default=0)
        layers = range(1 + max(depth.values()))
        return tuple(tuple(step for step in self.steps if depth[step] == layer) for layer in layers)

    @cached_property
    def layer_of(self) -> Mapping[str, int]:
        """For each step: the index of its layer."""
        return {step: number for number, layer in enumerate(self.layers) for step in layer}

    def distance(self, upper: str, lower: str) -> int:
        """Return the length of the longest path from `lower` up to its ancestor `upper`; 0 if both are the same."""
        distance = self.dag.distance(upper, lower)
        assert distance is not None
        return distance

    def upward(self, step: str, least: int) -> list[str]:
        """Return the step's ancestors at distance `least` or more, nearest first.

        Equally near ancestors are in reverse file order.
        """
        return [upper for upper, distance in self._nearest_first[step] if distance >= least]

    def nearer(self, step: str, than: int) -> list[str]:
        """Return the step's ancestors at a distance below `than`, farthest first.

        Equally far ancestors are in reverse file order.
        """
        ancestors = [upper for upper in self.above[step] if self.distance(upper, step) < than]
        return sorted(ancestors, key=lambda upper: (-self.distance(upper, step), -self.steps.index(upper)))

    @cached_property
    def _nearest_first(self) -> Mapping[str, tuple[tuple[str, int], ...]]:
        """For each step: its ancestors with their distances, in the order that `upward` promises."""
        result: dict[str, tuple[tuple[str, int], ...]] = {}
        for step in self.steps:
            above = ((upper, self.distance(upper, step)) for upper in reversed(self.above[step]))
            result[step] = tuple(sorted(above, key=lambda pair: pair[1]))
        return result

    def _ordered(self, steps: Collection[str]) -> tuple[str, ...]:
        return tuple(step for step in self.steps if step in steps)


def happy_calls(graph: Graph) -> int:
    """Return the number of calls of a run in which every first attempt passes."""
    return sum(budget.happy for budget in graph.budgets.values() if not budget.deterministic)


def linear_calls(graph: Graph) -> int:
    """Return the largest number of calls of a linear run. A linear run never goes back, so it visits each step once."""
    return sum(budget.rmax * budget.calls for budget in graph.budgets.values() if not budget.deterministic)


def worst_case_calls(graph: Graph, classifications_max: int = 0) -> int:
    """Return the largest number of calls of one branch in one round, without transport retries and reissued requests.

    A non-leaf uses at most `rmax · (1 + backtrack_budget)` calls: all attempts of all its visits. A leaf has `rmax`
    attempts for each distinct set of parent artifacts (`_parent_sets`). An attempt that is a child run can make
    `budget.calls` calls. If the search can backtrack, the classifier can make `classifications_max` further calls.

    The formula is exact for workflows of up to three steps, and for a sample of workflows with four steps. A test that
    enumerates all their runs shows this. For some workflows of five or more steps with two leaves, the result is only
    an upper bound. `docs/explanation/search.md` computes an example.
    """
    total = classifications_max if _can_backtrack(graph) else 0
    for step, budget in graph.budgets.items():
        if not budget.deterministic:
            visits = _parent_sets(graph, step) if step in graph.leaves else 1 + budget.backtrack_budget
            total += budget.calls * budget.rmax * visits
    return total


def _can_backtrack(graph: Graph) -> bool:
    return any(
        budget.backtrack_budget and not budget.deterministic and step not in graph.leaves
        for step, budget in graph.budgets.items()
    )


def _parent_sets(graph: Graph, leaf: str) -> int:
    """Return the largest number of distinct sets of parent artifacts that a leaf can get.

    Each time the search backtracks to an ancestor of the leaf, the leaf gets another set. Backtracking uses up a visit
    of the ancestor and of every step between the ancestor and the leaf. So the leaf gets the most sets if the search
    always backtracks to a lowest ancestor. A lowest ancestor is an ancestor that no other ancestor requires. The search
    can backtrack to each lowest ancestor `backtrack_budget` times.

    Backtracking also redoes steps that are not above the leaf, and each of these steps must have a visit left. A
    companion of the leaf is a step of this kind that can begin as soon as the leaf can. The search cannot backtrack to
    an ancestor more often than the `backtrack_budget` of a companion that requires this ancestor. A step that waits for
    other steps sets no limit, because it may not have begun yet.
    """
    above = set(graph.above[leaf])
    inner = [step for step in graph.steps if step not in graph.leaves and not graph.budgets[step].deterministic]
    ancestors = [step for step in inner if step in above]
    lowest = [step for step in ancestors if not any(step in graph.above[other] for other in ancestors)]
    companions = [step for step in inner if step not in above and set(graph.requires[step]) <= above]
    sets = 1
    for step in lowest:
        limited_by = (step, *(other for other in companions if step in graph.above[other]))
        sets += min(graph.budgets[other].backtrack_budget for other in limited_by)
    return sets
