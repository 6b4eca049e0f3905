"""The estimate of the weights of blame from labelled traces, judged by traces of other questions. Pure.

The fit begins with other weights, its prior. The groups that are held out are questions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from replan.blame.attribution import BlameWeights
from replan.blame.features import features
from replan.blame.fit import Labelled, WeightsJudged, fitted, judged
from replan.blame.trace import AgentTrace
from replan.learning.held_out import Improvement, improvement, is_held_out


@dataclass(frozen=True, slots=True)
class BlameEstimate:
    """What labelled traces say about the weights."""

    weights: BlameWeights | None
    """The weights, fitted to the traces that are not held out; None where there are none."""
    used: int
    """The traces that they were fitted to."""
    before: WeightsJudged
    """How well the prior does on the traces that judge."""
    after: WeightsJudged
    """How well the fitted weights do on them."""
    improvement: Improvement
    """By how much the log score of the traces that judge has improved; the groups are their questions."""

    @property
    def convincing(self) -> bool:
        """Whether weights were fitted, and the improvement is convincing."""
        return self.weights is not None and self.improvement.convincing


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
    scores = zip(questions, after.log_scores, before.log_scores, strict=True)
    gains = ((question, ours - theirs, 1) for question, ours, theirs in scores)
    return BlameEstimate(weights, len(used), before, after, improvement(gains))
