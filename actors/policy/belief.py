"""The belief about where the mistake is: a probability for each hypothesis, updated by rejections and moves. Pure.

A hypothesis has four parts. The cause is the step at which the problem is hard. The topmost wrong step is the first
step whose current artifact is wrong; perhaps no step is wrong. The other parts are the problem's difficulty, and the
number of rejections that have named the mistake. One further hypothesis says that the problem has no solution. A belief
about four steps has 241 probabilities, and a belief about eight steps has 865.

A rejection multiplies the probability of each hypothesis by a likelihood. Let `w` be the topmost wrong step of the
hypothesis. The policy's table has numbers for each place of a mistake. For the place of `w`, let `c` be the share in
`codes` of the row that matches the rejection. Let `p` be the number in `repeats` for this place. Rows about repeated
failures count as not matching. The likelihood is:

- `c` for the first rejection of the failed step (rejections by a row under `rules` do not count);
- `(1 - p) * c` if the rejection differs from the step's last rejection;
- `p + 0.05 * (1 - p) * c` if the two rejections are the same.

If the table has `facts`, `c` is first multiplied by `f` if the rejection says what to add or change, else by `1 - f`.
Here `f` is the number in `facts` for the place of `w`.

If `w` is neither the failed step nor above the failed step, the likelihood is 0.01 times the likelihood for the place
`other`. If `w` is the cause and the rejection says what to add or change, one more rejection has named the mistake. At
the end, all probabilities are divided by their sum.

After a move, each redone step and each step below a wrong step is again right or wrong at random. If a redone step had
the same inputs as before, its artifact is compared with its earlier artifact. The first comparison of a run splits each
hypothesis by the kind of model (`AuthorKind`), which has the probabilities `right` and `wrong`. Let `q` be the chance
that an attempt at the compared step is right. The comparison multiplies the probability of a hypothesis by

- `q * right` if both artifacts are right and the same, or `q * (1 - right)` if both are right and differ;
- `(1 - q) * wrong` if both artifacts are wrong and the same, or `(1 - q) * (1 - wrong)` if both are wrong and differ;
- `q` if only the new artifact is right, or `1 - q` if only the earlier artifact was right; 0 if the two are the same.

The earlier artifact of a step below the topmost wrong step was right with the chance `q`.

The code uses only `+`, `-`, `*` and `/` on floats, in a fixed order, so every machine computes the same result.
`docs/explanation/belief.md` says what a user can change.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from operator import add, mul
from typing import NamedTuple

from actors.policy.author import Author, odds, shift
from actors.policy.table import DIFFICULTIES, FEEDBACK_CASES, OTHER, SELF, UNSOLVABLE, AuthorKind, BeliefTable
from actors.search.graph import Graph
from actors.values.findings import Verdict

Signature = frozenset[tuple[str, str]]
"""The (code, where) pairs of a verdict's errors. Two failures with equal signatures count as the same failure."""


class Came(NamedTuple):
    """The redone steps with unchanged inputs: those that made the same artifact again, and the others."""

    same: tuple[str, ...] = ()
    other: tuple[str, ...] = ()


NOTHING = Came()


class Past(NamedTuple):
    """An earlier failure of this round."""

    step: str
    signature: Signature
    """The (code, where) pairs of its errors. Two failures with the same pairs count as the same failure."""
    up: int = 0
    """The position, from 1, of the decision's farthest target in `Graph.upward(step, 1)`; 0 for a retry or a question.
    """
    row: str = ""
    redone: tuple[str, ...] = ()
    """The steps that were redone after the decision, including the failed step; empty if the policy has no belief."""
    came: Came = NOTHING
    """The comparison of artifacts after the last move before this failure; empty if the policy's belief compares no
    artifacts.
    """
    mended: str = ""
    """The id of the row that caused a retry; empty if the move was not a retry, or if the belief chose the retry."""
    fact: bool = True
    repeats: bool = False

    def is_again(self, earlier: Sequence["Past"]) -> bool | None:
        """Return whether the step's last failure in `earlier` equals this failure; None if the step has none.

        Failures that a row has decided without the belief are ignored.
        """
        last = next((past for past in reversed(earlier) if past.step == self.step and past.row), None)
        return None if last is None else last.signature == self.signature


REPEATS_WEIGHT = 2.0
"""The weight of the model's known share of repeats: it counts as much as this number of retries in the run."""
CLEARLY_MORE = 1.25
"""A fresh attempt is preferred to a retry if fresh attempts succeeded at least this many times as often as retries. The
numbers are from the records in real-models.md.
"""


def repeat_factors(author: Author | None, afresh: float | None, history: Sequence[Past]) -> tuple[float, float | None]:
    """Return two factors for the chances of moves: of moves whose prompts show the rejections, and of fresh moves.

    The prompts of a fresh move leave out the rejections. `author` has the known numbers of the model, and `afresh` is
    the number in `BeliefTable`. A retry that repeats the rejected text cannot be right. So the first factor is below 1
    if retries in this run repeat texts more often than `author.repeats` says. The last entry of `history` is the
    rejection about which the policy decides. If this rejection does not say what to add or change, the second factor is
    computed from the shares in `author`. The second factor is None if fresh moves are not considered.
    """
    if author is None or afresh is None:
        return 1.0, None
    known, seen, retries, repeats = author.repeats, set[str](), 0, 0
    for past in history:
        retries += past.step in seen
        repeats += past.step in seen and past.repeats
        seen.add(past.step)
    share = (known * REPEATS_WEIGHT + repeats) / (REPEATS_WEIGHT + retries)
    told_factor = min(1.0, (1 - share) / (1 - known))
    if author.afresh_mends is not None and history and not history[-1].fact:
        return told_factor, author.afresh_mends / (CLEARLY_MORE * author.told_retry_mends)
    return told_factor, afresh / (1 - known)


def signature(verdict: Verdict) -> Signature:
    """Return the (code, where) pairs of a verdict's errors."""
    return frozenset((finding.code, finding.where) for finding in verdict.errors)


def distance_up(graph: Graph, step: str, targets: Sequence[str]) -> int:
    """Return the position, from 1, of the farthest target in `Graph.upward(step, 1)`; 0 if it contains no target."""
    upward = enumerate(graph.upward(step, 1), 1)
    return max((position for position, upper in upward if upper in targets), default=0)


Block = tuple[float, ...]
"""The probabilities of the hypotheses with one cause and one topmost wrong step. They are ordered by difficulty, then
by the number of rejections that named the mistake.
"""
Masses = tuple[tuple[Block, ...], ...]
"""For each cause, one block for each topmost wrong step. Each cause has one more block at the end, for the case that no
step is wrong."""
_RIGHT, _WRONG, _UNKNOWN = range(3)
"""The state of a step before it was redone: right, wrong, or unknown because it is below the topmost wrong step."""
_Weights = tuple[Block, Block, Block]
"""Three blocks for one result of comparing a step's artifacts. The first has the probabilities that this result occurs
and the step is now right. The second has the probabilities that this result occurs and the step is now wrong. The third
is their sum.
"""


class Comparison:
    """The probabilities of the results of comparing a step's new and earlier artifact, for one kind of model."""

    easy: Block

    def __init__(self, kind: AuthorKind, right: Sequence[Block], easy: Block) -> None:
        """`right` has, for each step, the chances that an attempt is right if the problem is hard at this step."""
        self._kind, self._right, self.easy = kind, right, easy
        self.weights = cache(self._weights)

    def _weights(self, place: int | None, before: int, seen: bool | None) -> _Weights:
        """Return the weights (`_Weights`) of a step.

        `place` is the step's position; None if the problem is not hard at this step.
        """
        chances = self.easy if place is None else self._right[place]
        if seen is None:
            good, bad = chances, tuple([1 - chance for chance in chances])
        else:
            good = tuple([chance * self._likelihood(chance, before, seen, right=True) for chance in chances])
            bad = tuple([(1 - chance) * self._likelihood(chance, before, seen, right=False) for chance in chances])
        return good, bad, tuple(map(add, good, bad))

    def _likelihood(self, chance: float, before: int, seen: bool, *, right: bool) -> float:
        """Return the probability of the comparison's result, given that the new artifact is right or wrong."""
        was_right = 1.0 if before == _RIGHT else 0.0 if before == _WRONG else chance
        again = was_right * self._kind.right if right else (1 - was_right) * self._kind.wrong
        return again if seen else 1 - again


class ComparedMove(NamedTuple):
    """A move after which the new artifacts of at least one step were compared with its earlier artifact."""

    fresh: Sequence[bool]
    seen: Sequence[bool | None]
    """For each step: whether it made the same artifact again; None if its artifacts were not compared."""
    comparison: Comparison

    def apply(self, masses: Masses, unsolvable: float) -> tuple[Masses, float]:
        """Return the probabilities for one kind of model after the move. The probabilities do not add up to 1."""
        for item in self.seen:
            if item is not None:
                unsolvable *= self.comparison.weights(None, _UNKNOWN, item)[2][0]
        return tuple([self._apply_to_cause(blocks, cause) for cause, blocks in enumerate(masses)]), unsolvable

    def _apply_to_cause(self, blocks: tuple[Block, ...], cause: int) -> tuple[Block, ...]:
        """Return the blocks of one cause after the move.

        The probability of each topmost wrong step is distributed over the steps that can be topmost wrong after the
        move.
        """
        result = [(0.0,) * len(self.comparison.easy)] * len(blocks)
        for wrong, block in enumerate(blocks):
            active = block
            for position, redone in enumerate(self.fresh):
                if not redone and position <= wrong:
                    if position == wrong:
                        result[position] = tuple(
                            map(add, result[position], self._weigh_lower_steps(active, position, wrong, cause))
                        )
                        break
                    continue
                good, bad, _ = self._weights(position, wrong, cause)
                here = self._weigh_lower_steps(tuple(map(mul, active, bad)), position, wrong, cause)
                result[position] = tuple(map(add, result[position], here))
                active = tuple(map(mul, active, good))
            else:
                result[-1] = tuple(map(add, result[-1], active))
        return tuple(result)

    def _weigh_lower_steps(self, block: Block, position: int, wrong: int, cause: int) -> Block:
        for lower in range(position + 1, len(self.seen)):
            if self.seen[lower] is not None:
                block = tuple(map(mul, block, self._weights(lower, wrong, cause)[2]))
        return block

    def _weights(self, position: int, wrong: int, cause: int) -> _Weights:
        before = _RIGHT if position < wrong else _WRONG if position == wrong else _UNKNOWN
        return self.comparison.weights(position if position == cause else None, before, self.seen[position])


STEPS_MAX = 8
ELSEWHERE = 0.01
"""The factor by which a rejection is less probable if the mistake is neither in the failed step nor in a step above
it."""
UNLISTED = 0.01
"""The probability that a row matches a rejection, if the table does not list the row for the place of the mistake."""
SAME_BY_CHANCE = 0.05
"""The probability that two independent rejections of a step are equal if the same row matches both. It is small,
because codes and places vary.
"""
HISTORIES_KEPT = 64
"""The number of histories whose beliefs are kept in memory for the next decision."""
MOVES_KEPT = 1024
"""The number of moves whose terms are kept in memory. A workflow has fewer moves than this number."""

_Term = tuple[bool, int, int, float]
"""One term of the sum that is a move's chance of success. Its items: whether the cause's step is attempted again, the
cause, the topmost wrong step, and the weight.
"""
_EMPTY: Block = (0.0,) * (DIFFICULTIES * FEEDBACK_CASES)
_ONES: Block = (1.0,) * (DIFFICULTIES * FEEDBACK_CASES)


@dataclass(frozen=True)
class Belief:
    """The probabilities of all hypotheses, which add up to 1."""

    masses: Masses
    """The probabilities of the hypotheses with a solution, by kind of model and then by cause. Before the first
    comparison of artifacts, all kinds are one.
    """
    unsolvables: tuple[float, ...]

    @property
    def unsolvable(self) -> float:
        """The probability that the problem has no solution."""
        return sum(self.unsolvables)

    @cached_property
    def shares(self) -> tuple[tuple[float, ...], ...]:
        """The probabilities by cause and topmost wrong step."""
        return tuple([tuple([sum(block) for block in blocks]) for blocks in self.masses])


class CountedRejection(NamedTuple):
    """The facts about a rejection that change a belief."""

    step: str
    row: str
    again: bool | None
    """Whether the rejection equals the step's last rejection; None if this rejection is the step's first."""
    fact: bool = True


class Odds(NamedTuple):
    """The sums of a belief from which `BeliefModel.chance` computes a move's chance of success."""

    stays: tuple[tuple[float, ...], ...]
    """The probabilities by cause and topmost wrong step."""
    drawn: tuple[tuple[float, ...], ...]
    """The probabilities by cause and topmost wrong step, times the chance that the next attempt at the cause is
    right.
    """


class BeliefModel:
    """A belief table compiled for one workflow."""

    table: BeliefTable
    graph: Graph
    steps: tuple[str, ...]
    """The steps with model calls. Each step comes after the steps that it requires."""

    def __init__(
        self, table: BeliefTable, graph: Graph, roles: Mapping[str, str], author: Author | None = None
    ) -> None:
        self.table, self.graph, self._roles = table, graph, roles
        compared = table.author_in_runs if author is not None and author.in_runs else table.author
        if author is None or compared is None:
            author = compared = table.author
        self.author, self._compared = author, compared
        ordered = (step for layer in graph.layers for step in layer)
        self.steps = tuple(step for step in ordered if not graph.budgets[step].deterministic)
        self._right = tuple(self._chances(roles[step]) for step in self.steps)
        self._easy: Block = (table.easy,) * (DIFFICULTIES * FEEDBACK_CASES)
        self._kinds = () if table.agreement is None else table.agreement.kinds
        self._comparisons = tuple(Comparison(kind, self._right, self._easy) for kind in self._kinds)
        self.after: Callable[..., Belief] = lru_cache(HISTORIES_KEPT)(self._after)
        self._terms: Callable[..., tuple[_Term, ...]] = lru_cache(MOVES_KEPT)(self._chance_terms)
        self.rejected_after: Callable[..., Belief] = lru_cache(HISTORIES_KEPT)(self._rejected_after)

    def _chances(self, role: str) -> Block:
        rows = self.table.chances.get(role, self.table.chances[OTHER])
        rows = tuple(row if self.table.feedback else (row[0],) * FEEDBACK_CASES for row in rows)
        known, own = self._compared, self.author
        if known is None or own is None:
            return tuple(chance for row in rows for chance in row)
        first = odds(own.first_accepted) / odds(known.first_accepted)
        odds_ratio = odds(own.told_retry_mends) / odds(known.told_retry_mends)
        return tuple(
            shift(row[column], first if column == 0 else odds_ratio) for row in rows for column in range(FEEDBACK_CASES)
        )

    def _after(self, history: tuple[Past, ...], came: Came = NOTHING) -> Belief:
        """Return the belief after the failures in `history`, oldest first, and their moves.

        `came` is the comparison of artifacts after the last move.
        """
        if not history:
            return self._prior()
        *earlier, past = history
        before = (tuple(earlier), past.came)
        belief = (
            self.rejected_after(*before, CountedRejection(past.step, past.row, past.is_again(earlier), past.fact))
            if past.row
            else self.after(*before)
        )
        return self.add_move(belief, past.redone, came) if past.redone else belief

    def _rejected_after(self, history: tuple[Past, ...], came: Came, rejection: CountedRejection) -> Belief:
        """Return the belief after the failures in `history` and one more rejection.

        The result is cached, because two decisions use it: the decision about the rejection, and the next decision.
        """
        return self.add_rejection(self.after(history, came), rejection)

    def _prior(self) -> Belief:
        causes = self.table.causes
        weights = [causes.get(self._roles[step], causes[OTHER]) for step in self.steps]
        total = sum(weights) + causes[UNSOLVABLE]
        fresh_start = []
        for weight in weights:
            share = weight / total / DIFFICULTIES
            block = (
                share,
                *(0.0,) * (FEEDBACK_CASES - 1),
            ) * DIFFICULTIES
            fresh_start.append((*(_EMPTY for _ in self.steps), block))
        return self.add_move(Belief(tuple(fresh_start), (causes[UNSOLVABLE] / total,)), self.steps)

    def add_rejection(self, belief: Belief, rejection: CountedRejection) -> Belief:
        """Return the belief after a rejection."""
        factors = [self._likelihood(wrong, rejection) for wrong in self.steps]
        factors.append(ELSEWHERE * self._row_likelihood(OTHER, rejection))
        unsolvable = self._row_likelihood(UNSOLVABLE, rejection)
        if not rejection.fact and self.table.facts is not None:
            return _scale_belief(belief, belief.masses, factors, unsolvable)
        masses = []
        for index, blocks in enumerate(belief.masses):
            at_fault = index % len(self.steps)
            updated = [_update_block(block) if step == at_fault else block for step, block in enumerate(blocks)]
            masses.append(tuple(updated))
        return _scale_belief(belief, tuple(masses), factors, unsolvable)

    def add_classification(self, belief: Belief, places: Collection[str]) -> Belief:
        """Return the belief after a classifier has said that the mistake is in one of these steps."""
        hit = self.table.classifier
        miss = (1 - hit) / (len(self.steps) + 1 - len(places))
        factors = [*(hit if step in places else miss for step in self.steps), miss]
        return _scale_belief(belief, belief.masses, factors, miss)

    def mark_right(self, belief: Belief, right: Collection[str]) -> Belief:
        """Return the belief if the steps in `right` are certainly right, because an accepted leaf builds on them."""
        factors = [*(0.0 if step in right else 1.0 for step in self.steps), 1.0]
        return _scale_belief(belief, belief.masses, factors, 0.0)

    def add_move(self, belief: Belief, redone: Collection[str], came: Came = NOTHING) -> Belief:
        """Return the belief after these steps were redone. `came` is the comparison of their artifacts.

        A belief says nothing about steps below the topmost wrong step, so these steps also count as redone.
        """
        fresh = [step in redone for step in self.steps]
        kinds = {**dict.fromkeys(came.other, False), **dict.fromkeys(came.same, True)}
        seen = [kinds.get(step) if step in redone else None for step in self.steps]
        if self._kinds and any(item is not None for item in seen):
            return self._add_compared_move(belief, fresh, seen)
        masses = []
        for at, blocks in enumerate(belief.masses):
            cause = at % len(self.steps)
            chances = [self._right[cause] if place == cause else self._easy for place in range(len(fresh))]
            masses.append(_redrawn(blocks, fresh, chances))
        return Belief(tuple(masses), belief.unsolvables)

    def _add_compared_move(self, belief: Belief, fresh: Sequence[bool], seen: Sequence[bool | None]) -> Belief:
        count, masses, unsolvables = len(self.steps), list[tuple[Block, ...]](), list[float]()
        split = len(belief.unsolvables) == len(self._kinds)
        for number, (kind, comparison) in enumerate(zip(self._kinds, self._comparisons, strict=True)):
            at, share = (number, 1.0) if split else (0, kind.share)
            of_kind = belief.masses[at * count : (at + 1) * count]
            changed, unsolvable = ComparedMove(fresh, seen, comparison).apply(of_kind, belief.unsolvables[at])
            masses += changed if share == 1.0 else [_times(blocks, share) for blocks in changed]
            unsolvables.append(unsolvable * share)
        return _normalise_belief(masses, unsolvables)

    def odds(self, belief: Belief) -> Odds:
        """Return the sums of a belief that `chance` needs. A caller computes the sums once for all moves."""
        right = self._right * len(belief.unsolvables)
        drawn = [
            tuple([sum(map(mul, block, chances)) for block in blocks])
            for blocks, chances in zip(belief.masses, right, strict=True)
        ]
        return Odds(self._sum_over_kinds(belief.shares), self._sum_over_kinds(drawn))

    def _sum_over_kinds(self, rows: Sequence[tuple[float, ...]]) -> tuple[tuple[float, ...], ...]:
        """Add up the rows with the same cause over all kinds of model. `rows` are ordered by kind and then by cause."""
        count = len(self.steps)
        if len(rows) == count:
            return tuple(rows)
        return tuple([tuple([sum(row) for row in zip(*rows[at::count], strict=True)]) for at in range(count)])

    def chance(self, odds: Odds, redone: Collection[str], leaf: str, at: str | None = None) -> float:
        """Return the probability that the next attempt at a leaf is right after these steps were redone.

        If `at` is set, hypotheses with another topmost wrong step do not count.
        """
        total = 0.0
        for is_drawn, cause, wrong, weight in self._terms(tuple(redone), leaf, at):
            total += weight * (odds.drawn if is_drawn else odds.stays)[cause][wrong]
        return total

    def _chance_terms(self, redone: Collection[str], leaf: str, at: str | None) -> tuple[_Term, ...]:
        """Return the terms that `chance` adds up. The terms do not depend on the belief."""
        easy, scope = self.table.easy, {*self.graph.above[leaf], leaf}
        fresh = [step in redone for step in self.steps]
        only = None if at is None else self.steps.index(at)
        terms = list[_Term]()
        for wrong in range(len(self.steps) + 1):
            if only is not None and wrong != only:
                continue
            drawn = [
                position
                for position, step in enumerate(self.steps)
                if step in scope and (fresh[position] or position >= wrong)
            ]
            if wrong in drawn and not fresh[wrong]:
                continue
            every = 1.0
            for _ in drawn:
                every *= easy
            for cause in range(len(self.steps)):
                is_drawn = cause in drawn
                terms.append((is_drawn, cause, wrong, every / easy if is_drawn else every))
        return tuple(terms)

    def places(self, belief: Belief) -> dict[str, float]:
        """Return the probability of each place of the mistake: each step is a key, and `unsolvable`."""
        shares = {step: sum([row[position] for row in belief.shares]) for position, step in enumerate(self.steps)}
        return {**shares, UNSOLVABLE: belief.unsolvable}

    def _likelihood(self, wrong: str, rejection: CountedRejection) -> float:
        """Return the probability of a rejection if `wrong` is the topmost wrong step."""
        if wrong == rejection.step:
            return self._row_likelihood(SELF, rejection)
        if wrong in self.graph.above[rejection.step]:
            return self._row_likelihood(self._roles[wrong], rejection)
        return ELSEWHERE * self._row_likelihood(OTHER, rejection)

    def _row_likelihood(self, place: str, rejection: CountedRejection) -> float:
        codes, repeats, facts = self.table.codes, self.table.repeats, self.table.facts
        shown = codes.get(place, codes[OTHER]).get(rejection.row, UNLISTED)
        if facts is not None:
            share = facts.get(place, facts[OTHER])
            shown *= share if rejection.fact else 1 - share
        if rejection.again is None:
            return shown
        same = repeats.get(place, repeats[OTHER])
        fresh = (1 - same) * shown
        return same + fresh * SAME_BY_CHANCE if rejection.again else fresh


def _redrawn(blocks: Sequence[Block], fresh: Sequence[bool], chances: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks of one cause after the `fresh` steps were redone.

    `chances` has, for each step, the chances that an attempt is right. In the loop, `passed` has the probabilities of
    hypotheses whose topmost wrong step came before this position and is right now. `factor` has the chance that all
    redone steps before this position are right.
    """
    below = [_EMPTY]
    for block in reversed(blocks):
        below.append(tuple(map(add, below[-1], block)))
    result: list[Block] = []
    passed, factor = _EMPTY, _ONES
    for position, drawn in enumerate(fresh):
        right = chances[position]
        here = tuple(map(mul, factor, blocks[position]))
        if drawn:
            active = map(add, passed, map(mul, factor, below[len(blocks) - position]))
            result.append(tuple([share * (1 - chance) for share, chance in zip(active, right, strict=True)]))
            passed = tuple(map(mul, map(add, passed, here), right))
            factor = tuple(map(mul, factor, right))
        else:
            wrong = [share * (1 - chance) for share, chance in zip(passed, right, strict=True)]
            result.append(tuple(map(add, here, wrong)))
            passed = tuple(map(mul, passed, right))
    result.append(tuple(map(add, passed, map(mul, factor, blocks[-1]))))
    return tuple(result)


def _update_block(block: Block) -> Block:
    shifted: list[float] = []
    for start in range(0, len(block), FEEDBACK_CASES):
        none, once, more = block[start : start + FEEDBACK_CASES]
        shifted += (0.0, none, once + more)
    return tuple(shifted)


def _scale_belief(belief: Belief, masses: Masses, factors: Sequence[float], unsolvable: float) -> Belief:
    """Multiply the probabilities of each topmost wrong step by its factor, scale their sum to 1, and return the belief.

    `masses` replaces the belief's masses, and each new block has the same sum as the block that it replaces. If all
    factors are 0, the probabilities are not multiplied. Such factors occur when a leaf is accepted in a workflow
    without model calls.
    """
    total = belief.unsolvable * unsolvable + sum([sum(map(mul, row, factors)) for row in belief.shares])
    if total == 0:
        return Belief(masses, belief.unsolvables)
    scales = [factor / total for factor in factors]
    scaled = tuple(
        [
            tuple([tuple([share * scale for share in block]) for block, scale in zip(blocks, scales, strict=True)])
            for blocks in masses
        ]
    )
    return Belief(scaled, tuple([share * unsolvable / total for share in belief.unsolvables]))


def _times(blocks: tuple[Block, ...], factor: float) -> tuple[Block, ...]:
    return tuple([tuple([share * factor for share in block]) for block in blocks])


def _normalise_belief(masses: Sequence[tuple[Block, ...]], unsolvables: Sequence[float]) -> Belief:
    total = sum(unsolvables) + sum([sum([sum(block) for block in blocks]) for blocks in masses])
    scaled = tuple([tuple([tuple([share / total for share in block]) for block in blocks]) for blocks in masses])
    return Belief(scaled, tuple([share / total for share in unsolvables]))
