"""The built-in guards, by the names that workflows use."""

from collections.abc import Mapping

from actors.guards import (
    analysis,
    critique,
    demands_planned,
    evidence_present,
    fits_problem_type,
    follows_critique,
    follows_strategy,
    pddl_actions,
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
    "analysis_valid": analysis.make,
    "critique_valid": critique.make,
    "demands_planned": demands_planned.make,
    "evidence_present": evidence_present.make,
    "fits_problem_type": fits_problem_type.make,
    "follows_critique": follows_critique.make,
    "follows_strategy": follows_strategy.make,
    "human_review": review.make,
    "pddl_actions": pddl_actions.make,
    "plan_expansive": plan_expansive.DEFINITION,
    "plan_medium": plan_medium.DEFINITION,
    "plan_minimal": plan_minimal.DEFINITION,
    "recon_valid": recon.make,
    "requirements_agree": requirements_agree.make,
    "requirements_covered": requirements_covered.make,
    "strategy_valid": strategy.make,
}
