"""Builds a step's guard from the workflow and the known guard factories."""

from collections.abc import Mapping
from typing import Any

from actors.config.plugin_errors import guard_with_name
from actors.config.workflow import Composite, Workflow
from actors.guards import review
from actors.guards.composite import composite
from actors.guards.port import AnyGuard, GuardFactory


def guards_of(workflow: Workflow, step: str) -> tuple[str, ...]:
    """Return the names of the guards that judge a step, at the workflow's target level."""
    guard = workflow.effective_guard(step)
    return guard.members if isinstance(guard, Composite) else (guard,)


def guard_for(workflow: Workflow, step: str, known: Mapping[str, GuardFactory]) -> AnyGuard:
    """Return the guard that judges a step, at the workflow's target level; its errors name it.

    If a person is a member of a composite, the guard consists of the other members.

    Raises:
        UsageProblem: a guard refuses its settings.
    """
    members = {
        name: guard_with_name(name, known[name](_settings(workflow, step, name))) for name in guards_of(workflow, step)
    }
    guard = workflow.effective_guard(step)
    if isinstance(guard, str):
        return members[guard]
    automatic = {name: member for name, member in members.items() if name != review.NAME}
    return composite(guard.kind, automatic, absent=len(members) - len(automatic))


def _settings(workflow: Workflow, step: str, guard: str) -> dict[str, Any]:
    """Return a guard's settings: the step's `guard_config`, and for a plan guard the workflow's limits as defaults."""
    own = dict(workflow.action_pairs[step].guard_config)
    if guard == review.NAME and guard != workflow.action_pairs[step].guard:
        return {}  # In a composite, `guard_config` is for the other members.
    if guard not in ("plan_minimal", "plan_medium", "plan_expansive"):
        return own
    shared: dict[str, Any] = {"r_max": workflow.r_max, "guard_catalog": list(workflow.guard_catalog)}
    if guard == "plan_expansive":
        shared["assurance"] = workflow.assurance
    return {**shared, **own}
