"""The commands about messages to runs: `questions`, `answer` and `tell`."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from replan.cli.completing import complete_question, require_one_run, run_argument
from replan.cli.exits import Exit
from replan.cli.options import Invocation, common, examples, json_option
from replan.setup.installation import program
from runtime.core.errors import UsageProblem

if TYPE_CHECKING:
    from replan.runs.engine import Engine
    from replan.runs.reader import RunReader
    from runtime.journal.port import RunRow


@click.command(
    epilog=examples("replan questions", "replan questions --last", "replan questions --export > answers.yaml")
)
@run_argument("[RUN|--last]", last="List the questions of the newest run.")
@click.option("--export", is_flag=True, help="Print a YAML file for `answer --file`; equal questions share an answer.")
@json_option
@common
@click.pass_obj
def questions(invocation: Invocation, run_id: str | None, *, last: bool, export: bool, as_json: bool) -> int:
    """List the open questions of a RUN, or of all runs."""
    if last:
        require_one_run("questions", run_id, last=last)
    if export and as_json:
        raise UsageProblem("this option cannot be used with --json", place="--export", hint="leave one of the two out")
    from actors.run.open_question import choices
    from actors.run.words import reason_in_words
    from actors.values.lines import line, verbatim
    from replan.cli.hints import say_answer_command
    from replan.cli.reading import read_home
    from replan.cli.terminal.console import print_json, print_row

    questions = read_home(invocation, lambda reader: _questions(reader, run_id, last=last))
    if as_json:
        print_json({"questions": questions})
        return Exit.OK
    if export:
        from replan.cli.answers_file import export_questions
        from replan.cli.terminal.plain import print_text

        print_text(export_questions(questions))
        return Exit.OK
    for question in questions:
        print_row(line(f"{question['id']}  {reason_in_words(question['why'])}, asked {question['asked']}", "bold"))
        for text in _rows(question):
            print_row(verbatim(text))
    if questions:
        say_answer_command(questions[0]["id"], choices(questions[0]))
    else:
        print_row(line("no open questions", "dim"))
    return Exit.OK


def _rows(question: dict[str, Any]) -> list[str]:
    from actors.run.open_question import question_rows

    return question_rows(question)


async def _questions(reader: RunReader, name: str | None, *, last: bool) -> list[dict[str, Any]]:
    from replan.cli.reading import resolve_or_newest
    from replan.cli.terminal.console import notice
    from replan.views.errors import line_of_error

    if last or name is not None:
        from replan.runs.inbox import questions_of

        return await questions_of(reader, await resolve_or_newest(reader, name))
    from replan.runs.inbox import all_questions

    page = await all_questions(reader)
    for run, error in page.problems:
        notice(f"warning: the questions of run {run} cannot be read: {line_of_error(error)}")
    return list(page.questions)


_ANSWER = examples(
    "replan answer k7m2x9qa/q1 'Python 3.11, no new dependencies'",
    "replan answer --last 'Python 3.11'               if the newest run has one open question",
    "replan answer k7m2x9qa/q1 - < answer.txt",
    "replan answer k7m2x9qa/q2 'reject: no step undoes the migration'",
    "replan answer k7m2x9qa/q3 --decline",
    "replan answer --file answers.yaml",
)


@click.command(epilog=_ANSWER)
@click.argument("question", metavar="QUESTION|--last", required=False, shell_complete=complete_question)
@click.argument("text", required=False)
@click.option(
    "--last", is_flag=True, help="Answer the newest run's question; if the run has several, give the ID of one."
)
@click.option("--decline", is_flag=True, help="Decline the question; its text says what happens then.")
@click.option("--file", metavar="FILE", help="Post the answers in a file from `questions --export`; - reads stdin.")
@json_option
@common
@click.pass_obj
def answer(
    invocation: Invocation,
    question: str | None,
    text: str | None,
    *,
    last: bool,
    decline: bool,
    file: str | None,
    as_json: bool,
) -> int:
    """Answer a QUESTION (RUN/ID) with TEXT. If TEXT is -, read the answer from standard input.

    The run may be driven or not. The answer is stored when the command returns. The first answer counts. With --file,
    all answers are checked before the first is recorded.
    """
    if file is not None:
        if question is not None or text is not None or last or decline:
            raise UsageProblem(
                "this option cannot be used with other arguments",
                place="--file",
                hint="write all answers into the file",
            )
        import trio

        return trio.run(_answer_file, invocation, file, as_json)
    if last and not decline and text is None:
        question, text = None, question
    if question is None and not last:
        raise UsageProblem("no question is named", place="QUESTION", hint="`replan questions` lists the ids as RUN/ID")
    if decline and text is not None:
        hint = "write `replan answer QUESTION TEXT`, or decline with --decline"
        raise UsageProblem("both an answer and --decline are given", place="TEXT", hint=hint)
    import trio

    from replan.cli.inputs import ANSWER_BYTES_MAX, read_stdin

    body = read_stdin(ANSWER_BYTES_MAX) if text == "-" else text
    return trio.run(partial(_answer, invocation, question, body, decline=decline, last=last, as_json=as_json))


async def _answer(
    invocation: Invocation, question: str | None, text: str | None, *, decline: bool, last: bool, as_json: bool
) -> int:
    from actors.run.words import question_in_words
    from actors.values.question_form import consequence_of
    from replan.cli.home import open_engine
    from replan.cli.reading import resolve_named, resolve_or_newest
    from replan.cli.terminal.console import print_json
    from replan.runs.inbox import check_receipt, questions_of, split_question_id

    async with open_engine(invocation) as engine:
        if last:
            run = await resolve_or_newest(engine, None)
            name = question or await _only_question(engine, run)
        else:
            prefix, name = split_question_id(question or "")
            run = await resolve_named(engine, prefix)
        full = f"{run}/{name}"
        if text is None and not decline:
            raise await _lacks_answer(engine, full)
        receipt = await (engine.decline(full, via="cli") if text is None else engine.answer(full, text, via="cli"))
        check_receipt(receipt, full)
        row = await engine.journal.row(run)
        hosted = await engine.has_host(row.kind, row.format)
        open_count = len(await questions_of(engine, run))
    posted = _posted_text(declined=text is None, is_new=receipt.result != "duplicate")
    follows = f". {question_in_words(consequence_of(receipt.otherwise))}" if receipt.otherwise else ""
    _report_posted(f"{full} {posted}{follows}", row, hosted=hosted, open_count=open_count)
    if as_json:
        print_json({**receipt.to_json(full), "open_questions": open_count})
    return Exit.OK


async def _lacks_answer(engine: Engine, question: str) -> UsageProblem:
    """Return the error for a command line that names a question but has no answer.

    The hint of the error shows the question's choices.
    """
    from actors.run.open_question import choices
    from replan.cli.hints import answer_command
    from replan.runs.inbox import questions_of, split_question_id

    found = [each for each in await questions_of(engine, split_question_id(question)[0]) if each["id"] == question]
    command = answer_command(question, choices(found[0]) if found else [])
    return UsageProblem("there is no answer", place="TEXT", hint=f"write `{command}`, or decline with --decline")


async def _answer_file(invocation: Invocation, file: str, as_json: bool) -> int:
    from replan.cli.answers_file import check_answers, post_answers
    from replan.cli.hints import say_how_to_resume
    from replan.cli.home import open_engine
    from replan.cli.terminal.console import notice, print_json

    undriven = []
    async with open_engine(invocation) as engine:
        checked = await check_answers(engine, file)
        receipts = await post_answers(engine, checked)
        for run in dict.fromkeys(answer.run for answer in checked.values()):
            row = await engine.journal.row(run)
            if row.owner is None and row.status != "finished" and not await engine.has_host(row.kind, row.format):
                undriven.append(run)
    conflicts = 0
    for question, receipt in receipts.items():
        conflicts += receipt.result == "conflict"
        if receipt.result == "conflict":
            posted = "already has another answer, and that answer counts"
        else:
            declined = checked[question].body["kind"] == "decline"
            posted = _posted_text(declined=declined, is_new=receipt.result != "duplicate")
        notice(f"{question} {posted}")
    if len(undriven) == 1:
        say_how_to_resume(undriven[0])
    elif undriven:
        notice(f"no host drives {len(undriven)} of these runs; start a host with: {program()} host")
    if as_json:
        print_json({"answers": [receipt.to_json(question) for question, receipt in receipts.items()]})
    return Exit.USAGE if conflicts else Exit.OK


def _posted_text(*, declined: bool, is_new: bool) -> str:
    if declined:
        return "is declined" if is_new else "was already declined"
    return "is answered" if is_new else "already has this answer"


async def _only_question(engine: Engine, run: str) -> str:
    from replan.runs.inbox import questions_of, split_question_id

    names = [split_question_id(question["id"])[1] for question in await questions_of(engine, run)]
    if not names:
        hint = f"`{program()} questions` lists the questions of all runs"
        raise UsageProblem("the newest run has no open question", place=run, hint=hint)
    if len(names) > 1:
        cause = f"the run has {len(names)} open questions: {', '.join(names[:5])}"
        raise UsageProblem(cause, place=run, hint=f"name one: `{program()} answer --last ID TEXT`")
    return names[0]


def _report_posted(text: str, row: RunRow, *, hosted: bool, open_count: int = 0) -> None:
    from actors.run.ending import FINAL
    from replan.cli.hints import say_how_to_resume, say_more_questions
    from replan.cli.terminal.console import notice

    notice(text)
    say_more_questions(row.run, open_count)
    finished = row.status == "finished"
    if row.owner is None and (row.detail not in FINAL if finished else not hosted):
        say_how_to_resume(row.run)


_TELL = examples(
    "replan tell k7m2x9qa 'The nightly build is the slow one'",
    "replan tell k7m2x9qa 'market.customers=300000'  # a value, also after the end of the run",
    "replan tell --last --as requirement 'It must run without a network'",
)


@click.command(epilog=_TELL)
@run_argument()
@click.argument("text", required=False)
@click.option(
    "--as",
    "kind",
    type=click.Choice(["note", "requirement"]),
    default="note",
    show_default=True,
    help="Later prompts show a note; a requirement changes the task at once.",
)
@json_option
@common
@click.pass_obj
def tell(invocation: Invocation, run_id: str | None, text: str | None, *, last: bool, kind: str, as_json: bool) -> int:
    """Send a message to a RUN: TEXT, or standard input for -.

    If the run takes values, FIELD=VALUE corrects a value, even after a success; the run then continues.

    Other messages work only before the run ends, even if no process drives it. The message is stored when the command
    returns.
    """
    if last and text is None:
        run_id, text = None, run_id
    require_one_run("tell", run_id, last=last)
    if text is None:
        raise UsageProblem(
            "the message is missing", place="TEXT", hint="write `replan tell RUN TEXT`, or - to read standard input"
        )
    import trio

    from replan.cli.inputs import MESSAGE_BYTES_MAX, read_stdin

    body = read_stdin(MESSAGE_BYTES_MAX) if text == "-" else text
    return trio.run(_tell, invocation, run_id, body, kind, as_json)


async def _tell(invocation: Invocation, name: str | None, text: str, kind: str, as_json: bool) -> int:
    from replan.cli.hints import say_how_to_resume
    from replan.cli.home import open_engine
    from replan.cli.reading import resolve_or_newest
    from replan.cli.terminal.console import notice
    from replan.cli.terminal.plain import print_json

    async with open_engine(invocation) as engine:
        run = await resolve_or_newest(engine, name)
        posted = await engine.tell(run, text, kind)
        row = await engine.journal.row(run)
        hosted = await engine.has_host(row.kind, row.format)
    kind = json.loads(posted.body)["kind"]
    if kind == "value":
        notice(f"run {run} has received the value, and calculates again with it")
        if row.owner is None:
            say_how_to_resume(run)
    else:
        effect = "the next prompt shows it" if kind == "note" else "it changes the task at once"
        _report_posted(f"run {run} has received the {kind}; {effect}", row, hosted=hosted)
    if as_json:
        print_json({"run_id": run, "kind": kind, "result": posted.result})
    return Exit.OK
