"""Translates a sequential plan for a PDDL problem into Replan's form of a plan, which the guards can judge. Pure.

Each action becomes a step that cannot fail and that depends on the previous step. An atom becomes a token. If any
condition requires that an atom does not hold, a second token means that this atom does not hold. The alternatives of
`oneof` become outcomes. If the condition of an effect has the same value in all possible states, the effect becomes
unconditional (true) or is dropped (false). Otherwise, the action becomes several steps, one for each case. Then the
steps do not depend on each other: tokens that count the actions order them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Never

from actors.plans.plan import NEVER, NamedOutcome, Plan, Step
from replan_lab.pddl.domain import EQUAL, Atom, Literal, PddlDomain, PddlProblem, PlanAction
from replan_lab.pddl.grounding import AtomChange, GroundAction, TooManyOutcomes, ground_action, holds, invalidity_of
from runtime.core.errors import UsageProblem

STATES_MAX = 1_000
"""The largest number of possible states before one action. States are counted as different only if they differ in facts
that decide what actions do."""
GUARD = "domain"
"""The name of the guard of every step. The domain, not the guard of a single action, decides what an action does."""
ALWAYS = "(and)"
"""A token that always holds, so that neither the initial state nor an empty goal counts as undefined."""

States = frozenset[frozenset[Atom]]


class Case(NamedTuple):
    """A set of states before an action in which the action has the same outcomes, and these outcomes."""

    when: tuple[Literal, ...]
    """Literals that all hold in exactly these states; empty if there is only one case."""
    changes: tuple[AtomChange, ...]


@dataclass(frozen=True, slots=True)
class Translation:
    """A plan for a PDDL problem, and its translation into Replan's form of a plan."""

    plan: Plan | None
    actions: Sequence[PlanAction]
    numbers: dict[str, int]
    """The index in `actions` for each step, by the step's id."""
    invalid_action: str
    """The reason why the action after the last step does not exist in the problem; empty if all actions exist."""
    first_inapplicable: int | None
    """The index of the first action that can run in no possible state; None if there is no such action."""
    missing: tuple[str, ...]
    """The unmet conditions of the first inapplicable action, in the state with the fewest unmet conditions. If every
    action can run, these are the unmet conditions of the goal.
    """

    @property
    def invalid_step(self) -> str:
        """The id that the step of the invalid action would have."""
        return _step_name(self.invalid_index, self.actions)

    @property
    def invalid_index(self) -> int:
        """The index of the invalid action in `actions`. It is the first action without a step."""
        actions_with_steps = set(self.numbers.values())  # An action may have several steps, one for each case.
        return len(actions_with_steps)


def _step_name(index: int, actions: Sequence[PlanAction]) -> str:
    """Return the id of an action's step.

    It consists of the step's number, with leading zeros, and the action as PDDL.
    """
    return f"{index + 1:0{len(str(len(actions)))}d} {actions[index]}"


def translate(domain: PddlDomain, problem: PddlProblem, actions: Sequence[PlanAction]) -> Translation:
    """Translate a sequential PDDL plan into Replan's form of a plan.

    Raises `UsageProblem` if an action has too many outcomes, or if too many states are possible.
    """
    invalid_action, steps = "", []
    for action in actions:
        if invalid_action := invalidity_of(action, domain, problem):
            break
        steps.append(ground_action(action, domain))
    goal = () if invalid_action else problem.goal
    progression = _Progression(domain, problem, steps, goal)
    progression.run()
    ids = [_step_name(index, actions) for index in range(len(steps))]
    plan, numbers = _make_plan(problem, progression, ids) if steps else (None, {})
    return Translation(plan, actions, numbers, invalid_action, progression.first_inapplicable, progression.missing)


class _Progression:
    """Computes the possible states after each action of a plan."""

    def __init__(
        self, domain: PddlDomain, problem: PddlProblem, steps: Sequence[GroundAction], goal: tuple[Literal, ...]
    ) -> None:
        self.domain, self.steps, self.goal = domain, steps, goal
        named: set[Atom] = {literal.atom for literal in goal}
        for step in steps:
            named |= step.effect_condition_atoms() | step.changed() | {literal.atom for literal in step.condition}
        self.initial = problem.initial & named
        self.cases: list[tuple[Case, ...]] = []
        self.first_inapplicable: int | None = None
        self.missing: tuple[str, ...] = ()

    def run(self) -> None:
        """Compute the states after each action.

        More than `STATES_MAX` states are allowed if no later action has a conditional effect.
        """
        states: States = frozenset((self.initial,))
        followed = True
        for index, step in enumerate(self.steps):
            ready = frozenset(state for state in states if step.can_run_in(state))
            if followed and not ready and self.first_inapplicable is None:
                self.first_inapplicable, self.missing = index, _fewest_unmet(step.condition, states)
            states = self._record_step(step, ready or states)
            if len(states) > STATES_MAX:
                if any(later.effect_condition_atoms() for later in self.steps[index + 1 :]):
                    self._refuse(step, f"leads to more than {STATES_MAX:,} states", "check a shorter plan")
                states, followed = frozenset((self.initial,)), False
        if followed and self.first_inapplicable is None:
            self.missing = _fewest_unmet(self.goal, states)

    def _record_step(self, step: GroundAction, states: States) -> States:
        """Record what a step does in these states, and return the states after it.

        If there are more than `STATES_MAX` states, only some of them are returned, but still more than `STATES_MAX`.
        """
        atoms = sorted(step.effect_condition_atoms())
        groups: dict[tuple[bool, ...], list[frozenset[Atom]]] = {}
        for state in states:
            groups.setdefault(tuple(atom in state for atom in atoms), []).append(state)
        after: set[frozenset[Atom]] = set()
        cases = []
        for answers, members in sorted(groups.items()):
            try:
                changes = tuple(step.outcomes(members[0]))
            except TooManyOutcomes:
                self._refuse(step, "has too many outcomes", "split the action")
            when = tuple(map(Literal, atoms, answers)) if len(groups) > 1 else ()
            cases.append(Case(when, changes))
            for state in members:
                if len(after) <= STATES_MAX:
                    after.update(change.apply_to(state) for change in changes)
        self.cases.append(tuple(cases))
        return frozenset(after)

    def _refuse(self, step: GroundAction, cause: str, hint: str) -> Never:
        place = f"{self.domain.file}:{step.schema.line}"
        raise UsageProblem(f"the action {step.action} {cause}", place=place, hint=hint)


def _fewest_unmet(literals: Iterable[Literal], states: States) -> tuple[str, ...]:
    """Return the unmet literals in the state with the fewest unmet literals."""
    lists = ([literal for literal in literals if not holds(literal, state)] for state in states)
    found = min((sorted(map(str, lacking)) for lacking in lists), key=lambda names: (len(names), names))
    return tuple(found)


def _make_plan(problem: PddlProblem, progression: _Progression, ids: Sequence[str]) -> tuple[Plan, dict[str, int]]:
    # Where a trace may leave the order, reaching the goal early is not enough: each action must run.
    counted = any(len(cases) > 1 or len(cases[0].changes) > 1 for cases in progression.cases)
    absent = _negated_atoms(progression)
    steps: list[Step] = []
    numbers: dict[str, int] = {}
    for index, (action, cases) in enumerate(zip(progression.steps, progression.cases, strict=True)):
        for number, case in enumerate(cases, 1):
            step_id = f"{ids[index]} case {number}" if len(cases) > 1 else ids[index]
            numbers[step_id] = index
            new_step = _make_step(step_id, (*action.condition, *case.when), case.changes, absent)
            steps.append(
                _add_count_tokens(new_step, index)
                if counted
                else _make_depend(new_step, ids[index - 1] if index else None)
            )
    initial = {ALWAYS, *map(str, progression.initial), *map(_absence_token, absent - progression.initial)}
    goal = set(map(str, progression.goal))
    if counted:
        initial.add(_count_token(0))
        goal.add(_count_token(len(progression.steps)))
    plan = Plan(
        plan_id=problem.name or "plan",
        steps=tuple(steps),
        initial_state=frozenset(initial),
        goal_state=frozenset(goal or (ALWAYS,)),
        total_retry_budget=len(steps),
    )
    return plan, numbers


def _negated_atoms(progression: _Progression) -> set[Atom]:
    conditions = [progression.goal]
    for step, cases in zip(progression.steps, progression.cases, strict=True):
        conditions += [step.condition, *(case.when for case in cases)]
    literals = (literal for condition in conditions for literal in condition)
    return {item.atom for item in literals if not item.positive and item.atom.predicate != EQUAL}


def _make_step(step_id: str, condition: Iterable[Literal], changes: Sequence[AtomChange], absent: set[Atom]) -> Step:
    tokens = [_tokens(change, absent) for change in changes]
    step = Step(
        step_id,
        name=step_id,
        guard=GUARD,
        retry_budget=1,
        preconditions=frozenset(map(str, condition)),
        on_failure=NEVER,
    )
    if len(tokens) == 1:
        return step._replace(effects=tokens[0][0], delete_effects=tokens[0][1])
    outcomes = (NamedOutcome(f"outcome {number}", *pair) for number, pair in enumerate(tokens, 1))
    return step._replace(outcomes=tuple(outcomes))


def _tokens(change: AtomChange, absent: set[Atom]) -> tuple[frozenset[str], frozenset[str]]:
    adds = {*map(str, change.adds), *(_absence_token(atom) for atom in change.deletes & absent)}
    deletes = {*map(str, change.deletes), *(_absence_token(atom) for atom in change.adds & absent)}
    return frozenset(adds), frozenset(deletes)


def _absence_token(atom: Atom) -> str:
    return str(Literal(atom, positive=False))


def _count_token(index: int) -> str:
    return f"at action {index + 1}"


def _add_count_tokens(step: Step, index: int) -> Step:
    """Return the step with added tokens that count actions.

    These tokens order the steps, so the step has no dependency.
    """
    here, there = frozenset((_count_token(index),)), frozenset((_count_token(index + 1),))
    return step._replace(
        preconditions=step.preconditions | here,
        effects=step.effects | there,
        delete_effects=step.delete_effects | here,
    )


def _make_depend(step: Step, before: str | None) -> Step:
    return step if before is None else step._replace(dependencies=frozenset((before,)))
