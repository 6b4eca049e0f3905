"""Asking on the terminal what a run waits for, and going on with it; others may answer first."""

import trio

from actors.run.open_question import OpenQuestion
from actors.run.result import RunResult
from replan.cli.signals import Signals
from replan.cli.terminal.progress import Progress
from replan.cli.terminal.prompt import ask_on_terminal, drop_typed
from replan.runs.engine import Engine
from replan.runs.session import RunSession
from runtime.core.errors import UsageProblem

SHOWN_MAX = 200
"""Characters that are shown of an answer that was given elsewhere."""


async def converse(
    engine: Engine, session: RunSession, result: RunResult, signals: Signals, progress: Progress
) -> RunResult:
    """Ask the user what the run waits for, and go on, until it waits no more or the user does not answer."""
    prompted = False
    while result.status == "waiting" and result.question is not None and signals.code is None:
        progress.pause()
        prompted = True
        answer = await _ask(result.question, signals)
        if answer is None:
            break
        if await _post(engine, result.question, answer, progress):
            result = await session.go_on(signals.stop)
            if result.outcome == "cancelled" and signals.code is None:
                progress.note("the run was cancelled elsewhere")
    if prompted:
        drop_typed()  # The rest of what was pasted into a question would be run as commands by the user's shell.
    return result


async def _post(engine: Engine, question: OpenQuestion, answer: str, progress: Progress) -> bool:
    """Post an answer, or say which one counts. Return False while the question is still open, to be asked again."""
    full = str(question["id"])
    run, _, name = full.rpartition("/")
    common = await engine.common_with_inbox(run)
    assert common is not None
    current = common.questions[name]
    if common.finished is not None and not current.answer:
        return True
    try:
        receipt = await engine.answer(full, answer, via="cli")
    except UsageProblem as problem:
        progress.note(problem.cause)
        return not current.open
    if receipt.result == "conflict" and receipt.stands is None:
        progress.note("declined elsewhere")
    elif receipt.result == "conflict" or current.answer:
        first = str(receipt.stands)
        progress.note(f"answered elsewhere: {first if len(first) <= SHOWN_MAX else f'{first[:SHOWN_MAX]}…'}")
    return True


async def _ask(question: OpenQuestion, signals: Signals) -> str | None:
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
