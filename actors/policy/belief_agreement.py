"""The change of a belief by a move whose redone artifacts have been compared with the earlier ones. Pure.

Where a step that was right is redone, the same artifact again means that it is right again. Another one speaks for a
mistake, then or now. Only + - * / on floats in a fixed order, as in `belief.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from operator import add, mul

from actors.policy.belief_table import Agreement

Block = tuple[float, ...]
"""The probabilities of one cause with one topmost wrong step: for each difficulty one for each number of times told."""
Masses = tuple[tuple[Block, ...], ...]
"""By cause, then by topmost wrong step; the last block of a cause is that of no wrong step."""
_RIGHT, _WRONG, _UNKNOWN = range(3)
"""What a redone step was before: right, wrong, or below the topmost wrong step, where nobody has seen it."""
_Weights = tuple[Block, Block, Block]
"""The probability of what was seen of a step and that it is right now; that it is wrong; both together."""


class Comparison:
    """How likely each result of a comparison is, computed once for a workflow."""

    easy: Block
    """The chances of an attempt at a step where the problem is not hard."""

    def __init__(self, agreement: Agreement, right: Sequence[Block], easy: Block) -> None:
        """`right` has for each step the chances of an attempt where the problem is hard at it."""
        self._agreement, self._right, self.easy = agreement, right, easy
        self.weights = cache(self._weights)

    def _weights(self, place: int | None, before: int, seen: bool | None) -> _Weights:
        """Return the weights of a step; `place` is None where the problem is not hard at it."""
        chances = self.easy if place is None else self._right[place]
        if seen is None:
            good, bad = chances, tuple([1 - chance for chance in chances])
        else:
            good = tuple([chance * self._likelihood(chance, before, seen, right=True) for chance in chances])
            bad = tuple([(1 - chance) * self._likelihood(chance, before, seen, right=False) for chance in chances])
        return good, bad, tuple(map(add, good, bad))

    def _likelihood(self, chance: float, before: int, seen: bool, *, right: bool) -> float:
        """Return the probability of what was seen, if the new artifact is right or wrong."""
        was_right = 1.0 if before == _RIGHT else 0.0 if before == _WRONG else chance
        again = was_right * self._agreement.right if right else (1 - was_right) * self._agreement.wrong
        return again if seen else 1 - again


@dataclass(frozen=True, slots=True)
class ComparedMove:
    """A move of which it was seen what the redone steps brought."""

    fresh: Sequence[bool]
    """For each step whether it was redone."""
    seen: Sequence[bool | None]
    """For each step whether the same artifact came again; None: it was not compared."""
    comparison: Comparison
    """The likelihoods of what was seen."""

    def applied(self, masses: Masses, unsolvable: float) -> tuple[Masses, float]:
        """Return the probabilities after the move; they do not add up to 1."""
        for each in self.seen:
            if each is not None:
                unsolvable *= self.comparison.weights(None, _UNKNOWN, each)[2][0]
        return tuple([self._of_cause(blocks, cause) for cause, blocks in enumerate(masses)]), unsolvable

    def _of_cause(self, blocks: tuple[Block, ...], cause: int) -> tuple[Block, ...]:
        """Return the blocks of one cause: each topmost wrong step leads to each that may follow it."""
        result = [(0.0,) * len(self.comparison.easy)] * len(blocks)
        for wrong, block in enumerate(blocks):
            active = block
            for place, redone in enumerate(self.fresh):
                if not redone and place <= wrong:
                    if place == wrong:
                        result[place] = tuple(map(add, result[place], self._below(active, place, wrong, cause)))
                        break
                    continue
                good, bad, _ = self._weights(place, wrong, cause)
                here = self._below(tuple(map(mul, active, bad)), place, wrong, cause)
                result[place] = tuple(map(add, result[place], here))
                active = tuple(map(mul, active, good))
            else:
                result[-1] = tuple(map(add, result[-1], active))
        return tuple(result)

    def _below(self, block: Block, place: int, wrong: int, cause: int) -> Block:
        """Return a block times the probability of what was seen below a step that is wrong now."""
        for lower in range(place + 1, len(self.seen)):
            if self.seen[lower] is not None:
                block = tuple(map(mul, block, self._weights(lower, wrong, cause)[2]))
        return block

    def _weights(self, place: int, wrong: int, cause: int) -> _Weights:
        before = _RIGHT if place < wrong else _WRONG if place == wrong else _UNKNOWN
        return self.comparison.weights(place if place == cause else None, before, self.seen[place])
