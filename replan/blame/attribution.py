"""The blame for a failed trace: a probability for each step, its evidence, and what to redo. Pure.

Exactly one step is taken to be the decisive mistake: the first one without which the run would not have failed. Its
probability is a conditional logit over the steps (McFadden 1974, "Conditional logit analysis of qualitative choice
behavior"): the exponential of the sum of the weights of the features of a step, over the sum of these for all steps.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pydantic import Field, model_validator

from actors.files.validation_errors import Config, config_error
from replan.blame.features import FEATURES, StepFeatures, features
from replan.blame.trace import BY_MODEL, AgentTrace

EVIDENCE_MAX = 3
"""The most pieces of evidence that are named for a step."""
EVIDENCE_MIN = 0.05
"""The least weight in nats that is named."""
VALUES_MAX = 50
"""The most values of a feature that a table of weights has; what features can give is less than half of it."""
WEIGHT_MAX = 50.0
"""The largest absolute weight, in nats."""


def softmax(scores: Sequence[float]) -> list[float]:
    """Return the exponential of each score over the sum of these; `scores` are not empty."""
    largest = max(scores)
    parts = [math.exp(score - largest) for score in scores]
    total = sum(parts)
    return [part / total for part in parts]


class BlameWeights(Config):
    """What labelled traces say about where mistakes are."""

    name: str = Field(min_length=1, max_length=100)
    """What the weights are called."""
    traces: int = Field(ge=0)
    """The labelled traces that they were fitted to."""
    weights: Mapping[str, Mapping[str, float]]
    """For each feature the weight of each of its values, in nats, at most `WEIGHT_MAX` either way and for at most
    `VALUES_MAX` values; a value that is missing has the weight 0."""

    @model_validator(mode="after")
    def _within_limits(self) -> "BlameWeights":
        for name, values in self.weights.items():
            if name not in FEATURES:
                raise config_error(f"unknown feature {name!r}", ("weights", name), f"one of {', '.join(FEATURES)}")
            if len(values) > VALUES_MAX:
                raise config_error(f"{len(values):,} values", ("weights", name), f"at most {VALUES_MAX}")
            for value, weight in values.items():
                if abs(weight) > WEIGHT_MAX:
                    hint = f"from {-WEIGHT_MAX:g} to {WEIGHT_MAX:g}"
                    raise config_error(f"the weight {weight:g}", ("weights", name, value), hint)
        return self

    def score(self, seen: StepFeatures) -> float:
        """Return the sum of the weights of the features of a step."""
        return sum(weights.get(seen[name], 0.0) for name, weights in self.weights.items())

    def probabilities(self, seen: Sequence[StepFeatures]) -> list[float]:
        """Return for each step of a trace the probability that it is the decisive mistake; their sum is 1."""
        return softmax([self.score(each) for each in seen])


@dataclass(frozen=True, slots=True)
class BlameEvidence:
    """What speaks for a step."""

    feature: str
    """The name of the feature."""
    value: str
    """Its value for the step."""
    weight: float
    """By how many nats it speaks for the step, against the mean step of the trace."""

    def __str__(self) -> str:
        return f"{FEATURES[self.feature]}: {self.value} ({self.weight:+.1f})"


@dataclass(frozen=True, slots=True)
class BlamedStep:
    """A step of a trace with its probability."""

    number: int
    """Its number, from 0."""
    probability: float
    """The probability that it is the decisive mistake."""
    evidence: tuple[BlameEvidence, ...]
    """What speaks for it most, at most `EVIDENCE_MAX`, the strongest first."""


@dataclass(frozen=True, slots=True)
class RedoPlace:
    """A place to go back to."""

    number: int
    """The first step that is done again."""
    chance: float
    """The probability that the mistake is among what is done again."""
    calls: int
    """The calls of models that the trace made from there on."""

    @property
    def per_call(self) -> float:
        """The probability per call, by which the belief of a run compares moves too."""
        return self.chance / self.calls


@dataclass(frozen=True, slots=True)
class Blame:
    """Where the mistake of a trace lies."""

    steps: tuple[BlamedStep, ...]
    """All steps, the likeliest first; ties by number."""
    agents: tuple[tuple[str, float], ...]
    """Each agent with the probability that the mistake is its, the likeliest first; ties by name."""
    redo: RedoPlace | None
    """The place with the highest chance per call; None in a trace without a call of a model."""


def blame(trace: AgentTrace, weights: BlameWeights) -> Blame:
    """Return where the mistake of a failed trace lies."""
    seen = features(trace)
    chances = weights.probabilities(seen)
    means = {
        name: fmean(weights.weights.get(name, {}).get(each[name], 0.0) for each in seen) for name in weights.weights
    }
    steps = [
        BlamedStep(number, chance, _evidence(each, weights, means))
        for number, (each, chance) in enumerate(zip(seen, chances, strict=True))
    ]
    agents = defaultdict[str, float](float)
    for step, chance in zip(trace.steps, chances, strict=True):
        agents[step.agent] += chance
    return Blame(
        tuple(sorted(steps, key=lambda step: (-step.probability, step.number))),
        tuple(sorted(agents.items(), key=lambda each: (-each[1], each[0]))),
        _redo(trace, chances),
    )


def _evidence(seen: StepFeatures, weights: BlameWeights, means: Mapping[str, float]) -> tuple[BlameEvidence, ...]:
    found = [
        BlameEvidence(name, seen[name], values.get(seen[name], 0.0) - means[name])
        for name, values in weights.weights.items()
    ]
    found.sort(key=lambda each: (-each.weight, each.feature))
    return tuple(each for each in found[:EVIDENCE_MAX] if each.weight > EVIDENCE_MIN)


def _redo(trace: AgentTrace, chances: Sequence[float]) -> RedoPlace | None:
    """Return the place with the highest chance per call; of equal ones the latest, which throws the least away."""
    best, chance, calls = None, 0.0, 0
    for number in reversed(range(len(chances))):
        chance += chances[number]
        if trace.steps[number].kind in BY_MODEL:
            calls += 1
            place = RedoPlace(number, min(1.0, chance), calls)
            if best is None or place.per_call > best.per_call:
                best = place
    return best
