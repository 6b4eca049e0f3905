"""The estimate of the weights of blame from labelled traces, judged by traces of other questions. Pure.

Half of the questions are held out, as for a belief. The prior is other weights.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from replan.blame.attribution import BlameWeights
from replan.blame.features import features
from replan.blame.fit import Labelled, WeightsJudged, fitted, judged
from replan.blame.trace import AgentTrace
from replan.learning.belief_estimate import ERRORS, HELD_OUT_MIN, clustered_error, is_held_out


@dataclass(frozen=True, slots=True)
class BlameEstimate:
    """What labelled traces say about the weights."""

    weights: BlameWeights | None
    """The weights, fitted to the traces that are not held out; None where there are none."""
    used: int
    """The traces that they were fitted to."""
    questions: int
    """The questions of the traces that judge them."""
    before: WeightsJudged
    """How well the prior does on the traces that judge."""
    after: WeightsJudged
    """How well the fitted weights do on them."""
    gain: float
    """The mean improvement of the log score of a held-out trace, in nats."""
    error: float
    """Its standard error, with questions as clusters; infinite for fewer than two questions."""

    @property
    def convincing(self) -> bool:
        """Whether the improvement is more than two standard errors, in enough questions."""
        return self.weights is not None and self.questions >= HELD_OUT_MIN and self.gain > ERRORS * self.error


def estimate_blame(traces: Sequence[AgentTrace], prior: BlameWeights, name: str) -> BlameEstimate:
    """Return the weights estimated from labelled traces; unlabelled ones are left out.

    Raises:
        ValueError, ArithmeticError: as in `replan.blame.fit.fitted`.
    """
    used, judging, questions = list[Labelled](), list[Labelled](), list[str]()
    for trace in traces:
        if trace.mistake is None:
            continue
        labelled = Labelled(features(trace), trace.mistake)
        question = trace.question or trace.steps[0].text
        if is_held_out(question):
            judging.append(labelled)
            questions.append(question)
        else:
            used.append(labelled)
    weights = fitted(used, name, prior) if used else None
    before, after = judged(judging, prior), judged(judging, weights or prior)
    gains = [ours - theirs for ours, theirs in zip(after.log_scores, before.log_scores, strict=True)]
    mean = math.fsum(gains) / len(gains) if gains else 0.0
    apart = defaultdict[str, float](float)
    for question, gain in zip(questions, gains, strict=True):
        apart[question] += gain - mean
    return BlameEstimate(
        weights, len(used), len(apart), before, after, mean, clustered_error(apart.values(), len(gains))
    )
