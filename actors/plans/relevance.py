"""Which steps contribute to the goal, directly or through others."""

from collections import defaultdict

from actors.plans.values import Plan, Step


def orphans(plan: Plan) -> list[Step]:
    """Return the steps that make nothing which the goal, an invariant or a contributing step needs, sorted by id.

    A step contributes as well when a contributing step depends on it, or when it deletes something on success: what it
    clears away may be the point of it.
    """
    makers: dict[str, list[Step]] = defaultdict(list)
    for step in plan.steps:
        for token in step.effects | step.failure_effects if step.failure_effects else step.effects:
            makers[token].append(step)
    by_id = {step.step_id: step for step in plan.steps}
    wanted = plan.goal_state.union(*(one.must for one in plan.invariants))
    queue = [step for token in wanted for step in makers[token]]
    queue += [step for step in plan.steps if step.delete_effects and not step.delete_effects <= step.effects]
    contributing = {step.step_id for step in queue}
    seen = set(wanted)
    while queue:
        step = queue.pop()
        behind = [by_id[one] for one in step.dependencies]
        for token in step.preconditions:
            if token not in seen:
                seen.add(token)
                behind += makers[token]
        for one in behind:
            if one.step_id not in contributing:
                contributing.add(one.step_id)
                queue.append(one)
    if len(contributing) == len(by_id):
        return []
    return sorted((step for step in plan.steps if step.step_id not in contributing), key=lambda step: step.step_id)
