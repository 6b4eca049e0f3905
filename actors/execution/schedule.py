"""Which steps begin next: the ready ones that may run beside those at work, fairly, within the plan's budget. Pure."""

from collections.abc import Iterable

from actors.execution.state import State
from actors.plans.graph import bits
from actors.plans.semantics import Program, may_overlap

SIDE_BY_SIDE_MAX = 32
"""The steps that one execution has at work at a time, those that wait for a person included."""


def next_step(state: State) -> int | None:
    """Return the index of the step that begins next; None where none may.

    Among ready steps of a policy it is the one that was least recently started while the same tokens held: so in a loop
    each of its ready steps has its turn. Ties, and steps of other plans, go by id.
    """
    if not state.ready or len(state.active) >= SIDE_BY_SIDE_MAX:
        return None
    program, index = state.plan.program, state.plan.index
    at_work = [index[attempt.step] for attempt in state.active.values()]
    free = [step for step in state.ready if step not in at_work and step not in state.barred]
    free.sort(key=lambda step: (_last_start(state, step), program.steps[step].step_id))
    for step in free:
        if all(may_overlap(program, step, other) for other in at_work):
            return step
    return None


def _last_start(state: State, step: int) -> int:
    return state.started.get((state.now.tokens, step), 0) if state.plan.program.repeats else 0


def budget_left(state: State, besides: Iterable[int] = ()) -> int:
    """Return the attempts that are left of the plan's total without those that pending steps and steps at work need.

    What the steps in `besides` need is not subtracted: they are about to be made pending again.
    """
    program, left_out = state.plan.program, set(besides)
    needed = 0
    for index in bits(state.now.pending):
        if index in left_out:
            continue
        step = program.steps[index]
        attempt = state.active.get(state.plan.names[step.step_id])
        attempts_begun = 0 if attempt is None else attempt.number if attempt.begun else attempt.number - 1
        needed += max(0, step.retry_budget - attempts_begun)
    return program.plan.total_retry_budget - state.used - needed


def covers(state: State, index: int) -> bool:
    """Return whether the plan's total still covers what going back after a step's failure makes pending again.

    In a policy nothing is made pending again, since every step may run any number of times until the total is used up.
    """
    program = state.plan.program
    if program.repeats:
        return True
    again = list(bits(program.reset[index]))
    return budget_left(state, [*again, index]) >= sum(program.steps[step].retry_budget for step in again)


def covers_again(state: State, index: int) -> bool:
    """Return whether the plan's total covers one more visit of a step that has failed."""
    program = state.plan.program
    if program.repeats:
        return state.used < program.plan.total_retry_budget
    return budget_left(state, [index]) >= program.steps[index].retry_budget


def is_spent(state: State) -> bool:
    """Return whether the attempts of the plan's total are used up."""
    return state.used >= state.plan.plan.total_retry_budget


def missing_goal(program: Program, tokens: int) -> list[str]:
    """Return the tokens of the goal that do not hold."""
    return program.names(program.goal & ~tokens)
