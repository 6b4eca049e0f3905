"""The curves that the simulated author draws by itself: success by number of calls, and a search with a critic."""

from collections.abc import Sequence
from dataclasses import dataclass

from actors.simulated.profile import Critic, Odds
from actors.simulated.seeded import draw
from actors.simulated.world import attempt


def best_of(given: Odds, samples: Sequence[int], instances: int) -> dict[int, float]:
    """Return the share of problems that some of so many independent samples solve."""
    chances = [attempt(given, 0, ("best of", number)) for number in range(instances)]
    return {count: sum(1 - (1 - chance) ** count for chance in chances) / instances for count in samples}


def dialogue(given: Odds, calls: int, instances: int) -> list[float]:
    """Return the share of problems that are solved after 1, 2, … `calls` calls, each told why those before failed."""
    solved = [0] * calls
    for number in range(instances):
        words = ("dialogue", number)
        for call in range(calls):
            if draw(*words, call) < attempt(given, call, words):
                solved[call] += 1
                break
    return [sum(solved[: call + 1]) / instances for call in range(calls)]


@dataclass
class Tree:
    """A depth-first search that fills one word after the other and never knows which are right.

    `width` candidates per word, at most `nodes` looked at. With a critic, a candidate that it objects to is not built
    on. `deepest` is how many words of the first deepest state were right, `best` the most that any state had.
    """

    chance: float
    width: int
    depth: int
    nodes: int
    critic: Critic | None
    words: tuple[object, ...]
    visited: int = 0
    reached: int = 0
    deepest: int = 0
    best: int = 0

    def search(self, level: int = 0, right: int = 0, wrong: int = 0) -> None:
        """Look at the candidates for one word, and below each that is kept."""
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
