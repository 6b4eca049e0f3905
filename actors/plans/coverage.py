"""Finds which requirements a plan covers, which it keeps or violates, and which nothing can check.

Only names and tokens are compared. No text is interpreted.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import NamedTuple

from actors.plans.plan import Plan, Step
from actors.values.requirements import Requirement, RequirementKind

GOALS_MAX = 200


class RequirementStanding(StrEnum):
    """The result of checking one requirement of a plan."""

    COVERED = "covered"  # a goal: a satisfying step contributes to one of the goal's tokens
    KEPT = "kept"  # something is avoided or kept: no step uses the tool, adds the token or deletes it
    UNCOVERED = "uncovered"  # a goal without a contributing step
    VIOLATED = "violated"  # a step uses a forbidden tool, adds a forbidden token, or deletes a protected token
    NOT_CHECKED = "not_checked"  # no guard can tell


class CheckedRequirement(NamedTuple):
    """One requirement of a plan, with the result of its check."""

    requirement: Requirement
    standing: RequirementStanding
    steps: tuple[str, ...]


def check_requirements(plan: Plan) -> list[CheckedRequirement]:
    """Check all requirements of a plan, and return the results in the plan's order."""
    stated = [item for item in plan.requirements if item.kind == RequirementKind.GOAL]
    goals = {item.id: plan.goal_state.intersection(item.tokens) for item in stated[:GOALS_MAX]}
    contributing = _contributions(plan, goals)
    satisfying: dict[str, list[Step]] = defaultdict(list)
    for step in plan.steps:
        for name in step.satisfies:
            satisfying[name].append(step)
    effects = TokenChanges.of(plan)
    return [
        _check_other(item, plan, effects)
        if item.kind != RequirementKind.GOAL
        else _check_goal(item, satisfying[item.id], contributing)
        if item.id in goals
        else CheckedRequirement(item, RequirementStanding.NOT_CHECKED, ())
        for item in plan.requirements
    ]


def _contributions(plan: Plan, goals: Mapping[str, Collection[str]]) -> Mapping[str, frozenset[str]]:
    """Return a mapping from step ids to the names of the goals to which the step contributes.

    `goals` maps names to tokens.

    A step contributes to a goal if it makes a token that the goal or a contributing step needs. A step also contributes
    if a contributing step depends on it. One pass over the plan finds the contributions to all goals, because each
    token and each step has a bit set of goals.
    """
    names = list(goals)
    producers: dict[str, list[Step]] = defaultdict(list)
    for step in plan.steps:
        for token in step.may_add | step.failure_effects:
            producers[token].append(step)
    by_id = {step.step_id: step for step in plan.steps}
    wanted: dict[str, int] = defaultdict(int)
    serves: dict[str, int] = defaultdict(int)
    for position, name in enumerate(names):
        for token in goals[name]:
            wanted[token] |= 1 << position
    waiting = [(step, bits) for token, bits in wanted.items() for step in producers[token]]
    while waiting:
        step, bits = waiting.pop()
        new = bits & ~serves[step.step_id]
        if not new:
            continue
        serves[step.step_id] |= new
        waiting += [(by_id[name], new) for name in step.dependencies if name in by_id]
        for token in step.preconditions:
            further = new & ~wanted[token]
            if further:
                wanted[token] |= further
                waiting += [(producer, further) for producer in producers[token]]
    sets = {bits: frozenset(_names_in(names, bits)) for bits in set(serves.values())}
    return {step: sets[bits] for step, bits in serves.items()}


def _names_in(names: list[str], bits: int) -> list[str]:
    return [name for position, name in enumerate(names) if bits >> position & 1]


class TokenChanges(NamedTuple):
    """For each token: which steps of a plan add or delete it, by success or by failure."""

    adding: Mapping[str, tuple[str, ...]]
    """A mapping from tokens to the ids of the steps that add the token."""
    deleting: Mapping[str, tuple[str, ...]]
    """A mapping from tokens to the ids of the steps that delete the token without adding it again."""

    @classmethod
    def of(cls, plan: Plan) -> "TokenChanges":
        """Return the changes that all steps of a plan make."""
        adding: dict[str, list[str]] = defaultdict(list)
        deleting: dict[str, list[str]] = defaultdict(list)
        for step in plan.steps:
            for token in step.may_add | step.failure_effects:
                adding[token].append(step.step_id)
            deleted = (step.may_delete - step.effects) | (step.failure_delete_effects - step.failure_effects)
            for token in deleted:
                deleting[token].append(step.step_id)
        return cls(
            {token: tuple(sorted(steps)) for token, steps in adding.items()},
            {token: tuple(sorted(steps)) for token, steps in deleting.items()},
        )


def _check_goal(
    item: Requirement, steps: Collection[Step], contributing: Mapping[str, frozenset[str]]
) -> CheckedRequirement:
    covering = (step.step_id for step in steps if item.id in contributing.get(step.step_id, ()))
    found = tuple(sorted(covering))
    return CheckedRequirement(item, RequirementStanding.COVERED if found else RequirementStanding.UNCOVERED, found)


def _check_other(item: Requirement, plan: Plan, changes: TokenChanges) -> CheckedRequirement:
    violating = {*_uses_forbidden(item, plan), *_changes_forbidden(item, plan, changes)}
    if violating:
        return CheckedRequirement(item, RequirementStanding.VIOLATED, tuple(sorted(violating)))
    forbids = item.kind == RequirementKind.MUST_AVOID and bool(item.tools)
    by_tokens = bool(item.tokens) and all(_is_tracked(token, item.kind, plan, changes) for token in item.tokens)
    kept = (forbids or by_tokens) and not item.paths and by_tokens == bool(item.tokens)
    return CheckedRequirement(item, RequirementStanding.KEPT if kept else RequirementStanding.NOT_CHECKED, ())


def _is_tracked(token: str, kind: str, plan: Plan, changes: TokenChanges) -> bool:
    """Return whether the token can show that a requirement of this kind is kept.

    At least one step must add or delete the token.
    """
    if token not in changes.adding and token not in changes.deleting:
        return False
    if kind == RequirementKind.MUST_AVOID:
        return token not in plan.initial_state
    return kind == RequirementKind.MUST_KEEP and (token in plan.goal_state or token in plan.initial_state)


def _uses_forbidden(item: Requirement, plan: Plan) -> list[str]:
    if item.kind != RequirementKind.MUST_AVOID or not item.tools:
        return []
    names = {fold_name(name) for name in item.tools}
    return [step.step_id for step in plan.steps if fold_name(step.generator) in names or fold_name(step.guard) in names]


def _changes_forbidden(item: Requirement, plan: Plan, changes: TokenChanges) -> list[str]:
    """Return the ids of the steps that add a forbidden token, or delete a token that must be kept.

    A step may delete tokens of `goal_state`, because they must hold only at the end.
    """
    match item.kind:
        case RequirementKind.MUST_AVOID:
            return [step for token in item.tokens for step in changes.adding.get(token, ())]
        case RequirementKind.MUST_KEEP:
            lost = [token for token in item.tokens if token not in plan.goal_state]
            return [step for token in lost for step in changes.deleting.get(token, ())]
        case _:
            return []


def fold_name(name: str) -> str:
    """Return a name in lower case and with single spaces, so that names with equal letters are equal."""
    return " ".join(name.split()).casefold()
