"""How a step's guard is put together from a workflow and the known guards."""

from collections.abc import Mapping
from typing import Any

from actors.config.plugin_errors import guard_with_name
from actors.config.workflow import Composite, Workflow
from actors.guards import review
from actors.guards.composite import composite
from actors.guards.port import AnyGuard, GuardFactory


def guards_of(workflow: Workflow, step: str) -> tuple[str, ...]:
    """Return the names of the guards that judge a step, at the workflow's target level."""
    named = workflow.effective_guard(step)
    return named.members if isinstance(named, Composite) else (named,)


def guard_for(workflow: Workflow, step: str, known: Mapping[str, GuardFactory]) -> AnyGuard:
    """Return the guard that judges a step, at the workflow's target level; its errors name it.

    Where a person judges as well, this is what the other members say. Raises `UsageProblem` on bad settings.
    """
    members = {
        name: guard_with_name(name, known[name](_settings(workflow, step, name))) for name in guards_of(workflow, step)
    }
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
