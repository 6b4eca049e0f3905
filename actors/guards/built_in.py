"""The built-in guards, by the names that workflows use."""

from collections.abc import Mapping

from actors.guards import (
    analysis,
    critique,
    follows_critique,
    plan_expansive,
    plan_medium,
    plan_minimal,
    recon,
    review,
    strategy,
)
from actors.guards.port import PureGuardFactory

BUILT_IN: Mapping[str, PureGuardFactory] = {
    "analysis_valid": analysis.make,
    "critique_valid": critique.make,
    "follows_critique": follows_critique.make,
    "human_review": review.make,
    "plan_expansive": plan_expansive.DEFINITION,
    "plan_medium": plan_medium.DEFINITION,
    "plan_minimal": plan_minimal.DEFINITION,
    "recon_valid": recon.make,
    "strategy_valid": strategy.make,
}
