"""The values of a plan, frozen, and how they are written as JSON.

A plan is data that a model or a person wrote. `actors.plans.reading` makes one out of any JSON value; what the fields
mean when the plan runs is owned by `actors.plans.semantics`.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

ESCALATE = "escalate"
CONTINUE = "continue"
NEVER = "never"
RESERVED_IDS = frozenset({ESCALATE, CONTINUE, NEVER})
"""The words of `on_failure` that are not step ids; no step may be called so."""

RETRY_BUDGET_DEFAULT = 3
TOTAL_RETRY_BUDGET_DEFAULT = 10
PLAN_ID_DEFAULT = "unknown"


@dataclass(frozen=True, slots=True)
class Invariant:
    """In every reachable state that holds all of `when`, all of `must` hold and none of `must_not`."""

    when: frozenset[str] = frozenset()
    must: frozenset[str] = frozenset()
    must_not: frozenset[str] = frozenset()


class Step(NamedTuple):
    """One step of a plan: a tuple, since a plan may have thousands of them, and those are made fastest.

    `generator` and `guard` name who does it and who checks it; `retry_budget` is its attempts (1 or more). The token
    sets say what must hold before it, and what its success or its final failure changes. `on_failure` is `escalate`,
    `continue`, `never`, or the id of the step (an ancestor, or this one) to go back to. `repeatable` steps may run any
    number of times; they make a policy.
    """

    step_id: str
    name: str = ""
    description: str = ""
    generator: str = ""
    guard: str = ""
    retry_budget: int = RETRY_BUDGET_DEFAULT
    dependencies: frozenset[str] = frozenset()
    preconditions: frozenset[str] = frozenset()
    effects: frozenset[str] = frozenset()
    delete_effects: frozenset[str] = frozenset()
    on_failure: str = ESCALATE
    failure_effects: frozenset[str] = frozenset()
    failure_delete_effects: frozenset[str] = frozenset()
    repeatable: bool = False

    @property
    def goes_back_to(self) -> str | None:
        """The step that a failure goes back to, if it does."""
        return None if self.on_failure in RESERVED_IDS else self.on_failure

    @property
    def failure_goes_on(self) -> bool:
        """Whether the run goes on after a failure, so that the failure's effects can matter to other steps."""
        return self.on_failure not in (ESCALATE, NEVER)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan. The order of `steps` carries no meaning; `total_retry_budget` bounds the attempts of a whole run."""

    plan_id: str
    steps: tuple[Step, ...]
    goal: str = ""
    initial_state: frozenset[str] = frozenset()
    goal_state: frozenset[str] = frozenset()
    total_retry_budget: int = TOTAL_RETRY_BUDGET_DEFAULT
    invariants: tuple[Invariant, ...] = ()

    @property
    def is_policy(self) -> bool:
        """Whether every step is repeatable."""
        return bool(self.steps) and all(step.repeatable for step in self.steps)


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as a JSON value that reads back as an equal plan; sets are sorted, so equal plans look equal."""
    value: dict[str, Any] = {
        "plan_id": plan.plan_id,
        "goal": plan.goal,
        "initial_state": sorted(plan.initial_state),
        "goal_state": sorted(plan.goal_state),
        "total_retry_budget": plan.total_retry_budget,
        "invariants": [
            {"when": sorted(one.when), "must": sorted(one.must), "must_not": sorted(one.must_not)}
            for one in plan.invariants
        ],
        "steps": [_step_to_json(step) for step in plan.steps],
    }
    if not plan.goal:
        del value["goal"]
    if not plan.invariants:
        del value["invariants"]
    return value


def _step_to_json(step: Step) -> dict[str, Any]:
    """Return one step; fields that say nothing beyond their default, and that the oldest plans lack, are left out."""
    value: dict[str, Any] = {
        "step_id": step.step_id,
        "name": step.name,
        "description": step.description,
        "generator": step.generator,
        "guard": step.guard,
        "retry_budget": step.retry_budget,
        "dependencies": sorted(step.dependencies),
        "preconditions": sorted(step.preconditions),
        "effects": sorted(step.effects),
        "delete_effects": sorted(step.delete_effects),
        "on_failure": step.on_failure,
        "failure_effects": sorted(step.failure_effects),
        "failure_delete_effects": sorted(step.failure_delete_effects),
        "repeatable": step.repeatable,
    }
    optional = ("description", "guard", "delete_effects", "failure_effects", "failure_delete_effects", "repeatable")
    for key in optional:
        if not value[key]:
            del value[key]
    if step.on_failure == ESCALATE:
        del value["on_failure"]
    return value
