"""The execution semantics of a plan, as pure functions. Guards, trace replay and executions all use these functions.

The state of an execution is a set of tokens. A step is ready if it is pending (or repeatable), all its dependencies are
settled (no longer pending), and its preconditions hold. Success deletes the step's `delete_effects` and then adds its
`effects`. A step with `outcomes` succeeds with one of the outcomes, and also adds and deletes the tokens of this
outcome. A failure does the same with the failure effects. What follows a failure depends on `on_failure`:

- `never`: The step cannot fail.
- `escalate`: The trace ends, and a person or the replanner takes over.
- `continue`: The step is settled. Other steps may wait for the tokens of the failure.
- `undo`: The trace ends, and all calls are undone, the last call first. The tokens do not change.
- a step's id: Execution goes back to this step. The step and all steps that depend on it are pending again. The tokens
  do not change. But if `total_retry_budget` is spent, the failure escalates.

A trace ends when no step is ready. The plan has succeeded if the goal holds at the end of the trace. A `Configuration`
has everything that the rest of the execution depends on: the pending steps and the tokens. It does not count attempts,
because a failure means that the last attempt failed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from actors.plans.graph import StepOrder, bits, order_of
from actors.plans.plan import ESCALATE, NEVER, UNDO, NamedOutcome, Plan, Step

OK = "ok"
"""The item of a trace that says that a step succeeded."""
FAIL = "fail"
"""The item of a trace that says that the last attempt of a step failed."""


class Configuration(NamedTuple):
    """The state of an execution: which steps must still run, and which tokens hold."""

    pending: int
    tokens: int


_SUCCESS = NamedOutcome(OK)


@dataclass(frozen=True)
class Program:
    """A plan compiled for execution: steps as indices in the topological order, sets of tokens as bit sets."""

    plan: Plan
    order: StepOrder
    tokens: tuple[str, ...]
    """The token for each bit of the token sets."""
    dependencies: Sequence[int]
    needs: Sequence[int]
    adds: Sequence[int]
    """For each step, the tokens that at least one of its successes adds, as a bit set."""
    deletes: Sequence[int]
    successes: Sequence[Mapping[str, tuple[int, int]]]
    """The ways in which each step may succeed, by step and by name: bit sets of the added and deleted tokens.

    A step without named outcomes has the way `OK`.
    """
    failure_adds: Sequence[int]
    failure_deletes: Sequence[int]
    reset: Sequence[int]
    """For each step, the steps that its failure makes pending again, as a bit set; 0 if it does not go back."""
    goal: int
    invariants: Sequence[tuple[int, int, int]]
    """The bit sets of `when`, `must` and `must_not`, for each invariant."""
    initial: Configuration
    repeats: bool
    """Whether the plan is a policy. The steps of a policy may run any number of times."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in topological order."""
        return self.order.steps

    @cached_property
    def can_fail(self) -> Sequence[bool]:
        """For each step, whether it can fail."""
        return [step.on_failure != NEVER for step in self.steps]

    @cached_property
    def continues(self) -> Sequence[bool]:
        """For each step, whether execution continues after its failure."""
        return [step.failure_continues for step in self.steps]

    @cached_property
    def may_escalate(self) -> Sequence[bool]:
        """For each step, whether its failure may escalate to a person or the replanner."""
        return [step.on_failure == ESCALATE or step.goes_back_to is not None for step in self.steps]

    @cached_property
    def undoes(self) -> Sequence[bool]:
        """For each step, whether its failure ends the plan with everything undone."""
        return [step.on_failure == UNDO for step in self.steps]

    def names(self, tokens: int) -> list[str]:
        """Return the names of the tokens in a bit set, sorted."""
        return [self.tokens[index] for index in bits(tokens)]


def named_tokens(plan: Plan) -> set[str]:
    """Return the tokens that appear in the goal, in an invariant or in a step."""
    named = set(plan.goal_state)
    for invariant in plan.invariants:
        named |= invariant.when | invariant.must | invariant.must_not
    for step in plan.steps:
        named |= step.preconditions | step.may_add | step.may_delete
        named |= step.failure_effects | step.failure_delete_effects
    return named


def compile_plan(plan: Plan, order: StepOrder | None = None) -> Program:
    """Return the program of a plan that `plan_minimal` accepts. `order` is its topological order, if it is known.

    Tokens of the initial state are left out if no step, goal or invariant names them.

    Raises:
        ValueError: the dependencies have a cycle.
    """
    order = order or order_of(plan)
    if order is None:
        raise ValueError("the plan's dependencies have a cycle")
    steps = order.steps
    named = named_tokens(plan)
    tokens = tuple(sorted(named))
    bit = {token: 1 << number for number, token in enumerate(tokens)}

    def mask(names: Iterable[str]) -> int:
        result = 0
        for name in names:
            result |= bit[name]
        return result

    def masks(field: Callable[[Step], frozenset[str]]) -> list[int]:
        return [mask(field(step)) for step in steps]

    targets = [order.index[step.goes_back_to] if step.goes_back_to is not None else None for step in steps]
    reset = {target: order.descendants[target] | 1 << target for target in targets if target is not None}
    return Program(
        plan=plan,
        order=order,
        tokens=tokens,
        dependencies=[sum(1 << dependency for dependency in indices) for indices in order.dependencies],
        needs=masks(lambda step: step.preconditions),
        adds=masks(lambda step: step.may_add),
        deletes=masks(lambda step: step.may_delete),
        successes=[
            {
                outcome.name: (mask(step.effects | outcome.effects), mask(step.delete_effects | outcome.delete_effects))
                for outcome in step.outcomes or (_SUCCESS,)
            }
            for step in steps
        ],
        failure_adds=masks(lambda step: step.failure_effects),
        failure_deletes=masks(lambda step: step.failure_delete_effects),
        reset=[0 if target is None else reset[target] for target in targets],
        goal=mask(plan.goal_state),
        invariants=[
            (mask(invariant.when), mask(invariant.must), mask(invariant.must_not)) for invariant in plan.invariants
        ],
        initial=Configuration((1 << len(steps)) - 1, mask(plan.initial_state & named)),
        repeats=plan.is_policy,
    )


def is_ready(program: Program, now: Configuration, index: int) -> bool:
    """Return whether the step may start."""
    needs = program.needs[index]
    unsettled = now.pending & program.dependencies[index]
    return bool(now.tokens & needs == needs and now.pending >> index & 1 and not unsettled)


def ready_steps(program: Program, now: Configuration) -> list[int]:
    """Return the indices of the steps that may start, ascending."""
    return [index for index in bits(now.pending) if is_ready(program, now, index)]


def may_overlap(program: Program, first: int, second: int) -> bool:
    """Return whether two ready steps may run at the same time.

    Neither step may delete what the other needs or adds. No failure of one step may make the other pending again.
    """
    if program.reset[first] >> second & 1 or program.reset[second] >> first & 1:
        return False
    return not _interferes(program, first, second) and not _interferes(program, second, first)


def _interferes(program: Program, index: int, other: int) -> bool:
    deletes = program.deletes[index] | program.failure_deletes[index]
    return bool(deletes & (program.needs[other] | program.adds[other] | program.failure_adds[other]))


def after_success(program: Program, now: Configuration, index: int, outcome: str = OK) -> Configuration:
    """Return the configuration after the step succeeded with one of its outcomes. A repeatable step stays pending."""
    adds, deletes = program.successes[index][outcome]
    pending = now.pending if program.repeats else now.pending & ~(1 << index)
    return Configuration(pending, now.tokens & ~deletes | adds)


def after_failure(program: Program, now: Configuration, index: int) -> Configuration:
    """Return the configuration after the step failed, even if the failure escalates."""
    pending = now.pending if program.repeats else now.pending & ~(1 << index) | program.reset[index]
    return Configuration(pending, now.tokens & ~program.failure_deletes[index] | program.failure_adds[index])


def goal_holds(program: Program, now: Configuration) -> bool:
    """Return whether all goal tokens hold. If no step is ready either, the plan has succeeded."""
    return now.tokens & program.goal == program.goal


def broken_invariants(program: Program, now: Configuration) -> list[int]:
    """Return the positions in the plan's list of the invariants that do not hold."""
    return [
        position
        for position, (when, must, must_not) in enumerate(program.invariants)
        if now.tokens & when == when and (now.tokens & must != must or now.tokens & must_not)
    ]


def trace_item(program: Program, index: int, outcome: str) -> str:
    """Return the item of a trace for a step's outcome: `STEP:ok`, `STEP:NAME` or `STEP:fail`."""
    return f"{program.steps[index].step_id}:{outcome}"


class ReplayResult(NamedTuple):
    """The result of replaying a trace."""

    end: Literal["goal", "dead_end", "escalated", "undone", "open"]
    """The state after the trace. `open`: some step is ready; `undone`: a failure has undone everything."""
    tokens: frozenset[str]
    ready: tuple[str, ...]
    settled: frozenset[str]


def replay(plan: Plan, trace: Iterable[str]) -> ReplayResult:
    """Replay a trace such as `["s0:ok", "s1:fail"]` from the initial state.

    All tokens of the initial state are kept, even if nothing in the plan names them. A failure that goes back is always
    replayed as going back. It never escalates because of a spent budget.

    Raises:
        ValueError: the plan does not allow an item of the trace at that point.
    """
    program = compile_plan(plan)
    now = program.initial
    ended: Literal["", "escalated", "undone"] = ""
    for item in trace:
        step_id, _, outcome = item.rpartition(":")
        index = program.order.index.get(step_id)
        if index is None or not (outcome == FAIL or outcome in program.successes[index]):
            raise ValueError(f"{item!r} is not a step with a result; write STEP:ok, STEP:fail or STEP:OUTCOME")
        if ended:
            after = "everything was undone" if ended == "undone" else "the trace was handed over"
            raise ValueError(f"{item!r} comes after {after}")
        if not is_ready(program, now, index):
            raise ValueError(f"{item!r}: the step is not ready")
        if outcome == FAIL and not program.can_fail[index]:
            raise ValueError(f"{item!r}: the step cannot fail")
        if outcome == FAIL and program.steps[index].on_failure in (ESCALATE, UNDO):
            ended = "escalated" if program.steps[index].on_failure == ESCALATE else "undone"
        now = after_failure(program, now, index) if outcome == FAIL else after_success(program, now, index, outcome)
    ready = () if ended else tuple(program.steps[index].step_id for index in ready_steps(program, now))
    settled = frozenset(step.step_id for index, step in enumerate(program.steps) if not now.pending >> index & 1)
    unnamed = plan.initial_state.difference(program.tokens)
    tokens = unnamed.union(program.names(now.tokens))
    if ended:
        return ReplayResult(ended, tokens, ready, settled)
    if ready:
        return ReplayResult("open", tokens, ready, settled)
    return ReplayResult("goal" if goal_holds(program, now) else "dead_end", tokens, ready, settled)
