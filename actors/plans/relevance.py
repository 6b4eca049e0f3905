"""Which steps contribute to the goal, directly or through others."""

from collections import defaultdict

from actors.plans.values import Plan, Step


def orphans(plan: Plan) -> list[Step]:
    """Return the steps that make nothing which the goal, an invariant or a contributing step needs, sorted by id.

    A step contributes as well when a contributing step depends on it, or when it deletes something on success: what it
    clears away may be the point of it.
    """
    idle = {step.step_id: step for step in plan.steps}
    makers: dict[str, list[str]] = defaultdict(list)
    for step in plan.steps:
        for token in step.effects | step.failure_effects if step.failure_effects else step.effects:
            makers[token].append(step.step_id)
    wanted = plan.goal_state.union(*(one.must for one in plan.invariants))
    found = [maker for token in wanted for maker in makers[token]]
    found += [step.step_id for step in plan.steps if step.delete_effects and not step.delete_effects <= step.effects]
    seen = set(wanted)
    while found and idle:
        name = found.pop()
        if name in idle:
            step = idle.pop(name)
            found += step.dependencies
            for token in step.preconditions:
                if token not in seen:
                    seen.add(token)
                    found += makers[token]
    return sorted(idle.values(), key=lambda step: step.step_id)
