"""Curves for the calibration: success by the number of calls, over all difficulties; a tree search with a critic."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from actors.simulated.profile import Critic, Odds
from actors.simulated.seeded import QUANTILES, beta_quantile, draw
from actors.simulated.world import lifted

DIFFICULTIES = 512
"""The number of equally likely difficulties over which the curves are averaged."""


@lru_cache(maxsize=256)
def difficulties(alpha: float, beta: float) -> tuple[float, ...]:
    """Return `DIFFICULTIES` quantiles of a beta distribution, evenly spaced in probability."""
    width = QUANTILES // DIFFICULTIES
    return tuple(beta_quantile(alpha, beta, width * number + width // 2) for number in range(DIFFICULTIES))


def best_of(odds: Odds, samples: Sequence[int]) -> dict[int, float]:
    """Return for each number of independent samples the share of problems that at least one of them solves."""
    chances = difficulties(odds.alpha, odds.beta)
    return {count: fmean(1 - (1 - chance) ** count for chance in chances) for count in samples}


def dialogue(odds: Odds, calls: int) -> list[float]:
    """Return the share of problems solved after 1, 2, … `calls` calls, each with feedback on all calls before it."""
    unsolved, shares = [1.0] * DIFFICULTIES, list[float]()
    for told in range(calls):
        chances = (lifted(odds, chance, told) for chance in difficulties(odds.alpha, odds.beta))
        unsolved = [left * (1 - chance) for left, chance in zip(unsolved, chances, strict=True)]
        shares.append(1 - fmean(unsolved))
    return shares


@dataclass
class Tree:
    """A depth-first search that fills in one word after another, as for a crossword; it cannot check a word."""

    chance: float
    """The probability that a candidate is right."""
    width: int
    """Candidates per word."""
    depth: int
    """Words to fill in."""
    nodes: int
    """Limit of the candidates visited."""
    critic: Critic | None
    """The critic: candidates that it rejects are pruned; None prunes none."""
    words: tuple[object, ...]
    """The words that name the draws."""
    visited: int = 0
    """Candidates visited so far."""
    reached: int = 0
    """The depth of the deepest state so far."""
    deepest: int = 0
    """Right words in the first state of that depth."""
    best: int = 0
    """The most right words in any state."""

    def search(self, level: int = 0, right: int = 0, wrong: int = 0) -> None:
        """Visit the candidates for one word, and search below each that is not pruned."""
        for _ in range(self.width):
            if self.visited >= self.nodes or level == self.depth:
                return
            self.visited += 1
            fits = draw(*self.words, self.visited) < self.chance
            now_right, now_wrong = right + fits, wrong + (not fits)
            self.best = max(self.best, now_right)
            if level + 1 > self.reached:
                self.reached, self.deepest = level + 1, now_right
            if not self._pruned(now_wrong):
                self.search(level + 1, now_right, now_wrong)

    def _pruned(self, wrong: int) -> bool:
        if self.critic is None:
            return False
        share = self.critic.detects if wrong else self.critic.objects
        return draw(*self.words, self.visited, "critic") < share
