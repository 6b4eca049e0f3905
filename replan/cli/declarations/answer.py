"""The options, arguments and help of `answer`."""

import click

from replan.cli.completing import complete_question
from replan.cli.options import Invocation, common, examples, json_option
from runtime.core.errors import UsageProblem

_ANSWER = examples(
    "replan answer k7m2x9qa/q1 'Python 3.11, no new dependencies'",
    "replan answer --last 'Python 3.11'               if the newest run has one open question",
    "replan answer k7m2x9qa/q1 - < answer.txt",
    "replan answer k7m2x9qa/q2 'reject: no step undoes the migration'",
    "replan answer k7m2x9qa/q3 --decline",
)


@click.command(epilog=_ANSWER)
@click.argument("question", metavar="QUESTION|--last", required=False, shell_complete=complete_question)
@click.argument("text", required=False)
@click.option("--last", is_flag=True, help="A question of the newest run; with several, QUESTION is its ID.")
@click.option("--decline", is_flag=True, help="Give no answer; the question says what happens then.")
@json_option
@common
@click.pass_obj
def answer(
    invocation: Invocation, question: str | None, text: str | None, *, last: bool, decline: bool, as_json: bool
) -> int:
    """Answer a QUESTION (RUN/ID) with TEXT, or with standard input for -.

    Works whether or not a process drives the run, and is durable when it returns. The first answer counts.
    """
    if last and not decline and text is None:
        question, text = None, question
    if question is None and not last:
        raise UsageProblem("no question is named", place="QUESTION", hint="`replan questions` lists them as RUN/ID")
    if decline == (text is not None):
        cause = "both an answer and --decline are given" if decline else "there is no answer"
        raise UsageProblem(cause, place="TEXT", hint="`replan answer QUESTION TEXT`, or --decline for none")
    from replan.cli.commands.answer import answer_question

    return answer_question(invocation, question, text, last=last, as_json=as_json)
