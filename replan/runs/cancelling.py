"""Changes of a run that nobody drives: it is cancelled, ended by a driver's bug, or marked as not drivable here."""

from typing import Any

import trio

from actors.run.ending import Outcome
from replan.runs.engine import Engine
from replan.setup.command_name import program
from runtime.core.errors import Held, ReplanError, UsageProblem
from runtime.core.messages import Crashed, Parking
from runtime.drive.offline import append_one
from runtime.logs.redact import Redactor, secrets_in

CANCEL_SECONDS = 5.0
"""How long a cancel waits for the process that drives the run to take the message."""


async def cancel_run(engine: Engine, run: str, *, shown_by: str = "") -> bool:
    """Post the message that cancels a run, and wait for its end. Return whether the run has ended.

    A run that nobody drives ends here; another process takes the message, within `CANCEL_SECONDS` or later. Raises
    `UsageProblem` for a run that has finished, also where it came to another end before it took the message; it says
    that `shown_by` shows it (by default the command). Raises as `Engine.cancel` does.
    """
    hint = f"{shown_by or f'`{program()} show {run}`'} shows it"
    row = await engine.journal.row(run)
    if row.status == "finished":
        raise UsageProblem(f"run {run} has finished already ({row.detail})", place="RUN", hint=hint)
    await engine.cancel(run)
    with trio.move_on_after(CANCEL_SECONDS):
        while True:
            try:
                await engine.finish_cancelled(run)
            except Held:
                await trio.sleep(0.1)
            else:
                break
    row = await engine.journal.row(run)
    if row.status == "finished" and row.detail != Outcome.CANCELLED:
        raise UsageProblem(f"run {run} has finished before it was cancelled ({row.detail})", place="RUN", hint=hint)
    return row.status == "finished"


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
