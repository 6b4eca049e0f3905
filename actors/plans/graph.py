"""The dependency graph of a plan: the topological order, ancestors, cycles, and steps that run only after a failure.

A step's *index* is its position in the topological order. Sets of steps are bit sets of indices. Ancestors have lower
indices, so their bit sets are short: those of a plan with 20,000 steps take tens of megabytes.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from actors.plans.plan import Plan, Step

CYCLES_MAX = 10


@dataclass(frozen=True)
class StepOrder:
    """The steps of an acyclic plan in topological order."""

    steps: tuple[Step, ...]
    """The steps. Each step comes after all steps on which it depends."""
    dependencies: tuple[tuple[int, ...], ...]
    """For each step: the indices of its dependencies, ascending."""

    @cached_property
    def index(self) -> Mapping[str, int]:
        """A mapping from step ids to indices."""
        return {step.step_id: index for index, step in enumerate(self.steps)}

    @cached_property
    def ancestors(self) -> Sequence[int]:
        """For each step: the bit set of the steps on which it depends, directly or indirectly."""
        ancestors: list[int] = []
        for dependencies in self.dependencies:
            mask = 0
            for index in dependencies:
                mask |= ancestors[index] | 1 << index
            ancestors.append(mask)
        return ancestors

    @cached_property
    def descendants(self) -> Sequence[int]:
        """For each step: the bit set of the steps that depend on it, directly or indirectly."""
        descendants = [0] * len(self.steps)
        for index in range(len(self.steps) - 1, -1, -1):
            mask = descendants[index] | 1 << index
            for dependency in self.dependencies[index]:
                descendants[dependency] |= mask
        return descendants


def order_of(plan: Plan, *, as_listed: bool = False) -> StepOrder | None:
    """Return the plan's topological order; None if the dependencies have a cycle.

    Step ids must be unique. Dependencies that name no step are ignored. If the dependencies leave a choice, the
    smallest id comes first, so the result does not depend on the order in the plan. With `as_listed`, which is for
    people, the order in the plan decides.
    """
    steps = plan.steps if as_listed else sorted(plan.steps, key=attrgetter("step_id"))
    rank = {step.step_id: index for index, step in enumerate(steps)}
    dependencies = [[rank[name] for name in step.dependencies if name in rank] for step in steps]
    if all(not ranks or max(ranks) < index for index, ranks in enumerate(dependencies)):
        # The usual case, since most ids are numbered: the list is a topological order.
        return StepOrder(tuple(steps), tuple(tuple(sorted(ranks)) for ranks in dependencies))
    dependents: list[list[int]] = [[] for _ in steps]
    for index, ranks in enumerate(dependencies):
        for dependency in ranks:
            dependents[dependency].append(index)
    open_count = [len(ranks) for ranks in dependencies]
    ready = [index for index, count in enumerate(open_count) if not count]  # Ascending, hence a heap.
    sequence: list[int] = []
    while ready:
        index = heapq.heappop(ready)
        sequence.append(index)
        for dependent in dependents[index]:
            open_count[dependent] -= 1
            if not open_count[dependent]:
                heapq.heappush(ready, dependent)
    if len(sequence) < len(steps):
        return None
    new_index = [0] * len(steps)
    for new, old in enumerate(sequence):
        new_index[old] = new
    return StepOrder(
        tuple(steps[old] for old in sequence),
        tuple(tuple(sorted([new_index[dependency] for dependency in dependencies[old]])) for old in sequence),
    )


def cycles(plan: Plan) -> list[tuple[str, ...]]:
    """Return at most `CYCLES_MAX` cycles of dependencies. No two cycles share a step.

    A cycle is a tuple of step ids. Each step depends on the next step, and the smallest id is first. The time is
    linear: after a depth-first search has found a cycle, it continues before the cycle, and never visits the cycle's
    steps again.
    """
    names = {step.step_id: step.dependencies for step in sorted(plan.steps, key=attrgetter("step_id"))}
    found: list[tuple[str, ...]] = []
    visited: set[str] = set()
    for root in names:
        path: list[str] = []
        places: dict[str, int] = {}
        left: list[Iterator[str]] = [iter((root,))]
        while left and len(found) < CYCLES_MAX:
            step_id = next(left[-1], None)
            if step_id is None:
                left.pop()
                if path:
                    del places[path.pop()]
            elif step_id in places:
                place = places[step_id]
                found.append(_from_smallest(path[place:]))
                for member in path[place:]:
                    del places[member]
                del path[place:], left[place + 1 :]
            elif step_id in names and step_id not in visited:
                visited.add(step_id)
                places[step_id] = len(path)
                path.append(step_id)
                left.append(iter(sorted(names[step_id])))
    return found


def _from_smallest(cycle: list[str]) -> tuple[str, ...]:
    start = cycle.index(min(cycle))
    return (*cycle[start:], *cycle[:start])


def bits(mask: int) -> Iterator[int]:
    """Yield the positions of the bits that are 1, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(indices: Sequence[int]) -> int:
    """Return the bit set that contains these indices. The time is linear in the highest index."""
    if len(indices) == 1:
        return 1 << indices[0]
    if not indices:
        return 0
    buffer = bytearray(max(indices) // 8 + 1)
    for index in indices:
        buffer[index >> 3] |= 1 << (index & 7)
    return int.from_bytes(buffer, "little")


def transpose(count: int, rows: Sequence[int]) -> list[int]:
    """Return the transpose of a bit matrix with `count` columns: for each column, the set of rows that have its bit."""
    columns: list[list[int]] = [[] for _ in range(count)]
    for number, row in enumerate(rows):
        for index in bits(row):
            columns[index].append(number)
    return [mask_of(column) for column in columns]


def contingent_steps(plan: Plan) -> frozenset[str]:
    """Return the ids of the contingent steps. All other steps make up the nominal run.

    A contingent step cannot run unless a step fails. At least one of its preconditions is not in the initial state, and
    is produced only by failures or by other contingent steps. The set of contingent steps is the least fixpoint of this
    rule.
    """
    if not any(step.failure_effects for step in plan.steps):
        return frozenset()
    producers: dict[str, set[str]] = defaultdict(set)
    nominal_producers: dict[str, set[str]] = defaultdict(set)
    users: dict[str, list[str]] = defaultdict(list)
    for step in plan.steps:
        for token in step.may_add:
            nominal_producers[token].add(step.step_id)
        for token in step.may_add | step.failure_effects:
            producers[token].add(step.step_id)
        for token in step.preconditions - plan.initial_state:
            users[token].append(step.step_id)
    effects = {step.step_id: step.may_add for step in plan.steps}
    contingent: set[str] = set()
    queue = list(users)
    while queue:
        token = queue.pop()
        if len(nominal_producers[token]) > 1:
            continue
        for user in users[token]:
            if user not in contingent and nominal_producers[token] <= {user} and not producers[token] <= {user}:
                contingent.add(user)
                for effect in effects[user]:
                    nominal_producers[effect].discard(user)
                    queue.append(effect)
    return frozenset(contingent)


def reachable_by_failure(plan: Plan) -> tuple[frozenset[str], frozenset[str]]:
    """Return the ids of the steps that can run, and the tokens that can hold, if deletions are ignored.

    A step or token that is not in the result is certainly unreachable. The effects of a failure count only if the
    execution continues after the failure.
    """
    tokens: set[str] = set(plan.initial_state)
    reached: set[str] = set()
    waiting: Mapping[str, list[Step]] = defaultdict(list)
    missing: dict[str, int] = {}
    queue: list[Step] = []

    def add_tokens(names: Iterable[str]) -> None:
        for name in names:
            if name not in tokens:
                tokens.add(name)
                count_down(f"token {name}")

    def count_down(key: str) -> None:
        for step in waiting[key]:
            missing[step.step_id] -= 1
            if not missing[step.step_id]:
                queue.append(step)

    for step in plan.steps:
        keys = [f"token {name}" for name in step.preconditions - tokens]
        keys += [f"step {name}" for name in step.dependencies]
        missing[step.step_id] = len(keys)
        for key in keys:
            waiting[key].append(step)
        if not keys:
            queue.append(step)
    while queue:
        step = queue.pop()
        reached.add(step.step_id)
        count_down(f"step {step.step_id}")
        add_tokens(step.may_add)
        if step.failure_continues:
            add_tokens(step.failure_effects)
    return frozenset(reached), frozenset(tokens)
