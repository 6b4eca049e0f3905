"""An exhaustive enumeration of the search kernel: the most calls that any run of a workflow can make, found by looking.

Every order of replies, every verdict and every wish of a policy is tried. States are memoised up to what decides the
future: of an artifact only whether it is the one that a leaf last built on, and of counts only those that bound a move.
"""

from dataclasses import replace
from itertools import combinations

from actors.search.moves import Redo, Retry, choose
from actors.search.progress import Phase, accept, begin, mark, ready, redo, start


class Enumeration:
    """The moves of one workflow; `most()` is the answer and `states` how many states were looked at.

    With `classifications` so many failures may be classified: each that some wish would send far back, whatever it does
    then. Which wishes the answers stand for is left open, so this finds at least what any policy can do.
    """

    def __init__(self, graph, classifications=0):
        self.graph, self.classifications = graph, classifications
        self.wishes = {
            step: [
                (step,),
                *(chosen for size in range(len(above) + 1) for chosen in combinations(above, size)),
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
        """Return the most calls that may still follow from a quiet state."""
        key = (*progress.values(), classifications)
        if key not in self.known:
            following = [(asked, *self._begun(after)) for after, asked in self._after(progress)]
            self.known[key] = max(
                (
                    min(asked, classifications)
                    + calls
                    + self._left(after, classifications - min(asked, classifications))
                    for asked, calls, after in following
                ),
                default=0,
            )
        return self.known[key]

    def _after(self, progress):
        """Yield what one verdict on one attempt under way can lead to, and whether it may have been classified."""
        for step, slot in progress.items():
            if slot.phase is not Phase.BUSY:
                continue
            yield accept(progress, step, "new"), 0
            failed = mark(progress, step, Phase.FAILED)
            moves = {choose(self.graph, failed, step, wish) for wish in self.wishes[step]}
            far = any(self._far(step, move) for move in moves) and len(moves) > 1
            for move in moves:
                match move:
                    case Retry():
                        yield mark(failed, step, Phase.AGAIN), far
                    case Redo(targets=targets):
                        yield redo(self.graph, failed, targets), far

    def _far(self, step, move):
        """Whether a move is a costly one: more than one level up, or to a root."""
        targets = move.targets if isinstance(move, Redo) else ()
        above = [target for target in targets if target != step]
        return any(not self.graph.requires[upper] or self.graph.distance(upper, step) > 1 for upper in above)

    def _begun(self, progress):
        """Return how many model calls are asked for at once, and the state that follows, in its shortest form."""
        calls = 0
        while waiting := ready(self.graph, progress):
            progress = begin(self.graph, progress, waiting[0])
            calls += not self.graph.budgets[waiting[0]].deterministic
        return calls, {step: self._short(progress, step) for step in progress}

    def _short(self, progress, step):
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
        """Pair the steps that a leaf requires with the artifacts that it last built on."""
        return zip(self.graph.requires[step], slot.parents * len(self.graph.requires[step]), strict=False)
