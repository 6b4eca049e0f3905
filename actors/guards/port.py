"""The guard port: the type of a guard, its factory and properties, and composites of several guards.

A guard is a pure function that never raises. For any artifact and any context it returns a verdict with all findings,
in bounded time. The verdict does not depend on the order in which a plan lists its steps, or on the names of tokens. A
guard that needs I/O is a plug-in, and can be an async function. A composite combines the verdicts of several guards
into one verdict, which keeps these verdicts as its parts. The combined verdict is fatal if at least one part is fatal.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Annotated, Any, Generic, Literal, Protocol, TypeVar, assert_never

from pydantic import Discriminator, StringConstraints, Tag, model_validator

from actors.files.validation_errors import Config, config_error
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Finding, Verdict
from runtime.core.hooks import make_total
from runtime.models.replies import ReplyCode


class Guard(Protocol):
    """A sync function that judges an artifact in its context and returns a verdict."""

    def __call__(self, artifact: Artifact, context: Context) -> Verdict:
        """Return the verdict on the artifact."""


AnyGuard = Callable[[Artifact, Context], Verdict | Awaitable[Verdict]]
"""A guard: a sync function, or the async function of a plug-in that does I/O."""

GuardFactory = Callable[[Mapping[str, Any]], AnyGuard]
"""A function that makes a sync or async guard from a `guard_config`.

It raises `runtime.core.errors.UsageProblem` for an unknown setting.
"""

PureGuardFactory = Callable[[Mapping[str, Any]], Guard]
"""A function that makes a sync guard from a `guard_config`. All built-in guards are sync."""

G = TypeVar("G", bound=AnyGuard)


def total_guard(name: str, guard: AnyGuard) -> AnyGuard:
    """Return a guard that calls a built-in guard, and rejects the artifact if the built-in guard raises.

    An exception of a built-in guard is a bug in Replan. The bug must not stop the run, because a model's text caused
    the exception.
    """
    return make_total("the artifact", partial(unread_verdict, name))(guard)


def unread_verdict(name: str, said: str) -> Verdict:
    """Return the rejection, with the message `said`, of an artifact that the guard `name` could not read."""
    return Verdict(guard=name, passed=False, score=0.0, findings=(Finding(code=ReplyCode.UNREAD, message=said),))


@dataclass(frozen=True, slots=True)
class GuardDefinition(Generic[G]):
    """A guard factory with the properties of its guards. Calling the factory makes a guard."""

    make: Callable[[Mapping[str, Any]], G]
    slow: bool = False
    """Whether the guard should run in a worker thread even for a small artifact, because it can be slow."""
    workflow_settings: frozenset[str] = frozenset()
    """The settings that the guard takes from the workflow if the step's `guard_config` does not have them."""

    def __call__(self, config: Mapping[str, Any]) -> G:
        """Return the guard with these settings. Raises `UsageProblem` if a setting is unknown."""
        return self.make(config)


def definition_of(factory: Callable[[Mapping[str, Any]], G]) -> GuardDefinition[G]:
    """Return the definition of a guard.

    For a plain function, such as a plug-in's factory, the properties have their defaults.
    """
    return factory if isinstance(factory, GuardDefinition) else GuardDefinition(factory)


Kind = Literal["all_of", "first_failure", "majority"]
"""How a composite guard combines the verdicts of its members; see `composite`."""


def composite(kind: Kind, members: Mapping[str, AnyGuard], absent: int = 0) -> AnyGuard:
    """Return a guard that calls other guards, its members, in order and combines their verdicts.

    `all_of` calls all members, and all must pass. `first_failure` stops at the first member that rejects. `majority`
    calls all members, and passes if more than half pass. If the composite passes, the errors of members that rejected
    become warnings. `absent` is the number of further members that this guard does not call, such as a person's review.
    Absent members count as rejecting. The guard returns a verdict, or an awaitable if a member is async.
    """

    def guard(artifact: Artifact, context: Context) -> Verdict | Awaitable[Verdict]:
        results = (member(artifact, context) for member in members.values())
        parts: list[Verdict] = []
        for result in results:
            if not isinstance(result, Verdict):
                return _AwaitableVerdict(kind, parts, chain((result,), results), len(members) + absent)
            parts.append(result)
            if _is_last(kind, result):
                break
        return combine_verdicts(kind, parts, len(members) + absent)

    return guard


@dataclass(frozen=True, slots=True)
class _AwaitableVerdict:
    """The awaitable that a composite with an async member returns instead of a verdict."""

    kind: Kind
    """How the members' verdicts are combined: `all_of`, `first_failure` or `majority`."""
    parts: list[Verdict]
    """The verdicts of the members that have judged so far, in their order."""
    rest: Iterator[Verdict | Awaitable[Verdict]]
    """The results of the members that have not judged yet. The iterator calls each member when its result is requested.
    """
    members: int
    """The number of all members: judged, not yet judged, or absent."""

    def __await__(self) -> Generator[Any, Any, Verdict]:
        """Call and await the members one after another, and return the combined verdict."""
        for result in self.rest:
            self.parts.append(result if isinstance(result, Verdict) else (yield from result.__await__()))
            if _is_last(self.kind, self.parts[-1]):
                break
        return combine_verdicts(self.kind, self.parts, self.members)


def _is_last(kind: Kind, verdict: Verdict) -> bool:
    return kind == "first_failure" and not verdict.passed


def combine_verdicts(kind: Kind, parts: Sequence[Verdict], members: int) -> Verdict:
    """Return one verdict that combines the parts.

    `members` is the number of all members, including members without a part.

    If a part is fatal, the result is fatal and rejects.
    """
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
    findings = list(_drop_repeats(finding for part in parts for finding in part.findings))
    failed = next((part for part in parts if not part.passed), None)
    return Verdict(
        guard=failed.guard if failed is not None and not passed else kind,
        passed=passed,
        score=1.0 if passed else _score(kind, parts, members),
        findings=tuple(_make_warning(finding) for finding in findings) if passed else tuple(findings),
        fatal=fatal,
        facts={name: value for part in parts for name, value in part.facts.items()},
        parts=tuple(parts),
    )


def _score(kind: Kind, parts: Sequence[Verdict], members: int) -> float:
    """Return the score of a rejection: the mean score of the members for `majority`, else their lowest score."""
    if kind == "majority":
        return min(0.99, sum(part.score for part in parts) / max(members, 1))
    return min(0.99, min((part.score for part in parts), default=0.0))


def _drop_repeats(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield each finding once. Several members can find the same, such as an artifact that cannot be read."""
    seen: set[tuple[str, str, str, str]] = set()
    for finding in findings:
        key = (finding.code, finding.where, finding.severity, finding.message)
        if key not in seen:
            seen.add(key)
            yield finding


def _make_warning(finding: Finding) -> Finding:
    return finding if finding.severity == "warning" else finding.model_copy(update={"severity": "warning"})


Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class Composite(Config):
    """A composite of several guards. Exactly one of the keys must be set."""

    all_of: tuple[Name, ...] | None = None
    """All members are called, and all must pass."""
    first_failure: tuple[Name, ...] | None = None
    """The members are called in order until one rejects. All must pass."""
    majority: tuple[Name, ...] | None = None
    """All members are called, and more than half must pass."""

    @model_validator(mode="after")
    def _require_one_kind(self) -> "Composite":
        given = self.model_dump(exclude_none=True)
        if len(given) != 1 or not next(iter(given.values())):
            raise config_error("a composite guard must have one list of guards: all_of, first_failure or majority")
        return self

    @property
    def kind(self) -> Literal["all_of", "first_failure", "majority"]:
        """How the verdicts of the members are combined."""
        if self.all_of is not None:
            return "all_of"
        return "first_failure" if self.first_failure is not None else "majority"

    @property
    def members(self) -> tuple[str, ...]:
        """The guards' names, in order."""
        return self.all_of or self.first_failure or self.majority or ()


def _guard_kind(value: Any) -> str:
    return "composite" if isinstance(value, dict | Composite) else "name"


GuardOrComposite = Annotated[
    Annotated[Name, Tag("name")] | Annotated[Composite, Tag("composite")], Discriminator(_guard_kind)
]
"""A guard's name or a composite. The form is chosen before validation, so that an error message is about the right
form.
"""
