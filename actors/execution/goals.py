"""The goals of an execution and their statuses, computed from the plan and the tokens that hold. Pure.

Each requirement of the kind `goal` that has tokens is a goal. If no requirement of a plan is a goal, the whole goal
state is the only goal.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from actors.plans.plan import Plan
from actors.plans.semantics import Configuration, Program
from actors.values.requirements import RequirementKind

WHOLE_GOAL = "goal"
"""The id of the only goal of a plan that has no goal requirement with tokens."""


class GoalStatus(StrEnum):
    """The status of a goal."""

    PENDING = "pending"
    ACHIEVED = "achieved"  # all its tokens hold
    FAILED = "failed"  # the remaining steps cannot make its tokens
    BLOCKED = "blocked"  # a goal that it depends on has failed or is blocked
    DROPPED = "dropped"  # it was pending, and a full replan left it out


class Goal(NamedTuple):
    """A goal of a plan."""

    id: str
    """The id of the goal's requirement, or `WHOLE_GOAL`."""
    text: str
    tokens: frozenset[str]
    depends_on: tuple[str, ...] = ()
    """The ids of the goals that must be achieved before this goal."""


def goals_of(plan: Plan) -> tuple[Goal, ...]:
    """Return the goals of a plan."""
    goals: dict[str, Goal] = {}
    for requirement in plan.requirements:
        tokens = frozenset(requirement.tokens) & plan.goal_state
        if requirement.kind == RequirementKind.GOAL and tokens:
            goals[requirement.id] = Goal(requirement.id, requirement.text, tokens, requirement.depends_on)
    if goals:
        return tuple(
            goal._replace(depends_on=tuple(other for other in goal.depends_on if other in goals and other != goal.id))
            for goal in goals.values()
        )
    return (Goal(WHOLE_GOAL, plan.goal or ", ".join(sorted(plan.goal_state)), plan.goal_state),)


def statuses(
    goals: Sequence[Goal], program: Program, now: Configuration, tokens: frozenset[str]
) -> dict[str, GoalStatus]:
    """Return the status of each goal; the keys are the ids of the goals. `tokens` are all tokens that hold."""
    result = {goal.id: GoalStatus.ACHIEVED if goal.tokens <= tokens else GoalStatus.PENDING for goal in goals}
    pending = [goal for goal in goals if result[goal.id] is GoalStatus.PENDING]
    if not pending:
        return result
    within_reach = tokens.union(program.names(_reachable_tokens(program, now)))
    for goal in pending:
        if not goal.tokens <= within_reach:
            result[goal.id] = GoalStatus.FAILED
    changed = True
    while changed:  # At most as often as there are goals.
        changed = False
        for goal in pending:
            is_lost = any(result[other] in (GoalStatus.FAILED, GoalStatus.BLOCKED) for other in goal.depends_on)
            if is_lost and result[goal.id] is not GoalStatus.BLOCKED:
                result[goal.id] = GoalStatus.BLOCKED
                changed = True
    return result


class PastGoal(NamedTuple):
    """A goal of an earlier revision, and its status when that revision ended."""

    goal: Goal
    status: GoalStatus


def past_goals(
    earlier: Sequence[PastGoal], goals: Sequence[Goal], status_of: Mapping[str, GoalStatus]
) -> tuple[PastGoal, ...]:
    """Return the goals of all revisions so far, without repetition. Each goal has its last status."""
    kept = {_identity(past.goal): past for past in earlier}
    kept |= {_identity(goal): PastGoal(goal, status_of[goal.id]) for goal in goals}
    return tuple(kept.values())


def left_goals(earlier: Sequence[PastGoal], goals: Sequence[Goal], tokens: frozenset[str]) -> tuple[PastGoal, ...]:
    """Return the goals of earlier revisions that the current plan no longer has. An achieved goal stays achieved."""
    current = {_identity(goal) for goal in goals}
    left = []
    for past in earlier:
        if _identity(past.goal) in current:
            continue
        status = GoalStatus.DROPPED if past.status is GoalStatus.PENDING else past.status
        left.append(past._replace(status=GoalStatus.ACHIEVED if past.goal.tokens <= tokens else status))
    return tuple(left)


def _identity(goal: Goal) -> tuple[str, str, frozenset[str]]:
    """Return the key that identifies a goal across revisions.

    Different goals may have the id `WHOLE_GOAL`, so the key then contains the text and the tokens too.
    """
    return (goal.id, goal.text, goal.tokens) if goal.id == WHOLE_GOAL else (goal.id, "", frozenset())


def blocked_goals(goals: Sequence[Goal], status_of: Mapping[str, GoalStatus]) -> tuple[tuple[Goal, Goal], ...]:
    """Return each pair of a blocked goal and the failed goal that blocks it."""
    by_id = {goal.id: goal for goal in goals}
    return tuple(
        (goal, by_id[other])
        for goal in goals
        if status_of[goal.id] is GoalStatus.BLOCKED
        for other in goal.depends_on
        if status_of[other] is GoalStatus.FAILED
    )


def _reachable_tokens(program: Program, now: Configuration) -> int:
    """Return the tokens that hold or that pending steps can add, as a bit set. Deletions of tokens are ignored."""
    tokens = now.tokens
    settled_steps = ~now.pending
    pending_steps = [index for index in range(len(program.steps)) if now.pending >> index & 1]
    while True:
        able = [
            index
            for index in pending_steps
            if program.needs[index] & ~tokens == 0 and program.dependencies[index] & ~settled_steps == 0
        ]
        if not able:
            return tokens
        for index in able:
            tokens |= program.adds[index]
            if program.can_fail[index]:
                tokens |= program.failure_adds[index]
            settled_steps |= 1 << index
        done = set(able)
        pending_steps = [index for index in pending_steps if index not in done]
