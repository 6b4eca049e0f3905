"""The nominal run, in which nothing fails: which steps take part, and what is necessarily true before each of them.

The steps of the nominal run may be run in any order that the dependencies allow. A token p is necessarily true before a
step c, that is in every such order, iff (Chapman 1987, the modal truth criterion, for ground steps)

    1. p is in the initial state, or some step that adds p is necessarily before c; and
    2. for every other step d that deletes p and is not necessarily after c, some step that adds p (a white knight) is
       necessarily after d and before c.

A step that deletes and adds the same token adds it. The end of the plan is a step after all others. If 2 fails for d,
the order that puts off d as long as possible, then c as soon as possible, has p false at c; so the criterion is exact.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

from actors.plans.graph import Order, bits, mask_of
from actors.plans.values import Plan, Step


class Why(Enum):
    """Why a token is not necessarily true."""

    NOBODY = auto()  # no step of the nominal run makes it
    UNORDERED = auto()  # who makes it is not ordered before
    DELETED = auto()  # some step may delete it in between


@dataclass(frozen=True, slots=True)
class Unmet:
    """A token that is not necessarily true, and the steps to blame: who makes it, or who may delete it."""

    token: str
    why: Why
    steps: tuple[str, ...]


BLAMED_MAX = 4
"""Steps that are named for one token."""


def contingent_steps(plan: Plan) -> frozenset[str]:
    """Return the ids of the steps that run only after a failure.

    A step is contingent iff one of its preconditions is not in the initial state, and is made only by failures or by
    contingent steps (least fixpoint; a step does not count as the maker of its own precondition).
    """
    if not any(step.failure_effects for step in plan.steps):
        return frozenset()
    makers: dict[str, set[str]] = defaultdict(set)
    nominal_makers: dict[str, set[str]] = defaultdict(set)
    users: dict[str, list[str]] = defaultdict(list)
    for step in plan.steps:
        for token in step.effects:
            nominal_makers[token].add(step.step_id)
        for token in step.effects | step.failure_effects:
            makers[token].add(step.step_id)
        for token in step.preconditions - plan.initial_state:
            users[token].append(step.step_id)
    effects = {step.step_id: step.effects for step in plan.steps}
    contingent: set[str] = set()
    suspects = list(users)
    while suspects:
        token = suspects.pop()
        if len(nominal_makers[token]) > 1:
            continue
        for user in users[token]:
            if user not in contingent and nominal_makers[token] <= {user} and not makers[token] <= {user}:
                contingent.add(user)
                for lost in effects[user]:
                    nominal_makers[lost].discard(user)
                    suspects.append(lost)
    return frozenset(contingent)


class NominalRun:
    """Answers what is necessarily true in the nominal run of a plan without dependency cycles."""

    def __init__(self, plan: Plan, order: Order, contingent: frozenset[str]) -> None:
        self.order = order
        self.places = [place for place, step in enumerate(order.steps) if step.step_id not in contingent]
        self._initial = plan.initial_state
        self._goal = plan.goal_state
        self._adders: dict[str, list[int]] = defaultdict(list)
        self._deleters: dict[str, list[int]] = defaultdict(list)
        for place in self.places:
            step = order.steps[place]
            for token in step.effects:
                self._adders[token].append(place)
            for token in step.delete_effects - step.effects:
                self._deleters[token].append(place)
        self._deletable = frozenset(self._deleters)
        self._masks: dict[str, tuple[int, int]] = {}

    def unmet_before(self, place: int) -> list[Unmet]:
        """Return the step's preconditions that are not necessarily true before it, sorted by token."""
        needed = self.order.steps[place].preconditions
        if needed.isdisjoint(self._deletable):
            # Mostly the initial state or a direct dependency provides it all, which needs no reachability.
            needed -= self._initial
            for before in self.order.dependencies[place] if needed else ():
                if before in self._taking_part:
                    needed -= self.order.steps[before].effects
        return [one for token in sorted(needed) if (one := self._before(token, place))]

    def unmet_at_end(self) -> list[Unmet]:
        """Return the goal tokens that are not necessarily true at the end, sorted by token."""
        return [one for token in sorted(self._goal) if (one := self._at_end(token))]

    def is_redundant(self, place: int) -> bool:
        """Return whether all that the step's success does is make tokens that necessarily hold already."""
        step = self.order.steps[place]
        if not step.effects or step.delete_effects - step.effects or step.failure_effects:
            return False
        for token in step.effects:
            # Most tokens have one maker; without an earlier one there is nothing to look up.
            if token not in self._initial and self._adders[token][0] == place:
                return False
        return all(self._before(token, place) is None for token in step.effects)

    def _before(self, token: str, place: int) -> Unmet | None:
        """Apply the criterion to a step that may or may not be in the run itself."""
        if token in self._initial and token not in self._deleters:
            return None
        adders, deleters = self._mask(token)
        itself, before = 1 << place, self.order.ancestors[place]
        if token not in self._initial and not adders & before:
            return self._not_made(token, adders & ~itself)
        free = deleters & ~(before | self.order.descendants[place] | itself)
        return self._deleted(token, free or self._last_unmended(adders & before, deleters & before))

    def _at_end(self, token: str) -> Unmet | None:
        """Apply the criterion to the end of the plan."""
        if token in self._deleters:
            adders, deleters = self._mask(token)
            if token in self._initial or adders:
                return self._deleted(token, self._last_unmended(adders, deleters))
        elif token in self._initial or token in self._adders:
            return None
        return Unmet(token, Why.NOBODY, ())

    def _last_unmended(self, knights: int, deleters: int) -> int:
        """Return a deleter that no knight follows, as a bit set, or 0.

        The deleters must be looked at from the last one on. A knight mends all its ancestors at once, so that in a
        sequential plan one or two looks are enough.
        """
        while deleters:
            last = deleters.bit_length() - 1
            after = knights & self.order.descendants[last]
            if not after:
                return 1 << last
            deleters &= ~(self.order.ancestors[after.bit_length() - 1])
        return 0

    def _not_made(self, token: str, adders: int) -> Unmet:
        return Unmet(token, Why.UNORDERED if adders else Why.NOBODY, self._names(adders))

    def _deleted(self, token: str, by: int) -> Unmet | None:
        return Unmet(token, Why.DELETED, self._names(by)) if by else None

    def _names(self, mask: int) -> tuple[str, ...]:
        blamed = [place for place, _ in zip(bits(mask), range(BLAMED_MAX), strict=False)]
        return tuple(self.order.steps[place].step_id for place in blamed)

    @cached_property
    def _taking_part(self) -> frozenset[int] | range:
        every = range(len(self.order.steps))
        return every if len(self.places) == len(every) else frozenset(self.places)

    def _mask(self, token: str) -> tuple[int, int]:
        """Return who adds and who deletes the token, as bit sets."""
        found = self._masks.get(token)
        if found is None:
            found = mask_of(self._adders.get(token, ())), mask_of(self._deleters.get(token, ()))
            self._masks[token] = found
        return found


def reachable_by_failure(plan: Plan) -> tuple[frozenset[str], frozenset[str]]:
    """Return the steps and the tokens that some mixture of successes and failures might reach, if nothing were deleted.

    What is not among them is certainly out of reach. A failure that escalates or cannot happen reaches nothing.
    """
    tokens: set[str] = set(plan.initial_state)
    reached: set[str] = set()
    waiting: Mapping[str, list[Step]] = defaultdict(list)
    missing: dict[str, int] = {}
    queue: list[Step] = []

    def gain(names: Iterable[str]) -> None:
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
        gain(step.effects)
        if step.failure_goes_on:
            gain(step.failure_effects)
    return frozenset(reached), frozenset(tokens)
