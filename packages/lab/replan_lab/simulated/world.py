"""The simulated problem: the levels at which it is hard, the right view at each level, and the odds of an attempt.

A level is a step of the pipeline, named by the step's role. Every artifact contains a view for its level: a small
number. Exactly one view of each level is right. The guards of earlier steps cannot tell which one it is, so they accept
wrong artifacts, and a mistake becomes visible only in the plan.

A problem has the levels 1, ..., L. Level 1 is the topmost level, and level L is the plan. Every draw is a hash of the
seed, the problem and the request's id. Names in backticks are keys of a profile:

1. The cause c is drawn with the shares `causes`. Each other level is hard too with probability `also_hard`. H is the
   set of hard levels. For each level in H, p has the distribution Beta(`alpha`, `beta`). For the problem with seed n,
   the cause is the quantile at (u + n * g1) mod 1, and the difficulty is the quantile at (v + n * g2) mod 1. Here g1 is
   1/1.3247..., g2 is g1 * g1, and u and v are hashes of the problem's text.
2. An attempt at level l is right with probability q. If l is in H and k > 0, the odds of q are odds(p) * (first *
   further^(k-1))^heeds(l) * s. If l is in H and k = 0, they are odds(p) * s. If l is not in H, they are odds(easy) * s.
   Here k is the number of texts in the prompt that contain the clue of l, at most 5. The factor s is `unsettled` if the
   workflow has no step for the level, and otherwise 1. If c is `unsolvable`, no plan is right.
3. A wrong attempt has the author's favourite view with probability `favourite(l)`, and otherwise another of its
   `wrong_views` wrong views. Let t be the topmost level whose view is wrong. With probability `misattributed`, another
   level replaces t. With probability `repeats(t)`, the plan has the problem's own defect and step for t. Otherwise both
   are drawn from `findings(t)`.
4. With probability `malformed`, a reply is cut in the middle.
5. With probability `classifier`, a classifier names the topmost wrong level. A `person` answers in the same way, for a
   price.
6. With probability `texts_vary`, an artifact has its own wording. With probability `meanings_vary`, its typed fields
   are random. With probability `sticky(l)`, an attempt reuses the random numbers of the step's previous attempt.
7. The odds have further factors: `cascade` if an artifact in the prompt is wrong, `drift` for each earlier visit and
   attempt, and `misled` at a level outside H whose clue is in the prompt. With probability `forgets`, a rejection is
   not counted in k. `call_prices` has the price of a call at a level, which policies do not see.

A profile can also give the plan's guard error rates (`false_accept`, `false_reject`, `accepting_problems`,
`rejecting_problems`). A pipeline can also hide findings.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from actors.guards.fields import PROBLEM_TYPES, STRATEGIES
from replan_lab.simulated.profile import PLAN, UNSOLVABLE, AuthorOdds, AuthorProfile
from replan_lab.simulated.seeded import QUANTILES, beta_quantile, count_in, draw, odds, pick_at, probability, stratum
from runtime.core.events import text_hash

_VIEW = re.compile(r"view:([a-z][a-z0-9_]*)=(\d+)")
_ATTEMPT = re.compile(r"([^/]+)/v(\d+)\.a(\d+)(.*)", re.DOTALL)
"""Matches the id of an attempt. The groups are the step, the number of the visit, the number of the attempt, and the
suffix of a branch."""

Views = Mapping[str, int]
"""The number of an artifact's view, by level."""


@dataclass(frozen=True)
class World:
    """A simulated problem."""

    profile: AuthorProfile
    seed: int
    problem: str

    @cached_property
    def problem_key(self) -> str:
        """The first word of those draws that are the same for all seeds of the problem."""
        return text_hash(self.problem)[:16]

    @cached_property
    def key(self) -> str:
        """The first word of all draws about this problem with this seed.

        It does not contain the profile, so all profiles get the same draws.
        """
        return f"{self.seed}:{self.problem_key}"

    @cached_property
    def cause(self) -> str:
        """The level at which the problem is hard.

        Over consecutive seeds, each level is the cause nearly as often as `causes` of the profile says.
        """
        return pick_at(self.profile.causes, stratum(self.seed, 0, self.problem_key))

    @cached_property
    def kind(self) -> str:
        """The problem's true type."""
        return PROBLEM_TYPES[int(draw(self.key, "kind") * len(PROBLEM_TYPES))]

    @cached_property
    def difficulty(self) -> Mapping[str, float]:
        """The probability that an attempt without feedback is right, at each level where the problem is hard."""
        share, given = self.profile.also_hard, self.profile.odds
        hard = {self.cause: stratum(self.seed, 1, self.problem_key)} if self.cause != UNSOLVABLE else {}
        if share:
            others = (level for level in self.profile.levels if level != self.cause)
            hard |= {
                level: draw(self.key, level, "difficulty") for level in others if draw(self.key, level, "hard") < share
            }
        return {level: beta_quantile(given.alpha, given.beta, int(at * QUANTILES)) for level, at in hard.items()}

    @cached_property
    def _truths(self) -> dict[str, int]:
        views = 1 + self.profile.wrong_views
        return {level: int(draw(self.key, level, "truth") * views) for level in self.profile.levels}

    def truth(self, level: str) -> int:
        """Return the right view at a level; 0 at a level that the profile does not have."""
        return self._truths.get(level, 0)

    def view(
        self, level: str, node: str, feedback: Iterable[str], factor: float = 1.0, sticky: float | None = None
    ) -> int:
        """Return the number that an attempt's artifact contains as its view at a level.

        Feedback with the level's clue makes the right view likelier. `sticky` is the probability that the attempt
        reuses the random numbers of the attempt before it; None means the profile's probability.
        """
        if level not in self._truths:
            return 0
        share = self.profile.stickiness(level) if sticky is None else sticky
        told, drawn_as = count_in(clue(level), feedback), self._attempt_to_draw_from(level, node, share)
        if draw(self.key, level, drawn_as, "right") < self.chance(level, told, factor):
            return self._truths[level]
        return self._wrong_view(level, drawn_as)

    def _attempt_to_draw_from(self, level: str, node: str, share: float) -> str:
        """Return the id of the attempt whose random numbers are used: this attempt or an earlier one."""
        while share and (before := attempt_before(node)) and draw(self.key, level, node, "sticky") < share:
            node = before
        return node

    def _wrong_view(self, level: str, node: str) -> int:
        """Return one of the wrong views.

        The first number after the right view, modulo the number of views, is the favourite.
        """
        count, favourite = self.profile.wrong_views, self.profile.favourite.get(level, 0.0)
        at = draw(self.key, level, node, "wrong")
        if at < favourite or count == 1:
            place = 0
        else:
            rest = (at - favourite) / (1 - favourite)
            place = int(rest * count) if not favourite else 1 + int(rest * (count - 1))
        return (self._truths[level] + 1 + place) % (1 + count)

    def chance(self, level: str, told: int, factor: float = 1.0) -> float:
        """Return the probability that an attempt has the right view at a level.

        The prompt has `told` rejections with the level's clue.
        """
        if self.cause == UNSOLVABLE and level == PLAN:
            return 0.0
        difficulty = self.difficulty.get(level)
        if difficulty is None:
            return probability(odds(self.profile.easy) * factor * (self.profile.misled if told else 1.0))
        return hard_level_probability(self.profile.odds, difficulty, told, self.profile.heed(level), factor)

    def wrong(self, views: Views) -> str | None:
        """Return the topmost level whose view is wrong.

        Return `unsolvable` for a problem without a right plan, and None if all views are right.
        """
        if self.cause == UNSOLVABLE:
            return UNSOLVABLE
        return next((level for level, truth in self._truths.items() if views.get(level, truth) != truth), None)

    def solved_by(self, plan: Any) -> bool:
        """Return whether all views in a plan are right, whatever the verdict of a guard is."""
        views = read_views(plan)
        return PLAN in views and self.wrong(views) is None


def attempt_before(node: str) -> str | None:
    """Return the id of the previous attempt of the visit.

    For a visit's first attempt, return the first attempt of the previous visit. Return None for the first attempt of
    the first visit, and for a text that is not the id of an attempt.
    """
    found = _ATTEMPT.fullmatch(node)
    if found is None:
        return None
    step, visit, attempt, branch = found[1], int(found[2]), int(found[3]), found[4]
    if attempt > 1:
        return f"{step}/v{visit}.a{attempt - 1}{branch}"
    return f"{step}/v{visit - 1}.a1{branch}" if visit > 1 else None


def attempts_before(node: str) -> int:
    """Return the number of earlier visits of the step plus earlier attempts of this visit; 0 for another text."""
    found = _ATTEMPT.fullmatch(node)
    return 0 if found is None else int(found[2]) + int(found[3]) - 2


def hard_level_probability(
    given: AuthorOdds, difficulty: float, told: int, heeds: float = 1.0, factor: float = 1.0
) -> float:
    """Return the probability that an attempt is right at a hard level, after `told` rejections that named the cause.

    `difficulty` is the probability without feedback. `factor` multiplies the odds.
    """
    return probability(odds(difficulty) * given.lift(told, heeds) * factor)


def clue(level: str) -> str:
    """Return the token that a rejection names if the mistake is at this level. No clue is a part of another clue."""
    return f"clue_{level}_end"


def strategy_for(kind: Any) -> str:
    """Return the strategy that fits a problem type."""
    return STRATEGIES[PROBLEM_TYPES.index(kind)] if kind in PROBLEM_TYPES else STRATEGIES[-1]


def views_text(views: Views) -> str:
    """Return views as the text in which artifacts contain them, such as `view:plan=3`."""
    return " ".join(f"view:{level}={view}" for level, view in views.items())


def read_views(artifact: Any) -> dict[str, int]:
    """Return the views that an artifact contains."""
    text = artifact if isinstance(artifact, str) else orjson.dumps(artifact).decode()
    return {level: int(view) for level, view in _VIEW.findall(text)}
