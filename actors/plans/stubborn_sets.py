"""Partial-order reduction: chooses which ready steps to explore first, so that not every interleaving is explored.

The method is Valmari's stubborn sets (1990). No other step, now or later, can interfere with the chosen steps before
they run; so every trace has an explored one that differs from it only in the order of independent steps. The reduction
preserves all final configurations, the set of steps that can run, and whether an infinite trace exists. In a plan (not
a policy) a trace of only successes always ends, so that no step can be postponed for ever, and no further condition is
needed. States that an invariant distinguishes are preserved because all steps that touch the tokens of an invariant
count as dependent on each other.
"""

from actors.plans.graph import bits, mask_of, transpose
from actors.plans.semantics import Program
from actors.plans.state_reduction import Reduced, Reducer
from actors.plans.work import WorkLeft


class StubbornSets:
    """Computes the stubborn sets of one program."""

    def __init__(self, program: Program, reducer: Reducer, work: WorkLeft) -> None:
        self._program = program
        self._reducer = reducer
        self._work = work
        indices = range(len(program.steps))
        self._deletes = [
            _lost_tokens(program, index)
            | (program.failure_deletes[index] & ~program.failure_adds[index] if program.continues[index] else 0)
            for index in indices
        ]
        self._deleters = transpose(len(program.tokens), self._deletes)
        observed = 0
        for when, must, must_not in program.invariants:
            observed |= when | must | must_not
        self._visible = mask_of([index for index in indices if observed & self._touched(index)])
        self._resetters = _resetters(program)
        self._conflicts: dict[int, int] = {}

    def choose(self, reduced: Reduced, ready: int) -> int:
        """Return a non-empty subset of the ready steps that it is sufficient to explore from this configuration."""
        best, size = ready, ready.bit_count()
        for seed in bits(ready):
            if size == 1:
                break
            stubborn = self._stubborn(seed, reduced, ready, size)
            if stubborn and stubborn.bit_count() < size:
                best, size = stubborn, stubborn.bit_count()
        return best

    def _stubborn(self, seed: int, reduced: Reduced, ready: int, size: int) -> int:
        """Return the ready steps of the smallest closed set around the seed, or 0 if they are at least `size`."""
        closed, queue = 0, 1 << seed
        while queue:
            self._work.spend(1 + self._work.item)
            low = queue & -queue
            closed |= low
            if (closed & ready).bit_count() >= size:
                return 0
            index = low.bit_length() - 1
            required = self._dependent(index) if low & ready else self._enabling(index, reduced)
            queue = (queue | required & reduced.alive) & ~closed
        return closed & ready

    def _enabling(self, index: int, reduced: Reduced) -> int:
        """Return a set of steps of which one must run before this step can be ready."""
        if not reduced.pending >> index & 1:
            return self._resetters[index]
        unsettled = self._program.dependencies[index] & reduced.pending
        if unsettled:
            return unsettled & -unsettled
        missing = self._program.needs[index] & ~reduced.tokens
        return self._reducer.producers[(missing & -missing).bit_length() - 1]

    def _dependent(self, index: int) -> int:
        """Return the steps whose order relative to this step can change the result."""
        conflicts = self._conflicts.get(index)
        if conflicts is None:
            program = self._program
            conflicts = program.reset[index] | self._resetters[index]
            read = program.needs[index] | self._reducer.produces[index]
            items = self._deletes[index].bit_count() + read.bit_count()
            self._work.spend(self._work.stored + items * self._work.item)
            for token in bits(self._deletes[index]):
                conflicts |= self._reducer.users[token] | self._reducer.producers[token]
            for token in bits(read):
                conflicts |= self._deleters[token]
            if self._visible >> index & 1:
                conflicts |= self._visible
            self._conflicts[index] = conflicts
        return conflicts

    def _touched(self, index: int) -> int:
        """Return the tokens that the step's success or failure may change, also when the failure escalates."""
        program = self._program
        return (
            program.adds[index] | program.deletes[index] | program.failure_adds[index] | program.failure_deletes[index]
        )


def _lost_tokens(program: Program, index: int) -> int:
    """Return the tokens that some success of the step deletes and does not add."""
    lost = 0
    for adds, deletes in program.successes[index].values():
        lost |= deletes & ~adds
    return lost


def _resetters(program: Program) -> list[int]:
    """Return for each step the bit set of the steps whose failure makes it pending again.

    A failure resets its target and all that depends on it, so a step inherits the resetters of its dependencies.
    """
    result = [0] * len(program.steps)
    for index, step in enumerate(program.steps):
        if step.goes_back_to is not None:
            result[program.order.index[step.goes_back_to]] |= 1 << index
    for index, dependencies in enumerate(program.order.dependencies):
        for dependency in dependencies:
            result[index] |= result[dependency]
    return result
