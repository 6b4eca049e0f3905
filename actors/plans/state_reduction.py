"""Reduces configurations to what can still matter, so that configurations with the same future are merged.

A reduced configuration keeps only the steps that may still run, and the tokens that these steps, the goal or an
invariant may still read. What is dropped can have no influence any more, so the reduced configuration has exactly the
same traces ahead of it. For example, a hundred recovered failures lead to one configuration if no step reads their
tokens again.
"""

from typing import NamedTuple

from actors.plans.contingency import reachable_by_failure
from actors.plans.graph import bits, mask_of, transpose
from actors.plans.semantics import Configuration, Program
from actors.plans.work import WorkLeft


class Reduced(NamedTuple):
    """A reduced configuration. Hashable; equal values have equal futures."""

    alive: int
    """The bit set of the steps that may still run, now or after a failure goes back."""
    pending: int
    """As in `Configuration`, without the steps that cannot run any more."""
    tokens: int
    """As in `Configuration`, without the tokens that cannot matter any more."""


class Reducer:
    """Reduces the configurations of one program."""

    observed: int
    """The bit set of the tokens that the goal or an invariant reads."""
    produces: list[int]
    """By step index: the bit set of the tokens that the step may add without ending the trace."""
    users: list[int]
    """By token: the bit set of the steps that have it as a precondition."""
    producers: list[int]
    """By token: the bit set of the steps that may add it without ending the trace."""

    def __init__(self, program: Program, work: WorkLeft) -> None:
        self._program = program
        self._work = work
        count = len(program.steps)
        self.observed = program.goal
        for when, must, must_not in program.invariants:
            self.observed |= when | must | must_not
        self.produces = [
            adds | (program.failure_adds[index] if program.continues[index] else 0)
            for index, adds in enumerate(program.adds)
        ]
        self.users = transpose(len(program.tokens), program.needs)
        self.producers = transpose(len(program.tokens), self.produces)
        self._goes_back = any(program.reset) and not program.repeats
        self._dependents = [0] * count
        for index, dependencies in enumerate(program.order.dependencies):
            for dependency in dependencies:
                self._dependents[dependency] |= 1 << index

    def initial(self) -> Reduced:
        """Return the reduced initial configuration."""
        program = self._program
        reachable, _ = reachable_by_failure(program.plan)
        alive = mask_of([program.order.index[step_id] for step_id in reachable])
        pending, tokens = program.initial.pending & alive, program.initial.tokens
        return Reduced(alive, pending, self._relevant(tokens, tokens, alive))

    def successor(self, before: Reduced, after: Configuration) -> Reduced:
        """Return the reduced form of `after`, a configuration that one outcome of one step leads to from `before`."""
        pending = after.pending & before.alive
        if self._goes_back:
            alive = self._reachable(before.alive, pending, after.tokens)
        else:
            alive = self._survivors(before.alive, pending, after.tokens, before.tokens & ~after.tokens)
        pending &= alive
        candidates = after.tokens & ~before.tokens
        ended = before.alive & ~alive
        self._work.spend(ended.bit_count() * self._work.item)
        for index in bits(ended):
            candidates |= self._program.needs[index]
        return Reduced(alive, pending, self._relevant(after.tokens, candidates & after.tokens, alive))

    def may_be_ready(self, ready: int, index: int, before: Reduced, after: Reduced) -> int:
        """Return a superset of the steps ready in `after`; `ready` are those of `before`, the step at `index` ended."""
        candidates = ready | self._dependents[index] | after.pending & ~before.pending | 1 << index
        added = after.tokens & ~before.tokens
        self._work.spend(added.bit_count() * self._work.item)
        for token in bits(added):
            candidates |= self.users[token]
        return candidates & after.pending

    def _survivors(self, alive: int, pending: int, tokens: int, lost: int) -> int:
        """Return those of the `alive` steps that may still run, in a program in which no failure goes back.

        `lost` are the tokens that were just deleted. A settled step cannot run again. A pending step cannot run if it
        needs a token that no step can produce any more, or depends on a step that cannot run. The method looks only at
        what has changed, to be fast for long plans. It may keep steps that only produce each other's preconditions;
        that prevents a merge, but no result changes.
        """
        removed = alive & ~pending
        while True:
            alive &= ~removed
            blocked = 0
            self._work.spend(removed.bit_count() * self._work.item)
            for index in bits(removed):
                lost |= self.produces[index]
                if pending >> index & 1:
                    blocked |= self._dependents[index]
            lost &= ~tokens
            self._work.spend(lost.bit_count() * self._work.item)
            for token in bits(lost):
                if not self.producers[token] & alive:
                    blocked |= self.users[token]
            removed, lost = blocked & alive, 0
            if not removed:
                return alive

    def _reachable(self, alive: int, pending: int, tokens: int) -> int:
        """Return the steps that may still run or become pending again, in a program in which some failure goes back.

        The set grows from the steps that can run now, because a step that only its own failure could reset is not in
        it. Deletions are ignored. Settled steps that a failure can reset stay in the set, whether they can run or not:
        once pending again, they block the steps that depend on them.
        """
        program = self._program
        runnable, resettable = 0, 0
        candidates, changed = pending, True
        while changed:
            changed = False
            self._work.spend(candidates.bit_count() * self._work.item)
            for index in bits(candidates):
                needs = program.needs[index]
                if tokens & needs == needs and not program.dependencies[index] & pending & ~runnable:
                    runnable |= 1 << index
                    tokens |= self.produces[index]
                    resettable |= program.reset[index] & alive & ~pending
                    changed = True
            candidates = (pending | resettable) & ~runnable
        return runnable | resettable

    def _relevant(self, tokens: int, candidates: int, alive: int) -> int:
        """Return the tokens without those candidates that nothing can read any more."""
        candidates &= ~self.observed
        self._work.spend(candidates.bit_count() * self._work.item)
        for token in bits(candidates):
            if not self.users[token] & alive:
                tokens &= ~(1 << token)
        return tokens
