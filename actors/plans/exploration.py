"""Explores all traces (sequences of successes and failures) of a plan: their ends, loops, and which steps run.

A configuration is a state of an execution. Configurations are visited breadth first, so the reported traces are short.
`actors.plans.reductions` makes the number of configurations smaller without changing a result.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from actors.plans.graph import StepOrder, bits, mask_of
from actors.plans.plan import Plan
from actors.plans.reductions import PROGRAM_BITS_MAX, OutOfWork, Reduced, Reducer, StubbornSets, WorkLeft
from actors.plans.semantics import (
    FAIL,
    Configuration,
    Program,
    after_failure,
    after_success,
    broken_invariants,
    compile_plan,
    goal_holds,
    is_ready,
    named_tokens,
    trace_item,
)

Edge = tuple[int, int, str]
"""One step between two configurations: the number of the other configuration, the index of the step, and the step's
outcome. The other configuration is the source in a list of predecessors, and the target in a list of successors.
"""

Assurance = Literal["none", "weak", "strong_cyclic", "strong"]
"""What a plan guarantees for all traces that do not escalate, from the weakest guarantee to the strongest (Cimatti et
al. 2003)."""

DEAD_ENDS_MAX = 100


@dataclass(frozen=True, slots=True)
class DeadEnd:
    """A trace that ends without the goal."""

    trace: tuple[str, ...]
    missing: tuple[str, ...]
    """The goal tokens that do not hold at the end of the trace, sorted."""


@dataclass(frozen=True, slots=True)
class BrokenInvariant:
    """The first visited state in which an invariant does not hold."""

    trace: tuple[str, ...]
    missing: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass
class Exploration:
    """The result of visiting the configurations of a plan, completely or up to a limit."""

    explored: int = 0
    work: int = 0
    """The units of work that were spent (`WorkLeft`)."""
    complete: bool = False
    """Whether all configurations were visited. False if the exploration stopped earlier, at a limit or at what it was
    looking for.
    """
    ran: frozenset[str] = frozenset()
    succeeds: bool = False
    assurance: Assurance | None = None
    """The guarantee for traces that do not escalate; None if `complete` is false."""
    dead_ends: list[DeadEnd] = field(default_factory=list)
    """The traces that end without the goal, the shortest first, at most `DEAD_ENDS_MAX`."""
    trap: tuple[str, ...] | None = None
    """A trace after which the plan can neither end nor escalate; None if there is no such trace."""
    loop: tuple[str, ...] | None = None
    """A trace whose last items are one iteration of a loop; None if no loop was found."""
    broken: dict[int, BrokenInvariant] = field(default_factory=dict)
    """A mapping from the positions of broken invariants in the plan's list to the first states that break them."""
    escalations: tuple[str, ...] = ()
    """The sorted ids of the steps at which a trace may escalate."""
    undoes: tuple[str, ...] = ()
    """The sorted ids of the steps whose failure ends a trace by undoing everything."""

    @property
    def closest_missing(self) -> tuple[str, ...]:
        """The missing goal tokens of the dead end that is closest to the goal; empty without dead ends."""
        return min((end.missing for end in self.dead_ends), key=lambda missing: (len(missing), missing), default=())


def explore(
    program: Program, limit: int, *, until_success: bool = False, until_ran: Collection[str] = ()
) -> Exploration:
    """Visit at most `limit` configurations of a plan, and return what was found.

    With `until_success`, stop at the first trace that ends with the goal. With `until_ran`, stop when each of these
    steps has run on at least one trace. The work is limited too, because one configuration can have many outcomes. Work
    is counted, not timed, so the result is the same on every machine.
    """
    sought = mask_of([program.order.index[step_id] for step_id in until_ran])
    return _Explorer(program, sought, until_success=until_success).run(limit)


def explore_plan(
    plan: Plan, order: StepOrder, limit: int, *, until_success: bool = False, until_ran: Collection[str] = ()
) -> Exploration:
    """Compile and explore a plan. If the compiled program would be too large, the result is empty and incomplete."""
    returning = sum(step.goes_back_to is not None for step in plan.steps)
    tokens, steps = len(named_tokens(plan)), len(plan.steps)
    if tokens * (tokens + 6 * steps) + steps * (3 * steps + 4 * returning) > PROGRAM_BITS_MAX:
        return Exploration()
    return explore(compile_plan(plan, order), limit, until_success=until_success, until_ran=until_ran)


class _Explorer:
    """One exploration. Configurations are numbered from 0 (the initial configuration) in the order of their discovery.

    Each list has one entry for each numbered configuration.
    """

    _reduced: list[Reduced]
    """The configuration, reduced by `Reducer`."""
    _ready: list[int]
    _predecessor: list[Edge | None]
    _successors: list[list[Edge]]
    """The edges from the configuration to its successors."""

    def __init__(self, program: Program, sought: int, *, until_success: bool) -> None:
        self._program = program
        self._sought, self._until_success = sought, until_success
        self._work = WorkLeft(len(program.steps), len(program.tokens), len(program.invariants))
        self._reducer = Reducer(program, self._work)
        self._stubborn_sets = None if program.repeats else StubbornSets(program, self._reducer, self._work)
        self._numbers: dict[Reduced, int] = {}
        self._reduced = []
        self._ready = []
        self._predecessor = []
        self._successors = []
        self._ran = 0
        self._escalating_steps = 0
        self._undoing_steps = 0
        self._ending: list[int] = []
        self._items: dict[tuple[int, str], str] = {}
        self._result = Exploration()

    def run(self, limit: int) -> Exploration:
        result = self._result
        successes: list[int] = []
        dead_ends: list[int] = []
        self._work.limit(limit)
        with suppress(OutOfWork):
            result.complete = self._visit(limit, successes, dead_ends)
        result.work = self._work.spent
        result.succeeds = bool(successes)
        result.ran = frozenset(self._ids(self._ran))
        result.escalations = tuple(sorted(self._ids(self._escalating_steps)))
        result.undoes = tuple(sorted(self._ids(self._undoing_steps)))
        result.dead_ends = self._dead_end_traces(dead_ends)
        if result.complete:
            self._assess(successes, dead_ends)
        return result

    def _ids(self, steps: int) -> Iterator[str]:
        return (self._program.steps[index].step_id for index in bits(steps))

    def _visit(self, limit: int, successes: list[int], dead_ends: list[int]) -> bool:
        """Visit configurations, and return whether all were visited.

        If a trace ends in a configuration, the configuration's number is added to `successes` or `dead_ends`. Raises
        `OutOfWork` if the limit of work is reached.
        """
        program, result = self._program, self._result
        initial = self._reducer.initial()
        self._add(initial, initial.pending, None)
        start = Configuration(initial.pending, initial.tokens)
        self._record_violation(broken_invariants(program, start), (), start.tokens)
        while result.explored < min(limit, len(self._reduced)):
            number = result.explored
            result.explored += 1
            ready, reduced = self._ready[number], self._reduced[number]
            if ready:
                self._expand(number, self._stubborn_sets.choose(reduced, ready) if self._stubborn_sets else ready)
                if self._sought and self._ran & self._sought == self._sought:
                    return False
            elif goal_holds(program, Configuration(reduced.pending, reduced.tokens)):
                successes.append(number)
                if self._until_success:
                    break
            else:
                dead_ends.append(number)
        return result.explored == len(self._reduced)

    def _expand(self, number: int, chosen: int) -> None:
        program, reduced = self._program, self._reduced[number]
        now = Configuration(reduced.pending, reduced.tokens)
        ends = False
        self._ran |= chosen
        for index in bits(chosen):
            for outcome in program.successes[index]:
                self._work.spend(self._work.edge)
                self._connect(number, index, outcome, after_success(program, now, index, outcome))
            if not program.can_fail[index]:
                continue
            self._work.spend(self._work.edge)
            after = after_failure(program, now, index)
            if program.may_escalate[index]:
                self._escalating_steps |= 1 << index
                ends = True
            elif program.undoes[index]:
                self._undoing_steps |= 1 << index
                ends = True
            if program.continues[index]:
                self._connect(number, index, FAIL, after)
            elif program.invariants:
                self._check_invariants(number, index, FAIL, after)
        if ends:
            self._ending.append(number)

    def _connect(self, number: int, index: int, outcome: str, after: Configuration) -> None:
        before = self._reduced[number]
        reduced = self._reducer.successor(before, after)
        target = self._numbers.get(reduced)
        if target is None:
            candidates = self._reducer.may_be_ready(self._ready[number], index, before, reduced)
            target = self._add(reduced, candidates, (number, index, outcome))
        self._successors[number].append((target, index, outcome))
        if self._program.invariants:
            self._check_invariants(number, index, outcome, after)

    def _add(self, reduced: Reduced, candidates: int, predecessor: Edge | None) -> int:
        """Store a new configuration, and return its number.

        `candidates` are the steps that may be ready in it, as a bit set.
        """
        self._work.spend(self._work.stored + candidates.bit_count() * self._work.item)
        number = len(self._reduced)
        now = Configuration(reduced.pending, reduced.tokens)
        ready = 0
        for index in bits(candidates):
            if is_ready(self._program, now, index):
                ready |= 1 << index
        self._numbers[reduced] = number
        self._reduced.append(reduced)
        self._ready.append(ready)
        self._predecessor.append(predecessor)
        self._successors.append([])
        return number

    def _check_invariants(self, number: int, index: int, outcome: str, after: Configuration) -> None:
        """Record the invariants that do not hold after an outcome and are not yet recorded."""
        new = [position for position in broken_invariants(self._program, after) if position not in self._result.broken]
        if new:
            trace = (*self._trace(number), self._item(index, outcome))
            self._work.spend(2 * len(trace))
            self._record_violation(new, trace, after.tokens)

    def _record_violation(self, positions: list[int], trace: tuple[str, ...], tokens: int) -> None:
        for position in positions:
            _, must, must_not = self._program.invariants[position]
            missing, wrong = self._program.names(must & ~tokens), self._program.names(must_not & tokens)
            self._result.broken[position] = BrokenInvariant(trace, tuple(missing), tuple(wrong))

    def _trace(self, number: int) -> tuple[str, ...]:
        items: list[str] = []
        predecessor = self._predecessor[number]
        while predecessor is not None:
            number, index, outcome = predecessor
            items.append(self._item(index, outcome))
            predecessor = self._predecessor[number]
        return tuple(reversed(items))

    def _item(self, index: int, outcome: str) -> str:
        """Return the text for a step's outcome in a trace. Equal texts are the same object, to save memory."""
        item = self._items.get((index, outcome))
        if item is None:
            item = self._items[index, outcome] = trace_item(self._program, index, outcome)
        return item

    def _dead_end_traces(self, dead_ends: list[int]) -> list[DeadEnd]:
        numbers = set(dead_ends)
        result = [DeadEnd((), self._missing(0))] if 0 in numbers else []
        for number, edges in enumerate(self._successors if numbers else ()):
            for target, index, outcome in edges:
                if target in numbers and len(result) < DEAD_ENDS_MAX:
                    trace = (*self._trace(number), self._item(index, outcome))
                    result.append(DeadEnd(trace, self._missing(target)))
        return result

    def _missing(self, number: int) -> tuple[str, ...]:
        return tuple(self._program.names(self._program.goal & ~self._reduced[number].tokens))

    def _assess(self, successes: list[int], dead_ends: list[int]) -> None:
        result = self._result
        predecessors: list[list[int]] = [[] for _ in self._reduced]
        for number, edges in enumerate(self._successors):
            for edge in edges:
                predecessors[edge[0]].append(number)
        safe = _configurations_reaching(predecessors, [*successes, *self._ending])
        ending = _configurations_reaching(predecessors, dead_ends) | safe
        trapped = next((number for number in range(len(self._reduced)) if number not in ending), None)
        if trapped is not None:
            result.trap = self._trace(trapped)
        loop = _find_loop(self._successors)
        if loop is not None:
            start, edges = loop
            items = (self._item(index, outcome) for _, index, outcome in edges)
            result.loop = self._trace(start) + tuple(items)
        if not successes:
            result.assurance = "none"
        elif len(safe) < len(self._reduced):
            result.assurance = "weak"
        else:
            result.assurance = "strong" if loop is None else "strong_cyclic"


def _configurations_reaching(predecessors: list[list[int]], targets: list[int]) -> set[int]:
    found, queue = set(targets), list(targets)
    while queue:
        for number in predecessors[queue.pop()]:
            if number not in found:
                found.add(number)
                queue.append(number)
    return found


def _find_loop(successors: list[list[Edge]]) -> tuple[int, list[Edge]] | None:
    finished = [False] * len(successors)
    path: list[Edge] = []
    depth = {0: 0}
    stack = [iter(successors[0])]
    while stack:
        edge = next(stack[-1], None)
        if edge is None:
            stack.pop()
            number = path.pop()[0] if path else 0
            finished[number] = True
            del depth[number]
        elif edge[0] in depth:
            return edge[0], [*path[depth[edge[0]] :], edge]
        elif not finished[edge[0]]:
            path.append(edge)
            depth[edge[0]] = len(path)
            stack.append(iter(successors[edge[0]]))
    return None
