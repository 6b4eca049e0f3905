"""The built-in guards, by the names that workflows use."""

from collections.abc import Mapping

from actors.guards import (
    analysis,
    critique,
    critique_followed,
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
    "follows_critique": critique_followed.make,
    "human_review": review.make,
    "plan_expansive": plan_expansive.make,
    "plan_medium": plan_medium.make,
    "plan_minimal": plan_minimal.make,
    "recon_valid": recon.make,
    "strategy_valid": strategy.make,
}
