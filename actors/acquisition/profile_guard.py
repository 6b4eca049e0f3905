"""`profile_valid`: the guard of a proposed profile. Pure.

A proposal must be a valid profile whose formulas fit in their units. In addition nothing in it may be a value that
nobody vouches for: no default, and no number in a formula but 1. It has a result, and each field changes one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from actors.acquisition.profile import Profile
from actors.acquisition.profile_check import problems, unused_fields
from actors.guards.comparison import object_of, verdict_of
from actors.guards.fields import check_settings
from actors.guards.port import Guard
from actors.quantities.formula import FormulaUnreadable, parse_formula
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Finding, Verdict

NAME = "profile_valid"
INVALID = "profile.invalid"
"""The code of what makes a profile invalid."""
NO_RESULT = "profile.no_result"
"""The code of a profile that calculates nothing."""
UNUSED = "profile.unused_field"
"""The code of a field that changes no result."""
UNVOUCHED = "profile.unvouched_number"
"""The code of a default, or of a number in a formula."""


def make(config: Mapping[str, Any]) -> Guard:
    """Return the guard; it has no settings."""
    check_settings(NAME, config, ())

    def guard(artifact: Artifact, context: Context) -> Verdict:  # noqa: ARG001 - a guard's signature
        value, findings = object_of(artifact)
        if value is None:
            return verdict_of(NAME, findings)
        found = list(profile_findings(value))
        fields = value.get("fields")
        return verdict_of(NAME, found, checks=len(found) + (len(fields) if isinstance(fields, dict) else 0) + 1)

    return guard


def profile_findings(value: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what is wrong with a proposed profile."""
    try:
        profile = Profile.model_validate(value)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False, include_input=False):
            yield Finding(code=INVALID, message=item["msg"], where=".".join(map(str, item["loc"])))
        return
    for path, cause, hint in problems(profile):
        text = f"{cause} ({hint})" if hint else cause
        yield Finding(code=INVALID, message=text, where=".".join(map(str, path)))
    if profile.calculator is None:
        yield Finding(code=NO_RESULT, message="it calculates nothing: give `calculator.results`", where="calculator")
    for name in unused_fields(profile):
        yield Finding(code=UNUSED, message="no formula uses it: use it, or leave it out", where=f"fields.{name}")
    yield from _unvouched_findings(profile)


def _unvouched_findings(profile: Profile) -> Iterator[Finding]:
    formulas = {f"fields.{path}.formula": spec.formula for path, spec in profile.fields.items() if spec.formula}
    if profile.calculator is not None:
        formulas |= {
            f"calculator.results.{name}": result.formula for name, result in profile.calculator.results.items()
        }
    for where, formula in formulas.items():
        for number in _numbers(formula):
            yield Finding(code=UNVOUCHED, message=f"the number {number:g} is to be a field of its own", where=where)
    for path, spec in profile.fields.items():
        if spec.default is not None:
            text = "a default is a value that nobody vouches for: leave it out"
            yield Finding(code=UNVOUCHED, message=text, where=f"fields.{path}.default")


def _numbers(formula: str) -> tuple[float, ...]:
    try:
        return tuple(number for number in parse_formula(formula).numbers if number != 1)
    except FormulaUnreadable:
        return ()  # `problems` has named it.
