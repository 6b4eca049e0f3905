"""Finds the steps without an `undo` that may have been called before a failure with `on_failure: undo`.

The search visits every interleaving of the steps. The reductions of `actors.plans.exploration` cannot be used, because
they keep only how traces end, and not which steps ran before. The search is skipped if the dependencies already show
that there is no such step.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from actors.plans.graph import StepOrder, bits
from actors.plans.plan import IRREVERSIBLE, UNDO, Plan
from actors.plans.reductions import OutOfWork, WorkLeft
from actors.plans.semantics import (
    FAIL,
    Configuration,
    Program,
    after_failure,
    after_success,
    compile_plan,
    is_ready,
    trace_item,
)

Called = tuple[Configuration, int]
"""A configuration, and the bit set of the steps without an `undo` that were called on the way to it."""


class UndoGap(NamedTuple):
    """A step without an `undo` that may have been called before everything is undone."""

    step: str
    failing: str
    """The id of the step whose failure undoes everything. It may be the step itself."""
    trace: tuple[str, ...]
    """A shortest trace to the failure, which is its last item."""


@dataclass(frozen=True, slots=True)
class UndoCoverage:
    """The gaps that were found, and how far the search went."""

    gaps: tuple[UndoGap, ...]
    """The gaps, one for each step with a missing `undo`, sorted by step id."""
    explored: int
    complete: bool
    """Whether no further step can have a gap, because everything was visited or every possible gap was found."""


def _may_precede(plan: Plan, order: StepOrder) -> Iterator[tuple[int, int]]:
    """Yield pairs of a step and a step with `on_failure: undo`, if the first may run before the second one fails.

    Only dependencies are considered. A step that depends on the failing one runs after its success. It may run before
    its failure only if another failure makes the failing step pending again.
    """
    undoing = [index for index, step in enumerate(order.steps) if step.on_failure == UNDO]
    again = 0
    for target in {order.index[step.goes_back_to] for step in order.steps if step.goes_back_to is not None}:
        again |= order.descendants[target] | 1 << target
    for index in range(len(order.steps)):
        for failing in undoing:
            runs_after = order.ancestors[index] >> failing & 1 and not again >> failing & 1
            if plan.is_policy or not runs_after:
                yield index, failing


def irreversible_before_undo(plan: Plan, order: StepOrder) -> list[str]:
    """Return the ids of the irreversible steps that may run before everything is undone, sorted.

    Only dependencies are considered.
    """
    steps = order.steps
    found = {steps[index].step_id for index, _ in _may_precede(plan, order) if steps[index].undo == IRREVERSIBLE}
    return sorted(found)


def undo_coverage(plan: Plan, order: StepOrder, limit: int) -> UndoCoverage:
    """Return the steps without an `undo` that may have been called before everything is undone.

    At most `limit` configurations are visited. The plan must be accepted by `plan_minimal`.
    """
    sought = 0
    for index, _ in _may_precede(plan, order):
        if not order.steps[index].undo:
            sought |= 1 << index
    if not sought:
        return UndoCoverage((), 0, complete=True)
    search = _Search(compile_plan(plan, order), sought)
    complete = False
    with suppress(OutOfWork):
        complete = search.run(limit)
    gaps = sorted(search.gaps.values(), key=lambda gap: gap.step)
    return UndoCoverage(tuple(gaps), search.explored, complete=complete)


class _Search:
    """A breadth-first search, so that the traces are short."""

    def __init__(self, program: Program, sought: int) -> None:
        self.gaps: dict[int, UndoGap] = {}
        self.explored = 0
        self._program, self._sought = program, sought
        self._work = WorkLeft(len(program.steps), len(program.tokens), 0)
        self._from: dict[Called, tuple[Called, str] | None] = {}

    def run(self, limit: int) -> bool:
        """Visit configurations. Return whether all gaps are found. Raises `OutOfWork` if the work is used up."""
        self._work.limit(limit)
        queue: list[Called] = [(self._program.initial, 0)]
        self._from[queue[0]] = None
        for now in queue:
            if self.explored >= limit:
                return False
            self.explored += 1
            for following, item in self._find_successors(now):
                if following not in self._from:
                    self._work.spend(self._work.stored)
                    self._from[following] = (now, item)
                    queue.append(following)
            if self.gaps.keys() == set(bits(self._sought)):
                return True
        return True

    def _find_successors(self, now: Called) -> Iterator[tuple[Called, str]]:
        """Yield each next configuration with the trace item that leads to it. Record the gaps at the current one."""
        program, (configuration, called) = self._program, now
        for index in bits(configuration.pending):
            self._work.spend(self._work.item)
            if not is_ready(program, configuration, index):
                continue
            self._work.spend(self._work.edge)
            calls = called | 1 << index & self._sought
            for outcome in program.successes[index]:
                after = after_success(program, configuration, index, outcome)
                yield (after, calls), trace_item(program, index, outcome)
            if program.undoes[index]:
                self._note(now, index, calls)
            elif program.continues[index]:
                yield (after_failure(program, configuration, index), calls), trace_item(program, index, FAIL)

    def _note(self, now: Called, failing: int, calls: int) -> None:
        """Record the steps that were called before a step failed, and the failing step."""
        for index in bits(calls):
            if index not in self.gaps:
                steps = self._program.steps
                trace = (*self._trace(now), trace_item(self._program, failing, FAIL))
                self._work.spend(2 * len(trace))
                self.gaps[index] = UndoGap(steps[index].step_id, steps[failing].step_id, trace)

    def _trace(self, now: Called) -> tuple[str, ...]:
        items: list[str] = []
        before: Mapping[Called, tuple[Called, str] | None] = self._from
        while (edge := before[now]) is not None:
            now, item = edge
            items.append(item)
        return tuple(reversed(items))
