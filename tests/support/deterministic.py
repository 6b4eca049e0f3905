"""Runs a trio program deterministically: a seed determines the scheduler's choices, and the clock is virtual.

Trio shuffles the tasks of each tick. Its hook for Hypothesis makes that shuffle use a random generator that can be
seeded. The hook's names are private: they are used only here, and a test fails when they are removed. The program must
use no threads, no sockets, and no other source of randomness or time.
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
"""Task steps after which a program counts as endless: its virtual clock may stand still."""

PRIVATE = ("_ALLOW_DETERMINISTIC_SCHEDULING", "_r")
"""Private names of trio that this module uses."""


@dataclass(frozen=True)
class Simulation(Generic[T]):
    """The result of a program, its task steps, their trace hash, and the virtual seconds that passed."""

    result: T
    steps: int
    trace: str
    seconds: float


class _Trace(trio.abc.Instrument):
    """Hashes every step as (task, virtual time). `task_scheduled` is not usable: it fires in the order of a set."""

    def __init__(self, clock: trio.testing.MockClock, scope: trio.CancelScope) -> None:
        self._clock, self._scope = clock, scope
        self.hash, self.steps = hashlib.sha256(), 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        self.hash.update(f"{task.name} {self._clock.current_time()!r}\n".encode())
        if self.steps == STEPS_MAX:
            self._scope.cancel()


def run(main: Callable[[], Awaitable[T]], seed: int) -> Simulation[T]:
    """Run `main` with a seed. Raises its errors, and `AssertionError` if it does not end."""
    clock, scope = trio.testing.MockClock(autojump_threshold=0), trio.CancelScope()
    trace = _Trace(clock, scope)

    async def bounded() -> T:
        with scope:
            return await main()
        raise AssertionError(f"no end after {STEPS_MAX} steps, at {clock.current_time():.1f} virtual seconds")

    with _seeded(seed):
        result = trio.run(bounded, clock=clock, instruments=[trace])
    return Simulation(result, trace.steps, trace.hash.hexdigest(), clock.current_time())


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
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
