"""Whether a failure is worth a classifier's call: only before a costly step back that its answer could spare. Pure."""

from actors.policy.cause import Cause
from actors.policy.decide import Decision, Failure, Situation, decide
from actors.policy.table import BacktrackLevel
from actors.search.graph import Graph

_PEOPLES = "requirements."
"""The family of codes that tell what the requirements say: no model can know better."""


def worth_classifying(failure: Failure, situation: Situation, decided: Decision) -> bool:
    """Tell whether to ask before `decided` is done: it is costly, nobody gave its reason, and an answer may change it.

    A guard that tags its findings has classified the failure itself.
    """
    tagged = any(finding.tags for finding in failure.verdict.errors)
    if tagged or decided.code.startswith(_PEOPLES) or not costly(decided, situation.graph):
        return False
    return any(_move(decide(failure, situation, cause)) != _move(decided) for cause in Cause)


def costly(decided: Decision, graph: Graph) -> bool:
    """Tell whether a decision throws away more than the step above: a full replan, or more than one level."""
    if decided.level is BacktrackLevel.FULL_REPLAN:
        return True
    far = max((graph.distance(target, decided.step) for target in decided.targets), default=0)
    return decided.level is BacktrackLevel.PARTIAL_REPLAN and far > 1


def _move(decided: Decision) -> tuple[BacktrackLevel, tuple[str, ...]]:
    return decided.level, decided.targets
