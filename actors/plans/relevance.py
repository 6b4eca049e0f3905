"""Backward relevance analysis: which steps contribute to the goal, directly or through other steps."""

from collections import defaultdict

from actors.plans.plan import Plan, Step


def orphans(plan: Plan) -> list[Step]:
    """Return the steps whose effects neither the goal, nor an invariant, nor a contributing step needs, sorted by id.

    A step also contributes if a contributing step depends on it, or if it deletes a token on success, because the
    deletion may be its purpose.
    """
    irrelevant = {step.step_id: step for step in plan.steps}
    producers: dict[str, list[str]] = defaultdict(list)
    for step in plan.steps:
        for token in step.effects | step.failure_effects if step.failure_effects else step.effects:
            producers[token].append(step.step_id)
    goals = plan.goal_state.union(*(invariant.must for invariant in plan.invariants))
    queue = [producer for token in goals for producer in producers[token]]
    queue += [step.step_id for step in plan.steps if step.delete_effects and not step.delete_effects <= step.effects]
    needed = set(goals)
    while queue and irrelevant:
        step_id = queue.pop()
        if step_id in irrelevant:
            step = irrelevant.pop(step_id)
            queue += step.dependencies
            for token in step.preconditions:
                if token not in needed:
                    needed.add(token)
                    queue += producers[token]
    return sorted(irrelevant.values(), key=lambda step: step.step_id)
