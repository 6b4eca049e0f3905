"""Runs a trio program so that one number decides everything: the scheduler's choices, and a clock that jumps.

Trio shuffles the tasks of each tick on purpose. Its own hook for Hypothesis makes that shuffle follow a generator that
can be seeded; the hook's names are private, so they are touched here and nowhere else, and a test fails when they go.
The program must play along: no threads, no sockets, and no other source of chance or time.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import trio
import trio.testing
from trio._core import _run as trio_run

T = TypeVar("T")

STEPS_MAX = 50_000
"""Task steps after which a program is taken to go round in circles: the virtual clock may stand still for ever."""

PRIVATE = ("_ALLOW_DETERMINISTIC_SCHEDULING", "_r")
"""The names that trio does not promise to keep."""


@dataclass(frozen=True)
class Played(Generic[T]):
    """What a program returned, and how: its task steps, their trace hash, and the virtual seconds that passed."""

    result: T
    steps: int
    trace: str
    seconds: float


class _Trace(trio.abc.Instrument):
    """Hashes every step as (task, virtual time). `task_scheduled` would not do: it fires in the order of a set."""

    def __init__(self, clock: trio.testing.MockClock, scope: trio.CancelScope) -> None:
        self._clock, self._scope = clock, scope
        self.hash, self.steps = hashlib.sha256(), 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        self.hash.update(f"{task.name} {self._clock.current_time()!r}\n".encode())
        if self.steps == STEPS_MAX:
            self._scope.cancel()


def run(main: Callable[[], Awaitable[T]], seed: int) -> Played[T]:
    """Run `main` under the seed. Raises what it raises, and `AssertionError` when it does not come to an end."""
    clock, scope = trio.testing.MockClock(autojump_threshold=0), trio.CancelScope()
    trace = _Trace(clock, scope)

    async def bounded() -> T:
        with scope:
            return await main()
        raise AssertionError(f"no end after {STEPS_MAX} steps, at {clock.current_time():.1f} virtual seconds")

    with _seeded(seed):
        result = trio.run(bounded, clock=clock, instruments=[trace])
    return Played(result, trace.steps, trace.hash.hexdigest(), clock.current_time())


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Let the scheduler follow the seed, and leave trio as it was."""
    missing = [name for name in PRIVATE if not hasattr(trio_run, name)]
    assert not missing, f"trio {trio.__version__} has no {missing}: its scheduler cannot be seeded this way any more"
    allowed, state = trio_run._ALLOW_DETERMINISTIC_SCHEDULING, trio_run._r.getstate()
    trio_run._ALLOW_DETERMINISTIC_SCHEDULING = True
    trio_run._r.seed(seed)
    try:
        yield
    finally:
        trio_run._ALLOW_DETERMINISTIC_SCHEDULING = allowed
        trio_run._r.setstate(state)
