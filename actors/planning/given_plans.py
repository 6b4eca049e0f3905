"""Corrects the plans that a model writes, and sets the facts that the parent run gives, before a guard judges them.

Pure.

A run whose parent gives facts and forbids questions ends at its first question.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from actors.planning.events import NeededAnswer, PlanningOutcome, RunFinished
from actors.planning.state import State
from actors.plans.mending import (
    findings_of_replaced_keys,
    mend_plan,
    set_given_facts,
    unbound_findings,
    unread_findings,
)
from actors.run.questions import ClarificationRequested
from actors.values.artifacts import format_json, lacks_end
from actors.values.findings import Code, Finding, Verdict
from actors.values.given import Given
from actors.values.question_form import block
from runtime.core.hooks import make_total
from runtime.models.replies import Parsed, ReplyCode, read_reply

PLAN = "plan"


@dataclass(frozen=True, slots=True)
class Made:
    """The content of an artifact that was made from a reply, with the changes that the program made."""

    content: str
    """The content. A plan includes the values that the program has set."""
    replaced: tuple[str, ...] = ()
    """The keys of the plan that contradicted a given fact, and were replaced."""
    notes: tuple[Finding, ...] = ()


def make_content(state: State, step: str, content: str, finish_reason: str) -> Made:
    """Return the content of the artifact for a reply, with corrections if it is a plan.

    A reply that is not a plan or was cut off is not changed, because the guard rejects it.
    """
    if state.config.roles.get(step) != PLAN or lacks_end(content, finish_reason):
        return Made(content)
    pair = _mend_plan(content)
    if state.given is None or pair is None:
        return Made(content) if pair is None else pair[1]
    return _make_with_given(pair[0], state.given, pair[1]) or pair[1]


@make_total("what the plan says about the given facts", lambda _: None)  # `add_remarks` compares it again.
def _make_with_given(plan: Any, facts: Given, made: Made) -> Made:
    changed, replaced = set_given_facts(plan, facts)
    return made if changed is plan else Made(format_json(changed), replaced, made.notes)


@lru_cache(maxsize=64)  # A reply is read on arrival, and again before it is stored.
@make_total("the plan", lambda _: None)  # The guard rejects a content that cannot be read.
def _mend_plan(content: str) -> tuple[Any, Made] | None:
    value = read_reply(content)
    if not isinstance(value, Parsed):
        return None
    plan, notes = mend_plan(value.value)
    return plan, Made(content if plan is value.value else format_json(plan), notes=notes)


@make_total("the plan's facts", lambda said: (Finding(code=ReplyCode.UNREAD, message=said),))
def _unbound(plan: Any, facts: Given) -> tuple[Finding, ...]:
    return (*unbound_findings(plan, facts), *unread_findings(plan, facts))


def add_remarks(state: State, name: str, verdict: Verdict) -> Verdict:
    """Return a guard's verdict with the findings that this program has made itself about the plan.

    If one of these findings is an error, the verdict rejects the artifact.
    """
    node = state.nodes[name]
    if node.artifact is None or state.config.roles.get(node.step) != PLAN:
        return verdict
    unbound: tuple[Finding, ...] = ()
    if state.given is not None:
        unbound = _unbound(node.artifact.parsed, state.given)
    replaced = findings_of_replaced_keys(node.replaced)
    found = verdict.findings
    if state.given is not None and state.given.guards == () and not state.given.step_guards:
        # A step cannot have a guard where no tool checks anything.
        found = tuple(item for item in found if item.code != Code.UNKNOWN_GUARD or item.severity == "error")
    if not (unbound or replaced or node.notes or found != verdict.findings):
        return verdict
    # Errors come first: of a long list, prompts show the beginning.
    errors = tuple(finding for finding in unbound if finding.severity == "error")
    rest = tuple(finding for finding in unbound if finding.severity != "error")
    update: dict[str, Any] = {"findings": (*errors, *found, *rest, *replaced, *node.notes)}
    if errors:
        update |= {"passed": False, "score": min(verdict.score, 0.99)}
    return verdict.model_copy(update=update)


def ask_or_end(state: State, question: ClarificationRequested) -> ClarificationRequested | RunFinished:
    """Return the question. If the run may ask nobody, return the run's end, with the question for its parent."""
    if state.given is None or not state.given.asks_nobody:
        return question
    form = question.form
    node = state.nodes.get(question.node)
    if question.review and node is not None and node.artifact is not None:
        form["shown"] = block(node.artifact.shown)  # The parent's user does not see this run.
    needed = NeededAnswer(
        **form,
        node=question.node,
        why=question.why,
        review=question.review,
    )
    why = f"needs an answer: {_first_line(question.text)}"
    return RunFinished(outcome=PlanningOutcome.NEEDS_ANSWER, why=why, question=needed)


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
