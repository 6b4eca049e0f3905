"""Names the guard or generator in what goes wrong inside it: the run's end says whose mistake it was."""

from collections.abc import Awaitable, Iterator
from contextlib import contextmanager

from actors.guards.port import AnyGuard
from actors.values.artifacts import Artifact, Context
from actors.values.findings import Verdict


class PlugInFailed(Exception):
    """A guard or a generator raised; the text names it, and then the error."""


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Put a name such as `guard small` before any error of the block. The innermost name stays alone."""
    try:
        yield
    except PlugInFailed:
        raise
    except Exception as error:
        raise PlugInFailed(f"{what}: {type(error).__name__}: {error}") from error


def named(name: str, guard: AnyGuard) -> AnyGuard:
    """Return the guard, at once or awaited, with its name in its errors.

    It raises `PlugInFailed` for what the guard raises, and `TypeError` if the answer is no verdict.
    """

    def judge(artifact: Artifact, context: Context) -> Verdict | Awaitable[Verdict]:
        with naming(f"guard {name}"):
            answer = guard(artifact, context)
        return _later(name, answer) if isinstance(answer, Awaitable) else _verdict(name, answer)

    return judge


async def _later(name: str, answer: Awaitable[object]) -> Verdict:
    with naming(f"guard {name}"):
        said = await answer
    return _verdict(name, said)


def _verdict(name: str, answer: object) -> Verdict:
    if isinstance(answer, Verdict):
        return answer
    raise TypeError(f"guard {name} returned {type(answer).__name__}, not a Verdict")
