"""The data types of a plan (`Plan`, `Step`, `Invariant`), all immutable, and their JSON form.

A plan is data that a model or a person wrote. `actors.plans.reader` reads a plan from any JSON value.
`actors.plans.semantics` defines the meaning of the fields in an execution.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from actors.values.requirements import Requirement, requirement_to_json

ESCALATE = "escalate"
CONTINUE = "continue"
NEVER = "never"
UNDO = "undo"
RESERVED_IDS = frozenset({ESCALATE, CONTINUE, NEVER, UNDO})
"""The values of `on_failure` that are not step ids. A step must not have such an id."""

NOTHING = "nothing"
IRREVERSIBLE = "irreversible"
UNDO_WORDS = frozenset({NOTHING, IRREVERSIBLE})
"""The values of a step's `undo` that are not names of tools: the step changes nothing, or cannot be undone."""

RESERVED_OUTCOMES = frozenset({"ok", "fail"})
"""The names of the two outcomes that traces use for every step. A plan must not give such a name to an outcome of its
own."""

RETRY_BUDGET_DEFAULT = 3
TOTAL_RETRY_BUDGET_DEFAULT = 10
PLAN_ID_DEFAULT = "unknown"


@dataclass(frozen=True, slots=True)
class Invariant:
    """A condition on every reachable state: if all tokens of `when` hold, then `must` and `must_not` must be met."""

    when: frozenset[str] = frozenset()
    """The invariant applies to states in which all these tokens hold."""
    must: frozenset[str] = frozenset()
    """The tokens that must all hold in a state to which the invariant applies."""
    must_not: frozenset[str] = frozenset()
    """The tokens of which none may hold in a state to which the invariant applies."""


class NamedOutcome(NamedTuple):
    """One of several ways in which a step can succeed. The output of the step's generator names the outcome."""

    name: str
    effects: frozenset[str] = frozenset()
    """The tokens that the outcome adds, in addition to the `effects` of the step."""
    delete_effects: frozenset[str] = frozenset()
    """The tokens that the outcome deletes, in addition to the `delete_effects` of the step, before tokens are added."""


class Step(NamedTuple):
    """One step of a plan.

    The type is a named tuple, because a plan can have thousands of steps, and named tuples are created fast.
    """

    step_id: str
    name: str = ""
    description: str = ""
    generator: str = ""
    guard: str = ""
    retry_budget: int = RETRY_BUDGET_DEFAULT
    """The largest number of attempts, including the first; at least 1."""
    dependencies: frozenset[str] = frozenset()
    """The ids of the steps that must have ended before this step may start."""
    preconditions: frozenset[str] = frozenset()
    """The tokens that must hold before the step may start."""
    effects: frozenset[str] = frozenset()
    """The tokens that the step's success adds, after `delete_effects` are deleted."""
    delete_effects: frozenset[str] = frozenset()
    """The tokens that the step's success deletes, before `effects` are added."""
    on_failure: str = ESCALATE
    """`escalate`, `continue`, `never`, `undo`, or the id of the step to go back to: an ancestor or the step itself."""
    failure_effects: frozenset[str] = frozenset()
    """The tokens that the step's final failure adds."""
    failure_delete_effects: frozenset[str] = frozenset()
    """The tokens that the step's final failure deletes, before `failure_effects` are added."""
    repeatable: bool = False
    """Whether the step may run any number of times. A plan of repeatable steps is a policy."""
    satisfies: frozenset[str] = frozenset()
    implements: frozenset[str] = frozenset()
    outcomes: tuple[NamedOutcome, ...] = ()
    """The ways in which the step can succeed; empty if there is only one way."""
    undo: str = ""
    """The tool that undoes one successful call of the generator, or `nothing` or `irreversible`; empty if no undo is
    declared.
    """

    @property
    def may_add(self) -> frozenset[str]:
        """The tokens that at least one successful outcome of the step adds."""
        return self.effects.union(*(outcome.effects for outcome in self.outcomes)) if self.outcomes else self.effects

    @property
    def may_delete(self) -> frozenset[str]:
        """The tokens that at least one successful outcome of the step deletes, even if the step adds them again."""
        if not self.outcomes:
            return self.delete_effects
        return self.delete_effects.union(*(outcome.delete_effects for outcome in self.outcomes))

    @property
    def goes_back_to(self) -> str | None:
        """The id of the step to which execution goes back after a failure; None if it does not go back."""
        return None if self.on_failure in RESERVED_IDS else self.on_failure

    @property
    def failure_continues(self) -> bool:
        """Whether execution continues after a failure, so that other steps can use the failure's effects."""
        return self.on_failure not in (ESCALATE, NEVER, UNDO)


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan. If all its steps are repeatable, the plan is a policy, and its steps have no order."""

    plan_id: str
    """A short name for people, chosen by the author of the plan."""
    steps: tuple[Step, ...]
    goal: str = ""
    initial_state: frozenset[str] = frozenset()
    goal_state: frozenset[str] = frozenset()
    total_retry_budget: int = TOTAL_RETRY_BUDGET_DEFAULT
    """The largest number of attempts at all steps together in one execution."""
    invariants: tuple[Invariant, ...] = ()
    """The conditions that must hold in every reachable state."""
    requirements: tuple[Requirement, ...] = ()
    """The stated requirements, including those that no step satisfies."""
    basis: str = ""
    """The origin and certainty of the plan, as a text for people."""

    @property
    def is_policy(self) -> bool:
        """Whether the plan is a policy, that is, whether it has steps and all are repeatable."""
        return bool(self.steps) and all(step.repeatable for step in self.steps)

    @property
    def undoes(self) -> bool:
        """Whether at least one step's failure ends the plan with everything undone."""
        return any(step.on_failure == UNDO for step in self.steps)

    @property
    def has_outcomes(self) -> bool:
        """Whether at least one step has outcomes. A plan with outcomes can run in several ways without a failure."""
        return any(step.outcomes for step in self.steps)


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as a JSON object, from which `read_plan` reads an equal plan. Sets become sorted lists."""
    value: dict[str, Any] = {
        "plan_id": plan.plan_id,
        "goal": plan.goal,
        "initial_state": sorted(plan.initial_state),
        "goal_state": sorted(plan.goal_state),
        "total_retry_budget": plan.total_retry_budget,
        "invariants": [
            {
                "when": sorted(invariant.when),
                "must": sorted(invariant.must),
                "must_not": sorted(invariant.must_not),
            }
            for invariant in plan.invariants
        ],
        "steps": [_step_to_json(step) for step in plan.steps],
    }
    if not plan.goal:
        del value["goal"]
    if not plan.invariants:
        del value["invariants"]
    if plan.requirements:
        value["requirements"] = [requirement_to_json(requirement) for requirement in plan.requirements]
    if plan.basis:
        value["basis"] = plan.basis
    return value


_ALWAYS_WRITTEN = {"step_id", "name", "generator", "retry_budget", "dependencies", "preconditions", "effects"}
"""The fields of a step that are always in its JSON, even if they are empty."""


def _step_to_json(step: Step) -> dict[str, Any]:
    fields = {name: sorted(item) if isinstance(item, frozenset) else item for name, item in step._asdict().items()}
    fields["outcomes"] = [
        {"name": item.name, "effects": sorted(item.effects), "delete_effects": sorted(item.delete_effects)}
        for item in step.outcomes
    ]
    if step.on_failure == ESCALATE:
        del fields["on_failure"]
    return {name: item for name, item in fields.items() if item or name in _ALWAYS_WRITTEN}


def bound_names(step_id: str) -> tuple[str, str]:
    """Return the names under which a tools file may bind a step: its id, and its id without the number at the end.

    So `move_1` and `move_2` can share one binding.
    """
    return step_id, step_id.rstrip("0123456789").rstrip("_")
