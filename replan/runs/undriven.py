"""What is recorded of a run that nobody drives: the bug that has ended it, or why it cannot be driven here."""

from typing import Any

from replan.runs.engine import Engine
from runtime.core.errors import ReplanError
from runtime.core.messages import Crashed, Parking
from runtime.drive.offline import append_one
from runtime.logs.redact import Redactor, secrets_in

WHY_MAX = 500
"""The longest reason, in characters, that is recorded for a run that cannot be driven."""


async def record_crash(engine: Engine, run: str, error: Exception) -> None:
    """Record that a bug of its driver has ended a run that nobody drives any more."""
    reason = _redacted(engine, f"driver: {type(error).__name__}: {error}".splitlines()[0])
    await _record(engine, run, Crashed("", engine.clock.now(), reason))


async def record_undrivable(engine: Engine, run: str, problem: ReplanError) -> None:
    """Record why a run that nobody drives cannot be driven here, once, for those who follow it."""
    reason = _redacted(engine, f"the host cannot drive it: {problem}")[:WHY_MAX]
    await _record(engine, run, Parking(engine.clock.now(), handover=True, why=reason))


async def _record(engine: Engine, run: str, message: Any) -> None:
    await append_one((await engine.kind_of(run)).machine, engine.journal, run, engine.lease(), message)


def _redacted(engine: Engine, text: str) -> str:
    return Redactor(secrets_in(engine.environment)).text(text)
