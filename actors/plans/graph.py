"""The dependency graph of a plan: an order that does not depend on how the steps are listed, and reachability.

Sets of steps are bit sets in Python integers: bit i stands for the step at place i of the topological order. Ancestors
therefore have only lower bits and descendants only higher ones, which keeps 20,000 steps within tens of megabytes.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from operator import attrgetter

from actors.plans.values import Plan, Step

CYCLES_MAX = 10
"""Cycles that are reported at once."""


def bits(mask: int) -> Iterator[int]:
    """Yield the places of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(places: Sequence[int]) -> int:
    """Return the bit set of the places, in time linear in the highest one."""
    if len(places) == 1:
        return 1 << places[0]
    if not places:
        return 0
    buffer = bytearray(max(places) // 8 + 1)
    for place in places:
        buffer[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(buffer, "little")


def transposed(count: int, rows: Sequence[int]) -> list[int]:
    """Return for each of `count` places the bit set of the rows that have it."""
    places: list[list[int]] = [[] for _ in range(count)]
    for number, row in enumerate(rows):
        for place in bits(row):
            places[place].append(number)
    return [mask_of(one) for one in places]


@dataclass(frozen=True)
class Order:
    """The steps of an acyclic plan in topological order, ties by id; `dependencies` are places in that order."""

    steps: tuple[Step, ...]
    dependencies: tuple[tuple[int, ...], ...]

    @cached_property
    def place(self) -> Mapping[str, int]:
        """Each step's place by its id."""
        return {step.step_id: place for place, step in enumerate(self.steps)}

    @cached_property
    def ancestors(self) -> Sequence[int]:
        """For each place, the bit set of the steps that are necessarily settled before it."""
        found: list[int] = []
        for before in self.dependencies:
            mask = 0
            for place in before:
                mask |= found[place] | 1 << place
            found.append(mask)
        return found

    @cached_property
    def descendants(self) -> Sequence[int]:
        """For each place, the bit set of the steps that necessarily wait for it."""
        found = [0] * len(self.steps)
        for place in range(len(self.steps) - 1, -1, -1):
            mask = found[place] | 1 << place
            for before in self.dependencies[place]:
                found[before] |= mask
        return found


def order_of(plan: Plan) -> Order | None:
    """Return the plan's order, or None if its dependencies have a cycle. Ids are unique; unknown ones are ignored."""
    by_id = sorted(plan.steps, key=attrgetter("step_id"))
    rank = {step.step_id: place for place, step in enumerate(by_id)}
    waits_for = [[rank[one] for one in step.dependencies if one in rank] for step in by_id]
    if all(not before or max(before) < place for place, before in enumerate(waits_for)):
        # As steps with numbers mostly are: in order already.
        return Order(tuple(by_id), tuple(tuple(sorted(before)) for before in waits_for))
    users: list[list[int]] = [[] for _ in by_id]
    for place, before in enumerate(waits_for):
        for one in before:
            users[one].append(place)
    open_count = [len(before) for before in waits_for]
    ready = [place for place, count in enumerate(open_count) if not count]  # Ascending, hence a heap.
    sequence: list[int] = []
    while ready:
        place = heapq.heappop(ready)
        sequence.append(place)
        for user in users[place]:
            open_count[user] -= 1
            if not open_count[user]:
                heapq.heappush(ready, user)
    if len(sequence) < len(by_id):
        return None
    moved = [0] * len(by_id)
    for new, old in enumerate(sequence):
        moved[old] = new
    return Order(
        tuple(by_id[old] for old in sequence),
        tuple(tuple(sorted([moved[one] for one in waits_for[old]])) for old in sequence),
    )


def cycles(plan: Plan) -> list[tuple[str, ...]]:
    """Return disjoint dependency cycles, at most `CYCLES_MAX`; in each, every step waits for the next one.

    A cycle starts at its smallest id. One that shares a step with a returned cycle is not returned.
    """
    waits_for = {step.step_id: sorted(step.dependencies) for step in sorted(plan.steps, key=attrgetter("step_id"))}
    found: list[tuple[str, ...]] = []
    while len(found) < CYCLES_MAX:
        try:
            TopologicalSorter(waits_for).prepare()
        except CycleError as error:
            # graphlib lists each step before the one that waits for it, and repeats the first at the end.
            ring = list(reversed(error.args[1][1:]))
            start = ring.index(min(ring))
            found.append(tuple(ring[start:] + ring[:start]))
            waits_for = {one: before for one, before in waits_for.items() if one not in ring}
        else:
            break
    return found
