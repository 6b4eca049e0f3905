"""Keeps explorations small by a limit of work, merged configurations, and stubborn sets. Pure.

A reduced configuration keeps only the steps that may still run. It keeps a token only if these steps, the goal or an
invariant may still read it. All other parts have no influence, so exactly the same traces follow. For example, a
hundred recovered failures lead to one configuration if no step reads their tokens again. Work is counted in units, not
timed, so the result is the same on every machine.
"""

from typing import NamedTuple

from actors.plans.graph import bits, mask_of, reachable_by_failure, transpose
from actors.plans.semantics import Configuration, Program

WORK_PER_CONFIGURATION = 80
"""The number of units of work that are allowed for each configuration that may be visited. A unit takes about a quarter
of a microsecond."""
WORK_CONFIGURATIONS_MIN = 100_000
"""The work for at least this number of configurations is always allowed. This work takes about two seconds of processor
time."""
PROGRAM_BITS_MAX = 500_000_000
"""The largest number of bits in a compiled `Program`: about 60 MB. A plan that needs a larger program is not
compiled."""


class OutOfWork(Exception):
    """Stops an exploration that has reached its limit of work. `actors.plans.nominal` raises it too."""


class WorkLeft:
    """The amount of work that an exploration may still do."""

    edge: int
    """The units for one outcome of one step: the operations on bit sets that every outcome needs."""
    item: int
    """The units for one item of a bit set that a loop visits. Operations on long bit sets take longer."""
    stored: int
    """The units for storing one bit set. Because storing costs units, the limit of work also limits the memory."""
    spent: int
    """The units counted so far, including the units for compiling the plan."""

    def __init__(self, steps: int, tokens: int, invariants: int) -> None:
        size = steps + tokens
        self.edge = 24 + size // 1_000 + invariants * (1 + tokens // 4_000)
        self.item = 2 + size // 700
        self.stored = 10 + size // 32
        self.spent = 100 * steps
        self._most = 0

    def limit(self, configurations: int) -> None:
        """Allow the work for `configurations`, or for `WORK_CONFIGURATIONS_MIN` if that is more."""
        self._most = max(configurations, WORK_CONFIGURATIONS_MIN) * WORK_PER_CONFIGURATION

    def spend(self, units: int) -> None:
        """Count units of work. Raises `OutOfWork` if the limit is exceeded."""
        self.spent += units
        if self.spent > self._most:
            raise OutOfWork


class Reduced(NamedTuple):
    """A reduced configuration. It is hashable. Equal reduced configurations are followed by the same traces."""

    alive: int
    """The steps that may still run, now or after a failure goes back, as a bit set."""
    pending: int
    """The pending steps, as in `Configuration`, without steps that can no longer run."""
    tokens: int
    """The tokens that hold, as in `Configuration`, without tokens that no longer matter."""


class Reducer:
    """Reduces the configurations of one program."""

    observed: int
    """The tokens that the goal or an invariant reads, as a bit set."""
    produces: list[int]
    """For each step index, the tokens that the step may add without ending the trace, as a bit set."""
    users: list[int]
    """For each token, the steps that have it as a precondition, as a bit set."""
    producers: list[int]
    """For each token, the steps that may add it without ending the trace, as a bit set."""

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
        """Return the reduced form of `after`, which one outcome of a step reaches from `before`."""
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
        """Return all steps that may be ready in `after`, as a bit set. The set may contain further steps.

        `ready` are the steps that were ready in `before`. The step at `index` has ended.
        """
        candidates = ready | self._dependents[index] | after.pending & ~before.pending | 1 << index
        added = after.tokens & ~before.tokens
        self._work.spend(added.bit_count() * self._work.item)
        for token in bits(added):
            candidates |= self.users[token]
        return candidates & after.pending

    def _survivors(self, alive: int, pending: int, tokens: int, lost: int) -> int:
        """Return which of the `alive` steps may still run, in a program in which no failure goes back.

        `lost` are the tokens that were just deleted. A settled step cannot run again. A pending step cannot run if it
        needs a token that no step can still produce, or depends on a step that cannot run. To be fast for long plans,
        the method looks only at what has changed. It may keep steps that only produce each other's preconditions. This
        prevents a merge, but changes no result.
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

        The set grows from the steps that can run now. So the set leaves out steps that only their own failure can
        reset. Deletions are ignored. Settled steps that a failure can reset are kept, even if they cannot run: after a
        reset, they block the steps that depend on them.
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
        """Return the tokens without those `candidates` that nothing can still read."""
        candidates &= ~self.observed
        self._work.spend(candidates.bit_count() * self._work.item)
        for token in bits(candidates):
            if not self.users[token] & alive:
                tokens &= ~(1 << token)
        return tokens


class StubbornSets:
    """Chooses the ready steps to explore first, so that not all interleavings are explored (Valmari 1990).

    No other step can interfere with the chosen steps before they run. So every trace equals an explored trace, except
    for the order of independent steps. The final configurations, the steps that can run, and the existence of an
    infinite trace are preserved. Steps that touch the tokens of an invariant count as dependent on each other. This
    preserves the states that the invariant distinguishes. In a plan (not a policy) a trace of only successes always
    ends, so no further condition is needed.
    """

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
        self._visible = mask_of([index for index in indices if observed & self._find_changed_tokens(index)])
        self._resetters = _resetters(program)
        self._conflicts: dict[int, int] = {}

    def choose(self, reduced: Reduced, ready: int) -> int:
        """Return some of the ready steps, at least one.

        It is sufficient to explore only these steps from this configuration.
        """
        best, size = ready, ready.bit_count()
        for seed in bits(ready):
            if size == 1:
                break
            stubborn = self._stubborn(seed, reduced, ready, size)
            if stubborn and stubborn.bit_count() < size:
                best, size = stubborn, stubborn.bit_count()
        return best

    def _stubborn(self, seed: int, reduced: Reduced, ready: int, size: int) -> int:
        """Return the ready steps of the smallest closed set that contains the seed.

        Return 0 if this set has `size` ready steps or more.
        """
        closed, queue = 0, 1 << seed
        while queue:
            self._work.spend(1 + self._work.item)
            low = queue & -queue
            closed |= low
            if (closed & ready).bit_count() >= size:
                return 0
            index = low.bit_length() - 1
            required = self._dependent(index) if low & ready else self._find_enabling_steps(index, reduced)
            queue = (queue | required & reduced.alive) & ~closed
        return closed & ready

    def _find_enabling_steps(self, index: int, reduced: Reduced) -> int:
        """Return a set of steps. At least one of them must run before this step can be ready."""
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

    def _find_changed_tokens(self, index: int) -> int:
        """Return the tokens that the step's success or failure may change, even if the failure escalates."""
        program = self._program
        return (
            program.adds[index] | program.deletes[index] | program.failure_adds[index] | program.failure_deletes[index]
        )


def _lost_tokens(program: Program, index: int) -> int:
    lost = 0
    for adds, deletes in program.successes[index].values():
        lost |= deletes & ~adds
    return lost


def _resetters(program: Program) -> list[int]:
    """Return for each step the steps whose failure makes it pending again, as a bit set.

    A failure resets its target and everything that depends on the target. So the failures that reset a dependency of a
    step also reset the step.
    """
    result = [0] * len(program.steps)
    for index, step in enumerate(program.steps):
        if step.goes_back_to is not None:
            result[program.order.index[step.goes_back_to]] |= 1 << index
    for index, dependencies in enumerate(program.order.dependencies):
        for dependency in dependencies:
            result[index] |= result[dependency]
    return result
