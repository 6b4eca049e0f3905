"""What the requirements of a plan forbid, compared with what its steps do: changed paths, and tokens. Pure."""

from collections.abc import Collection, Iterator

from actors.plans.formatting import printable
from actors.plans.plan import Plan
from actors.tools.snapshot_texts import touched
from actors.values.findings import Code, Finding, ReasonTag
from actors.values.requirements import Requirement

PATHS_SHOWN = 5
"""The changed paths that a finding names."""
_FORBIDS = frozenset({"must_avoid", "must_keep"})


def changed_paths(plan: Plan, changed: Collection[str], step: str) -> tuple[Finding, ...]:
    """Return a finding for each requirement whose paths a step has changed."""
    found = []
    for requirement in _forbidding(plan):
        paths = touched(changed, requirement.paths)
        if paths:
            more = f" and {len(paths) - PATHS_SHOWN} more" if len(paths) > PATHS_SHOWN else ""
            shown = ", ".join(printable(path, 100) for path in paths[:PATHS_SHOWN])
            found.append(_finding(requirement, f"{shown}{more} changed", step))
    return tuple(found)


def broken_tokens(plan: Plan, tokens: Collection[str], step: str) -> tuple[Finding, ...]:
    """Return a finding for each requirement whose tokens must not hold and do, or must hold and do not."""
    found = []
    for requirement in _forbidding(plan):
        wrong = [token for token in requirement.tokens if (token in tokens) == (requirement.kind == "must_avoid")]
        if wrong:
            verb = "holds" if requirement.kind == "must_avoid" else "does not hold"
            found.append(_finding(requirement, f"{printable(wrong[0], 100)} {verb}", step))
    return tuple(found)


def _forbidding(plan: Plan) -> Iterator[Requirement]:
    return (requirement for requirement in plan.requirements if requirement.kind in _FORBIDS)


def _finding(requirement: Requirement, what: str, step: str) -> Finding:
    return Finding(
        code=Code.VIOLATED,
        message=f"{requirement.kind}: {printable(requirement.text, 200)}: {what}",
        where=step,
        tags=(ReasonTag.REQUIREMENT_VIOLATION,),
    )
