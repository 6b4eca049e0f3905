"""Composite guards: several verdicts as one. Every sub-verdict is kept, and so is `fatal`."""

from collections.abc import Awaitable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, assert_never

from actors.guards.port import AnyGuard
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Finding, Verdict

Kind = Literal["all_of", "first_failure", "majority"]


def composite(kind: Kind, members: Mapping[str, AnyGuard], absent: int = 0) -> AnyGuard:
    """Return a guard that asks its members in their order; `absent` members are asked elsewhere, and count as failed.

    `all_of` asks all, and all must pass; `first_failure` stops at the first that fails; `majority` passes if more than
    half of all members do, and a minority's errors count as warnings then. The answer comes at once unless a member's
    has to be waited for.
    """

    def guard(artifact: Artifact, context: Context) -> Verdict | Awaitable[Verdict]:
        answers = (member(artifact, context) for member in members.values())
        parts: list[Verdict] = []
        for answer in answers:
            if not isinstance(answer, Verdict):
                return _Later(kind, parts, chain((answer,), answers), len(members) + absent)
            parts.append(answer)
            if _settled(kind, answer):
                break
        return combined(kind, parts, len(members) + absent)

    return guard


@dataclass(frozen=True, slots=True)
class _Later:
    """A verdict to be waited for: what the members have said so far, and those still to be asked.

    Who awaits it does the waiting; nothing here does, so that a composite of pure guards is one.
    """

    kind: Kind
    parts: list[Verdict]
    rest: Iterator[Verdict | Awaitable[Verdict]]
    members: int

    def __await__(self) -> Generator[Any, Any, Verdict]:
        """Take the answers one by one: the next member is asked when the one before has answered."""
        for answer in self.rest:
            self.parts.append(answer if isinstance(answer, Verdict) else (yield from answer.__await__()))
            if _settled(self.kind, self.parts[-1]):
                break
        return combined(self.kind, self.parts, self.members)


def _settled(kind: Kind, verdict: Verdict) -> bool:
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
