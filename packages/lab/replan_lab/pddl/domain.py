"""Frozen classes for a planning domain (types, predicates, actions) and a problem (objects, initial state, goal).

They represent typed STRIPS with negative preconditions, conditional effects and non-deterministic effects (`oneof`).
`replan_lab.pddl.domain_reader` reads PDDL into these classes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

OBJECT = "object"
"""The name of the type that every object has."""
EQUAL = "="
"""The predicate for the equality of two objects. No action changes it."""


class Atom(NamedTuple):
    """A predicate with its terms. A term is an object or a variable; the names of variables begin with `?`."""

    predicate: str
    terms: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the atom as PDDL."""
        return f"({' '.join((self.predicate, *self.terms))})"

    def substitute(self, values: Mapping[str, str]) -> "Atom":
        """Return the atom with its variables replaced by their values."""
        return Atom(self.predicate, tuple(values.get(term, term) for term in self.terms))


class Literal(NamedTuple):
    """An atom, and whether it must hold or must not hold."""

    atom: Atom
    positive: bool = True
    """True if the atom must hold; False if the atom must not hold."""

    def substitute(self, values: Mapping[str, str]) -> "Literal":
        """Return the literal with its variables replaced by their values."""
        return Literal(self.atom.substitute(values), self.positive)

    def __str__(self) -> str:
        """Return the literal as PDDL."""
        return str(self.atom) if self.positive else f"(not {self.atom})"


class Effect(NamedTuple):
    """The effect of an action. An atom that the effect both deletes and adds holds afterwards."""

    literals: tuple[Literal, ...] = ()
    conditional: "tuple[ConditionalEffect, ...]" = ()
    """The additional effects, each of which happens only if its own condition holds."""
    choices: "tuple[tuple[Effect, ...], ...]" = ()
    """The alternatives of each `oneof` in the effect. Exactly one alternative of each `oneof` happens, in addition to
    the literals.
    """


class ConditionalEffect(NamedTuple):
    """An effect that happens only if a condition holds before the action."""

    condition: tuple[Literal, ...]
    """The literals that must all hold before the action. Then the effect happens."""
    effect: Effect


NOTHING = Effect()


@dataclass(frozen=True, slots=True)
class ActionSchema:
    """An action of a domain, with parameters."""

    name: str
    parameters: tuple[tuple[str, str], ...] = ()
    """The variable and the type of each parameter, in order."""
    condition: tuple[Literal, ...] = ()
    """The precondition: literals that must all hold before the action."""
    effect: Effect = NOTHING
    line: int = 0


@dataclass(frozen=True, slots=True)
class PddlDomain:
    """A planning domain."""

    name: str
    supertypes: Mapping[str, str] = field(default_factory=dict)
    """The supertype of each declared type. Every chain of supertypes ends in `object`."""
    constants: Mapping[str, str] = field(default_factory=dict)
    """The type of each constant."""
    predicates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    actions: Mapping[str, ActionSchema] = field(default_factory=dict)
    functions: frozenset[str] = frozenset()
    """The names of declared numeric functions. Functions are used only for costs."""
    file: str = ""
    """The path of the domain's file, as the user wrote it; empty if there is no file."""

    def is_a(self, kind: str, wanted: str) -> bool:
        """Return whether every object of the type `kind` has the type `wanted`."""
        while kind not in (wanted, OBJECT) and kind in self.supertypes:
            kind = self.supertypes[kind]
        return wanted in (kind, OBJECT)


@dataclass(frozen=True, slots=True)
class PddlProblem:
    """A problem of a domain."""

    name: str
    objects: Mapping[str, str]
    initial: frozenset[Atom]
    """The atoms that hold at the beginning. No other atom holds then."""
    goal: tuple[Literal, ...]


class PlanAction(NamedTuple):
    """One action of a sequential plan."""

    name: str
    arguments: tuple[str, ...] = ()
    line: int = 0

    def __str__(self) -> str:
        """Return the action as PDDL."""
        return f"({' '.join((self.name, *self.arguments))})"
