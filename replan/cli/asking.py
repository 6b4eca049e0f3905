"""`questions`, `answer` and `cancel`: what they take. What they do is in `replan.cli.mail`."""

import click

from replan.cli.options import Invocation, common, examples, json_option

_ANSWER = examples(
    "replan answer k7m2x9qa/q1 'Python 3.11, no new dependencies'", "replan answer k7m2x9qa/q1 - < answer.txt"
)


@click.command(epilog=examples("replan questions", "replan questions k7m2x9qa --json"))
@click.argument("run_id", metavar="[RUN]", required=False)
@json_option
@common
@click.pass_obj
def questions(invocation: Invocation, run_id: str | None, *, as_json: bool) -> int:
    """List the open questions of a RUN, or of all runs."""
    from replan.cli.mail import list_questions

    return list_questions(invocation, run_id, as_json=as_json)


@click.command(epilog=_ANSWER)
@click.argument("question")
@click.argument("text")
@common
@click.pass_obj
def answer(invocation: Invocation, question: str, text: str) -> int:
    """Answer a QUESTION (RUN/ID) with TEXT, or with standard input for -.

    Works whether or not a process drives the run, and is durable when it returns.
    """
    from replan.cli.mail import answer_question

    return answer_question(invocation, question, text)


@click.command(epilog=examples("replan cancel k7m2x9qa"))
@click.argument("run_id", metavar="RUN")
@common
@click.pass_obj
def cancel(invocation: Invocation, run_id: str) -> int:
    """Cancel a RUN for good. What it has found is kept; parking (Ctrl-C) is the way to go on later."""
    from replan.cli.mail import cancel_run

    return cancel_run(invocation, run_id)
