"""Which of the ready steps must be tried first, so that independent steps are not tried in every order.

This is Valmari's stubborn sets (1990). The chosen steps are such that no other step, now or later, can disturb them
before they run; every trace then has an explored one that differs only in the order of independent steps. So all final
configurations, all steps that can run, and the existence of an infinite trace are preserved. In a plan (not a policy)
successes alone always lead to an end, so that no step can be put off for ever; no further condition is needed. States
that an invariant can tell apart are preserved by treating all steps that touch its tokens as dependent.
"""

from actors.plans.graph import bits, mask_of, transposed
from actors.plans.semantics import Program
from actors.plans.state_reduction import Reducer, View


class Reduction:
    """Chooses steps for one program."""

    def __init__(self, program: Program, outlook: Reducer) -> None:
        self._program = program
        self._outlook = outlook
        places = range(len(program.steps))
        self._deletes = [
            program.deletes[one] & ~program.adds[one]
            | (program.failure_deletes[one] & ~program.failure_adds[one] if program.goes_on[one] else 0)
            for one in places
        ]
        self._deleters = transposed(len(program.tokens), self._deletes)
        watched = 0
        for when, must, must_not in program.invariants:
            watched |= when | must | must_not
        self._visible = mask_of([one for one in places if watched & self._touched(one)])
        self._resetters = transposed(len(program.steps), program.reset)
        self._conflicts: dict[int, int] = {}

    def choose(self, view: View, ready: int) -> int:
        """Return a non-empty part of the ready steps that is enough to try at this view."""
        best, size = ready, ready.bit_count()
        for seed in bits(ready):
            if size == 1:
                break
            found = self._stubborn(seed, view, ready, size)
            if found and found.bit_count() < size:
                best, size = found, found.bit_count()
        return best

    def _stubborn(self, seed: int, view: View, ready: int, size: int) -> int:
        """Return the ready steps of the smallest closed set around the seed, or 0 once they are `size` or more."""
        closed, todo = 0, 1 << seed
        while todo:
            low = todo & -todo
            closed |= low
            if (closed & ready).bit_count() >= size:
                return 0
            place = low.bit_length() - 1
            wanted = self._disturbing(place) if low & ready else self._enabling(place, view)
            todo = (todo | wanted & view.alive) & ~closed
        return closed & ready

    def _enabling(self, place: int, view: View) -> int:
        """Return steps of which one must run before this one can be ready."""
        if not view.pending >> place & 1:
            return self._resetters[place]
        unsettled = self._program.waits_for[place] & view.pending
        if unsettled:
            return unsettled & -unsettled
        missing = self._program.needs[place] & ~view.tokens
        return self._outlook.makers[(missing & -missing).bit_length() - 1]

    def _disturbing(self, place: int) -> int:
        """Return the steps whose order relative to this one can make a difference."""
        found = self._conflicts.get(place)
        if found is None:
            program = self._program
            found = program.reset[place] | self._resetters[place]
            for token in bits(self._deletes[place]):
                found |= self._outlook.users[token] | self._outlook.makers[token]
            for token in bits(program.needs[place] | self._outlook.makes[place]):
                found |= self._deleters[token]
            if self._visible >> place & 1:
                found |= self._visible
            self._conflicts[place] = found
        return found

    def _touched(self, place: int) -> int:
        """Return the tokens that the step's success or failure may change, handing over included."""
        program = self._program
        return (
            program.adds[place] | program.deletes[place] | program.failure_adds[place] | program.failure_deletes[place]
        )
