"""Puts given facts into a plan: what its author wrote against them is replaced before any guard judges it. Pure.

Names that no tool implements cannot be replaced: they are errors, beside those of the guard.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from actors.plans.constraints import Constraints, with_constraints
from actors.plans.formatting import printable, quoted_list
from actors.plans.plan import bound_names
from actors.values.findings import Code, Finding
from actors.values.given import Given
from actors.values.requirements import requirements_in


def with_given(plan: Any, given: Given) -> tuple[Any, tuple[str, ...]]:
    """Return a plan's JSON value with the given facts, and the keys whose value they replaced.

    A key that the author left out is filled in, and is not among the replaced ones. Requirements and invariants that
    every plan keeps to are added: an author may leave them out. A value without a list of steps is returned as it is:
    the guard rejects it.
    """
    if not isinstance(plan, Mapping) or not isinstance(plan.get("steps"), list):
        return plan, ()
    facts = given.values
    different = {key: fact for key, fact in facts.items() if key not in plan or not _same(plan[key], fact)}
    kept = Constraints(tuple(requirements_in(given.kept_requirements)), given.kept_invariants)
    made = with_constraints({**plan, **different} if different else plan, kept)
    return made, tuple(key for key in different if key in plan)


def replaced_findings(replaced: Sequence[str]) -> tuple[Finding, ...]:
    """Return a warning for each key of a plan whose value was replaced by the given one."""
    return tuple(
        Finding(
            code=Code.GIVEN_REPLACED,
            where=key,
            message=f"{key} is given; what the plan said there was replaced by the given value.",
            severity="warning",
        )
        for key in replaced
    )


def unbound_findings(plan: Any, given: Given) -> Iterator[Finding]:
    """Yield an error for each step of a plan that names a generator or a guard which no tool implements."""
    steps = plan.get("steps") if isinstance(plan, Mapping) else None
    for step in steps if isinstance(steps, list) else ():
        if not isinstance(step, Mapping):
            continue
        own = set(bound_names(str(step.get("step_id", ""))))
        kinds = (
            ("generator", given.generators, given.step_generators),
            ("guard", given.guards, given.step_guards),
        )
        for key, names, steps_bound in kinds:
            name = step.get(key)
            if own.intersection(steps_bound):
                continue
            if names is not None and isinstance(name, str) and name and name not in names:
                listed = f"choose one of {quoted_list(names, limit=30)}" if names else "none is"
                message = f"step {step.get('step_id')}: no tool implements the {key} {printable(name, 60)!r}; {listed}."
                yield Finding(code=Code.UNBOUND, where=str(step.get("step_id", "")), message=message)


def _same(written: Any, fact: Sequence[Any]) -> bool:
    """Tell whether what was written says the same as a fact. The order of a list has no meaning in a plan."""
    if not isinstance(written, list) or len(written) != len(fact):
        return False
    if all(isinstance(item, str) for item in (*written, *fact)):
        return set(written) == set(fact)
    return all(item in fact for item in written) and all(item in written for item in fact)
