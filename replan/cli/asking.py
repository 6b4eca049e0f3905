"""`questions`, `answer`, `tell` and `cancel`: what they take. What they do is in `replan.cli.mail`."""

import click

from replan.cli.options import Invocation, common, examples, json_option
from runtime.core.errors import UsageProblem

_ANSWER = examples(
    "replan answer k7m2x9qa/q1 'Python 3.11, no new dependencies'",
    "replan answer k7m2x9qa/q1 - < answer.txt",
    "replan answer k7m2x9qa/q2 'reject: no step undoes the migration'",
    "replan answer k7m2x9qa/q3 --decline",
)
_TELL = examples(
    "replan tell k7m2x9qa 'The nightly build is the slow one'",
    "replan tell k7m2x9qa --as requirement 'It must run without a network'",
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
@click.argument("text", required=False)
@click.option("--decline", is_flag=True, help="Give no answer: the step that asked goes on without.")
@common
@click.pass_obj
def answer(invocation: Invocation, question: str, text: str | None, *, decline: bool) -> int:
    """Answer a QUESTION (RUN/ID) with TEXT, or with standard input for -.

    Works whether or not a process drives the run, and is durable when it returns. The first answer stands.
    """
    if decline == (text is not None):
        cause = "both an answer and --decline are given" if decline else "there is no answer"
        raise UsageProblem(cause, place="TEXT", hint="`replan answer QUESTION TEXT`, or --decline for none")
    from replan.cli.mail import answer_question

    return answer_question(invocation, question, text)


@click.command(epilog=_TELL)
@click.argument("run_id", metavar="RUN")
@click.argument("text")
@click.option(
    "--as",
    "kind",
    type=click.Choice(["note", "requirement"]),
    default="note",
    show_default=True,
    help="A note stands in later prompts; a requirement changes what is asked for, and acts at once.",
)
@common
@click.pass_obj
def tell(invocation: Invocation, run_id: str, text: str, kind: str) -> int:
    """Tell a RUN something of your own accord: TEXT, or standard input for -.

    Works at any time before the run ends, whether or not a process drives it, and is durable when it returns.
    """
    from replan.cli.mail import tell_run

    return tell_run(invocation, run_id, text, kind)


@click.command(epilog=examples("replan cancel k7m2x9qa"))
@click.argument("run_id", metavar="RUN")
@common
@click.pass_obj
def cancel(invocation: Invocation, run_id: str) -> int:
    """Cancel a RUN for good. What it has found is kept; parking (Ctrl-C) is the way to go on later."""
    from replan.cli.mail import cancel_run

    return cancel_run(invocation, run_id)
