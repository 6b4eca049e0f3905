"""What can still matter in a configuration, so that configurations with the same future are one.

An `Outlook` keeps of a configuration only the steps that may still run and the tokens that these, the goal or an
invariant may still ask for. What it drops can change nothing any more, so the reduced configuration has exactly the
same traces ahead. A hundred recovered failures, whose marks nobody reads again, thus lead to one configuration.
"""

from typing import NamedTuple

from actors.plans.graph import bits, mask_of, transposed
from actors.plans.nominal import reachable_by_failure
from actors.plans.semantics import Configuration, Program


class View(NamedTuple):
    """A reduced configuration: `alive` are the steps that may still run, now or after going back.

    `pending` and `tokens` are as in `Configuration`, reduced to what matters. Hashable; equal views have equal futures.
    """

    alive: int
    pending: int
    tokens: int


class Reducer:
    """Reduces the configurations of one program. All bit sets of steps are indexed by token place or by step place."""

    def __init__(self, program: Program) -> None:
        self._program = program
        count = len(program.steps)
        self.observed = program.goal
        for when, must, must_not in program.invariants:
            self.observed |= when | must | must_not
        self.makes = [
            adds | (program.failure_adds[place] if program.goes_on[place] else 0)
            for place, adds in enumerate(program.adds)
        ]
        self.users = transposed(len(program.tokens), program.needs)
        self.makers = transposed(len(program.tokens), self.makes)
        self._goes_back = any(program.reset) and not program.repeats
        self._dependents = [0] * count
        for place, before in enumerate(program.order.dependencies):
            for one in before:
                self._dependents[one] |= 1 << place

    def first(self) -> View:
        """Return the view of the initial configuration."""
        program = self._program
        reached, _ = reachable_by_failure(program.plan)
        alive = mask_of([program.order.place[one] for one in reached])
        pending, tokens = program.initial.pending & alive, program.initial.tokens
        return View(alive, pending, self._relevant(tokens, tokens, alive))

    def after(self, view: View, then: Configuration) -> View:
        """Return the view of a configuration that the end of one step leads to from this view."""
        pending = then.pending & view.alive
        if self._goes_back:
            alive = self._reachable(view.alive, pending, then.tokens)
        else:
            alive = self._survivors(view.alive, pending, then.tokens, view.tokens & ~then.tokens)
        pending &= alive
        suspects = then.tokens & ~view.tokens
        for one in bits(view.alive & ~alive):
            suspects |= self._program.needs[one]
        return View(alive, pending, self._relevant(then.tokens, suspects & then.tokens, alive))

    def may_be_ready(self, ready: int, place: int, before: View, now: View) -> int:
        """Return a superset of the ready steps, given the ones at the view before `place` ended."""
        found = ready | self._dependents[place] | now.pending & ~before.pending | 1 << place
        for token in bits(now.tokens & ~before.tokens):
            found |= self.users[token]
        return found & now.pending

    def _survivors(self, alive: int, pending: int, tokens: int, lost: int) -> int:
        """Return the steps that may still run, when no step goes back: of the alive ones, those that nothing rules out.

        `lost` are tokens that were just deleted. A settled step is out; so is a pending one that needs a token which
        no maker is left for, or that depends on such a step. Only what has changed is looked at, which keeps long
        plans cheap; steps that make each other's tokens may be kept in vain, which costs nothing but a merger.
        """
        victims = alive & ~pending
        while True:
            alive &= ~victims
            stranded = 0
            for one in bits(victims):
                lost |= self.makes[one]
                if pending >> one & 1:
                    stranded |= self._dependents[one]
            for token in bits(lost & ~tokens):
                if not self.makers[token] & alive:
                    stranded |= self.users[token]
            victims, lost = stranded & alive, 0
            if not victims:
                return alive

    def _reachable(self, alive: int, pending: int, tokens: int) -> int:
        """Return the steps that may still run, or be made pending again, when some step goes back.

        They are built up from what can run now, for a step that could only be revived by its own doing is out. Nothing
        is taken to be deleted. Settled steps within reach of going back stay, runnable or not: once pending again,
        they hold up the steps that depend on them.
        """
        program = self._program
        found, revivable = 0, 0
        open_steps, changed = pending, True
        while changed:
            changed = False
            for one in bits(open_steps):
                needs = program.needs[one]
                if tokens & needs == needs and not program.waits_for[one] & pending & ~found:
                    found |= 1 << one
                    tokens |= self.makes[one]
                    revivable |= program.reset[one] & alive & ~pending
                    changed = True
            open_steps = (pending | revivable) & ~found
        return found | revivable

    def _relevant(self, tokens: int, suspects: int, alive: int) -> int:
        """Return the tokens without those suspects that nobody can ask for any more."""
        for token in bits(suspects & ~self.observed):
            if not self.users[token] & alive:
                tokens &= ~(1 << token)
        return tokens
