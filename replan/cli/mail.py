"""Messages from the user to runs: reading the open questions, answering one, telling a run something, cancelling it."""

import shlex
from collections.abc import Iterator
from typing import Any

import trio

from actors.planning.state import State
from replan.cli.exits import Exit
from replan.cli.inputs import ANSWER_BYTES_MAX, TOLD_BYTES_MAX, read_stdin
from replan.cli.options import Invocation
from replan.cli.session import all_runs, opened, opened_to_read, run_named
from replan.runs.engine import Engine
from replan.runs.inbox import split
from replan.setup.command_name import program
from replan.views.console import err, line, out, print_json, spaced
from replan.views.format import counted
from replan.views.question_text import question_rows
from replan.views.result import Result, question_json
from runtime.core.errors import Held, UsageProblem
from runtime.journal.port import RunRow

SHOWN_MAX = 200
"""Letters that are shown of an answer that stands."""

CANCEL_SECONDS = 5.0
"""How long `cancel` waits for the process that drives the run to take the message in."""


def list_questions(invocation: Invocation, wanted: str | None, *, as_json: bool) -> int:
    """Print the open questions."""
    return trio.run(_list_questions, invocation, wanted, as_json)


async def _list_questions(invocation: Invocation, wanted: str | None, as_json: bool) -> int:
    async with opened_to_read(invocation) as engine:
        if wanted is None:
            # Not only the runs that wait: a question may be open while other steps go on.
            names = [row.run for row in await all_runs(engine) if row.summary.status != "finished"]
        else:
            names = [await run_named(engine, wanted)]
        found = [question for name in names for question in _open(name, await engine.heard(name))]
    if as_json:
        print_json({"questions": found})
        return Exit.OK
    console = out()
    for question in found:
        console.print(line(f"{question['id']}  {question['why']}, asked {question['asked']}", "bold"))
        for row in question_rows(question):
            console.print(spaced(row))
    if found:
        err().print(line(f"replan: answer with: {program()} answer {shlex.quote(found[0]['id'])} TEXT"))
    else:
        console.print(line("no open questions", "dim"))
    return Exit.OK


def _open(run: str, state: State) -> Iterator[dict[str, Any]]:
    return (question_json(run, state, question) for question in state.asked.values() if question.open)


def say_how_to_answer(result: Result) -> None:
    """Say on stderr how the questions that a run waits for are answered: the first, and where the others are listed."""
    if result.status == "waiting" and result.open_questions:
        err().print(line(f"replan: answer with: {program()} answer {shlex.quote(result.open_questions[0])} TEXT"))
        _say_more(result.run_id, len(result.open_questions) - 1)


def _say_more(run: str, count: int) -> None:
    """Say how many other questions of a run are open, and where they are listed."""
    if count > 0:
        said = f"{counted(count, 'more question')} {'is' if count == 1 else 'are'} open"
        err().print(line(f"replan: {said}: {program()} questions {run}"))


def answer_question(invocation: Invocation, question: str, text: str | None) -> int:
    """Post an answer, or with None that there will be none."""
    return trio.run(_answer, invocation, question, read_stdin(ANSWER_BYTES_MAX) if text == "-" else text)


async def _answer(invocation: Invocation, question: str, text: str | None) -> int:
    async with opened(invocation) as engine:
        run, name = split(question)
        full = f"{await run_named(engine, run)}/{name}"
        heard = await (engine.decline(full) if text is None else engine.answer(full, text))
        if heard.result == "conflict":
            hint = "the first word stands; the run has it"
            stands = "it was declined" if heard.stands is None else repr(heard.stands[:SHOWN_MAX])
            raise UsageProblem(f"another answer was given before: {stands}", place=full, hint=hint)
        row, hosted = await engine.journal.row(full.rpartition("/")[0]), await engine.hosted()
        left = len(list(_open(row.run, await engine.heard(row.run))))
    done = "declined" if text is None else "answered"
    said = f"was {done} so before" if heard.result == "duplicate" else f"is {done}"
    _say_posted(f"{full} {said}", row, hosted=hosted, left=left)
    return Exit.OK


def tell_run(invocation: Invocation, wanted: str, text: str, kind: str) -> int:
    """Post a note or a requirement."""
    return trio.run(_tell, invocation, wanted, read_stdin(TOLD_BYTES_MAX) if text == "-" else text, kind)


async def _tell(invocation: Invocation, wanted: str, text: str, kind: str) -> int:
    async with opened(invocation) as engine:
        run = await run_named(engine, wanted)
        await engine.tell(run, text, kind)
        row, hosted = await engine.journal.row(run), await engine.hosted()
    then = "the next prompt shows it" if kind == "note" else "the run goes back for it"
    _say_posted(f"run {run} has the {kind}; {then}", row, hosted=hosted)
    return Exit.OK


def _say_posted(said: str, row: RunRow, *, hosted: bool, left: int = 0) -> None:
    """Say what was posted, how many questions are left, and how the run goes on if nobody drives it."""
    err().print(line(f"replan: {said}"))
    _say_more(row.run, left)
    if row.owner is None and not hosted and row.summary.status != "finished":
        err().print(line(f"replan: go on with: {program()} resume {row.run}"))


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
