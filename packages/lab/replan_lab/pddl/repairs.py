"""Finds actions that make the unmet conditions of an action or of the goal true. Pure.

The unmet condition and the atoms that hold in the state determine the objects of such an action. A parameter for which
no object is found stays a parameter, such as `?x`. The number of tried combinations of objects is limited.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from replan_lab.pddl.domain import EQUAL, ActionSchema, Atom, Effect, Literal, PddlDomain, PddlProblem, PlanAction
from replan_lab.pddl.grounding import TooManyOutcomes, ground_action, holds, invalidity_of

REPAIRS_MAX = 3
TRIES_MAX = 5_000
"""The largest number of bindings of an action's parameters that are tried to repair one failure."""


class Repair(NamedTuple):
    """An action that makes an unmet condition true."""

    action: str
    """The action as PDDL. A parameter in it means that no suitable object of its type was found."""
    makes: str
    runs: bool
    enough: bool

    @property
    def sentence(self) -> str:
        """The suggestion as a sentence."""
        if not self.runs:
            return f"{self.action} makes '{self.makes}', once it can run."
        end = "and then nothing else is lacking" if self.enough else "and can run there"
        return f"{self.action} makes '{self.makes}', {end}."


def state_after(actions: Sequence[PlanAction], domain: PddlDomain, problem: PddlProblem) -> set[Atom] | None:
    """Return the state after the actions; None if the actions may lead to several states."""
    state = set(problem.initial)
    for action in actions:
        changes = ground_action(action, domain).outcomes(state)
        if len(changes) != 1:
            return None
        # In place: a copy of a large state for each action of a long plan takes seconds.
        state -= changes[0].deletes
        state |= changes[0].adds
    return state


def repairs_for(
    needed: Sequence[Literal], state: AbstractSet[Atom], domain: PddlDomain, problem: PddlProblem
) -> tuple[Repair, ...]:
    """Return at most `REPAIRS_MAX` actions, best first. Each of them makes an unmet literal of `needed` true.

    Actions after which all literals of `needed` hold are the best. Then come the other actions that can run in the
    state, then the rest.
    """
    lacking = [literal for literal in needed if not holds(literal, state) and literal.atom.predicate != EQUAL]
    search = _Search(domain, problem, frozenset(state), needed)
    found = {
        repair.action: repair
        for literal in lacking
        for schema in domain.actions.values()
        for repair in search.find_repairs(schema, literal)
    }
    ordered = sorted(found.values(), key=lambda item: (not item.enough, not item.runs, item.action.count("?"), item))
    return tuple(ordered[:REPAIRS_MAX])


class _Search:
    def __init__(
        self, domain: PddlDomain, problem: PddlProblem, state: frozenset[Atom], needed: Sequence[Literal]
    ) -> None:
        self.domain, self.problem, self.state, self.needed = domain, problem, state, needed
        self._tries = 0
        self._atoms: dict[str, list[Atom]] = {}
        self._objects: dict[str, list[str]] = {}

    def find_repairs(self, schema: ActionSchema, literal: Literal) -> Iterator[Repair]:
        """Yield a repair for each effect of an action that makes a literal true.

        The repair has the first objects with which the action can run. If no such objects are found, it has only the
        objects that the literal determines.
        """
        for effect in _sure_effects(schema.effect):
            if effect.positive is not literal.positive or effect.atom.predicate != literal.atom.predicate:
                continue
            values = self._unify(effect.atom, literal.atom, {}, schema)
            if values is None:
                continue
            bound = next(self._bindings(schema, values), None)
            names = [(values if bound is None else bound).get(name, name) for name, _ in schema.parameters]
            action = PlanAction(schema.name, tuple(names))
            yield Repair(str(action), str(literal), bound is not None, bound is not None and self._suffices(action))

    def _suffices(self, action: PlanAction) -> bool:
        """Return whether all needed literals hold after each outcome of the action.

        Return False for an action with too many outcomes.
        """
        try:
            changes = ground_action(action, self.domain).outcomes(self.state)
        except TooManyOutcomes:
            return False
        after = (change.apply_to(self.state) for change in changes)
        return all(holds(item, state) for state in after for item in self.needed)

    def _unify(
        self, pattern: Atom, atom: Atom, values: Mapping[str, str], schema: ActionSchema
    ) -> dict[str, str] | None:
        """Return `values` with the objects that make the pattern equal to the atom.

        Return None if no objects of the right types make them equal.
        """
        kinds, result = dict(schema.parameters), dict(values)
        for term, name in zip(pattern.terms, atom.terms, strict=True):
            if term not in kinds:
                if term != name:
                    return None
            elif result.setdefault(term, name) != name or not self._is_a(name, kinds[term]):
                return None
        return result

    def _is_a(self, name: str, kind: str) -> bool:
        return self.domain.is_a(self.problem.objects[name], kind)

    def _bindings(self, schema: ActionSchema, values: Mapping[str, str]) -> Iterator[dict[str, str]]:
        """Yield each choice of objects for all parameters with which the action can run, within the remaining tries."""
        kinds = dict(schema.parameters)
        conditions = [item.atom for item in schema.condition if item.positive and item.atom.predicate != EQUAL]
        ways: list[tuple[dict[str, str], list[Atom]]] = [(dict(values), conditions)]
        while ways and self._tries < TRIES_MAX:
            now, left = ways.pop()
            self._tries += 1
            if left:
                atoms = self._atoms_of(left[0].predicate)[: TRIES_MAX - self._tries]
                self._tries += len(atoms)
                found = (self._unify(left[0], atom, now, schema) for atom in atoms)
                ways += [(way, left[1:]) for way in found if way is not None]
                continue
            free = next((name for name in kinds if name not in now), None)
            if free is not None:
                names = self._objects_of(kinds[free])[-max(1, TRIES_MAX - self._tries) :]
                self._tries += len(names)
                ways += [({**now, free: name}, []) for name in names]
                continue
            action = PlanAction(schema.name, tuple(now[name] for name in kinds))
            typed = not invalidity_of(action, self.domain, self.problem)
            if typed and ground_action(action, self.domain).can_run_in(self.state):
                yield now

    def _atoms_of(self, predicate: str) -> list[Atom]:
        """Return the atoms of a predicate in the state, in reverse order, because the search starts at the end."""
        if predicate not in self._atoms:
            named = (atom for atom in self.state if atom.predicate == predicate)
            self._atoms[predicate] = sorted(named, reverse=True)
        return self._atoms[predicate]

    def _objects_of(self, kind: str) -> list[str]:
        if kind not in self._objects:
            self._objects[kind] = sorted(
                (name for name in self.problem.objects if self._is_a(name, kind)), reverse=True
            )
        return self._objects[kind]


def _sure_effects(effect: Effect) -> Iterator[Literal]:
    """Yield the literals that an effect makes true in every case."""
    added = {literal.atom for literal in effect.literals if literal.positive}
    yield from (literal for literal in effect.literals if literal.positive or literal.atom not in added)
