"""Asking in place: what a run waits for is asked on the terminal, and the run goes on, also when others were faster."""

from typing import Any

import trio

from replan.cli.session import Signals
from replan.cli.terminal import ask_on_terminal, drop_typed
from replan.runs.engine import Engine
from replan.runs.session import RunSession
from replan.views.progress import Progress
from replan.views.result import Result
from runtime.core.errors import UsageProblem

SHOWN_MAX = 200
"""Letters that are shown of an answer that somebody else gave."""


async def converse(engine: Engine, going: RunSession, result: Result, signals: Signals, shown: Progress) -> Result:
    """Ask the user what the run waits for, and go on, until it waits no more or the user does not answer."""
    asked = False
    while result.status == "waiting" and result.question is not None and signals.code is None:
        shown.pause()
        asked = True
        answer = await _asked(result.question, signals)
        if answer is None:
            break
        if await _posted(engine, result.question, answer, shown):
            result = await going.go_on(signals.stop)
            if result.outcome == "cancelled" and signals.code is None:
                shown.note("the run was cancelled elsewhere")
    if asked:
        drop_typed()  # The rest of what was pasted into a question would be run as commands by the user's shell.
    return result


async def _posted(engine: Engine, question: dict[str, Any], answer: str, shown: Progress) -> bool:
    """Post an answer, or say which one stands. Return False when the question is open still, to be asked again."""
    full = str(question["id"])
    run, _, name = full.rpartition("/")
    state = await engine.heard(run)
    asked = state.run.questions[name]
    if state.run.finished is not None and not asked.answer:
        return True
    try:
        heard = await engine.answer(full, answer)
    except UsageProblem as problem:
        shown.note(problem.cause)
        return not asked.open
    if heard.result == "conflict" and heard.stands is None:
        shown.note("declined elsewhere")
    elif heard.result == "conflict" or asked.answer:
        stands = str(heard.stands)
        shown.note(f"answered elsewhere: {stands if len(stands) <= SHOWN_MAX else f'{stands[:SHOWN_MAX]}…'}")
    return True


async def _asked(question: dict[str, Any], signals: Signals) -> str | None:
    """Return the answer, or None at the end of input or at a signal."""
    answer: str | None = None

    async def ask(scope: trio.CancelScope) -> None:
        nonlocal answer
        answer = await ask_on_terminal(question)
        scope.cancel()

    signals.asking = True
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, nursery.cancel_scope)
        await signals.interrupted.wait()
        nursery.cancel_scope.cancel()
    signals.asking = False
    return answer
