"""Builds a step's guard from the workflow and the known guard factories."""

from collections.abc import Mapping
from typing import Any

from actors.config.plugin_errors import guard_with_name
from actors.config.workflow import Composite, Workflow
from actors.guards import review
from actors.guards.composite import composite
from actors.guards.port import AnyGuard, GuardFactory, definition_of


def guards_of(workflow: Workflow, step: str) -> tuple[str, ...]:
    """Return the names of the guards that judge a step, at the workflow's target level."""
    guard = workflow.effective_guard(step)
    return guard.members if isinstance(guard, Composite) else (guard,)


def guard_for(workflow: Workflow, step: str, known: Mapping[str, GuardFactory]) -> AnyGuard:
    """Return the guard that judges a step, at the workflow's target level; errors raised inside it name the guard.

    If a person is a member of a composite, the guard consists of the other members.

    Raises:
        UsageProblem: a guard refuses its settings.
    """
    members = {
        name: guard_with_name(name, known[name](_settings(workflow, step, name, known[name])))
        for name in guards_of(workflow, step)
    }
    guard = workflow.effective_guard(step)
    if isinstance(guard, str):
        return members[guard]
    automatic = {name: member for name, member in members.items() if name != review.NAME}
    return composite(guard.kind, automatic, absent=len(members) - len(automatic))


def is_slow(workflow: Workflow, step: str, known: Mapping[str, GuardFactory]) -> bool:
    """Return whether a guard of the step is slow, so that it should judge in a worker thread."""
    return any(definition_of(known[name]).slow for name in guards_of(workflow, step))


def _settings(workflow: Workflow, step: str, name: str, factory: GuardFactory) -> dict[str, Any]:
    """Return the settings of one guard of a step: those that it inherits from the workflow, then the step's own."""
    own = dict(workflow.action_pairs[step].guard_config)
    if name == review.NAME and name != workflow.action_pairs[step].guard:
        return {}  # In a composite, the step's `guard_config` is for the other members.
    shared: dict[str, Any] = {
        "r_max": workflow.r_max,
        "guard_catalog": list(workflow.guard_catalog),
        "assurance": workflow.assurance,
    }
    return {key: shared[key] for key in sorted(definition_of(factory).workflow_settings)} | own
