"""The guard port: the type of a guard, its factory, and the facts about it that the rest of the program needs.

A guard is a pure total function: for any artifact and any context it returns, in bounded time, a verdict with all
findings. The verdict does not depend on the order of a plan's steps or on the spelling of tokens. A guard that needs
I/O is a plug-in; it may be an async function.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from actors.values.artifacts import Artifact, Context
from actors.values.findings import Finding, Verdict
from runtime.core.total_readers import total
from runtime.models.replies import ReplyCode


class Guard(Protocol):
    """A function from an artifact and its context to a verdict, without waiting."""

    def __call__(self, artifact: Artifact, context: Context) -> Verdict:
        """Return the verdict on the artifact."""
        ...


AnyGuard = Callable[[Artifact, Context], Verdict | Awaitable[Verdict]]
"""A guard, or a plug-in that does I/O: an async function."""

GuardFactory = Callable[[Mapping[str, Any]], AnyGuard]
"""Makes a guard, sync or async, from its `guard_config`.

Raises `runtime.core.errors.UsageProblem` for an unknown setting.
"""

PureGuardFactory = Callable[[Mapping[str, Any]], Guard]
"""A factory of sync guards, as all built-in guards are."""

G = TypeVar("G", bound=AnyGuard)


def total_guard(name: str, guard: AnyGuard) -> AnyGuard:
    """Return a guard of ours that rejects an artifact on which it raises: the bug is ours, and the text a model's."""
    return total("the artifact", partial(unread_verdict, name))(guard)


def unread_verdict(name: str, said: str) -> Verdict:
    """Return the rejection of an artifact that a guard could not read, with the sentence of the boundary."""
    return Verdict(guard=name, passed=False, score=0.0, findings=(Finding(code=ReplyCode.UNREAD, message=said),))


@dataclass(frozen=True, slots=True)
class GuardDefinition(Generic[G]):
    """A guard factory with the properties of its guards; a call makes a guard."""

    make: Callable[[Mapping[str, Any]], G]
    """Makes the guard from the settings of its step; raises `UsageProblem` for invalid ones."""
    slow: bool = False
    """Whether one judgement may take so long that it should run in a worker thread, whatever the artifact's size."""
    workflow_settings: frozenset[str] = frozenset()
    """The settings that the guard inherits from the workflow, where the step's `guard_config` has none."""

    def __call__(self, config: Mapping[str, Any]) -> G:
        """Return the guard with these settings. Raises `UsageProblem` for an unknown setting."""
        return self.make(config)


def definition_of(factory: Callable[[Mapping[str, Any]], G]) -> GuardDefinition[G]:
    """Return the definition of a guard; a plain factory, such as a plug-in's, has the default properties."""
    return factory if isinstance(factory, GuardDefinition) else GuardDefinition(factory)
