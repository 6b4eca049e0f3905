"""Changes the limits, the model or `strict` of a run, cancels a run, and records why a run is not driven."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import trio

from actors.run.ending import Outcome
from actors.run.limits import LIMITS, RunLimits, check_limits, name_of, stored_limits
from actors.run.result import RunResult
from replan.runs.engine import Engine
from replan.runs.prepare import model_change
from replan.setup.home_folder import locate_home
from replan.setup.installation import program
from replan.setup.settings import read_user_config
from runtime.core.errors import Held, ReplanError, UsageProblem
from runtime.core.messages import Crashed, Parking
from runtime.drive.run_log import append_one
from runtime.journal.port import Posted
from runtime.logs.redact import Redactor, secrets_in


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that a person makes to a run."""

    limits: RunLimits = field(default_factory=RunLimits)
    """The new limits of the whole run, including the amounts that it has already used. The deadline counts from now."""
    model: str | None = None
    """The new model in the form of `--model`; None if it does not change."""
    strict: bool = False
    """Whether plans that do not cover every demand of the text are rejected from now on."""

    @property
    def raises_limits(self) -> bool:
        """Whether the changes include a limit of the whole run."""
        return any(LIMITS[name].of_run for name in check_limits(self.limits))

    def __bool__(self) -> bool:
        return self.strict or self.model is not None or bool(check_limits(self.limits))


async def post_changes(
    engine: Engine, run: str, changes: Changes, environment: Mapping[str, str] = os.environ, *, key: str = ""
) -> Posted:
    """Post changes to a run. Raises `UsageProblem` for invalid values, with the name of the limit as its `place`.

    `key` is the same as for `Engine.tell`. If the same changes were posted earlier with the same key, the result is
    `duplicate`, even if the deadline differs.
    """
    with name_limits():
        body = message_of(changes, await engine.result(run), engine.journal.now(), environment)
        posted = await engine.change(run, body, key=key)
    first_body = json.loads(posted.body)
    if posted.result == "conflict" and first_body | {"deadline": 0} == {"kind": "change", **body} | {"deadline": 0}:
        return posted._replace(result="duplicate")
    return posted


@contextmanager
def name_limits() -> Iterator[None]:
    """In each `UsageProblem` of the block, replace a `place` that is a limit's key in the inbox by the limit's name."""
    try:
        yield
    except UsageProblem as problem:
        raise UsageProblem(problem.cause, place=name_of(problem.place), hint=problem.hint) from None


def message_of(changes: Changes, result: RunResult, now: float, environment: Mapping[str, str]) -> dict[str, Any]:
    """Return the body of the inbox message for changes. Raises `UsageProblem` with the name of a limit as its `place`.

    `result` is the result of the run so far. `now` is in UTC seconds since 1970.
    """
    body = stored_limits(changes.limits, now)
    if changes.strict:
        body["strict"] = True
    price_known = result.cost_usd is not None
    if changes.model is not None:
        config = read_user_config(locate_home(environment).config)
        body |= model_change(changes.model, environment, config, now)
        price_known = body["price"] is not None
    if "micro_usd" in body and not price_known:
        hint = "give its price under `prices` in config.yaml, or limit calls or tokens"
        raise UsageProblem("the price of the model is not known", place="max_cost", hint=hint)
    return body


CANCEL_SECONDS = 5.0
"""The longest time, in seconds, that `cancel_run` waits for the process that drives the run to read the cancel
message."""


async def cancel_run(engine: Engine, run: str, *, shown_by: str = "") -> bool:
    """Post the message that cancels a run, and wait up to `CANCEL_SECONDS` for its end. Return whether it has ended.

    If no process drives the run, this process ends it. Otherwise, the process that drives the run ends it, perhaps
    after this function has returned. Raises `UsageProblem` for a run that has already finished, or that ends in another
    way before it reads the message. The hint of the error contains `shown_by`, the command that shows the run. Raises
    the errors of `Engine.cancel`.
    """
    hint = f"{shown_by or f'`{program()} show {run}`'} shows its result"
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
"""The number of characters to which a host cuts the recorded reason why it cannot drive a run."""


async def record_crash(engine: Engine, run: str, error: Exception) -> None:
    """Record that a run stopped because its driver raised an unexpected error.

    Call this only if no process drives the run.
    """
    reason = _redact(engine, f"driver: {type(error).__name__}: {error}".splitlines()[0])
    await _record(engine, run, Crashed("", engine.clock.now(), reason))


async def record_undrivable(engine: Engine, run: str, problem: ReplanError) -> None:
    """Record why this host cannot drive a run that nobody drives. Programs that follow the run show the reason."""
    reason = _redact(engine, f"the host cannot drive the run: {problem}")[:WHY_MAX]
    await _record(engine, run, Parking(engine.clock.now(), handover=True, why=reason))


async def _record(engine: Engine, run: str, message: Any) -> None:
    await append_one((await engine.kind_of(run)).machine, engine.journal, run, engine.lease(), message)


def _redact(engine: Engine, text: str) -> str:
    return Redactor(secrets_in(engine.environment)).text(text)
