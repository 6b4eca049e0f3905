"""A second simulation of the simulated world, written from its description and without its code, to compare with.

A chain of four steps. After each rejected plan the search goes back to one fixed step and redoes it and all below it,
until a plan passes or the calls are used up. The formulas are those of replan_lab/simulated/world.py.
"""

import math
import random
from dataclasses import dataclass, field
from statistics import fmean

LEVELS = ("analysis", "recon", "strategy", "plan")
WINDOW = 5
"""Rejections of each kind that a prompt shows."""


@dataclass(frozen=True)
class Parameters:
    """The world, the guard and the search."""

    causes: dict[str, float]
    alpha: float
    beta: float
    first: float
    further: float
    heeds: dict[str, float]
    easy: float
    also_hard: float = 0.0
    misattributed: float = 0.0
    malformed: float = 0.0
    false_accept: float = 0.0
    false_reject: float = 0.0
    accepting_problems: float = 0.0
    rejecting_problems: float = 0.0
    target: str = "strategy"
    calls: int = 20


@dataclass
class Trial:
    world: Parameters
    dice: random.Random
    calls: int = 0
    right: dict[str, bool] = field(default_factory=dict)
    own: list[str] = field(default_factory=list)
    """What the plan's own rejections named, oldest first; empty for one that named no level."""
    cycles: list[str] = field(default_factory=list)
    """What the rejections named that sent the search back."""

    def __post_init__(self) -> None:
        names = list(self.world.causes)
        self.cause = self.dice.choices(names, [self.world.causes[name] for name in names])[0]
        hard = {
            level
            for level in LEVELS
            if level == self.cause or (self.world.also_hard and self.dice.random() < self.world.also_hard)
        }
        self.difficulty = {level: self.dice.betavariate(self.world.alpha, self.world.beta) for level in hard}
        at = self.dice.random()
        self.accepts = at < self.world.accepting_problems
        self.rejects = 0 <= at - self.world.accepting_problems < self.world.rejecting_problems

    def told(self, level: str) -> int:
        """Return how many rejections in the step's prompt name its level."""
        if level == "plan":  # Its own rejections are shown once, so no cycle is left to show.
            return self.own[-WINDOW:].count(level)
        redone = LEVELS.index(level) >= LEVELS.index(self.world.target)
        return self.cycles[-WINDOW:].count(level) if redone else 0

    def chance(self, level: str) -> float:
        """Return the probability that the next artifact of a step is right."""
        world = self.world
        if level not in self.difficulty:
            return 0.0 if self.cause == "unsolvable" and level == "plan" else world.easy
        told = min(self.told(level), 5)
        lift = world.first * world.further ** (told - 1) if told else 1.0
        difficulty = min(max(self.difficulty[level], 1e-12), 1 - 1e-12)
        ratio = difficulty / (1 - difficulty) * math.pow(lift, world.heeds[level])
        return ratio / (1 + ratio)

    def make(self, level: str) -> bool:
        """Make the artifact of a step, again where a reply is cut; return whether calls were left for it."""
        while self.calls < self.world.calls:
            self.calls += 1
            if self.dice.random() >= self.world.malformed:
                self.right[level] = self.dice.random() < self.chance(level)
                return True
            if level == "plan":
                self.own.append("")
        return False

    def judge(self) -> tuple[bool, str]:
        """Return whether the guard passes the plan, and the level that a rejection names."""
        world, solved = self.world, self.solved
        errs = self.dice.random()
        if solved:
            return not (self.rejects or errs < world.false_reject), ""
        named = next((level for level in LEVELS if not self.right[level]), "")
        if self.cause == "unsolvable":
            named = ""
        if self.dice.random() < world.misattributed:
            named = self.dice.choice([level for level in LEVELS if level != named])
        return self.accepts or errs < world.false_accept, named

    @property
    def solved(self) -> bool:
        return self.cause != "unsolvable" and all(self.right[level] for level in LEVELS)

    def run(self) -> bool:
        """Search; return whether a right plan was accepted."""
        redo = list(LEVELS)
        while all(self.make(level) for level in redo):
            passed, named = self.judge()
            if passed:
                return self.solved
            self.own.append(named)
            self.cycles.append(named)
            redo = list(LEVELS[LEVELS.index(self.world.target) :])
        return False


def simulate(world: Parameters, trials: int, seed: int) -> tuple[float, float]:
    """Return the share of successes and the mean number of calls."""
    dice, successes, calls = random.Random(seed), [], []
    for _ in range(trials):
        trial = Trial(world, dice)
        successes.append(trial.run())
        calls.append(trial.calls)
    return fmean(successes), fmean(calls)
