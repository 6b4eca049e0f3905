"""What executing a plan means, as pure functions: the one source for guards, the replayer and an executor.

Tokens are the state. A step is ready when it is pending (or repeatable), every step that it depends on is settled, and
its preconditions hold. Success replaces its `delete_effects` by its `effects`. Failure does the same with the failure
effects, and then:

    never       cannot happen
    escalate    ends the trace, with a person or the replanner in charge
    continue    settles the step; the failure is an observation that other steps may wait for
    STEP_ID     goes back: that step and all that depend on it are pending again, tokens kept. A spent
                `total_retry_budget` escalates instead, so going back may hand over as well

A trace ends when nothing is ready; the plan has succeeded iff the goal holds then. A `Configuration` is all that the
future depends on: which steps are pending, and the tokens. Attempts are no part of it: a failure is the last one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from actors.plans.graph import Order, bits, order_of
from actors.plans.values import ESCALATE, NEVER, Plan, Step

OK = "ok"
FAIL = "fail"


class Configuration(NamedTuple):
    """Where a run stands: bit sets of the pending steps (by place in the order) and of the tokens that hold."""

    pending: int
    tokens: int


@dataclass(frozen=True)
class Program:
    """A plan made ready to run: steps by their place in the topological order, tokens by a bit each.

    `waits_for[i]` are the dependencies of step i, and `reset[i]` is what its failure makes pending again (0 if it does
    not go back), both as bit sets of places; the other lists hold bit sets of tokens.
    """

    plan: Plan
    order: Order
    tokens: tuple[str, ...]
    waits_for: Sequence[int]
    needs: Sequence[int]
    adds: Sequence[int]
    deletes: Sequence[int]
    failure_adds: Sequence[int]
    failure_deletes: Sequence[int]
    reset: Sequence[int]
    goal: int
    invariants: Sequence[tuple[int, int, int]]
    initial: Configuration
    repeats: bool

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in order."""
        return self.order.steps

    @cached_property
    def can_fail(self) -> Sequence[bool]:
        """Whether each step can fail at all."""
        return [step.on_failure != NEVER for step in self.steps]

    @cached_property
    def goes_on(self) -> Sequence[bool]:
        """Whether the run goes on after each step's failure."""
        return [step.failure_goes_on for step in self.steps]

    @cached_property
    def hands_over(self) -> Sequence[bool]:
        """Whether each step's failure may put a person or the replanner in charge."""
        return [step.on_failure == ESCALATE or step.goes_back_to is not None for step in self.steps]

    def names(self, tokens: int) -> list[str]:
        """Return the tokens in a bit set, sorted."""
        return [self.tokens[place] for place in bits(tokens)]


def compile_plan(plan: Plan, order: Order | None = None) -> Program:
    """Return the program of a plan that `plan_minimal` accepts. Tokens that no step and no goal names are left out.

    Raises:
        ValueError: when the dependencies have a cycle.
    """
    order = order or order_of(plan)
    if order is None:
        raise ValueError("the plan's dependencies have a cycle")
    steps = order.steps
    named = set(plan.goal_state)
    for invariant in plan.invariants:
        named |= invariant.when | invariant.must | invariant.must_not
    for step in steps:
        named |= step.preconditions | step.effects | step.delete_effects
        named |= step.failure_effects | step.failure_delete_effects
    tokens = tuple(sorted(named))
    bit = {token: 1 << place for place, token in enumerate(tokens)}

    def mask(names: Iterable[str]) -> int:
        found = 0
        for name in names:
            found |= bit[name]
        return found

    def masks(of: Callable[[Step], frozenset[str]]) -> list[int]:
        return [mask(of(step)) for step in steps]

    back = [order.place[step.goes_back_to] if step.goes_back_to is not None else None for step in steps]
    return Program(
        plan=plan,
        order=order,
        tokens=tokens,
        waits_for=[sum(1 << one for one in before) for before in order.dependencies],
        needs=masks(lambda step: step.preconditions),
        adds=masks(lambda step: step.effects),
        deletes=masks(lambda step: step.delete_effects),
        failure_adds=masks(lambda step: step.failure_effects),
        failure_deletes=masks(lambda step: step.failure_delete_effects),
        reset=[0 if place is None else order.descendants[place] | 1 << place for place in back],
        goal=mask(plan.goal_state),
        invariants=[(mask(one.when), mask(one.must), mask(one.must_not)) for one in plan.invariants],
        initial=Configuration((1 << len(steps)) - 1, mask(plan.initial_state & named)),
        repeats=plan.is_policy,
    )


def is_ready(program: Program, now: Configuration, place: int) -> bool:
    """Return whether the step may start."""
    needs = program.needs[place]
    return bool(now.tokens & needs == needs and now.pending >> place & 1 and not now.pending & program.waits_for[place])


def ready(program: Program, now: Configuration) -> list[int]:
    """Return the steps that may start, in order."""
    return [place for place in bits(now.pending) if is_ready(program, now, place)]


def may_overlap(program: Program, one: int, other: int) -> bool:
    """Return whether two ready steps may run at the same time: neither deletes what the other needs or adds."""
    return not _disturbs(program, one, other) and not _disturbs(program, other, one)


def _disturbs(program: Program, one: int, other: int) -> bool:
    """Return whether a step may delete, by success or failure, what the other needs or may add."""
    deletes = program.deletes[one] | program.failure_deletes[one]
    return bool(deletes & (program.needs[other] | program.adds[other] | program.failure_adds[other]))


def succeeded(program: Program, now: Configuration, place: int) -> Configuration:
    """Return the configuration after the step's success. A repeatable step stays pending."""
    pending = now.pending if program.repeats else now.pending & ~(1 << place)
    return Configuration(pending, now.tokens & ~program.deletes[place] | program.adds[place])


def failed(program: Program, now: Configuration, place: int) -> Configuration:
    """Return the configuration after the step's failure; after `escalate`, the one that is handed over."""
    pending = now.pending if program.repeats else now.pending & ~(1 << place) | program.reset[place]
    return Configuration(pending, now.tokens & ~program.failure_deletes[place] | program.failure_adds[place])


def reached_goal(program: Program, now: Configuration) -> bool:
    """Return whether the goal holds. The plan has succeeded iff nothing is ready as well."""
    return now.tokens & program.goal == program.goal


def broken(program: Program, now: Configuration) -> list[int]:
    """Return the places, in the plan's list, of the invariants that do not hold."""
    return [
        place
        for place, (when, must, must_not) in enumerate(program.invariants)
        if now.tokens & when == when and (now.tokens & must != must or now.tokens & must_not)
    ]


def label(program: Program, place: int, outcome: str) -> str:
    """Return how traces write that a step succeeded (`STEP:ok`) or failed (`STEP:fail`)."""
    return f"{program.steps[place].step_id}:{outcome}"


@dataclass(frozen=True, slots=True)
class Replayed:
    """Where a trace leads. `end` is `goal`, `dead_end` or `escalated`, or `open` while something is ready."""

    end: str
    tokens: frozenset[str]
    ready: tuple[str, ...]
    settled: frozenset[str]


def replay(plan: Plan, trace: Iterable[str]) -> Replayed:
    """Run a trace (`["s0:ok", "s1:fail"]`) from the initial state.

    Tokens that nothing in the plan names are kept as they are. A failure that goes back is taken to go back.

    Raises:
        ValueError: when the trace does something that the plan does not allow at that point.
    """
    program = compile_plan(plan)
    now = program.initial
    escalated = False
    for one in trace:
        step_id, _, outcome = one.rpartition(":")
        place = program.order.place.get(step_id)
        if place is None or outcome not in (OK, FAIL):
            raise ValueError(f"{one!r} is not STEP:ok or STEP:fail of a step of this plan")
        if escalated:
            raise ValueError(f"{one!r} comes after the trace was handed over")
        if not is_ready(program, now, place):
            raise ValueError(f"{one!r}: the step is not ready")
        if outcome == FAIL and not program.can_fail[place]:
            raise ValueError(f"{one!r}: the step cannot fail")
        escalated = outcome == FAIL and program.steps[place].on_failure == ESCALATE
        now = failed(program, now, place) if outcome == FAIL else succeeded(program, now, place)
    able = () if escalated else tuple(program.steps[place].step_id for place in ready(program, now))
    settled = frozenset(step.step_id for place, step in enumerate(program.steps) if not now.pending >> place & 1)
    end = "escalated" if escalated else "open" if able else "goal" if reached_goal(program, now) else "dead_end"
    unnamed = plan.initial_state.difference(program.tokens)
    return Replayed(end, unnamed.union(program.names(now.tokens)), able, settled)
