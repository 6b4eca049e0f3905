"""Decides whether a failure is worth a call of the classifier: only if it may avoid costly backtracking. Pure."""

from actors.policy.cause import Cause
from actors.policy.decision import Decision, Failure, Situation, decide
from actors.policy.table import BacktrackLevel
from actors.search.graph import Graph

_REQUIREMENTS = "requirements."
"""The family of codes about the user's requirements; only the user knows more about those, so no model is asked."""


def worth_classifying(failure: Failure, situation: Situation, decided: Decision) -> bool:
    """Return whether the classifier should be called before the decision `decided` is carried out.

    It should if the decision is costly, some answer of the classifier would change the move, the code is not about the
    requirements, and no finding has a reason tag, with which the guard has classified the failure itself.
    """
    tagged = any(finding.tags for finding in failure.verdict.errors)
    if tagged or decided.code.startswith(_REQUIREMENTS) or not costly(decided, situation.graph):
        return False
    return any(_move(decide(failure, situation, cause)) != _move(decided) for cause in Cause)


def costly(decided: Decision, graph: Graph) -> bool:
    """Return whether a decision backtracks more than one level, or to a root."""
    if decided.level is BacktrackLevel.FULL_REPLAN:
        return True
    levels = max((graph.distance(target, decided.step) for target in decided.targets), default=0)
    return decided.level is BacktrackLevel.PARTIAL_REPLAN and levels > 1


def _move(decided: Decision) -> tuple[BacktrackLevel, tuple[str, ...]]:
    return decided.level, decided.targets
