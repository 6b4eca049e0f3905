"""One problem in the simulated world: where it is hard, what is right at each level, how likely an attempt is right.

Every artifact names the view it takes at its level; one view per level is right. Nobody but this module can tell which,
so a step can be accepted and be wrong, and only the plan, steps later, shows it.
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

_VIEW = re.compile(r"view:([a-z]+)=([0-9a-f]{6})")

Views = Mapping[Cause, str]


@dataclass(frozen=True)
class World:
    """A problem as one seed and profile make it."""

    profile: Profile
    seed: int
    problem: str

    @cached_property
    def key(self) -> str:
        """What all draws about this problem begin with. The profile is not in it: worlds share their luck."""
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
        """Return the token that a rejection names if the cause lies at a level."""
        return f"clue_{tag(self.key, level, 'clue')}"

    def view(self, level: Cause, node: str, told: Iterable[str], factor: float = 1.0) -> str:
        """Return the view that an attempt takes at a level, having been told why others failed."""
        right = draw(self.key, level, node, "right") < self.chance(level, count_in(self.clue(level), told), factor)
        return self.truth(level) if right else tag(self.key, level, node, "wrong")

    def chance(self, level: Cause, told: int, factor: float = 1.0) -> float:
        """Return the probability that an attempt at a level is right after so many telling rejections."""
        if self.cause is Cause.UNSOLVABLE and level is Cause.PLAN:
            return 0.0
        if level is not self.cause:
            return probability(odds(self.profile.easy) * factor)
        return attempt(self.profile.odds, told, (self.key, "difficulty"), factor)

    def wrong(self, views: Views) -> Cause | None:
        """Return the topmost level at which the views are wrong."""
        if self.cause is Cause.UNSOLVABLE:
            return Cause.UNSOLVABLE
        return next((level for level in LEVELS if level in views and views[level] != self.truth(level)), None)

    def solved_by(self, plan: Any) -> bool:
        """Tell whether a plan is right, whatever a guard said of it."""
        views = read_views(plan)
        return Cause.PLAN in views and self.wrong(views) is None


def attempt(given: Odds, told: int, words: tuple[object, ...], factor: float = 1.0) -> float:
    """Return the probability that one attempt is right; `words` name whose difficulty it is."""
    return probability(odds(beta_draw(given.alpha, given.beta, words)) * given.lift(told) * factor)


def strategy_for(kind: Any) -> str:
    """Return the strategy that fits a problem type."""
    return STRATEGIES[PROBLEM_TYPES.index(kind)] if kind in PROBLEM_TYPES else STRATEGIES[-1]


def shown(views: Views) -> str:
    """Return views as artifacts hold them."""
    return " ".join(f"view:{level}={view}" for level, view in views.items())


def read_views(artifact: Any) -> dict[Cause, str]:
    """Return the views that an artifact names."""
    text = orjson.dumps(artifact).decode()
    return {Cause(level): view for level, view in _VIEW.findall(text) if level in LEVELS}
