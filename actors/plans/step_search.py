"""Searches declared steps for a way from a state to a goal, for every outcome of every step. Pure.

First the search may choose the outcome of each step (the determinised problem). It uses A*; its estimate is the sum of
the costs of the goal's tokens without deletions. Then it continues in the same way from the state after each other
outcome. It never returns to an earlier state, because a plan does not repeat a step.
"""

import heapq
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

STATES_MAX = 20_000
"""The largest number of states that one search visits."""
DEPTH_MAX = 150
"""The largest number of steps in a row."""

Tokens = frozenset[str]


class Way(NamedTuple):
    """One of the ways in which a step may succeed."""

    name: str
    """The name of the outcome; empty if there is only one."""
    adds: Tokens
    """The tokens that it adds."""
    deletes: Tokens
    """The tokens that it deletes before it adds tokens."""

    def apply(self, state: Tokens) -> Tokens:
        """Return the state after the step succeeded in this way."""
        return state - self.deletes | self.adds


class Candidate(NamedTuple):
    """A step that the plan may use."""

    name: str
    needs: Tokens
    """The tokens that must hold before it."""
    ways: tuple[Way, ...]
    """The ways in which it may succeed, at least one."""

    @property
    def cost(self) -> float:
        """The cost of the step. It grows with the number of ways, because the plan must continue after each of them."""
        return 0.5 + 0.5 * len(self.ways)


_NO_ORDER = "no order of the steps reaches all of the goal"


class SearchFailed(Exception):
    """No plan was found; the message says why, in one line."""


Choices = Mapping[Tokens, Candidate]
"""The step to take in each state that the plan can reach before the goal."""


def find_choices(candidates: Sequence[Candidate], start: Tokens, goal: Tokens) -> Choices:
    """Return the step to take in every state that can follow from `start`, until the goal holds.

    Raises:
        SearchFailed: every way returns to an earlier state, or the search has reached `STATES_MAX` states.
    """
    search = _Search(candidates, goal)
    if not search.solve_from(start, frozenset(), ()):
        raise SearchFailed(search.reason)
    return search.chosen


class _Taken(NamedTuple):
    """A step on a way to the goal, with the outcome that it has on that way."""

    candidate: Candidate
    way: Way


class _Search:
    """One search for one goal."""

    def __init__(self, candidates: Sequence[Candidate], goal: Tokens) -> None:
        self.candidates, self.goal = candidates, goal
        self.chosen: dict[Tokens, Candidate] = {}
        self.reason = _NO_ORDER
        self._costs = _Costs(candidates, goal)
        self._dead: set[Tokens] = set()
        self._returns = 0
        """How often a way was given up because it returns to an earlier state."""
        self._left = STATES_MAX

    def solve_from(self, state: Tokens, above: AbstractSet[Tokens], ahead: Sequence[_Taken]) -> bool:
        """Choose a step in a state, and in all states that follow. Return whether this succeeded.

        `above` are the earlier states; `ahead` is a way from here that was found before.
        """
        if self.goal <= state or state in self.chosen:
            return True
        if state in self._dead:
            return False
        if len(above) >= DEPTH_MAX:
            raise SearchFailed(f"no plan of at most {DEPTH_MAX} steps in a row was found")
        returns, passed, refused = self._returns, above | {state}, set[str]()
        while path := ahead or self._path(state, above, refused):
            taken, ahead = path[0], ()
            if self._solve_all(state, taken, path[1:], passed):
                self.chosen[state] = taken.candidate
                return True
            refused.add(taken.candidate.name)
        if returns == self._returns:
            self._dead.add(state)
        return False

    def _solve_all(self, state: Tokens, taken: _Taken, rest: Sequence[_Taken], passed: AbstractSet[Tokens]) -> bool:
        """Tell whether the goal can be reached after every outcome of a step. `rest` is a way after one outcome."""
        name = taken.candidate.name
        for way in sorted(taken.candidate.ways, key=lambda item: item is not taken.way):
            after, ahead = way.apply(state), rest if way is taken.way else ()
            which = f"outcome {way.name!r} of {name!r}"
            if after in passed:
                self._returns += 1
                self.reason = f"the {which} leads back to a state before it, and no step is repeated"
                return False
            if not self.solve_from(after, passed, ahead):
                if way.name and self.reason == _NO_ORDER:
                    self.reason = f"after the {which} no step leads to the goal"
                return False
        return True

    def _path(self, start: Tokens, above: AbstractSet[Tokens], refused: AbstractSet[str]) -> Sequence[_Taken]:
        """Return a way to the goal on which the search may choose every outcome; empty if there is none.

        It does not begin with a step in `refused`, and does not reach a state in `above`.
        """
        tie, parents = itertools.count(), dict[Tokens, tuple[Tokens, _Taken] | None]({start: None})
        costs, open_states = {start: 0.0}, [(self._costs.to_goal(start), next(tie), start)]
        done: set[Tokens] = set()
        while open_states:
            estimate, _, state = heapq.heappop(open_states)
            if estimate is _NEVER or state in done:
                continue
            done.add(state)
            if self.goal <= state:
                return _path_to(state, parents)
            self._left -= 1
            if self._left < 0:
                raise SearchFailed(f"no plan was found in {STATES_MAX:,} states; name fewer tokens, or leave tools out")
            for taken, after in self._successors(state):
                if state == start and taken.candidate.name in refused:
                    continue
                if after in above:
                    self._returns += 1
                    continue
                cost = costs[state] + taken.candidate.cost
                if after in self._dead or cost >= costs.get(after, _NEVER):
                    continue
                costs[after], parents[after] = cost, (state, taken)
                rest = self._costs.to_goal(after)
                if rest < _NEVER:
                    heapq.heappush(open_states, (cost + rest, next(tie), after))
        return ()

    def _successors(self, state: Tokens) -> Iterator[tuple[_Taken, Tokens]]:
        for candidate in self.candidates:
            if candidate.needs <= state:
                for way in candidate.ways:
                    after = way.apply(state)
                    if after != state:
                        yield _Taken(candidate, way), after


_NEVER = float("inf")


def _path_to(state: Tokens, parents: Mapping[Tokens, tuple[Tokens, _Taken] | None]) -> Sequence[_Taken]:
    path: list[_Taken] = []
    while (before := parents[state]) is not None:
        state, taken = before
        path.append(taken)
    return path[::-1]


class _Costs:
    """Estimates the cost from a state to a goal: the sum of the costs of the goal's tokens, ignoring deletions."""

    def __init__(self, candidates: Sequence[Candidate], goal: Tokens) -> None:
        self.goal = goal
        self._makers = [(candidate.needs, way.adds) for candidate in candidates for way in candidate.ways]
        self._free = [number for number, (needs, _) in enumerate(self._makers) if not needs]
        self._needed: dict[str, list[int]] = defaultdict(list)
        for number, (needs, _) in enumerate(self._makers):
            for token in sorted(needs):
                self._needed[token].append(number)

    def to_goal(self, state: Tokens) -> float:
        """Return the estimate; infinite if the goal cannot be reached."""
        costs: dict[str, int] = {}
        unmet, sums = [len(needs) for needs, _ in self._makers], [0] * len(self._makers)
        queue = [(0, token) for token in state]
        for number in self._free:
            queue += [(1, token) for token in self._makers[number][1]]
        heapq.heapify(queue)
        wanted = len(self.goal)
        while queue and wanted:
            cost, token = heapq.heappop(queue)
            if token in costs:
                continue
            costs[token] = cost
            wanted -= token in self.goal
            for number in self._needed.get(token, ()):
                unmet[number] -= 1
                sums[number] += cost
                if not unmet[number]:
                    for made in self._makers[number][1]:
                        heapq.heappush(queue, (sums[number] + 1, made))
        return _NEVER if wanted else sum(costs[token] for token in self.goal)
