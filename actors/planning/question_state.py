"""How the state follows what is asked of people and what they say: the part of `evolve` that is about them. Pure."""

from collections.abc import Mapping
from typing import Literal

from actors.planning.events import (
    ClarificationAnswered,
    ClarificationDeclined,
    ClarificationExpired,
    ClarificationRequested,
    ClarificationWithdrawn,
    NoteTold,
    RequirementTold,
    RunFinished,
)
from actors.planning.questions import Question, Status, expiry_id
from actors.planning.state import Ask, Revision, Said, State
from actors.policy.decide import Decision, summary
from actors.policy.table import BacktrackLevel
from actors.search.progress import Phase, mark
from actors.values.answers import TEXT, sound
from actors.values.findings import Finding
from runtime.core.copies import changed

Closing = ClarificationAnswered | ClarificationDeclined | ClarificationWithdrawn | ClarificationExpired


def asks(state: State, decision: Decision) -> tuple[Ask, ...]:
    """Return the questions that a decision to ask means.

    A finding with an answer schema of its own is a question of its own; the others are asked together, and so are all
    where the run may not ask that many more, or where a schema cannot be checked.
    """
    assert state.config is not None
    verdict = state.nodes[decision.node].verdict
    assert verdict is not None
    errors = verdict.errors
    typed = [finding for finding in errors if finding.answer_schema is not None and sound(finding.answer_schema)]
    plain = [finding for finding in errors if finding not in typed and (not typed or _about_requirements(finding))]
    left = state.config.workflow.questions_max - state.questions_used
    if len(typed) + bool(plain) > left:
        plain, typed = [*plain, *typed], []
    together = "\n".join(finding.message for finding in plain) or ("" if typed else summary(decision, verdict))
    found = [(together, TEXT)] if together else []
    found += [(finding.message, dict(finding.answer_schema or TEXT)) for finding in typed]
    return tuple(Ask(decision.node, decision.step, text, schema, decision.rule) for text, schema in found)


def _about_requirements(finding: Finding) -> bool:
    return finding.code.startswith("requirements.")


def asked(state: State, event: ClarificationRequested) -> State:
    """Take in that a question was asked."""
    return changed(
        state,
        to_ask=state.to_ask if event.review else state.to_ask[1:],
        asked={**state.asked, event.question_id: Question(event, state.now)},
    )


def closed(state: State, event: Closing) -> State:
    """Take in that a question was closed; its step goes on when none of its questions is open any more."""
    before = state.asked[event.question_id]
    waits = {name: wait for name, wait in state.waits.items() if name != expiry_id(event.question_id)}
    state = changed(state, asked={**state.asked, event.question_id: before.moved(event)}, waits=waits)
    if isinstance(event, ClarificationWithdrawn):
        return state
    step = before.request.step
    unanswered = not isinstance(event, ClarificationAnswered)
    if before.request.review:
        return changed(state, silenced=state.silenced | {step}) if unanswered else state
    if not before.open:
        # What answers a closed question redoes nothing, but it is known from now on, and opens a round as any answer.
        return changed(state, to_revise=Revision(BacktrackLevel.CLARIFY, (), new_round=True))
    together = [one for one in state.asked.values() if one.request.node == before.request.node]
    if any(one.open for one in together):
        return state
    if any(one.status is Status.ANSWERED for one in together):
        return changed(state, to_revise=Revision(BacktrackLevel.CLARIFY, (step,), new_round=True))
    # Nobody answered: the same rejection is decided about again, and this time nobody can be asked.
    return changed(state, silenced=state.silenced | {step}, progress=mark(state.progress, step, Phase.FAILED))


def told(state: State, event: NoteTold | RequirementTold) -> State:
    """Take in what the user said of their own accord."""
    kind: Literal["note", "requirement"] = "note" if isinstance(event, NoteTold) else "requirement"
    said = (*state.said, Said(kind, event.text, event.at))
    return changed(state, said=said, to_replan=state.to_replan or kind == "requirement")


def seen(state: State) -> tuple[Said, ...]:
    """Return what the user said, once a prompt with all of it has gone out."""
    if all(said.seen for said in state.said):
        return state.said
    return tuple(Said(said.kind, said.text, said.at, seen=True) for said in state.said)


def ended(asked: Mapping[str, Question], event: RunFinished) -> dict[str, Question]:
    """Return the questions after the run's end: nobody needs the answers to the open ones."""
    return {name: question.moved(event) if question.open else question for name, question in asked.items()}
