"""Composite guards: several verdicts as one. Every sub-verdict is kept, and so is `fatal`."""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal, assert_never

from actors.artifacts import Artifact, Context
from actors.findings import Finding, Verdict
from actors.guards.port import AnyGuard

Kind = Literal["all_of", "first_failure", "majority"]


def composite(kind: Kind, members: Mapping[str, AnyGuard]) -> AnyGuard:
    """Return a guard that asks its members in their order.

    `all_of` asks all, and all must pass; `first_failure` stops at the first that fails; `majority` passes if more than
    half of all members do, and a minority's errors count as warnings then. The answer comes at once unless a member's
    has to be waited for.
    """

    def guard(artifact: Artifact, context: Context) -> Verdict | Awaitable[Verdict]:
        parts: list[Verdict] = []
        answers = (member(artifact, context) for member in members.values())
        for answer in answers:
            if not isinstance(answer, Verdict):
                return _later(kind, parts, answer, answers, len(members))
            parts.append(answer)
            if _decided(kind, answer):
                break
        return combined(kind, parts, len(members))

    return guard


async def _later(
    kind: Kind,
    parts: list[Verdict],
    first: Awaitable[Verdict],
    rest: Iterator[Verdict | Awaitable[Verdict]],
    members: int,
) -> Verdict:
    """Go on where an answer has to be waited for. The next member is asked when the one before has answered."""
    for answer in chain((first,), rest):
        parts.append(answer if isinstance(answer, Verdict) else await answer)
        if _decided(kind, parts[-1]):
            break
    return combined(kind, parts, members)


def _decided(kind: Kind, verdict: Verdict) -> bool:
    return kind == "first_failure" and not verdict.passed


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
