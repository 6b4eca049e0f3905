"""`answer`: posts the answer to a question, or that there will be none."""

import trio

from actors.run.ending import FINAL
from replan.cli.exits import Exit
from replan.cli.hints import how_to_resume, more_questions
from replan.cli.home import opened
from replan.cli.inputs import ANSWER_BYTES_MAX, read_stdin
from replan.cli.options import Invocation
from replan.cli.reading import named_or_newest, run_named
from replan.cli.terminal.console import notice, print_json
from replan.runs.asked import check_heard, questions_of
from replan.runs.engine import Engine
from replan.runs.inbox import split
from replan.setup.command_name import program
from runtime.core.errors import UsageProblem
from runtime.journal.port import RunRow


def answer_question(
    invocation: Invocation, question: str | None, text: str | None, *, last: bool, as_json: bool
) -> int:
    """Post an answer; a text of None declines the question. Return the exit code.

    With `last` the question is one of the newest run, by its id in that run; None is the only one that is open.
    """
    body = read_stdin(ANSWER_BYTES_MAX) if text == "-" else text
    return trio.run(_answer, invocation, question, body, last, as_json)


async def _answer(invocation: Invocation, question: str | None, text: str | None, last: bool, as_json: bool) -> int:
    async with opened(invocation) as engine:
        if last:
            run = await named_or_newest(engine, None)
            name = question or await _only_question(engine, run)
        else:
            prefix, name = split(question or "")
            run = await run_named(engine, prefix)
        full = f"{run}/{name}"
        receipt = await (engine.decline(full, via="cli") if text is None else engine.answer(full, text, via="cli"))
        check_heard(receipt, full)
        row = await engine.journal.row(run)
        hosted = await engine.hosted(row.kind, row.format)
        open_count = len(await questions_of(engine, run))
    participle = "declined" if text is None else "answered"
    posted = f"was {participle} so before" if receipt.result == "duplicate" else f"is {participle}"
    follows = f". {receipt.otherwise}" if receipt.otherwise else ""
    report_posted(f"{full} {posted}{follows}", row, hosted=hosted, open_count=open_count)
    if as_json:
        print_json({**receipt.to_json(full), "open_questions": open_count})
    return Exit.OK


async def _only_question(engine: Engine, run: str) -> str:
    """Return the id of the only open question of a run. Raises `UsageProblem` where there is none, or a choice."""
    names = [split(question["id"])[1] for question in await questions_of(engine, run)]
    if not names:
        hint = f"`{program()} questions` lists those of all runs"
        raise UsageProblem("it has no open question", place=run, hint=hint)
    if len(names) > 1:
        cause = f"it has {len(names)} open questions: {', '.join(names[:5])}"
        raise UsageProblem(cause, place=run, hint=f"`{program()} answer --last ID TEXT` names one")
    return names[0]


def report_posted(text: str, row: RunRow, *, hosted: bool, open_count: int = 0) -> None:
    """Say what was posted, how many questions are open, and how the run goes on if nobody drives it."""
    notice(text)
    more_questions(row.run, open_count)
    finished = row.summary.status == "finished"
    if row.owner is None and (row.summary.detail not in FINAL if finished else not hosted):
        how_to_resume(row.run)
