"""The built-in guards, by the names that workflows use."""

from collections.abc import Mapping

from actors.guards import (
    critique,
    evidence_present,
    plan_expansive,
    plan_medium,
    plan_minimal,
    recon,
    requirements_agree,
    requirements_covered,
    review,
    strategy,
)
from actors.guards.port import PureGuardFactory

BUILT_IN: Mapping[str, PureGuardFactory] = {
    "analysis_valid": strategy.make_analysis_valid,
    "critique_valid": critique.make_critique_valid,
    "demands_planned": requirements_covered.make_demands_planned,
    "evidence_present": evidence_present.make,
    "fits_problem_type": strategy.make_fits_problem_type,
    "follows_critique": critique.make_follows_critique,
    "follows_strategy": strategy.make_follows_strategy,
    "human_review": review.make,
    "plan_expansive": plan_expansive.DEFINITION,
    "plan_medium": plan_medium.DEFINITION,
    "plan_minimal": plan_minimal.DEFINITION,
    "recon_valid": recon.make,
    "requirements_agree": requirements_agree.make,
    "requirements_covered": requirements_covered.make_requirements_covered,
    "strategy_valid": strategy.make_strategy_valid,
}
