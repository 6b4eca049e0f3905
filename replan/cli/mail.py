"""Messages from the user to runs: reading the open questions, answering one, cancelling a run."""

from collections.abc import Iterator
from typing import Any

import trio

from actors.machine.state import State
from replan.cli.exits import Exit
from replan.cli.inputs import ANSWER_BYTES_MAX, read_stdin
from replan.cli.options import Invocation
from replan.cli.session import all_runs, opened, run_named
from replan.engine import Engine
from replan.show.console import err, line, out, print_json
from replan.show.words import stamp
from runtime.errors import Held, UsageProblem
from runtime.program import program
from runtime.terminal import clean

SHOWN_MAX = 200
"""Letters that are shown of an answer that stands."""

CANCEL_SECONDS = 5.0
"""How long `cancel` waits for the process that drives the run to take the message in."""


def list_questions(invocation: Invocation, wanted: str | None, *, as_json: bool) -> int:
    """Print the open questions."""
    return trio.run(_list_questions, invocation, wanted, as_json)


async def _list_questions(invocation: Invocation, wanted: str | None, as_json: bool) -> int:
    async with opened(invocation) as engine:
        if wanted is None:
            names = [row.run for row in await all_runs(engine) if row.summary.status == "waiting"]
        else:
            names = [await run_named(engine, wanted)]
        found = [question for name in names for question in _open(name, (await engine.load(name))[0])]
    if as_json:
        print_json({"questions": found})
        return Exit.OK
    console = out()
    for question in found:
        console.print(line(f"{question['id']}  {question['why']}, asked {question['asked']}", "bold"))
        for row in clean(question["text"]).split("\n"):
            console.print(line(f"- {row}"))
    if not found:
        console.print(line("no open questions", "dim"))
    return Exit.OK


def _open(run: str, state: State) -> Iterator[dict[str, Any]]:
    since = None if state.asked_at is None else stamp(state.asked_at)
    for question in state.questions.values():
        yield {
            "id": f"{run}/{question.question_id}",
            "run_id": run,
            "step": question.step,
            "text": question.text,
            "why": question.why,
            "asked": since,
            "answer_schema": dict(question.answer_schema),
        }


def answer_question(invocation: Invocation, question: str, text: str) -> int:
    """Post an answer."""
    return trio.run(_answer, invocation, question, read_stdin(ANSWER_BYTES_MAX) if text == "-" else text)


async def _answer(invocation: Invocation, question: str, text: str) -> int:
    async with opened(invocation) as engine:
        run, slash, name = question.rpartition("/")
        full = f"{await run_named(engine, run)}/{name}" if slash else question
        posted = await engine.answer(full, text.strip())
        if posted.result == "conflict":
            hint = "the first one stands; the run has it"
            stands = "it was declined" if posted.stands is None else repr(posted.stands[:SHOWN_MAX])
            raise UsageProblem(f"another answer was given before: {stands}", place=full, hint=hint)
        row = await engine.journal.row(full.rpartition("/")[0])
    said = "was answered so before" if posted.result == "duplicate" else "is answered"
    err().print(line(f"replan: {full} {said}"))
    if row.owner is None:
        err().print(line(f"replan: go on with: {program()} resume {row.run}"))
    return Exit.OK


def cancel_run(invocation: Invocation, wanted: str) -> int:
    """Cancel a run."""
    return trio.run(_cancel, invocation, wanted)


async def _cancel(invocation: Invocation, wanted: str) -> int:
    async with opened(invocation) as engine:
        run = await run_named(engine, wanted)
        row = await engine.journal.row(run)
        if row.summary.status == "finished":
            hint = f"`{program()} show {run}` shows it"
            raise UsageProblem(f"run {run} has finished already ({row.summary.detail})", place="RUN", hint=hint)
        await engine.cancel(run)
        done = await _taken_in(engine, run)
    err().print(line(f"replan: run {run} {'is cancelled' if done else 'will be cancelled by the process driving it'}"))
    return Exit.OK


async def _taken_in(engine: Engine, run: str) -> bool:
    """Wait until the driver has taken the message in, or record the end if nobody drives the run."""
    with trio.move_on_after(CANCEL_SECONDS):
        while True:
            try:
                await engine.finish_cancelled(run)
            except Held:
                await trio.sleep(0.1)
            else:
                break
    return (await engine.journal.row(run)).summary.status == "finished"
