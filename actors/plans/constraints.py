"""The constraints on every plan of an execution: prohibitions, scope, budget, deadline, and invariants. Pure.

The constraints come from the first plan, from later plans, and from later texts of the user. A new plan may add
constraints. If a new plan leaves out or weakens a constraint, the constraint is restored before the plan is proved.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from actors.values.findings import Code, Finding
from actors.values.format import printable
from actors.values.requirements import (
    Requirement,
    RequirementKind,
    requirement_to_json,
    requirements_in,
)

FORBIDS = frozenset({str(RequirementKind.MUST_AVOID), str(RequirementKind.MUST_KEEP)})
"""The kinds of requirements that forbid something."""
KEPT_KINDS = FORBIDS | {str(RequirementKind.SCOPE), str(RequirementKind.BUDGET), str(RequirementKind.DEADLINE)}
"""The kinds of requirements that every later plan of an execution must keep. Requirements of the kind `goal` are not
among them, because goals may change."""


@dataclass(frozen=True, slots=True)
class Constraints:
    """The requirements and invariants that every plan of an execution must have."""

    requirements: tuple[Requirement, ...] = ()
    """The requirements whose kind is in `KEPT_KINDS`. No two have the same id."""
    invariants: tuple[Mapping[str, Any], ...] = ()
    """The invariants as JSON objects. No two have the same meaning."""

    def join(self, other: "Constraints") -> "Constraints":
        """Return these constraints and `other` as one value.

        If both values have a requirement with the same id, the result forbids what either of them forbids.
        """
        requirements = {item.id: item for item in self.requirements}
        for item in other.requirements:
            mine = requirements.get(item.id)
            requirements[item.id] = item if mine is None else _join_requirements(mine, item)
        invariants = (*self.invariants, *_missing_invariants(other.invariants, self.invariants))
        return Constraints(tuple(requirements.values()), invariants)


def constraints_of(value: Mapping[str, Any]) -> Constraints:
    """Return the constraints in a plan (a JSON object)."""
    stated = tuple(item for item in requirements_in(value.get("requirements")) if item.kind in KEPT_KINDS)
    invariants = value.get("invariants")
    listed = tuple(
        invariant
        for invariant in (invariants if isinstance(invariants, list) else ())
        if isinstance(invariant, Mapping)
    )
    return Constraints().join(Constraints(stated, listed))  # This merges requirements with the same id.


def with_constraints(value: Mapping[str, Any], constraints: Constraints) -> Mapping[str, Any]:
    """Return a plan (a JSON object) with the constraints that it lacks added.

    If the plan has all constraints, the same object is returned.
    """
    kept = {item.id: item for item in constraints.join(constraints_of(value)).requirements}
    raw = value.get("requirements")
    requirements: list[Any] = []
    for own in raw if isinstance(raw, list) else ():
        stated = next(requirements_in([own]), None)
        item = None if stated is None else kept.pop(stated.id, None)
        # The plan's author may use another id for it.
        requirements.append(own if item in (None, stated) else {**requirement_to_json(item), "id": own.get("id")})
    requirements += [requirement_to_json(item) for item in kept.values()]
    given = value.get("invariants")
    invariants: list[Any] = list(given) if isinstance(given, list) else []
    invariants += [dict(invariant) for invariant in _missing_invariants(constraints.invariants, invariants)]
    changed = {"requirements": requirements} if requirements != (raw or []) else {}
    changed |= {"invariants": invariants} if invariants != (given or []) else {}
    return {**value, **changed} if changed else value


def dropped_constraints(constraints: Constraints, value: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for each constraint that an edited plan (a JSON object) leaves out or weakens."""
    stated = {item.id: item for item in constraints_of(value).requirements}
    for item in constraints.requirements:
        own = stated.get(item.id)
        if own is None or Constraints((item,)).join(Constraints((own,))).requirements != (own,):
            what = "leaves out" if own is None else "weakens"
            message = f"the edit {what} a requirement that every plan must meet: {printable(item.text, 200)}"
            yield Finding(code=Code.EDIT_DROPS, message=message, where=item.id)
    if with_constraints(value, Constraints(invariants=constraints.invariants)) is not value:
        yield Finding(code=Code.EDIT_DROPS, message="the edit leaves out an invariant that every plan must have")


def requirements_json(requirements: Iterable[Requirement]) -> tuple[dict[str, Any], ...]:
    """Return requirements as JSON objects."""
    return tuple(requirement_to_json(item) for item in requirements)


def _missing_invariants(wanted: Iterable[Mapping[str, Any]], present: Iterable[Any]) -> list[Mapping[str, Any]]:
    known = {_meaning(item) for item in present if isinstance(item, Mapping)}
    missing = {_meaning(item): item for item in wanted}
    return [item for meaning, item in missing.items() if meaning not in known]


def _meaning(invariant: Mapping[str, Any]) -> tuple[frozenset[str], ...]:
    lists = [invariant.get(key) for key in ("when", "must", "must_not")]
    return tuple(frozenset(str(token) for token in item or () if isinstance(item, list | tuple)) for item in lists)


def _join_requirements(mine: Requirement, other: Requirement) -> Requirement:
    wider = mine.kind == RequirementKind.SCOPE and bool(mine.paths)
    return mine._replace(
        tools=_merge(mine.tools, other.tools),
        tokens=_merge(mine.tokens, other.tokens),
        paths=mine.paths if wider else _merge(mine.paths, other.paths),
        limit=mine.limit or other.limit,
    )


def _merge(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))
