"""What given facts change in a planning run: the plans that are made, and questions, which end the run. Pure."""

from typing import Any

from actors.planning.events import NeededAnswer, Outcome, RunFinished
from actors.planning.state import State
from actors.plans.given_facts import replaced_findings, unbound_findings, with_given
from actors.run.questions import ClarificationRequested
from actors.values.artifacts import ended_early, indented_json
from actors.values.findings import Verdict
from runtime.models.replies import Parsed, read_reply

PLAN = "plan"
"""The role of the steps whose artifacts are plans."""


def content_made(state: State, step: str, content: str, finish_reason: str) -> tuple[str, tuple[str, ...]]:
    """Return a reply as the content of its artifact, and the keys of a plan that given facts have replaced.

    What is no plan, and a reply whose end is missing, is returned as it is: the guard rejects it.
    """
    if state.given is None or state.config.roles.get(step) != PLAN or ended_early(content, finish_reason):
        return content, ()
    value = read_reply(content)
    if not isinstance(value, Parsed):
        return content, ()
    plan, replaced = with_given(value.value, state.given)
    return (content, ()) if plan is value.value else (indented_json(plan), replaced)


def with_given_findings(state: State, name: str, verdict: Verdict) -> Verdict:
    """Return a guard's verdict on an artifact with what given facts add: warnings, and errors that reject a plan."""
    node = state.nodes[name]
    if state.given is None or node.artifact is None or state.config.roles.get(node.step) != PLAN:
        return verdict
    unbound, replaced = tuple(unbound_findings(node.artifact.parsed, state.given)), replaced_findings(node.replaced)
    if not (unbound or replaced):
        return verdict
    update: dict[str, Any] = {"findings": (*verdict.findings, *unbound, *replaced)}
    if unbound:
        update |= {"passed": False, "score": min(verdict.score, 0.99)}
    return verdict.model_copy(update=update)


def asked_or_ended(state: State, question: ClarificationRequested) -> ClarificationRequested | RunFinished:
    """Return the question, or the end of a run that asks nobody, with the question that its parent is to ask."""
    if state.given is None or not state.given.asks_nobody:
        return question
    needed = NeededAnswer(
        text=question.text,
        answer_schema=question.answer_schema,
        node=question.node,
        why=question.why,
        review=question.review,
    )
    why = f"needs an answer: {_first_line(question.text)}"
    return RunFinished(outcome=Outcome.NEEDS_ANSWER, why=why, question=needed)


def _first_line(text: str) -> str:
    """Return the first line of a text, for the reason of an end."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
