"""Grounding: replaces the parameters of an action by objects, in its precondition and effects. Pure.

Only the actions that a plan names are grounded, not all combinations of actions and objects.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import product
from typing import NamedTuple

from actors.files.suggestions import near
from replan_lab.pddl.domain import (
    EQUAL,
    ActionSchema,
    Atom,
    ConditionalEffect,
    Effect,
    Literal,
    PddlDomain,
    PddlProblem,
    PlanAction,
)

OUTCOMES_MAX = 100
"""The largest number of outcomes of one action. An action with several `oneof`s has an outcome for each combination of
alternatives.
"""


class TooManyOutcomes(Exception):
    """An action has more than `OUTCOMES_MAX` outcomes."""


class AtomChange(NamedTuple):
    """The atoms that one outcome of an action adds to the state and deletes from it."""

    adds: frozenset[Atom]
    deletes: frozenset[Atom]
    """The deleted atoms. An atom in `adds` is not one of them."""

    def apply_to(self, state: frozenset[Atom]) -> frozenset[Atom]:
        """Return the state after the outcome."""
        return state - self.deletes | self.adds


class GroundAction(NamedTuple):
    """An action of a plan, whose parameters are replaced by objects."""

    action: PlanAction
    schema: ActionSchema
    condition: tuple[Literal, ...]
    """The action's precondition, without literals that are always true."""
    effect: Effect

    def can_run_in(self, state: AbstractSet[Atom]) -> bool:
        """Return whether the action can run in a state."""
        return all(holds(literal, state) for literal in self.condition)

    def effect_condition_atoms(self) -> frozenset[Atom]:
        """Return the atoms in the conditions of the action's conditional effects.

        The state of these atoms decides which conditional effects happen.
        """
        return frozenset(
            literal.atom
            for conditional in _conditionals(self.effect)
            for literal in conditional.condition
            if literal.atom.predicate != EQUAL
        )

    def changed(self) -> frozenset[Atom]:
        """Return the atoms that the action may add or delete."""
        return frozenset(_changed_atoms(self.effect))

    def outcomes(self, state: AbstractSet[Atom]) -> list[AtomChange]:
        """Return the different changes that the action may make.

        Raises `TooManyOutcomes` for more than `OUTCOMES_MAX`.
        """
        alternatives = _alternatives(self.effect, state)
        changes = dict.fromkeys(_change(literals) for literals in alternatives)
        return list(changes)


def invalidity_of(action: PlanAction, domain: PddlDomain, problem: PddlProblem) -> str:
    """Return why the problem has no such action, as a clause without a full stop; empty if the action exists."""
    schema = domain.actions.get(action.name)
    if schema is None:
        close = near(action.name, domain.actions)
        return f"the domain has no action {action.name}{f' ({close})' if close else ''}"
    if len(action.arguments) != len(schema.parameters):
        return f"{action} names {len(action.arguments)} objects, but {action.name} takes {len(schema.parameters)}"
    for name, (variable, wanted) in zip(action.arguments, schema.parameters, strict=True):
        kind = problem.objects.get(name)
        if kind is None:
            close = near(name, problem.objects)
            return f"{action} names {name}, which is not an object of the problem{f' ({close})' if close else ''}"
        if not domain.is_a(kind, wanted):
            return f"{action} names {name} of the type {kind} for {variable}, which must be of the type {wanted}"
    return ""


def ground_action(action: PlanAction, domain: PddlDomain) -> GroundAction:
    """Return the action with objects instead of parameters. Call it only if `invalidity_of` finds no fault."""
    schema = domain.actions[action.name]
    values = dict(zip((name for name, _ in schema.parameters), action.arguments, strict=True))
    condition = tuple(literal for literal in _bind_literals(schema.condition, values) if not _is_always_true(literal))
    return GroundAction(action, schema, condition, _bind_effect(schema.effect, values))


def holds(literal: Literal, state: AbstractSet[Atom]) -> bool:
    """Return whether a ground literal holds in a state."""
    atom = literal.atom
    found = atom.terms[0] == atom.terms[1] if atom.predicate == EQUAL else atom in state
    return found is literal.positive


def _is_always_true(literal: Literal) -> bool:
    return literal.atom.predicate == EQUAL and holds(literal, frozenset())


def _bind_literals(literals: tuple[Literal, ...], values: Mapping[str, str]) -> tuple[Literal, ...]:
    return tuple(literal.substitute(values) for literal in literals)


def _bind_effect(effect: Effect, values: Mapping[str, str]) -> Effect:
    return Effect(
        _bind_literals(effect.literals, values),
        tuple(
            ConditionalEffect(_bind_literals(item.condition, values), _bind_effect(item.effect, values))
            for item in effect.conditional
        ),
        tuple(tuple(_bind_effect(item, values) for item in choice) for choice in effect.choices),
    )


def _conditionals(effect: Effect) -> Iterator[ConditionalEffect]:
    for item in effect.conditional:
        yield item
        yield from _conditionals(item.effect)
    for choice in effect.choices:
        for way in choice:
            yield from _conditionals(way)


def _changed_atoms(effect: Effect) -> Iterator[Atom]:
    yield from (literal.atom for literal in effect.literals)
    for item in effect.conditional:
        yield from _changed_atoms(item.effect)
    for choice in effect.choices:
        for way in choice:
            yield from _changed_atoms(way)


def _alternatives(effect: Effect, state: AbstractSet[Atom]) -> list[tuple[Literal, ...]]:
    """Return the literals of each way in which an effect may change a state. Raises `TooManyOutcomes`."""
    parts: list[list[tuple[Literal, ...]]] = [[effect.literals]]
    parts += [
        _alternatives(item.effect, state)
        for item in effect.conditional
        if all(holds(literal, state) for literal in item.condition)
    ]
    parts += [[way for item in choice for way in _alternatives(item, state)] for choice in effect.choices]
    count = 1
    for ways in parts:
        count *= len(ways)
        if count > OUTCOMES_MAX:
            raise TooManyOutcomes
    return [tuple(literal for way in ways for literal in way) for ways in product(*parts)]


def _change(literals: tuple[Literal, ...]) -> AtomChange:
    adds = frozenset(literal.atom for literal in literals if literal.positive)
    return AtomChange(adds, frozenset(literal.atom for literal in literals if not literal.positive) - adds)
