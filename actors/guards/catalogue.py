"""The guards by name: the built-in ones, plug-ins, and how a step's guard is put together from a workflow."""

from collections.abc import Mapping
from typing import Any

from actors.config.workflow import Composite, Workflow
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
from actors.guards.composite import composite
from actors.guards.port import AnyGuard, GuardFactory
from actors.plugged import named

BUILT_IN: Mapping[str, GuardFactory] = {
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


def guards_of(workflow: Workflow, step: str) -> tuple[str, ...]:
    """Return the names of the guards that judge a step, at the workflow's target level."""
    named = workflow.effective_guard(step)
    return named.members if isinstance(named, Composite) else (named,)


def guard_for(workflow: Workflow, step: str, known: Mapping[str, GuardFactory]) -> AnyGuard:
    """Return the guard that judges a step, at the workflow's target level; its errors name it.

    Where a person judges as well, this is what the other members say. Raises `UsageProblem` on bad settings.
    """
    members = {name: named(name, known[name](_settings(workflow, step, name))) for name in guards_of(workflow, step)}
    guard = workflow.effective_guard(step)
    if isinstance(guard, str):
        return members[guard]
    asked = {name: member for name, member in members.items() if name != review.NAME}
    return composite(guard.kind, asked, absent=len(members) - len(asked))


def _settings(workflow: Workflow, step: str, guard: str) -> dict[str, Any]:
    own = dict(workflow.action_pairs[step].guard_config)
    if guard == review.NAME and guard != workflow.action_pairs[step].guard:
        return {}  # What stands there is meant for the other members.
    if guard not in ("plan_minimal", "plan_medium", "plan_expansive"):
        return own
    shared: dict[str, Any] = {"r_max": workflow.r_max, "guard_catalog": list(workflow.guard_catalog)}
    if guard == "plan_expansive":
        shared["assurance"] = workflow.assurance
    return {**shared, **own}
