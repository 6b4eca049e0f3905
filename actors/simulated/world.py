"""The simulated problem: the level at which it is hard, the right view at each level, the odds of an attempt.

A level is a step of the pipeline. Every artifact contains a view for its level, a random tag, and one view per level is
right. Guards cannot tell which, so a wrong artifact may be accepted, and the mistake shows only in the plan.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from actors.guards.shapes import PROBLEM_TYPES, STRATEGIES
from actors.simulated.profile import Cause, Odds, Profile
from actors.simulated.seeded import beta_draw, count_in, draw, odds, pick, probability, tag
from runtime.core.events import text_hash

UPSTREAM = (Cause.ANALYSIS, Cause.RECON, Cause.STRATEGY)
"""The levels above a plan, topmost first."""
LEVELS = (*UPSTREAM, Cause.PLAN)
"""All levels, topmost first."""

_VIEW = re.compile(r"view:([a-z]+)=([0-9a-f]{6})")

Views = Mapping[Cause, str]
"""The view of an artifact at each level."""


@dataclass(frozen=True)
class World:
    """A simulated problem."""

    profile: Profile
    """The shares and odds that the world is drawn from."""
    seed: int
    """The seed of the trial."""
    problem: str
    """The problem's text."""

    @cached_property
    def key(self) -> str:
        """The first word of all draws about this problem; without the profile, so that profiles share the draws."""
        return f"{self.seed}:{text_hash(self.problem)[:16]}"

    @cached_property
    def cause(self) -> Cause:
        """The level at which the problem is hard."""
        return pick(self.profile.causes, self.key, "cause")

    @cached_property
    def kind(self) -> str:
        """The problem's true type."""
        return PROBLEM_TYPES[int(draw(self.key, "kind") * len(PROBLEM_TYPES))]

    def truth(self, level: Cause) -> str:
        """Return the view that is right at a level."""
        return tag(self.key, level, "truth")

    def clue(self, level: Cause) -> str:
        """Return the token that a rejection names if its cause is at a level."""
        return f"clue_{tag(self.key, level, 'clue')}"

    def view(self, level: Cause, node: str, feedback: Iterable[str], factor: float = 1.0) -> str:
        """Return an attempt's view at a level; feedback that contains the level's clue makes the right one likelier."""
        clues = count_in(self.clue(level), feedback)
        right = draw(self.key, level, node, "right") < self.chance(level, clues, factor)
        return self.truth(level) if right else tag(self.key, level, node, "wrong")

    def chance(self, level: Cause, clues: int, factor: float = 1.0) -> float:
        """Return the probability that an attempt is right at a level, after this number of rejections with its clue."""
        if self.cause is Cause.UNSOLVABLE and level is Cause.PLAN:
            return 0.0
        if level is not self.cause:
            return probability(odds(self.profile.easy) * factor)
        return success_probability(self.profile.odds, clues, (self.key, "difficulty"), factor)

    def wrong(self, views: Views) -> Cause | None:
        """Return the topmost level whose view is wrong; None if all are right."""
        if self.cause is Cause.UNSOLVABLE:
            return Cause.UNSOLVABLE
        return next((level for level in LEVELS if level in views and views[level] != self.truth(level)), None)

    def solved_by(self, plan: Any) -> bool:
        """Return whether a plan is right, whatever its verdict."""
        views = read_views(plan)
        return Cause.PLAN in views and self.wrong(views) is None


def success_probability(given: Odds, clues: int, words: tuple[object, ...], factor: float = 1.0) -> float:
    """Return the probability that an attempt is right, after this number of rejections that named the cause.

    `words` name the problem's difficulty, which is one draw of a beta distribution; `factor` multiplies the odds.
    """
    return probability(odds(beta_draw(given.alpha, given.beta, words)) * given.lift(clues) * factor)


def strategy_for(kind: Any) -> str:
    """Return the strategy that fits a problem type."""
    return STRATEGIES[PROBLEM_TYPES.index(kind)] if kind in PROBLEM_TYPES else STRATEGIES[-1]


def views_text(views: Views) -> str:
    """Return views as the text that artifacts contain."""
    return " ".join(f"view:{level}={view}" for level, view in views.items())


def read_views(artifact: Any) -> dict[Cause, str]:
    """Return the views that an artifact contains."""
    text = orjson.dumps(artifact).decode()
    return {Cause(level): view for level, view in _VIEW.findall(text) if level in LEVELS}
