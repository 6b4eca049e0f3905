"""Composite guards: several verdicts as one. Every sub-verdict is kept, and so is `fatal`."""

from collections.abc import Mapping, Sequence
from typing import Literal, assert_never

from actors.artifacts import Artifact, Context
from actors.findings import Finding, Verdict
from actors.guards.port import Guard

Kind = Literal["all_of", "first_failure", "majority"]


def composite(kind: Kind, members: Mapping[str, Guard]) -> Guard:
    """Return a guard that asks its members in their order.

    `all_of` asks all, and all must pass; `first_failure` stops at the first that fails; `majority` passes if more than
    half of all members do, and a minority's errors count as warnings then.
    """

    def guard(artifact: Artifact, context: Context) -> Verdict:
        parts: list[Verdict] = []
        for member in members.values():
            parts.append(member(artifact, context))
            if kind == "first_failure" and not parts[-1].passed:
                break
        return combined(kind, parts, len(members))

    return guard


def combined(kind: Kind, parts: Sequence[Verdict], members: int) -> Verdict:
    """Return the verdict that the parts make together. A fatal part makes it fatal, and not passed."""
    fatal = any(part.fatal for part in parts)
    passes = sum(1 for part in parts if part.passed)
    match kind:
        case "all_of" | "first_failure":
            passed = passes == len(parts)
        case "majority":
            passed = 2 * passes > members
        case _:
            assert_never(kind)
    passed = passed and not fatal
    findings = [finding for part in parts for finding in part.findings]
    failed = next((part for part in parts if not part.passed), None)
    return Verdict(
        guard=failed.guard if failed is not None and not passed else kind,
        passed=passed,
        score=1.0 if passed else min(0.99, sum(part.score for part in parts) / max(members, 1)),
        findings=tuple(_as_warning(finding) for finding in findings) if passed else tuple(findings),
        fatal=fatal,
        facts={name: value for part in parts for name, value in part.facts.items()},
        parts=tuple(parts),
    )


def _as_warning(finding: Finding) -> Finding:
    return finding if finding.severity == "warning" else finding.model_copy(update={"severity": "warning"})
