"""Every trace of a plan's successes and failures: where they end, whether they loop, and who may be handed the run.

Configurations are visited breadth first, so traces are short. `actors.plans.state_reduction` merges the ones with equal
futures and `actors.plans.reduction` leaves out orders that make no difference; both are exact.
"""

from dataclasses import dataclass, field

from actors.plans.graph import bits
from actors.plans.reduction import Reduction
from actors.plans.semantics import (
    FAIL,
    OK,
    Configuration,
    Program,
    broken,
    failed,
    is_ready,
    label,
    reached_goal,
    succeeded,
)
from actors.plans.state_reduction import Reducer, View

Edge = tuple[int, int, str]
"""From or to which visited configuration, by which step, with which outcome."""


ENDS_MAX = 100
"""Dead ends of which a trace is kept."""


@dataclass(frozen=True, slots=True)
class End:
    """A trace, and the goal tokens that are missing where it leads."""

    trace: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass
class Exploration:
    """What was found. If not `complete`, the cap was reached (or the success that was asked for), and no more is known.

    `assurance` is about the traces that are not handed over: `strong`, `strong_cyclic`, `weak` or `none`; None if not
    complete. `dead_ends` are ends without the goal, the shortest traces first, at most `ENDS_MAX`; `trap` leads to
    where no trace ends and none is handed over; `loop` goes once round; `broken` has the first trace that breaks each
    invariant, by its place.
    """

    explored: int = 0
    complete: bool = False
    succeeds: bool = False
    assurance: str | None = None
    dead_ends: list[End] = field(default_factory=list)
    trap: tuple[str, ...] | None = None
    loop: tuple[str, ...] | None = None
    broken: dict[int, tuple[str, ...]] = field(default_factory=dict)
    escalations: tuple[str, ...] = ()

    @property
    def closest_missing(self) -> tuple[str, ...]:
        """The missing goal tokens of the dead end that lacks the fewest."""
        return min((end.missing for end in self.dead_ends), key=lambda missing: (len(missing), missing), default=())


def explore(program: Program, limit: int, *, until_success: bool = False) -> Exploration:
    """Visit at most `limit` configurations; `until_success` stops at the first trace that ends with the goal."""
    return _Explorer(program).run(limit, until_success=until_success)


class _Explorer:
    """One exploration. Configurations are numbered as they are found; number 0 is the initial one."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._outlook = Reducer(program)
        self._reduction = None if program.repeats else Reduction(program, self._outlook)
        self._numbers: dict[View, int] = {}
        self._views: list[View] = []
        self._ready: list[int] = []
        self._came: list[Edge | None] = []
        self._edges: list[list[Edge]] = []
        self._escalating = 0
        self._handing_over: list[int] = []
        self._result = Exploration()

    def run(self, limit: int, *, until_success: bool) -> Exploration:
        """Explore, then judge what was found."""
        program, result = self._program, self._result
        first = self._outlook.first()
        self._add(first, first.pending, None)
        for place in broken(program, Configuration(first.pending, first.tokens)):
            result.broken[place] = ()
        successes: list[int] = []
        failures: list[int] = []
        while result.explored < min(limit, len(self._views)):
            number = result.explored
            result.explored += 1
            ready = self._ready[number]
            if ready:
                self._expand(number, self._reduction.choose(self._views[number], ready) if self._reduction else ready)
            elif reached_goal(program, Configuration(*self._views[number][1:])):
                successes.append(number)
                if until_success:
                    break
            else:
                failures.append(number)
        result.succeeds = bool(successes)
        result.complete = result.explored == len(self._views)
        result.escalations = tuple(sorted(program.steps[place].step_id for place in bits(self._escalating)))
        result.dead_ends = self._ends(failures)
        if result.complete:
            self._judge(successes, failures)
        return result

    def _expand(self, number: int, chosen: int) -> None:
        """Try each outcome of the chosen steps."""
        program, view = self._program, self._views[number]
        now = Configuration(view.pending, view.tokens)
        hands_over = False
        for place in bits(chosen):
            self._step(number, place, OK, succeeded(program, now, place))
            if not program.can_fail[place]:
                continue
            then = failed(program, now, place)
            if program.hands_over[place]:
                self._escalating |= 1 << place
                hands_over = True
            if program.goes_on[place]:
                self._step(number, place, FAIL, then)
            elif program.invariants:
                self._check(number, place, FAIL, then)
        if hands_over:
            self._handing_over.append(number)

    def _step(self, number: int, place: int, outcome: str, then: Configuration) -> None:
        """Note that an outcome leads from one configuration to another."""
        before = self._views[number]
        view = self._outlook.after(before, then)
        found = self._numbers.get(view)
        if found is None:
            maybe = self._outlook.may_be_ready(self._ready[number], place, before, view)
            found = self._add(view, maybe, (number, place, outcome))
        self._edges[number].append((found, place, outcome))
        if self._program.invariants:
            self._check(number, place, outcome, then)

    def _add(self, view: View, maybe: int, came: Edge | None) -> int:
        """Number a new configuration; `maybe` are the steps that may be ready in it."""
        number = len(self._views)
        now = Configuration(view.pending, view.tokens)
        ready = 0
        for place in bits(maybe):
            if is_ready(self._program, now, place):
                ready |= 1 << place
        self._numbers[view] = number
        self._views.append(view)
        self._ready.append(ready)
        self._came.append(came)
        self._edges.append([])
        return number

    def _check(self, number: int, place: int, outcome: str, then: Configuration) -> None:
        """Note the invariants that an outcome breaks for the first time."""
        for invariant in broken(self._program, then):
            if invariant not in self._result.broken:
                self._result.broken[invariant] = (*self._trace(number), label(self._program, place, outcome))

    def _trace(self, number: int) -> tuple[str, ...]:
        """Return the trace by which a configuration was found."""
        labels: list[str] = []
        came = self._came[number]
        while came is not None:
            number, place, outcome = came
            labels.append(label(self._program, place, outcome))
            came = self._came[number]
        return tuple(reversed(labels))

    def _ends(self, failures: list[int]) -> list[End]:
        """Return a trace for each outcome that leads to a dead end, for several may lead to the same one."""
        last = {
            number: tuple(self._program.names(self._program.goal & ~self._views[number].tokens)) for number in failures
        }
        found = [End((), last[0])] if 0 in last else []
        for number, edges in enumerate(self._edges if last else ()):
            for end, place, outcome in edges:
                if end in last and len(found) < ENDS_MAX:
                    found.append(End((*self._trace(number), label(self._program, place, outcome)), last[end]))
        return found

    def _judge(self, successes: list[int], failures: list[int]) -> None:
        """Say what the complete graph of configurations assures."""
        result = self._result
        back: list[list[int]] = [[] for _ in self._views]
        for number, edges in enumerate(self._edges):
            for edge in edges:
                back[edge[0]].append(number)
        safe = _reaching(back, [*successes, *self._handing_over])
        ending = _reaching(back, failures) | safe
        trapped = next((number for number in range(len(self._views)) if number not in ending), None)
        if trapped is not None:
            result.trap = self._trace(trapped)
        loop = _loop(self._edges)
        if loop is not None:
            start, edges = loop
            result.loop = self._trace(start) + tuple(label(self._program, place, how) for _, place, how in edges)
        if not successes:
            result.assurance = "none"
        elif len(safe) < len(self._views):
            result.assurance = "weak"
        else:
            result.assurance = "strong" if loop is None else "strong_cyclic"


def _reaching(back: list[list[int]], targets: list[int]) -> set[int]:
    """Return everything that a target can be reached from."""
    found, queue = set(targets), list(targets)
    while queue:
        for number in back[queue.pop()]:
            if number not in found:
                found.add(number)
                queue.append(number)
    return found


def _loop(edges: list[list[Edge]]) -> tuple[int, list[Edge]] | None:
    """Return a configuration and the edges that lead from it back to it, if there are any."""
    finished = [False] * len(edges)
    path: list[Edge] = []
    depth = {0: 0}
    stack = [iter(edges[0])]
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
            stack.append(iter(edges[edge[0]]))
    return None
