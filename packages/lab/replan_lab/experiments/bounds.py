"""Bounds for the success of a search over a pipeline of four steps, in a simulated world.

The pipeline consists of the steps of the workflow `search`, here called levels: strategy requires analysis and recon,
and plan requires all three. A bound is the success of a planner that knows more than a search. After a rejected plan, a
planner redoes one level and all levels that require it, or all four levels. The two planners see different facts:

- *clairvoyant*: the whole truth (which level is the cause, the difficulty, which artifacts are wrong, and the findings
  so far). Value iteration over the number of calls left and the states gives the best possible success with these
  moves.
- *informed*: the facts that the policy `belief` sees. These are the code of each finding, whether this code is equal to
  the previous code, and whether a level that was redone from the same inputs made the same artifact. From these facts
  and the world's own parameters, the planner computes the exact probability of each cause, difficulty, set of wrong
  artifacts and number of findings. It looks one move ahead, and redoes the levels with the largest chance of success
  per call. This planner is good, but its success is not a proven upper bound.

Each bound is computed for several prices of a call. So it is a curve: the success as a function of the mean calls. The
bounds do not model malformed replies, several causes, visit budgets, or findings that name a wrong level. When a level
is redone, the bounds also ignore the rejections that this level had earlier.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from replan_lab.experiments.preparation import PreparedExperiment
from replan_lab.experiments.tables import Row, Table, round_value
from replan_lab.simulated.profile import LEVELS, TOLD_MAX, UNSOLVABLE, AuthorProfile
from replan_lab.simulated.seeded import difficulties
from replan_lab.simulated.world import hard_level_probability

NODES = 8
TRIALS = 1000
SIDE_BY_SIDE = 50
"""The number of problems that are simulated at once. The beliefs about so many problems fit into the processor's
cache."""
PRICES = (0.01, 0.02, 0.035)
"""The prices of a call, as fractions of the value of a success."""
_A, _R, _S, _P = 1, 2, 4, 8
REDOS = (_P, _S | _P, _R | _S | _P, _A | _S | _P, _A | _R | _S | _P)
"""The sets of levels that a planner may redo together, as bit sets. The lowest bit stands for the topmost level."""
_PATTERNS = 16
_TOLD = TOLD_MAX + 1
_TOPMOST: "Array" = np.array([next((level for level in range(4) if bits >> level & 1), 4) for bits in range(_PATTERNS)])
_NOT_COMPARED, _KEPT, _OTHER, _SAME = range(4)
"""The results if the answer of a level after a redo is compared with its previous answer: not comparable, not redone,
different, the same."""
Array = Any


@dataclass(frozen=True, slots=True)
class Bound:
    """The success and the mean calls of one of the planners, with a cap of calls and a price."""

    name: str
    cap: int
    price: float
    """The price of a call, as a fraction of the value of a success."""
    success: float
    calls: float


@dataclass(frozen=True)
class WorldLevels:
    """The probabilities of right attempts at the four levels of a simulated world, for a grid of difficulties."""

    profile: AuthorProfile

    @cached_property
    def causes(self) -> Array:
        """The shares of the four levels, and of problems without a solution."""
        return np.array([self.profile.causes.get(cause, 0.0) for cause in (*LEVELS, UNSOLVABLE)])

    @cached_property
    def chances(self) -> Array:
        """The probability that an attempt is right, by cause, level, number of named mistakes, and difficulty."""
        profile, chances = self.profile, np.full((4, 4, _TOLD, NODES), self.profile.easy)
        every = difficulties(profile.odds.alpha, profile.odds.beta)
        width = len(every) // NODES
        for node in range(NODES):
            middle = every[node * width + width // 2]
            for told in range(_TOLD):
                for position, level in enumerate(LEVELS):
                    chances[position, position, told, node] = hard_level_probability(
                        profile.odds, middle, told, profile.heed(level)
                    )
        return chances

    def after(self, values: Array, cause: int, redo: int) -> Array:
        """Return the expected value of each state if the levels in the bit set `redo` are redone.

        `values` has the value of each state afterwards. A state consists of the set of wrong levels, the number of
        named mistakes, and the difficulty. If the level with the cause is redone, it reads the rejection that names the
        cause.
        """
        mixed = values
        for level in range(4):
            if redo >> level & 1:
                right = self.chances[cause, level]
                bits = np.arange(_PATTERNS)
                mixed = right * mixed[bits & ~(1 << level)] + (1 - right) * mixed[bits | 1 << level]
        if not redo >> cause & 1:
            return mixed
        named = cause == _TOPMOST
        told = np.minimum(np.arange(_TOLD) + 1, TOLD_MAX)
        mixed = mixed.copy()
        mixed[named] = mixed[named][:, told]
        return mixed


@dataclass(frozen=True)
class ValueIteration:
    """The best success minus the price of its calls, for every state of a pipeline and every number of calls left."""

    pipeline: WorldLevels
    cap: int
    price: float

    @cached_property
    def tables(self) -> tuple[list[Array], list[Array]]:
        """The values and the mean calls.

        Both lists are indexed by calls left, cause, set of wrong levels, named mistakes and difficulty.
        """
        shape = (4, _PATTERNS, _TOLD, NODES)
        values, calls = [np.zeros(shape)], [np.zeros(shape)]
        solved = np.arange(_PATTERNS) == 0
        values[0][:, solved] = 1.0
        for left in range(1, self.cap + 1):
            best, used = np.zeros(shape), np.zeros(shape)
            for redo in REDOS:
                cost = redo.bit_count()
                if cost > left:
                    continue
                for cause in range(4):
                    value = self.pipeline.after(values[left - cost][cause], cause, redo) - self.price * cost
                    more = self.pipeline.after(calls[left - cost][cause], cause, redo) + cost
                    better = value > best[cause] + 1e-12
                    best[cause] = np.where(better, value, best[cause])
                    used[cause] = np.where(better, more, used[cause])
            best[:, solved], used[:, solved] = 1.0, 0.0
            values.append(best)
            calls.append(used)
        return values, calls

    def bound(self) -> Bound:
        """Return the success and the mean calls of a whole search, from its first call on."""
        values, calls = self.tables
        first = REDOS[-1]
        left = self.cap - first.bit_count()
        shares = self.pipeline.causes
        success = reached = 0.0
        for cause in range(4):
            gain = _from_start(self.pipeline, values[left][cause], cause)
            more = _from_start(self.pipeline, calls[left][cause], cause)
            success += shares[cause] * (gain + self.price * more)
            reached += shares[cause] * more
        # The clairvoyant makes no call for a problem without a solution, or for a problem that is not worth its price.
        reached += float(shares[:4].sum()) * first.bit_count()
        return Bound("clairvoyant", self.cap, self.price, float(success), float(reached))


def _from_start(pipeline: WorldLevels, values: Array, cause: int) -> float:
    """Return the expected value after each level was attempted once."""
    mixed = values
    for level in range(4):
        right, bits = pipeline.chances[cause, level], np.arange(_PATTERNS)
        mixed = right * mixed[bits & ~(1 << level)] + (1 - right) * mixed[bits | 1 << level]
    return float(mixed[0, 0].mean())


class InformedPlanner:
    """A planner that computes the exact probability of each state of a pipeline.

    It is simulated on many problems at once.
    """

    def __init__(self, pipeline: WorldLevels, cap: int, price: float, trials: int = TRIALS) -> None:
        self.pipeline, self.cap, self.price, self.trials = pipeline, cap, price, trials
        self.dice = np.random.default_rng(cap)
        goal = np.zeros((_PATTERNS, _TOLD, NODES))
        goal[0] = 1.0
        self.gains = [np.stack([pipeline.after(goal, cause, redo) for cause in range(4)]) for redo in REDOS]
        profile = pipeline.profile
        defects = list(dict.fromkeys(name for row in profile.findings.values() for name in row))
        causes = (*LEVELS, UNSOLVABLE)
        self.codes = np.array([[profile.defects(cause).get(name, 0.0) for name in defects] for cause in causes])
        self.repeats = np.array([profile.repeated(cause) for cause in causes])
        self.says_again = (1 - profile.meanings_vary) ** 2  # That two artifacts with the same view have one meaning.
        self.wrong_views = np.array([_shares_of_wrong_views(profile, level) for level in LEVELS])

    def run(self) -> Bound:
        """Return the success and the mean calls on problems whose causes and difficulties are evenly spread."""
        shares, count = self.pipeline.causes, self.trials
        edges = np.cumsum(shares) / shares.sum()
        cause = np.searchsorted(edges, (np.arange(count) + 0.5) / count, side="right").clip(0, 4)
        node = self.dice.permutation(np.arange(count) % NODES)
        parts = [slice(first, first + SIDE_BY_SIDE) for first in range(0, count, SIDE_BY_SIDE)]
        ends = [self._search(cause[part], node[part]) for part in parts]
        solved, used = (np.concatenate(end) for end in zip(*ends, strict=True))
        return Bound("informed", self.cap, self.price, float(solved.mean()), float(used.mean()))

    def _search(self, cause: Array, node: Array) -> tuple[Array, Array]:
        pipeline, count = self.pipeline, len(cause)
        solvable = np.minimum(cause, 3)
        told, bits, views = np.zeros(count, int), np.zeros(count, int), np.full((count, 4), -1)
        used, solved, live = np.zeros(count), np.zeros(count, bool), np.ones(count, bool)
        steady = np.array([[self.dice.choice(self.codes.shape[1], p=row) for row in self.codes] for _ in range(count)])
        belief = np.zeros((count, 5, _PATTERNS, _TOLD, NODES))
        belief[:, :, 0, 0, :] = pipeline.causes[None, :, None] / NODES
        redo, seen = np.full(count, REDOS[-1]), np.full(count, -1)
        while live.any():
            again = np.full((count, 4), _NOT_COMPARED)
            for level in range(4):
                made = live & (redo >> level & 1 == 1)
                right = self.dice.random(count) < pipeline.chances[solvable, level, told, node]
                right &= ~((cause == 4) & (level == 3))
                bits = np.where(made, np.where(right, bits & ~(1 << level), bits | 1 << level), bits)
                again[:, level] = self._compare(views, level, right, made, again)
            used = np.where(live, used + _cost(redo), used)
            solved |= live & (bits == 0) & (cause < 4)
            live &= ~solved
            topmost = np.where(cause == 4, 4, _TOPMOST[bits])
            same = self.dice.random(count) < self.repeats[topmost]
            fresh = np.array([self.dice.choice(self.codes.shape[1], p=self.codes[top]) for top in topmost])
            code = np.where(same, steady[np.arange(count), topmost], fresh)
            belief = self._reject(self._draw_redo(belief, redo, again, live), code, seen, live)
            seen = np.where(live, code, seen)
            redo = self._choice(belief, (self.cap - used).astype(int), live)
            live &= redo > 0
            told = np.where((topmost == cause) & (redo >> solvable & 1 == 1), np.minimum(told + 1, TOLD_MAX), told)
        return solved, used

    def _compare(self, views: Array, level: int, right: Array, made: Array, again: Array) -> Array:
        """Draw the answer of a redone level for each problem, and compare it with the level's previous answer.

        `views` has the previous answers, and is updated. Plans are not compared, and a level is not compared if its
        inputs have changed. Return one of `_NOT_COMPARED`, `_KEPT`, `_OTHER` and `_SAME` for each problem.
        """
        wrong = np.searchsorted(np.cumsum(self.wrong_views[level]), self.dice.random(len(right))).clip(
            0, self.wrong_views.shape[1] - 1
        )
        drawn, before = np.where(right, 0, 1 + wrong), views[:, level].copy()
        views[:, level] = np.where(made, drawn, before)
        same_above = np.full(len(right), level < 3)
        for upper in range(2) if level == 2 else ():
            same_above &= (again[:, upper] == _SAME) | (again[:, upper] == _KEPT)
        same = (drawn == before) & (self.dice.random(len(right)) < self.says_again)
        found = np.where(same, _SAME, _OTHER)
        return np.where(~made, _KEPT, np.where(same_above & (before >= 0), found, _NOT_COMPARED))

    def _draw_redo(self, belief: Array, redo: Array, again: Array, live: Array) -> Array:
        """Return the probability of each state after levels were redone, before the verdict.

        They do not add up to 1.
        """
        drawn = belief.copy()
        for mask in REDOS:
            rows = np.flatnonzero(live & (redo == mask))
            if not len(rows):
                continue
            part = drawn[rows]
            for cause in range(4):
                if mask >> cause & 1:
                    named, own = np.equal(_TOPMOST, cause), part[:, cause].copy()
                    if named.any():
                        moved = np.zeros_like(own[:, named])
                        moved[:, :, 1:] = own[:, named][:, :, :-1]
                        moved[:, :, -1] += own[:, named][:, :, -1]
                        own[:, named] = moved
                        part[:, cause] = own
            for level in range(4):
                if mask >> level & 1:
                    part = self._redrawn(part, level, again[rows, level])
            drawn[rows] = part
        return drawn

    def _redrawn(self, part: Array, level: int, again: Array) -> Array:
        """Return the probability of each state after a level was redone.

        `again` says whether its answer was the same as before. The probabilities do not add up to 1.
        """
        bits, right = np.arange(_PATTERNS), self._right(level)[None, :, None]
        was_right, was_wrong = part[:, :, bits & ~(1 << level)], part[:, :, bits | 1 << level]
        agree = float((self.wrong_views[level] ** 2).sum())
        factors = np.ones((4, len(again)))
        for row, same in enumerate((self.says_again, 0.0, 0.0, self.says_again * agree)):
            factors[row] = np.where(again == _SAME, same, np.where(again == _OTHER, 1 - same, 1.0))
        stays, mended, broken, fails = factors[:, :, None, None, None, None]
        is_wrong = (bits >> level & 1)[None, None, :, None, None]
        now_right = right * (was_right * stays + was_wrong * mended)
        now_wrong = (1 - right) * (was_right * broken + was_wrong * fails)
        return np.where(is_wrong == 1, now_wrong, now_right)

    def _right(self, level: int) -> Array:
        last = np.full((1, _TOLD, NODES), 0.0 if level == 3 else self.pipeline.profile.easy)
        return np.concatenate([self.pipeline.chances[:, level], last])

    def _reject(self, belief: Array, code: Array, seen: Array, live: Array) -> Array:
        """Return the probability of each state after a rejection with the code `code`.

        `seen` is the code of the previous rejection; -1 if there was none.
        """
        tops = np.tile(_TOPMOST, (5, 1))
        tops[4] = 4
        repeated = self.repeats**2
        likelihood = np.where(
            (seen >= 0)[:, None],
            repeated * (code == seen)[:, None] + (1 - repeated) * self.codes[:, code].T,
            self.codes[:, code].T,
        )
        weights = likelihood[:, tops]
        weights[:, :4, 0] = 0.0  # A plan without a wrong artifact would have passed.
        after = belief * weights[:, :, :, None, None]
        total = after.sum(axis=(1, 2, 3, 4), keepdims=True)
        after = np.divide(after, total, out=np.zeros_like(after), where=total > 0)
        return np.where(live[:, None, None, None, None], after, belief)

    def _choice(self, belief: Array, left: Array, live: Array) -> Array:
        """Return the levels to redo for each problem; 0 if no level can be redone, or if no redo is worth its price."""
        scores = np.full((len(REDOS), len(left)), -np.inf)
        for position, (redo, gain) in enumerate(zip(REDOS, self.gains, strict=True)):
            rows = np.flatnonzero(live & (left >= redo.bit_count()))
            chance = np.einsum("tcpkn,cpkn->t", belief[rows, :4], gain)
            scores[position, rows] = chance / redo.bit_count() - self.price
        best = scores.argmax(axis=0)
        allowed = scores[best, np.arange(len(left))] > 0
        return np.where(live & allowed, np.array(REDOS)[best], 0)


def _shares_of_wrong_views(profile: AuthorProfile, level: str) -> list[float]:
    count, favourite = profile.wrong_views, profile.favourite.get(level, 0.0)
    if count == 1 or not favourite:
        return [1 / count] * count
    return [favourite, *[(1 - favourite) / (count - 1)] * (count - 1)]


def _cost(redo: Array) -> Array:
    return sum(redo >> level & 1 for level in range(4))


def bounds_of(profile: AuthorProfile, caps: tuple[int, ...], prices: tuple[float, ...] = PRICES) -> Iterator[Bound]:
    """Yield the points of both bounds of a world: one for each cap, and one for each price.

    Yield nothing if the levels of the world are not `LEVELS`.
    """
    if profile.levels != LEVELS:
        return
    pipeline = WorldLevels(profile)
    for cap in caps:
        yield ValueIteration(pipeline, cap, 0.0).bound()
    for price in prices:
        yield ValueIteration(pipeline, max(caps), price).bound()
    for cap, price in (*((cap, 0.0) for cap in caps), *((max(caps), price) for price in prices)):
        yield InformedPlanner(pipeline, cap, price).run()


def success_at(points: list[Bound], calls: float) -> float:
    """Return the success of a bound at a mean number of calls.

    It is interpolated between the points, and constant outside them. A point with more calls and less success than
    another point is ignored, because a planner need not make the additional calls.
    """
    frontier: list[tuple[float, float]] = []
    for used, success in sorted({(point.calls, point.success) for point in points}):
        if not frontier or success > frontier[-1][1]:
            frontier.append((used, success))
    for (before, low), (after, high) in pairwise(frontier):
        if before <= calls <= after:
            return low + (high - low) * (calls - before) / max(after - before, 1e-9)
    return frontier[-1][1] if calls > frontier[-1][0] else frontier[0][1]


def add_bounds(prepared: PreparedExperiment, means: Table) -> dict[str, Table]:
    """Return the table `bounds`, and a copy of the table `equal_mean` with a row for each bound of each model."""
    bounds, extended = list[Row](), list(means)
    experiment = prepared.experiment
    for model, profile in {arm.arm.model: arm.profile for arm in prepared.arms}.items():
        base = next((row for row in means if row["model"] == model and row["arm"] == experiment.baseline), None)
        if profile is None or base is None:
            continue
        points = list(bounds_of(profile, experiment.caps, experiment.bound_prices))
        bounds += [
            {
                "model": model,
                "bound": point.name,
                "cap": point.cap,
                "price": point.price,
                "success": round_value(point.success),
                "calls_mean": round_value(point.calls),
            }
            for point in points
        ]
        for name in dict.fromkeys(point.name for point in points):
            calls = float(base["baseline_calls_mean"] or 0.0)
            success = success_at([point for point in points if point.name == name], calls)
            extended.append(
                {
                    **dict.fromkeys(base),
                    "model": model,
                    "arm": f"bound: {name}",
                    "calls_mean": round_value(calls),
                    "baseline_calls_mean": round_value(calls),
                    "success": round_value(success),
                    "delta_success": round_value(success - float(base["success"] or 0.0)),
                }
            )
    return {"bounds": bounds, "equal_mean": extended}
