"""The steps that are contingent (run only after a failure), and the states that failures can reach."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from actors.plans.plan import Plan, Step


def contingent_steps(plan: Plan) -> frozenset[str]:
    """Return the ids of the contingent steps; all other steps make up the nominal run.

    A step is contingent iff one of its preconditions is not in the initial state and is produced only by failures or by
    contingent steps (least fixpoint; a step does not count as the producer of its own precondition).
    """
    if not any(step.failure_effects for step in plan.steps):
        return frozenset()
    producers: dict[str, set[str]] = defaultdict(set)
    nominal_producers: dict[str, set[str]] = defaultdict(set)
    users: dict[str, list[str]] = defaultdict(list)
    for step in plan.steps:
        for token in step.may_add:
            nominal_producers[token].add(step.step_id)
        for token in step.may_add | step.failure_effects:
            producers[token].add(step.step_id)
        for token in step.preconditions - plan.initial_state:
            users[token].append(step.step_id)
    effects = {step.step_id: step.may_add for step in plan.steps}
    contingent: set[str] = set()
    queue = list(users)
    while queue:
        token = queue.pop()
        if len(nominal_producers[token]) > 1:
            continue
        for user in users[token]:
            if user not in contingent and nominal_producers[token] <= {user} and not producers[token] <= {user}:
                contingent.add(user)
                for effect in effects[user]:
                    nominal_producers[effect].discard(user)
                    queue.append(effect)
    return frozenset(contingent)


def reachable_by_failure(plan: Plan) -> tuple[frozenset[str], frozenset[str]]:
    """Return the steps and the tokens that some mixture of successes and failures reaches if deletions are ignored.

    This is the delete relaxation: what it does not reach is certainly unreachable. A failure that escalates or cannot
    happen reaches nothing.
    """
    tokens: set[str] = set(plan.initial_state)
    reached: set[str] = set()
    waiting: Mapping[str, list[Step]] = defaultdict(list)
    missing: dict[str, int] = {}
    queue: list[Step] = []

    def add_tokens(names: Iterable[str]) -> None:
        for name in names:
            if name not in tokens:
                tokens.add(name)
                count_down(f"token {name}")

    def count_down(key: str) -> None:
        for step in waiting[key]:
            missing[step.step_id] -= 1
            if not missing[step.step_id]:
                queue.append(step)

    for step in plan.steps:
        keys = [f"token {name}" for name in step.preconditions - tokens]
        keys += [f"step {name}" for name in step.dependencies]
        missing[step.step_id] = len(keys)
        for key in keys:
            waiting[key].append(step)
        if not keys:
            queue.append(step)
    while queue:
        step = queue.pop()
        reached.add(step.step_id)
        count_down(f"step {step.step_id}")
        add_tokens(step.may_add)
        if step.failure_continues:
            add_tokens(step.failure_effects)
    return frozenset(reached), frozenset(tokens)
