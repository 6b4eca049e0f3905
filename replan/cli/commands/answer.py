"""`answer`: posts the answer to a question, or that there will be none."""

import trio

from replan.cli.exits import Exit
from replan.cli.hints import how_to_resume, more_questions
from replan.cli.home import opened, run_named
from replan.cli.inputs import ANSWER_BYTES_MAX, read_stdin
from replan.cli.options import Invocation
from replan.cli.terminal.console import notice, print_json
from replan.runs.inbox import split
from replan.views.questions import open_questions
from runtime.core.errors import UsageProblem
from runtime.journal.port import RunRow

SHOWN_MAX = 200
"""Characters that are shown of an answer that was given before."""


def answer_question(invocation: Invocation, question: str, text: str | None, *, as_json: bool) -> int:
    """Post an answer; None declines the question. Return the exit code."""
    return trio.run(_answer, invocation, question, read_stdin(ANSWER_BYTES_MAX) if text == "-" else text, as_json)


async def _answer(invocation: Invocation, question: str, text: str | None, as_json: bool) -> int:
    async with opened(invocation) as engine:
        prefix, name = split(question)
        run = await run_named(engine, prefix)
        full = f"{run}/{name}"
        receipt = await (engine.decline(full) if text is None else engine.answer(full, text))
        if receipt.result == "conflict":
            hint = "the first answer counts"
            first = "it was declined" if receipt.stands is None else repr(receipt.stands[:SHOWN_MAX])
            raise UsageProblem(f"another answer was given before: {first}", place=full, hint=hint)
        row = await engine.journal.row(run)
        hosted = await engine.hosted(row.kind, row.format)
        loaded = await engine.read(run)
        open_count = len(open_questions(loaded.kind, run, await engine.with_inbox(run, loaded)))
    participle = "declined" if text is None else "answered"
    posted = f"was {participle} so before" if receipt.result == "duplicate" else f"is {participle}"
    report_posted(f"{full} {posted}", row, hosted=hosted, open_count=open_count)
    if as_json:
        print_json({"question": full, "result": receipt.result, "answer": receipt.stands, "open_questions": open_count})
    return Exit.OK


def report_posted(text: str, row: RunRow, *, hosted: bool, open_count: int = 0) -> None:
    """Say what was posted, how many questions are open, and how the run goes on if nobody drives it."""
    notice(text)
    more_questions(row.run, open_count)
    if row.owner is None and not hosted and row.summary.status != "finished":
        how_to_resume(row.run)
