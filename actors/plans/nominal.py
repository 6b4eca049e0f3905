"""Finds which tokens are necessarily true before each step of the nominal run, in which no step fails.

The steps of the nominal run may be executed in any order that the dependencies allow. A token is necessarily true
before a step if it is true before this step in each of these orders. A step is necessarily before another step if it
comes first in each of these orders. By the modal truth criterion (Chapman 1987, for ground steps), a token `p` is
necessarily true before a step `c` if and only if both conditions hold:

    1. `p` is in the initial state, or at least one step that adds `p` is necessarily before `c`.
    2. For each other step `d` that deletes `p` and is not necessarily after `c`, at least one step that adds `p` (a
       white knight) is necessarily after `d` and before `c`.

A step that deletes and adds the same token counts as adding the token. The end of the plan counts as a step after all
others. The criterion is exact: if condition 2 fails for `d`, then `p` is false before `c` in at least one order. In
that order, `d` is as late as possible, and `c` comes directly after `d`.
"""

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from actors.plans.graph import StepOrder, bits, mask_of
from actors.plans.plan import Plan, Step
from actors.plans.reductions import OutOfWork


class UncertaintyCause(Enum):
    """The reason why a token is not necessarily true."""

    NOT_PRODUCED = auto()  # no step of the nominal run produces it
    NOT_ORDERED = auto()  # its producer is not ordered before
    DELETED = auto()  # some step may delete it in between


@dataclass(frozen=True, slots=True)
class Unmet:
    """A token that is not necessarily true, with the reason."""

    token: str
    """The token, which is a precondition of a step or a goal token."""
    cause: UncertaintyCause
    steps: tuple[str, ...]
    """The ids of the steps that produce the token too late or may delete it, at most `STEPS_MAX`."""


STEPS_MAX = 4
DELETERS_MAX = 600_000
"""The largest number of deletions in one plan for which a white knight is searched. All these searches together take
half a second. A deletion counts once for each needed token.
"""


KEPT_MIN = 8
"""If more steps than this add or delete a token, the bit sets of these steps are stored. Smaller bit sets are not
stored, because they are fast to compute, and a plan may have many of them.
"""


class NominalRun:
    """Evaluates the modal truth criterion for the nominal run of a plan whose dependencies have no cycle.

    The methods raise `OutOfWork` when they have searched white knights for `DELETERS_MAX` deletions.
    """

    def __init__(self, plan: Plan, order: StepOrder, contingent: frozenset[str]) -> None:
        self.order = order
        self.indices = [index for index, step in enumerate(order.steps) if step.step_id not in contingent]
        self._initial = plan.initial_state
        self._goal = plan.goal_state
        self._adders: dict[str, list[int]] = defaultdict(list)
        self._deleters: dict[str, list[int]] = defaultdict(list)
        for index in self.indices:
            step = order.steps[index]
            for token in step.effects:
                self._adders[token].append(index)
            for token in step.delete_effects - step.effects:
                self._deleters[token].append(index)
        self._deletable = frozenset(self._deleters)
        self._masks: dict[str, tuple[int, int]] = {}
        self._searched = 0

    def unmet_before(self, index: int, *, named: bool = True) -> list[Unmet]:
        """Return the preconditions of a step that are not necessarily true before it, sorted by token.

        With `named`, the result names the steps that produce or delete these preconditions. Without `named`, the method
        is much faster.
        """
        needed = self.order.steps[index].preconditions
        if needed.isdisjoint(self._deletable):
            # In most plans the initial state or a direct dependency provides every token: no reachability is needed.
            needed -= self._initial
            for dependency in self.order.dependencies[index] if needed else ():
                if dependency in self._members:
                    needed -= self.order.steps[dependency].effects
        return [unmet for token in sorted(needed) if (unmet := self._check_before(token, index, named=named))]

    def unmet_at_end(self) -> list[Unmet]:
        """Return the goal tokens that are not necessarily true at the end, sorted by token."""
        return [unmet for token in sorted(self._goal) if (unmet := self._check_at_end(token))]

    def is_redundant(self, index: int) -> bool:
        """Return whether the step only adds tokens that are necessarily true before the step."""
        step = self.order.steps[index]
        if not step.effects or step.delete_effects - step.effects or step.failure_effects:
            return False
        for token in step.effects:
            # Most tokens have one producer. If the first producer is this step, the token cannot hold before it.
            if token not in self._initial and self._adders[token][0] == index:
                return False
        return all(self._check_before(token, index) is None for token in step.effects)

    def _check_before(self, token: str, index: int, *, named: bool = True) -> Unmet | None:
        """Return the reason why a token is not necessarily true before a step.

        Return None if the token is necessarily true.

        The step may also be outside the nominal run.
        """
        if token in self._initial and token not in self._deleters:
            return None
        if token not in self._initial and token not in self._adders:
            return Unmet(token, UncertaintyCause.NOT_PRODUCED, ())
        adders, deleters = self._mask(token)
        ancestors = self.order.ancestors[index]
        if token not in self._initial and not adders & ancestors:
            adders &= ~(1 << index)
            cause = UncertaintyCause.NOT_ORDERED if adders else UncertaintyCause.NOT_PRODUCED
            return Unmet(token, cause, self._names(adders) if named else ())
        if not deleters:  # This is true of most tokens, and the descendants of all steps may take 50 MB.
            return None
        unordered = deleters & ~(ancestors | self.order.descendants[index] | 1 << index)
        deleters = unordered or self._last_unrepaired(adders & ancestors, deleters & ancestors)
        return self._explain_deletion(token, deleters, named=named)

    def _check_at_end(self, token: str) -> Unmet | None:
        if token in self._deleters:
            adders, deleters = self._mask(token)
            if token in self._initial or adders:
                return self._explain_deletion(token, self._last_unrepaired(adders, deleters))
        elif token in self._initial or token in self._adders:
            return None
        return Unmet(token, UncertaintyCause.NOT_PRODUCED, ())

    def _last_unrepaired(self, knights: int, deleters: int) -> int:
        """Return, as a bit set, the last of the `deleters` that no step in `knights` follows; 0 if each is followed.

        The loop begins with the last deleter. A knight repairs the deletions of all its ancestors at once, so a
        sequential plan needs only one or two iterations. Raises `OutOfWork` if all searches of the plan exceed
        `DELETERS_MAX` iterations.
        """
        while deleters:
            self._searched += 1
            if self._searched > DELETERS_MAX:
                raise OutOfWork
            last = deleters.bit_length() - 1
            following = knights & self.order.descendants[last]
            if not following:
                return 1 << last
            deleters &= ~(self.order.ancestors[following.bit_length() - 1])
        return 0

    def _explain_deletion(self, token: str, deleters: int, *, named: bool = True) -> Unmet | None:
        return Unmet(token, UncertaintyCause.DELETED, self._names(deleters) if named else ()) if deleters else None

    def _names(self, mask: int) -> tuple[str, ...]:
        indices = [index for index, _ in zip(bits(mask), range(STEPS_MAX), strict=False)]
        return tuple(self.order.steps[index].step_id for index in indices)

    @cached_property
    def _members(self) -> frozenset[int] | range:
        all_indices = range(len(self.order.steps))
        return all_indices if len(self.indices) == len(all_indices) else frozenset(self.indices)

    def _mask(self, token: str) -> tuple[int, int]:
        masks = self._masks.get(token)
        if masks is None:
            adders, deleters = self._adders.get(token, ()), self._deleters.get(token, ())
            masks = mask_of(adders), mask_of(deleters)
            if len(adders) + len(deleters) > KEPT_MIN:
                self._masks[token] = masks
        return masks


def orphans(plan: Plan) -> list[Step]:
    """Return the steps that do not contribute to the plan's goal, sorted by id.

    A step contributes if the goal, an invariant or a contributing step needs one of its effects, or if a contributing
    step depends on it. A step that deletes a token on success also contributes, because the deletion may be its
    purpose.
    """
    irrelevant = {step.step_id: step for step in plan.steps}
    producers: dict[str, list[str]] = defaultdict(list)
    for step in plan.steps:
        for token in step.may_add | step.failure_effects if step.failure_effects else step.may_add:
            producers[token].append(step.step_id)
    goals = plan.goal_state.union(*(invariant.must for invariant in plan.invariants))
    queue = [producer for token in goals for producer in producers[token]]
    queue += [step.step_id for step in plan.steps if step.delete_effects and not step.delete_effects <= step.may_add]
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
