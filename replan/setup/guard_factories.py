"""Making a guard with a factory of somebody else, which may fail in any way."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from actors.guards.port import AnyGuard
from runtime.core.errors import UsageProblem


def make_guard(
    factory: Callable[[Mapping[str, Any]], Any],
    config: Mapping[str, Any],
    *,
    place: str,
    failure: str,
    wrong: str,
    hint: str,
) -> AnyGuard:
    """Return the guard that a factory makes from the settings of a step.

    Raises `UsageProblem` at `place`: the factory's own, `failure` where it raises anything else, and `wrong` with
    `hint` where it returns a value that is no guard.
    """
    try:
        guard: Any = factory(config)
    except UsageProblem:
        raise
    except Exception as error:
        cause = f"{failure}: {type(error).__name__}: {error}"
        raise UsageProblem(cause, place=place, hint="repair it, or its `guard_config`") from error
    if not callable(guard):
        raise UsageProblem(f"{wrong} of type {type(guard).__name__}, not a guard", place=place, hint=hint)
    return cast("AnyGuard", guard)
