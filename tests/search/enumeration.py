"""An exhaustive enumeration of the search: the most calls that any run of a workflow can make.

It tries every order of replies, every verdict and every proposal of a policy. States are memoised, reduced to what
determines the future: of an artifact only whether a leaf's last visit was built on it, and only the counts that limit
a move.
"""

from dataclasses import replace
from itertools import combinations

from actors.search.progress import BranchProgress, Phase, Redo, Retry, accept, begin, choose, mark, redo, start


class Enumeration:
    """The enumeration of one workflow; `most()` returns the result, and `states` is the number of visited states.

    Up to `classifications` failures are classified: those for which some proposal is a costly move. The answers of the
    classifier are not restricted to those of a real policy, so the result is at least the maximum of every policy.
    """

    def __init__(self, graph, classifications=0):
        self.graph, self.classifications = graph, classifications
        self.proposals = {
            step: [
                (step,),
                *(targets for size in range(len(above) + 1) for targets in combinations(above, size)),
            ]
            for step, above in graph.above.items()
        }
        self.known = {}
        self.moves = {}

    @property
    def states(self):
        return len(self.known)

    def most(self):
        calls, first = self._begun(start(self.graph))
        return calls + self._left(first, self.classifications)

    def _left(self, progress, classifications):
        """Return the most calls that can still follow from a state in which no step is ready."""
        key = (*progress.values(), classifications)
        if key not in self.known:
            following = [(classified, *self._begun(after)) for after, classified in self._after(progress)]
            self.known[key] = max(
                (
                    min(classified, classifications)
                    + calls
                    + self._left(after, classifications - min(classified, classifications))
                    for classified, calls, after in following
                ),
                default=0,
            )
        return self.known[key]

    def _after(self, progress):
        """Yield each state after one verdict on one open attempt, and whether the failure may be classified."""
        for step, slot in progress.items():
            if slot.phase is not Phase.BUSY:
                continue
            yield accept(progress, step, "new"), 0
            failed = mark(progress, step, Phase.FAILED)
            moves = {choose(self.graph, failed, step, targets) for targets in self.proposals[step]}
            costly = any(self._is_costly(step, move) for move in moves) and len(moves) > 1
            for move in moves:
                match move:
                    case Retry():
                        yield mark(failed, step, Phase.AGAIN), costly
                    case Redo(targets=targets):
                        yield redo(self.graph, failed, targets), costly

    def _is_costly(self, step, move):
        """Return whether a move backtracks more than one level, or to a root."""
        targets = move.targets if isinstance(move, Redo) else ()
        above = [target for target in targets if target != step]
        return any(not self.graph.requires[upper] or self.graph.distance(upper, step) > 1 for upper in above)

    def _begun(self, progress):
        """Begin an attempt at each ready step; return the number of model calls and the reduced state."""
        calls = 0
        while steps := progress.ready(self.graph):
            progress = begin(self.graph, progress, steps[0])
            calls += not self.graph.budgets[steps[0]].deterministic
        return calls, BranchProgress({step: self._reduced(progress, step) for step in progress})

    def _reduced(self, progress, step):
        slot = replace(progress[step], number=0)
        accepted = "new" if slot.accepted else None
        if step not in self.graph.leaves:
            attempt = slot.attempt if slot.phase is Phase.BUSY else 0
            return replace(slot, attempt=attempt, parents=None, accepted=accepted)
        if slot.parents is None or all(
            parent == "new" and progress[above].accepted for above, parent in self._on(step, slot)
        ):
            return replace(slot, visits=0, accepted=accepted)
        return replace(slot, visits=0, attempt=0, parents=("old",), accepted=accepted)

    def _on(self, step, slot):
        """Pair the steps that a leaf requires with the artifacts that its last visit was built on."""
        return zip(self.graph.requires[step], slot.parents * len(self.graph.requires[step]), strict=False)
