"""What the requirements of a plan forbid, compared with what its steps do: changed paths, and tokens. Pure."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from actors.plans.formatting import printable
from actors.tools.snapshot_texts import touched
from actors.values.findings import Code, Finding, ReasonTag
from actors.values.requirements import Requirement, requirements_in

PATHS_SHOWN = 5
"""The changed paths that a finding names."""
_FORBIDS = frozenset({"must_avoid", "must_keep"})


def changed_paths(plan: Mapping[str, Any], changed: Collection[str], step: str) -> tuple[Finding, ...]:
    """Return a finding for each requirement whose paths a step has changed."""
    found = []
    for requirement, item in _forbidding(plan):
        paths = touched(changed, _texts(item.get("paths")))
        if paths:
            more = f" and {len(paths) - PATHS_SHOWN} more" if len(paths) > PATHS_SHOWN else ""
            shown = ", ".join(printable(path, 100) for path in paths[:PATHS_SHOWN])
            found.append(_finding(requirement, f"{shown}{more} changed", step))
    return tuple(found)


def broken_tokens(plan: Mapping[str, Any], tokens: Collection[str], step: str) -> tuple[Finding, ...]:
    """Return a finding for each requirement whose tokens must not hold and do, or must hold and do not."""
    found = []
    for requirement, item in _forbidding(plan):
        named = _texts(item.get("tokens"))
        wrong = [token for token in named if (token in tokens) == (requirement.kind == "must_avoid")]
        if wrong:
            verb = "holds" if requirement.kind == "must_avoid" else "does not hold"
            found.append(_finding(requirement, f"{printable(wrong[0], 100)} {verb}", step))
    return tuple(found)


def _forbidding(plan: Mapping[str, Any]) -> Iterator[tuple[Requirement, Mapping[str, Any]]]:
    raw = plan.get("requirements")
    for item in raw if isinstance(raw, list) else ():
        for requirement in requirements_in([item]):
            if requirement.kind in _FORBIDS:
                yield requirement, item


def _finding(requirement: Requirement, what: str, step: str) -> Finding:
    return Finding(
        code=Code.VIOLATED,
        message=f"{requirement.kind}: {printable(requirement.text, 200)}: {what}",
        where=step,
        tags=(ReasonTag.REQUIREMENT_VIOLATION,),
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
