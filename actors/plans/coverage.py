"""Which of a plan's stated requirements no step takes up."""

from actors.plans.plan import Plan
from actors.plans.relevance import orphans
from actors.values.requirements import Requirement


def not_taken_up(plan: Plan) -> list[Requirement]:
    """Return the requirements that no contributing step satisfies, in the order of the plan."""
    idle = {step.step_id for step in orphans(plan)}
    taken: set[str] = set().union(*(step.satisfies for step in plan.steps if step.step_id not in idle))
    return [requirement for requirement in plan.requirements if requirement.id not in taken]
