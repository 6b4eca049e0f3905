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


class Outlook:
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
        self._going_back = mask_of([place for place in range(count) if program.reset[place]])
        self._dependents = [0] * count
        for place, before in enumerate(program.order.dependencies):
            for one in before:
                self._dependents[one] |= 1 << place
        self._undoes = _closures(program, self._going_back)

    def first(self) -> View:
        """Return the view of the initial configuration."""
        program = self._program
        reached, _ = reachable_by_failure(program.plan)
        alive = mask_of([program.order.place[one] for one in reached])
        pending, tokens = program.initial.pending & alive, program.initial.tokens
        return View(alive, pending, self._relevant(tokens, tokens, alive))

    def after(self, view: View, then: Configuration) -> View:
        """Return the view of a configuration that the end of one step leads to from this view."""
        alive, pending = view.alive, then.pending & view.alive
        lost = view.tokens & ~then.tokens
        newly = pending & ~view.pending
        for one in bits(newly):
            lost |= self._program.needs[one]
        if not self._program.repeats or lost:
            alive, pending = self._survivors(alive, pending, then.tokens, lost)
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

    def _survivors(self, alive: int, pending: int, tokens: int, lost: int) -> tuple[int, int]:
        """Return the alive and the pending steps without those that can never run again.

        `lost` are tokens that may have become impossible. A settled step is out once no pending step can go back to it.
        A pending step is out once a token it needs has no maker left, or a step it depends on is out while pending.
        """
        while True:
            done = alive & ~pending & ~self._undoable(alive & pending)
            alive ^= done
            for one in bits(done):
                lost |= self.makes[one]
            victims = 0
            for token in bits(lost & ~tokens):
                if not self.makers[token] & alive:
                    victims |= self.users[token]
            victims &= pending & alive
            lost = 0
            if not (victims or done):
                return alive, pending
            while victims:
                alive &= ~victims
                pending &= ~victims
                stranded = 0
                for one in bits(victims):
                    lost |= self.makes[one]
                    stranded |= self._dependents[one]
                victims = stranded & pending

    def _undoable(self, pending: int) -> int:
        """Return the steps that may become pending again through the failure of a pending step."""
        found = 0
        for one in bits(pending & self._going_back):
            found |= self._undoes[one]
        return found

    def _relevant(self, tokens: int, suspects: int, alive: int) -> int:
        """Return the tokens without those suspects that nobody can ask for any more."""
        for token in bits(suspects & ~self.observed):
            if not self.users[token] & alive:
                tokens &= ~(1 << token)
        return tokens


def _closures(program: Program, going_back: int) -> list[int]:
    """Return for each step what its failure may make pending again, then what the failures of those may, and so on."""
    found = list(program.reset)
    changed = bool(going_back)
    while changed:
        changed = False
        for place in bits(going_back):
            wider = found[place]
            for one in bits(found[place] & going_back):
                wider |= found[one]
            changed = changed or wider != found[place]
            found[place] = wider
    return found
