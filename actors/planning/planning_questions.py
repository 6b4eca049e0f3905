"""The questions of a planning run to a person, made from findings and reviews. Pure."""

from collections.abc import Mapping, Sequence

from actors.guards import review as reviews
from actors.planning.state import State
from actors.policy.belief import Past
from actors.run.open_question import OpenQuestion, question_json
from actors.run.questions import Question
from actors.values.answers import TEXT, is_answer_schema
from actors.values.findings import Code, Finding, Verdict
from actors.values.question_form import (
    AskedForm,
    Inquiry,
    add_consequences,
    inquiry,
    join_questions,
    make_form,
    quote_question,
    waiting_text,
)

_REDONE = "The step is done again with this answer."
ADVICE_CHOICES: Mapping[str, str] = {
    "try again": ("The step begins a new round. In this round, the step may send the search back as often as before."),
}
"""The answer that a question offers in addition to free text if a step has used up its escalations. The value explains
the answer."""
REVIEW_CHOICES: Mapping[str, str] = {
    reviews.APPROVE: "The result is accepted, and the run goes on with it.",
    f"{reviews.REJECT} REASON": "The result is rejected, and the next prompt shows the reason.",
}


def questions_of_verdict(
    state: State, step: str, verdict: Verdict, questions_left: int, history: Sequence[Past] = ()
) -> list[AskedForm]:
    """Return the questions to a person that follow from a rejection.

    Each finding for a person becomes a question, with the finding's text and schema. If there are more findings than
    questions left, the last question combines the remaining findings. If all findings are for models, the step has used
    up its escalations, and a person is asked how to go on. `history` has the failures of the round.
    """
    subject = waiting_text(step, blocks(state, step))
    inquiries = [_inquiry(state, step, verdict, finding) for finding in verdict.errors if finding.askable]
    if not inquiries:
        otherwise = f"the step '{step}' is attempted again. When its attempts are used up, the run ends without a plan."
        return [add_consequences(_ask_how_to_continue(step, verdict, history), about=subject, otherwise=otherwise)]
    count = len(inquiries) if len(inquiries) <= questions_left else max(0, questions_left - 1)
    rest = inquiries[count:]
    listed = [*inquiries[:count], *([join_questions(rest, f"the step '{step}'")] if rest else [])]
    return [add_consequences(inquiry, about=subject, otherwise=_otherwise(step, verdict)) for inquiry in listed]


def review(step: str, blocked: Sequence[str]) -> AskedForm:
    """Return the question that asks a person to approve the result of a step."""
    return make_form(
        f"Do you approve what the step '{step}' has made?",
        about=f"The result is shown below. {waiting_text(step, blocked)}",
        otherwise="the result is not accepted, and the run ends unless the policy has another move.",
        choices=REVIEW_CHOICES,
        schema=reviews.SCHEMA,
        priority="high",
    )


def blocks(state: State, step: str) -> tuple[str, ...]:
    """Return the steps that wait for an answer about a step: the step itself, and all steps that require this step."""
    return (step, *state.config.graph.below[step])


def question_of(state: State, run: str, question: Question) -> OpenQuestion:
    """Return an open question as plain data. The data of a review includes the artifact as the model wrote it."""
    data = question_json(run, question)
    node = state.nodes.get(question.request.node)
    if question.request.review and node is not None and node.artifact is not None:
        data["node"], data["artifact"] = node.node, node.artifact.shown
    return data


def _inquiry(state: State, step: str, verdict: Verdict, finding: Finding) -> Inquiry:
    if finding.asks is not None:
        return finding.asks
    if finding.code != Code.OPEN_QUESTION:
        who = f"The guard '{verdict.guard}'"
    else:
        who = "The template" if state.config.model.startswith("template:") else "The model"
    schema = finding.answer_schema
    usable = schema is not None and is_answer_schema(schema)
    return quote_question(who, f"the step '{step}'", finding.message, does=_REDONE, schema=schema if usable else None)


def _ask_how_to_continue(step: str, verdict: Verdict, history: Sequence[Past]) -> Inquiry:
    failures = [past for past in history if past.step == step]
    back = sum(past.up > 0 for past in failures)
    return inquiry(
        f"What should the run do about the step '{step}', which was rejected and must not send the search back again?",
        shown=(
            f"The step '{step}' was rejected {_times(len(failures) + 1)} in this round, the last time by the guard"
            f" '{verdict.guard}', and has sent the search back {_times(back)}."
        ),
        choices=ADVICE_CHOICES,
        schema=TEXT,
    )


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _otherwise(step: str, verdict: Verdict) -> str:
    """Return what happens if a person declines the question."""
    if any(finding.code == Code.NOT_UNDERSTOOD for finding in verdict.findings):
        return "the run ends, because the author does not understand the problem."
    askable = [finding for finding in verdict.errors if finding.askable]
    if askable and all(finding.code == Code.AMBIGUOUS and finding.asks is not None for finding in askable):
        shown = "The table of demands shows the step's reading of the text as an assumption."
        return f"the step '{step}' is done again. {shown}"
    if verdict.fatal:
        return f"the run goes back to a step before '{step}'. If the run cannot go back, the run ends without a plan."
    end = "When its attempts are used up, the run goes back or ends."
    return f"the step '{step}' is attempted again without an answer. {end}"
