"""Simulated curves for the calibration: success by the number of calls, and a tree search with a critic."""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.simulated.profile import Critic, Odds
from actors.simulated.seeded import draw
from actors.simulated.world import success_probability


def best_of(odds: Odds, samples: Sequence[int], instances: int) -> dict[int, float]:
    """Return for each number of independent samples the share of problems that at least one of them solves."""
    chances = [success_probability(odds, 0, ("best of", number)) for number in range(instances)]
    return {count: sum(1 - (1 - chance) ** count for chance in chances) / instances for count in samples}


def dialogue(odds: Odds, calls: int, instances: int) -> list[float]:
    """Return the share of problems solved after 1, 2, … `calls` calls, each with feedback on all calls before it."""
    solved = [0] * calls
    for number in range(instances):
        words = ("dialogue", number)
        for call in range(calls):
            if draw(*words, call) < success_probability(odds, call, words):
                solved[call] += 1
                break
    return [sum(solved[: call + 1]) / instances for call in range(calls)]


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
