"""Puts given facts into a plan: what its author wrote against them is replaced before any guard judges it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from actors.values.findings import Code, Finding
from actors.values.given import Given


def with_given(plan: Any, given: Given) -> tuple[Any, tuple[str, ...]]:
    """Return a plan's JSON value with the given facts, and the keys whose value they replaced.

    A key that the author left out is filled in, and is not among the replaced ones. A value without a list of steps is
    returned as it is: the guard rejects it.
    """
    if not isinstance(plan, Mapping) or not isinstance(plan.get("steps"), list):
        return plan, ()
    facts = given.values
    different = {key: fact for key, fact in facts.items() if key not in plan or not _same(plan[key], fact)}
    return ({**plan, **different}, tuple(key for key in different if key in plan)) if different else (plan, ())


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


def _same(written: Any, fact: Sequence[Any]) -> bool:
    """Tell whether what was written says the same as a fact. The order of a list has no meaning in a plan."""
    if not isinstance(written, list) or len(written) != len(fact):
        return False
    if all(isinstance(item, str) for item in (*written, *fact)):
        return set(written) == set(fact)
    return all(item in fact for item in written) and all(item in written for item in fact)
