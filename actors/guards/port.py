"""What a guard is, and how a workflow names one.

A guard is a total, pure function: any artifact, any context, always a verdict with every finding, in bounded time. It
does not depend on the order of a plan's steps or on how tokens are spelled. A guard that needs I/O is a plug-in actor.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict


class Guard(Protocol):
    """`Artifact × Context → Verdict`."""

    def __call__(self, artifact: Artifact, context: Context) -> Verdict:
        """Judge the artifact."""
        ...


AnyGuard = Callable[[Artifact, Context], Verdict | Awaitable[Verdict]]
"""A guard, or a plug-in that does I/O and so answers later: an async function."""

GuardFactory = Callable[[Mapping[str, Any]], AnyGuard]
"""Makes a guard, sync or async, from its `guard_config`.

Raises `runtime.core.errors.UsageProblem` on a setting that it does not know.
"""

PureGuardFactory = Callable[[Mapping[str, Any]], Guard]
"""A factory whose guard answers at once, as that of every built-in guard does."""
