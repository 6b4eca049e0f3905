"""Errors of plug-ins: what a guard or a generator raises is reported with its name."""

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager

from actors.guards.port import AnyGuard
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict
from runtime.core.errors import root_cause
from runtime.core.messages import Halt


class PlugInFailed(Exception):
    """A guard or a generator raised; the text is its name, then the type and the text of the error.

    The run is parked, as `halt` says: its user can mend the plug-in and go on.
    """

    halt: Halt = "plugin"


@contextmanager
def attribute_errors(plugin: str) -> Iterator[None]:
    """Raise every error of the block as a `PlugInFailed` that begins with `plugin`, such as `guard small`.

    Of an exception group, as a task group raises it, the root cause is reported. An error that already names a plug-in
    is passed on, and so are cancellation and interrupts, which are not errors of the plug-in.
    """
    try:
        yield
    except PlugInFailed:
        raise
    except (Exception, BaseExceptionGroup) as error:
        cause = _error_to_report(error)
        if cause is None:
            raise
        raise PlugInFailed(f"{plugin}: {type(cause).__name__}: {cause}") from error


def _error_to_report(error: BaseException) -> Exception | None:
    """Return the error that explains the others; None if there are only cancellations, or an interrupt is among them.

    An error beside a cancellation is reported: a plug-in that fails while it is being cancelled has a bug.
    """
    if isinstance(error, BaseExceptionGroup) and error.subgroup((KeyboardInterrupt, SystemExit)) is not None:
        return None
    cause = root_cause(error)
    return cause if isinstance(cause, Exception) else None


def guard_with_name(name: str, guard: AnyGuard) -> AnyGuard:
    """Return a plug-in's guard, sync or async, with its name in its errors.

    It raises `PlugInFailed` for what the guard raises, and if the answer is not a verdict.
    """

    def judge(artifact: Artifact, context: Context) -> Verdict | Awaitable[Verdict]:
        with attribute_errors(f"guard {name}"):
            answer = guard(artifact, context)
        return _await_verdict(name, answer) if isinstance(answer, Awaitable) else _checked_verdict(name, answer)

    return judge


async def _await_verdict(name: str, awaitable: Awaitable[object]) -> Verdict:
    with attribute_errors(f"guard {name}"):
        answer = await awaitable
    return _checked_verdict(name, answer)


def _checked_verdict(name: str, answer: object) -> Verdict:
    if isinstance(answer, Verdict):
        return answer
    raise PlugInFailed(f"guard {name} returned {type(answer).__name__}, not a Verdict")
